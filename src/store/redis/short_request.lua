
-- The short way of a request: a permit is free, nobody waits, nothing is to be dropped, no id to look up.
-- limit, weight, ttl, max_hold, silence, max_waiting, owner, request id, channel, token
if stored and not packed and identity == IDENTITY and waiting == 0 and now < first and now >= closed and
	ARGV[11] == '' then
	local weight, ttl, max_hold = tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7])
	local token = ARGV[13]
	if held + weight <= limit and (ARGV[4] == '0' or tonumber(ARGV[4]) == limit) then
		local at = string.find(slots, '[^\255]', low) or #slots + 1
		local byte, bit, mask = string.byte(slots, at) or 0, 0, 1
		while byte % (mask + mask) >= mask do
			bit, mask = bit + 1, mask + mask
		end
		slots = string.sub(slots, 1, at - 1) .. string.char(byte + mask) .. string.sub(slots, at + 1)
		local expires, hard_end = now + ttl, 0
		if max_hold ~= 0 then
			hard_end = now + max_hold
			expires = math.min(expires, hard_end)
		end
		fence = math.max(fence + 1, now)
		if holders == 0 then
			lone, first = token, expires
		else
			if lone ~= '' then
				call('ZADD', TIMES, first, lone, expires, token)
				lone = ''
			else
				call('ZADD', TIMES, expires, token)
			end
			first = math.min(first, expires)
		end
		local slot = (at - 1) * 8 + bit
		call('HSET', STATE, 'h', struct.pack(HEAD, limit, held + weight, holders + 1, waiting, fence, ticket, first,
			seen, ahead, math.max(longest, ttl), closed, at, at_once + 1, after_wait, refused, expired,
			renewals_failed, slowest, identity, #lone, lone, #slots, slots),
			't' .. token, struct.pack(CLAIM, 2, weight, ttl, max_hold, now, 0, fence, slot, expires, hard_end,
			ARGV[10], '', ARGV[12]))
		return { 0, token, weight, slot, fence, expires - now, hard_end == 0 and -1 or hard_end - now, ttl }
	end
end
