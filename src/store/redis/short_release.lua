
-- The short way of a release: the lease is live, nobody waits, nothing is to be dropped.
-- token
if stored and identity == IDENTITY and waiting == 0 and now < first then
	local packed = call('HGET', CLAIMS, 't' .. ARGV[4])
	local weight, slot, request, _
	if packed then
		_, weight, _, _, _, _, _, slot, _, _, _, request = struct.unpack(CLAIM, packed)
	end
	if packed and request == '' then
		call('HDEL', CLAIMS, 't' .. ARGV[4])
		call('ZREM', TIMES, ARGV[4])
		holders = holders - 1
		if holders == 0 then
			slots, low, first = '', 1, 2 ^ 53
		else
			local at = math.floor(slot / 8) + 1
			low = math.min(low, at)
			slots = string.sub(slots, 1, at - 1) .. string.char(string.byte(slots, at) - 2 ^ (slot % 8)) ..
				string.sub(slots, at + 1)
		end
		call('SET', HEAD, struct.pack(FORMAT, limit, held - weight, holders, waiting, fence, ticket, first, seen,
			ahead, longest, closed, low, at_once, after_wait, refused, expired, renewals_failed,
			slowest, identity) .. slots)
		return { 0 }
	end
end
