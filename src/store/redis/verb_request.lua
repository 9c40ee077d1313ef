-- packed: limit, how long it may be silent (0: it does not wait), how many may wait, whether it may be known; weight,
-- ttl, max_hold, owner, request id, channel. token
local wanted, silence, most, _, weight, ttl, max_hold, owner, request, channel =
	struct.unpack('<dddddddsss', ARGV[2])
local token = ARGV[3]

if not stored then
	if wanted == 0 then
		return ENOENT
	end
	create(wanted)
elseif wanted ~= 0 and limit ~= 0 and wanted ~= limit then
	return { EEXIST, limit }
end
refresh(ALL)

-- L4: under the same id, the same lease or the same place. The token is an id, too: of a question that is asked
-- again because its answer was lost.
local known, c = token, get(token)
if not c and request ~= '' then
	known = call('HGET', STATE, 'r' .. request)
	c = known and get(known)
end
if c then
	local answer
	if c.state == WAITING and silence == 0 then
		refused = refused + 1
		save()
		return EAGAIN
	end
	if not string.find(c.channel, channel, 1, true) and #c.channel < 1000 then
		c.channel = c.channel .. ' ' .. channel
	end
	if c.state == HOLDING then
		put(known, c, c.expires)
		answer = lease_of(known, c)
	else
		put(known, c, now + silence)
		answer = place(known)
	end
	save()
	return answer
end

c = { state = 0, weight = weight, ttl = ttl, max_hold = max_hold, since = now, ticket = 0, fence = 0, slot = 0,
	expires = 0, hard_end = 0, owner = owner, request = request, channel = channel }
local answer
if limit ~= 0 and weight > limit then
	answer = { E2BIG, limit }
elseif waiting == 0 and fits(weight) then
	grant(token, c)
	answer = lease_of(token, c)
elseif silence == 0 then
	refused = refused + 1
	answer = EAGAIN
elseif waiting >= most then
	refused = refused + 1
	answer = ENOBUFS
else
	waiting = waiting + 1
	ticket = ticket + 1
	c.state, c.ticket = WAITING, ticket
	write(token, c)
	call('ZADD', TIMES, ticket - ALL, 'q' .. token, now + silence, token)
	listed = listed + 1
	first = math.min(first, now + silence)
	answer = place(token)
end
if request ~= '' and (c.state == WAITING or c.state == HOLDING) then
	call('HSET', STATE, 'r' .. request, token)
end
save()
return answer
