-- The beginning of each script: the head of the record, and what time it is.
--
-- A script is put together of: this file; the short ways for its verb, if it has any; the rule book; the verb.
-- The short ways are for what happens most, a permit that is free, one that nobody waits for, and one that goes to
-- the next in line, and return before the functions of the book are even made.
--
-- KEYS, all of one name and so of one hash slot:
--   1 state   hash: "h" -> the head: the numbers below, the server's identity, which slots are taken;
--             "t" .. token -> the claim, packed;  "r" .. request id -> token;
--             "w" .. class -> how many have waited so long
--   2 times   sorted set: token -> when it expires (holders) or has been silent for too long (waiters)
--   3 queue   sorted set: token -> ticket
-- ARGV: what the client knows of an earlier server (doubt.c): + (nothing was lost) or -, and its identity; identity of
-- the server as the client knows it; how long nobody may be granted under a name that is new (-1: nor need anybody
-- wait because the server is another one); and what the verb needs, a token last.
--
-- Times are microseconds of the server's clock, read here (L10), and never run backwards for a name. An idle
-- semaphore is its state alone. No key ever expires, so none can shorten a lease.

local call = redis.call
local STATE, TIMES, QUEUE = KEYS[1], KEYS[2], KEYS[3]
local DOUBT, IDENTITY, CAUTION = ARGV[1], ARGV[2], tonumber(ARGV[3])

-- The answers that are errors, as the client's system numbers them.
local ENOENT, E2BIG, EAGAIN, EEXIST, EXDEV, ENOBUFS, ESTALE = -2, -7, -11, -17, -18, -105, -116

-- The head: 18 numbers, identity, lone, slots. A claim: state (1 waits, 2 holds), weight, ttl,
-- max_hold, since, ticket, fence, slot, expires, hard_end (0: none); owner, request id, channel.
local HEAD = '<ddddddddddddddddddsI4c0I4c0'
local CLAIM = '<ddddddddddsss'

-- first: nothing expires before. seen, ahead: the clock, below. longest: the longest TTL ever granted.
-- closed: nobody is granted before. low: the bytes of slots before this one are full. slowest: the longest wait.
-- lone: the token of the only claim there is, which holds until `first` and is not among the times; or empty.
local limit, held, holders, waiting, fence, ticket, first, seen, ahead, longest, closed, low,
	at_once, after_wait, refused, expired, renewals_failed, slowest, identity, lone, slots

-- The head, and the claim that the verb is about, if it is about one.
local found = call('HMGET', STATE, 'h', 't' .. ARGV[#ARGV])
local stored, packed = found[1], found[2]
if stored then
	limit, held, holders, waiting, fence, ticket, first, seen, ahead, longest, closed, low,
		at_once, after_wait, refused, expired, renewals_failed, slowest, identity, lone, slots =
		struct.unpack(HEAD, stored)
	-- Another server than the one that answered last under this name may not know every lease that one has
	-- granted. Whoever asks is to find out first.
	if identity ~= IDENTITY and CAUTION >= 0 and longest > 0 and string.sub(DOUBT, 2) ~= identity then
		return { EXDEV, identity }
	end
end

-- The server's clock may be set back. Then it goes on from where it was: `ahead` is what it is short of.
local time = call('TIME')
local now = time[1] * 1000000 + time[2]
if stored then
	if now < seen then
		ahead = ahead + seen - now
	end
	seen = now
	now = now + ahead
end

-- Those who had to wait are counted in four classes to each doubling, as weir__wait_class() has them.
local function count_wait(wait)
	local class = math.floor(wait)
	if wait >= 4 then
		local fraction, exponent = math.frexp(wait)
		class = math.min((exponent - 2) * 4 + math.floor(fraction * 8) - 4, 127)
	end
	after_wait = after_wait + 1
	slowest = math.max(slowest, wait)
	call('HINCRBY', STATE, 'w' .. class, 1)
end

-- L8: those concerned are told, and nobody else: g(ranted), l(ost), h(eavier than the limit). Most often that is one
-- agent; several if they asked under the same id. A grant's message has the whole lease in it. string.format, since
-- numbers as text have 14 digits only; as arguments of a command they have all.
local function tell(channels, event, token, ...)
	local message = event .. token
	if event == 'g' then
		message = message .. string.format('%d %d %d %d %d %d', ...)
	end
	for channel in string.gmatch(channels, '%S+') do
		call('PUBLISH', channel, message)
	end
end
