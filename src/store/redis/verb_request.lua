
-- limit, weight, ttl, max_hold, how long it may be silent (0: it does not wait), how many may wait, owner, request
-- id, channel, token
local wanted, weight, silence = tonumber(ARGV[4]), tonumber(ARGV[5]), tonumber(ARGV[8])
local request, token = ARGV[11], ARGV[13]

if not stored then
	if wanted == 0 then
		return { ENOENT }
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
		return { EAGAIN }
	end
	if not string.find(c.channel, ARGV[12], 1, true) and #c.channel < 1000 then
		c.channel = c.channel .. ' ' .. ARGV[12]
	end
	if c.state == HOLDING then
		put(known, c, c.expires)
		answer = { 0, lease(known, c) }
	else
		put(known, c, now + silence)
		answer = place(known)
	end
	save()
	return answer
end

c = { state = 0, weight = weight, ttl = tonumber(ARGV[6]), max_hold = tonumber(ARGV[7]), since = now, ticket = 0,
	fence = 0, slot = 0, expires = 0, hard_end = 0, owner = ARGV[10], request = request,
	channel = ARGV[12] }
local answer
if limit ~= 0 and weight > limit then
	answer = { E2BIG, limit }
elseif waiting == 0 and fits(weight) then
	grant(token, c)
	answer = { 0, lease(token, c) }
elseif silence == 0 then
	refused = refused + 1
	answer = { EAGAIN }
elseif waiting >= tonumber(ARGV[9]) then
	refused = refused + 1
	answer = { ENOBUFS }
else
	waiting = waiting + 1
	ticket = ticket + 1
	c.state, c.ticket = WAITING, ticket
	call('ZADD', QUEUE, ticket, token)
	put(token, c, now + silence)
	answer = place(token)
end
if request ~= '' and answer[1] >= 0 then
	call('HSET', STATE, 'r' .. request, token)
end
save()
return answer
