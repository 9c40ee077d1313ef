-- The way to the next in line: the lease is the only one, nothing is over, and the next gets a permit after which
-- nobody else fits.
-- token
local packed = plain and now < first and holders == 1 and closed == 0 and
	(limit == 1 and waiting > 0 or limit > 1 and waiting == 1) and call('HGET', STATE, 't' .. ARGV[2])
if packed then
	local state, _, _, _, _, _, _, _, _, _, _, request = struct.unpack(CLAIM, packed)
	if state == 2 and request == '' then
		local token = ARGV[2]
		local queued = call('ZRANGE', TIMES, 0, 0)[1]
		local next = string.sub(queued, 2)
		local _, since, place, _, _, _, _, weight, ttl, max_hold, owner, id, channel =
			struct.unpack(CLAIM, call('HGET', STATE, 't' .. next))
		local expires, hard_end = now + ttl, 0
		if max_hold ~= 0 then
			hard_end = now + max_hold
			expires = math.min(expires, hard_end)
		end
		local wait = now - since
		fence = math.max(fence + 1, now)
		if waiting < MANY then
			listed = listed + 1 - call('ZREM', TIMES, queued, next, token)
		else
			call('ZADD', TIMES, expires, next)
			listed = listed + 1 - call('ZREM', TIMES, queued, token)
		end
		call('HINCRBY', STATE, 'w' .. wait_class(wait), 1)
		call('HDEL', STATE, 't' .. token)
		call('HSET', STATE, 't' .. next,
			struct.pack(CLAIM, 2, now, place, fence, 0, expires, hard_end, weight, ttl, max_hold, owner, id, channel),
			'h', pack_head(pack_rest(weight, waiting - 1, 1, listed, '\1'), fence, seen, at_once, 1, 0,
			math.min(first, expires), limit, ahead, math.max(longest, ttl), closed, identity, ticket, after_wait + 1,
			refused, expired, renewals_failed, math.max(slowest, wait)))
		tell(channel, 'g' .. lease(next, weight, 0, fence, expires - now, hard_end == 0 and -1 or hard_end - now, ttl))
		return 0
	end
end
