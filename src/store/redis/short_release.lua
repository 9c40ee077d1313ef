
-- The short ways of a release: nothing is to be dropped, and nobody waits; or the lease is the only one, and the next
-- in line gets a permit after which nobody else fits.
-- token
if packed and identity == IDENTITY and now < first then
	local token = ARGV[4]
	local state, weight, _, _, _, _, _, slot, _, _, _, request = struct.unpack(CLAIM, packed)
	local next, claim
	local ends = state == 2 and request == '' and waiting == 0
	if ends then
		held, holders = held - weight, holders - 1
		if holders == 0 then
			slots, low, first = '', 1, 2 ^ 53
		else
			local at = math.floor(slot / 8) + 1
			low = math.min(low, at)
			slots = string.sub(slots, 1, at - 1) .. string.char(string.byte(slots, at) - 2 ^ (slot % 8)) ..
				string.sub(slots, at + 1)
		end
	elseif state == 2 and request == '' and holders == 1 and closed == 0 and
		(limit == 1 or limit > 1 and waiting == 1) then
		next = call('ZPOPMIN', QUEUE)[1]
		local _, ttl, max_hold, since, place, id, owner, channel
		_, held, ttl, max_hold, since, place, _, _, _, _, owner, id, channel =
			struct.unpack(CLAIM, call('HGET', STATE, 't' .. next))
		local expires, hard_end = now + ttl, 0
		if max_hold ~= 0 then
			hard_end = now + max_hold
			expires = math.min(expires, hard_end)
		end
		count_wait(now - since)
		waiting, slots, low = waiting - 1, '\1', 1
		fence, longest, first = math.max(fence + 1, now), math.max(longest, ttl), math.min(first, expires)
		call('ZADD', TIMES, expires, next)
		claim = struct.pack(CLAIM, 2, held, ttl, max_hold, now, place, fence, 0, expires, hard_end, owner, id, channel)
		tell(channel, 'g', next, held, 0, fence, expires - now, hard_end == 0 and -1 or hard_end - now, ttl)
	end
	if ends or next then
		call('HDEL', STATE, 't' .. token)
		if lone == token then
			lone = ''
		else
			call('ZREM', TIMES, token)
		end
		local head = struct.pack(HEAD, limit, held, holders, waiting, fence, ticket, first, seen, ahead, longest,
			closed, low, at_once, after_wait, refused, expired, renewals_failed, slowest, identity, #lone, lone,
			#slots, slots)
		if next then
			call('HSET', STATE, 'h', head, 't' .. next, claim)
		else
			call('HSET', STATE, 'h', head)
		end
		return { 0 }
	end
end
