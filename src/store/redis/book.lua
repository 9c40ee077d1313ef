-- The rule book, src/lease/rules.c, in the engine's own language.

local WAITING, HOLDING = 1, 2

local function save()
	local rest = ''
	if holders > 0 or waiting > 0 then
		rest = pack_rest(held, waiting, low, listed, slots)
	else
		first = ALL
	end
	call('HSET', STATE, 'h', pack_head(rest, fence, seen, at_once, holders, 0, first, limit, ahead, longest, closed,
		identity, ticket, after_wait, refused, expired, renewals_failed, slowest))
end

local function create(new_limit)
	fence, seen, at_once, holders, lone, first = 0, now, 0, 0, 0, ALL
	limit, ahead, longest, closed, identity = new_limit, 0, 0, 0, IDENTITY
	if CAUTION > 0 then
		closed = now + CAUTION
	end
end

local function get(token)
	local packed = call('HGET', STATE, 't' .. token)
	if not packed then
		return nil
	end
	local state, since, ticket, fence, slot, expires, hard_end, weight, ttl, max_hold, owner, request, channel =
		struct.unpack(CLAIM, packed)
	-- All at once: a table that grows field by field is made anew again and again.
	return { state = state, weight = weight, ttl = ttl, max_hold = max_hold, since = since, ticket = ticket,
		fence = fence, slot = slot, expires = expires, hard_end = hard_end, owner = owner, request = request,
		channel = channel }
end

local function write(token, c)
	call('HSET', STATE, 't' .. token, struct.pack(CLAIM, c.state, c.since, c.ticket, c.fence, c.slot, c.expires,
		c.hard_end, c.weight, c.ttl, c.max_hold, c.owner, c.request, c.channel))
end

local function list(token, deadline)
	listed = listed + call('ZADD', TIMES, deadline, token)
end

-- One that was there before.
local function put(token, c, deadline)
	write(token, c)
	if c.state == WAITING then
		list(token, deadline)
	elseif listed > 0 then
		call('ZADD', TIMES, 'XX', deadline, token)
	end
	first = math.min(first, deadline)
end

-- The lowest bit that is clear, and set from now on.
local function slot_take()
	local at = string.find(slots, '[^\255]', low) or #slots + 1
	low = at
	local byte, bit, mask = string.byte(slots, at) or 0, 0, 1
	while byte % (mask + mask) >= mask do
		bit, mask = bit + 1, mask + mask
	end
	slots = string.sub(slots, 1, at - 1) .. string.char(byte + mask) .. string.sub(slots, at + 1)
	return (at - 1) * 8 + bit
end

local function slot_free(slot)
	local at = math.floor(slot / 8) + 1
	low = math.min(low, at)
	slots = string.sub(slots, 1, at - 1) .. string.char(string.byte(slots, at) - 2 ^ (slot % 8)) ..
		string.sub(slots, at + 1)
end

local function fits(weight)
	return held + weight <= limit and now >= closed
end

local function lease_of(token, c)
	return lease(token, c.weight, c.slot, c.fence, c.expires - now, c.hard_end == 0 and -1 or c.hard_end - now, c.ttl)
end

-- L2: the fence rises with each grant, and past anything that a lost head may have given.
local function grant(token, c)
	if c.state == WAITING then
		local wait = now - c.since
		waiting = waiting - 1
		call('ZREM', TIMES, token, 'q' .. token)
		listed = listed - 1
		after_wait = after_wait + 1
		slowest = math.max(slowest, wait)
		call('HINCRBY', STATE, 'w' .. wait_class(wait), 1)
	else
		at_once = at_once + 1
	end
	held = held + c.weight
	holders = holders + 1
	fence = math.max(fence + 1, now)
	longest = math.max(longest, c.ttl)
	c.state, c.fence, c.slot, c.since, c.expires = HOLDING, fence, slot_take(), now, now + c.ttl
	if c.max_hold ~= 0 then
		c.hard_end = now + c.max_hold
		c.expires = math.min(c.expires, c.hard_end)
	end
	write(token, c)
	if holders + waiting > MANY then
		list(token, c.expires)
	end
	first = math.min(first, c.expires)
end

