-- The short ways of a release: nothing is over, and nobody waits.
-- token
if plain and now < first then
	local token = ARGV[2]
	if lone > 0 then
		if string.sub(stored, at + 48, at + 63) == token then
			call('HSET', STATE, 'h', struct.pack('<dddddd', fence, seen, at_once, 0, 0, 2 ^ 53) ..
				string.sub(stored, 49, at + 47))
			return 0
		end
	elseif holders > 0 then
		local held, waiting, low, listed = struct.unpack('<dddd', stored, at + 48)
		local packed = waiting == 0 and call('HGET', STATE, 't' .. token)
		local _, slot, weight, request
		if packed then
			_, _, _, _, slot, _, _, weight, _, _, _, request = struct.unpack('<ddddddddddss', packed)
		end
		if request == '' then
			call('HDEL', STATE, 't' .. token)
			if listed > 0 then
				listed = listed - call('ZREM', TIMES, token)
			end
			local rest = ''
			if holders > 1 then
				local slots = at + 80
				local found = slots + math.floor(slot / 8)
				rest = struct.pack('<dddd', held - weight, 0, math.min(low, found - slots + 1), listed) ..
					string.sub(stored, slots, found - 1) ..
					string.char(string.byte(stored, found) - 2 ^ (slot % 8)) .. string.sub(stored, found + 1)
			else
				first = 2 ^ 53
			end
			call('HSET', STATE, 'h', struct.pack('<dddddd', fence, seen, at_once, holders - 1, 0, first) ..
				string.sub(stored, 49, at + 47) .. rest)
			return 0
		end
	end
end
