-- The rest of the head, and what it is to write it and to tell somebody.

-- The answers that are errors, as the client's system numbers them.
local ENOENT, E2BIG, EAGAIN, EEXIST, ENOBUFS, ESTALE = -2, -7, -11, -17, -105, -116
local ALL, MANY = 2 ^ 53, 256

-- low: the bytes of slots before this one are full. listed: how many tokens are among the times. slowest: the longest
-- wait.
local held, waiting, low, listed, slots = 0, 0, 1, 0, ''
local ticket, after_wait, refused, expired, renewals_failed, slowest = 0, 0, 0, 0, 0, 0
if stored then
	ticket, after_wait, refused, expired, renewals_failed, slowest = struct.unpack('<dddddd', stored, at)
	if lone == 0 and #stored >= at + 48 then
		held, waiting, low, listed = struct.unpack('<dddd', stored, at + 48)
		slots = string.sub(stored, at + 80)
	end
end

-- A claim: state (1 waits, 2 holds), since, ticket, fence, slot, expires, hard_end (0: none); weight, ttl, max_hold;
-- owner, request id, channel.
local CLAIM = '<ddddddddddsss'

-- A function that is given all is made faster than one that knows it.
local function pack_head(rest, ...)
	return struct.pack('<ddddddddddsdddddd', ...) .. rest
end

local function pack_rest(held, waiting, low, listed, slots)
	return struct.pack('<dddd', held, waiting, low, listed) .. slots
end

-- Those who had to wait are counted in four classes to each doubling, as weir__wait_class() has them.
local function wait_class(wait)
	if wait < 4 then
		return math.floor(wait)
	end
	local fraction, exponent = math.frexp(wait)
	return math.min((exponent - 2) * 4 + math.floor(fraction * 8) - 4, 127)
end

-- L8: those concerned are told, and nobody else: g(ranted), with the whole lease, l(ost), h(eavier than the limit).
-- Most often that is one agent; several if they asked under the same id.
local function tell(channels, message)
	for channel in string.gmatch(channels, '%S+') do
		redis.call('PUBLISH', channel, message)
	end
end

-- What a lease is to its holder.
local function lease(token, weight, slot, fence, left, hard_left, ttl)
	return struct.pack('<c16dddddd', token, weight, slot, fence, left, hard_left, ttl)
end