local function drop(token, c)
	if c.state == HOLDING then
		held = held - c.weight
		holders = holders - 1
		slot_free(c.slot)
		if holders == 0 then
			slots, low = '', 1
		end
		if listed > 0 then
			listed = listed - call('ZREM', TIMES, token)
		end
	else
		waiting = waiting - 1
		call('ZREM', TIMES, token, 'q' .. token)
		listed = listed - 1
	end
	if c.request == '' then
		call('HDEL', STATE, 't' .. token)
	else
		call('HDEL', STATE, 't' .. token, 'r' .. c.request)
	end
end

-- P3, P4: from the head on, as long as they fit. Whatever may change who fits ends here. Not all that is over need
-- have been dropped, and nobody is granted who has been silent for too long.
local function settle()
	while waiting > 0 do
		local token = string.sub(call('ZRANGE', TIMES, 0, 0)[1], 2)
		local c = get(token)
		if now >= first and tonumber(call('ZSCORE', TIMES, token)) <= now then
			drop(token, c)
		elseif not fits(c.weight) then
			return
		else
			grant(token, c)
			tell(c.channel, 'g' .. lease_of(token, c))
		end
	end
end

-- The lease in the head becomes one like others.
local function unfold()
	local token, said = string.sub(stored, at + 48, at + 63), string.sub(stored, at + 64)
	local weight, ttl, max_hold, owner, request, channel = struct.unpack('<dddsss', said)
	write(token, { state = HOLDING, weight = weight, ttl = ttl, max_hold = max_hold, since = lone, ticket = 0,
		fence = fence, slot = 0, expires = first, hard_end = max_hold == 0 and 0 or lone + max_hold, owner = owner,
		request = request, channel = channel })
	held, slots, lone = weight, '\1', 0
end

local function list_all()
	local all = call('HGETALL', STATE)
	for i = 1, #all, 2 do
		local token = string.match(all[i], '^t(.*)')
		if token then
			local state, _, _, _, _, expires = struct.unpack('<dddddd', all[i + 1])
			if state == HOLDING then
				list(token, expires)
			end
		end
	end
end

-- L9: what every operation begins with. Drops up to `max` of the leases that are over, and those who have been
-- silent for too long, and returns how many leases expired. The verb saves the head afterwards.
local function refresh(max)
	local dropped, leases = 0, 0
	if lone > 0 then
		unfold()
	end
	if (now >= first or holders + waiting >= MANY) and holders + waiting > listed then
		list_all()
	end
	if now >= first then
		local next = call('ZRANGE', TIMES, waiting, waiting, 'WITHSCORES')
		while next[1] and tonumber(next[2]) <= now and leases < max do
			local c = get(next[1])
			drop(next[1], c)
			dropped = dropped + 1
			if c.state == HOLDING then
				leases = leases + 1
				tell(c.channel, 'l' .. next[1])
			end
			next = call('ZRANGE', TIMES, waiting, waiting, 'WITHSCORES')
		end
		first = tonumber(next[2] or ALL)
	end
	expired = expired + leases
	-- Something may have been lost: nobody is granted until the longest of those leases must be over.
	if identity ~= IDENTITY then
		if CAUTION >= 0 and string.sub(DOUBT, 1, 1) ~= '+' then
			closed = math.max(closed, now + longest)
		end
		identity = IDENTITY
	end
	local opened = closed ~= 0 and now >= closed
	if opened then
		closed = 0
	end
	if dropped > 0 or opened then
		settle()
	end
	return leases
end

local function holding(token)
	local c = get(token)
	return c and c.state == HOLDING and c
end

-- Of a waiter: that it waits; and, if it is next, after how long to look again because a lease expires then.
local function place(token)
	local again = -1
	if call('ZRANGE', TIMES, 0, 0)[1] == 'q' .. token then
		again = math.max(math.min(first, closed > now and closed or ALL) - now, 0)
	end
	return { 1, token, again }
end

local function end_lease(token, event)
	if not stored then
		return ENOENT
	end
	refresh(ALL)
	local c = holding(token)
	if c then
		drop(token, c)
		if event then
			tell(c.channel, event .. token)
		end
		settle()
	end
	save()
	return c and 0 or ESTALE
end
