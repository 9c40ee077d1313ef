-- The short ways of a request: a permit is free, nobody waits, nothing is over, and no id is to be looked up.
-- packed: limit, silence, max_waiting, whether it may be known; weight, ttl, max_hold, owner, request id, channel. token
if plain and closed == 0 and lone == 0 then
	local wanted, _, _, known, weight, ttl, max_hold = struct.unpack('<ddddddd', ARGV[2])
	if known == 0 and (wanted == 0 or wanted == limit) and ttl <= longest then
		local expires, hard_end = now + ttl, 0
		if max_hold ~= 0 then
			hard_end = now + max_hold
			if hard_end < expires then
				expires = hard_end
			end
		end
		local new_fence = fence + 1
		if new_fence < now then
			new_fence = now
		end
		if #stored < at + 48 then
			-- As it was asked for, with the first slot: the client knows all but the fence, and that from an error.
			if weight <= limit and now > 2 ^ 32 then
				call('HSET', STATE, 'h', struct.pack('<dddddd', new_fence, seen, at_once + 1, 1, now, expires) ..
					string.sub(stored, 49) .. ARGV[3] .. string.sub(ARGV[2], 33))
				return new_fence
			end
		else
			local held, waiting, low, listed = struct.unpack('<dddd', stored, at + 48)
			local many = holders >= 256
			if waiting == 0 and (not many or listed == holders) and now < first and held + weight <= limit then
				if many then
					listed = listed + call('ZADD', TIMES, expires, ARGV[3])
				end
				local slots = at + 80
				local found = string.find(stored, '[^\255]', slots + low - 1) or #stored + 1
				local byte, bit, mask = string.byte(stored, found) or 0, 0, 1
				while byte % (mask + mask) >= mask do
					bit, mask = bit + 1, mask + mask
				end
				local slot = (found - slots) * 8 + bit
				call('HSET', STATE, 'h', struct.pack('<dddddd', new_fence, seen, at_once + 1, holders + 1, 0,
					expires < first and expires or first) .. string.sub(stored, 49, at + 47) ..
					struct.pack('<dddd', held + weight, 0, found - slots + 1, listed) ..
					string.sub(stored, slots, found - 1) .. string.char(byte + mask) ..
					string.sub(stored, found + 1), 't' .. ARGV[3],
					struct.pack('<ddddddd', 2, now, 0, new_fence, slot, expires, hard_end) ..
					string.sub(ARGV[2], 33))
				return struct.pack('<c16dddddd', ARGV[3], weight, slot, new_fence, expires - now,
					hard_end == 0 and -1 or hard_end - now, ttl)
			end
		end
	end
end
