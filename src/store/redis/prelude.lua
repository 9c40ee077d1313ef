-- The beginning of each script: the head of the record, and what time it is.
--
-- A script is put together of: this file; the short way for its verb, if it has one; the rule book; the verb.
-- The short way is for what happens most, a permit that is free and one that nobody waits for, and returns
-- before the functions of the book are even made, which would take longer than all the rest.
--
-- KEYS, all of one name and so of one hash slot:
--   1 head    string: the numbers below, the server's identity, which slots are taken
--   2 claims  hash: "t" .. token -> the claim, packed;  "r" .. request id -> token
--   3 times   sorted set: token -> when it expires (holders) or has been silent for too long (waiters)
--   4 queue   sorted set: token -> ticket
--   5 waits   hash: class -> how many have waited so long
-- ARGV: what the client knows of an earlier server (doubt.c): + (nothing was lost) or -, and its identity; identity of
-- the server as the client knows it; how long nobody may be granted under a name that is new (-1: nor need anybody
-- wait because the server is another one); and what the verb needs.
--
-- Times are microseconds of the server's clock, read here (L10), and never run backwards for a name. An idle
-- semaphore is its head and its waits. No key ever expires, so none can shorten a lease.

local call = redis.call
local HEAD, CLAIMS, TIMES, QUEUE, WAITS = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local DOUBT, IDENTITY, CAUTION = ARGV[1], ARGV[2], tonumber(ARGV[3])

-- The answers that are errors, as the client's system numbers them.
local ENOENT, E2BIG, EAGAIN, EEXIST, EXDEV, ENOBUFS, ESTALE = -2, -7, -11, -17, -18, -105, -116

-- The head: 18 numbers, identity; after that come the slots. A claim: state (1 waits, 2 holds), weight, ttl,
-- max_hold, since, ticket, fence, slot, expires, hard_end (0: none); owner, request id, channel.
local FORMAT = '>dddddddddddddddddds'
local CLAIM = '>ddddddddddsss'

-- first: nothing expires before. seen, ahead: the clock, below. longest: the longest TTL ever granted.
-- closed: nobody is granted before. low: the bytes of slots before this one are full. slowest: the longest wait.
local limit, held, holders, waiting, fence, ticket, first, seen, ahead, longest, closed, low,
	at_once, after_wait, refused, expired, renewals_failed, slowest, identity, slots_at
local slots

local stored = call('GET', HEAD)
if stored then
	limit, held, holders, waiting, fence, ticket, first, seen, ahead, longest, closed, low,
		at_once, after_wait, refused, expired, renewals_failed, slowest, identity, slots_at =
		struct.unpack(FORMAT, stored)
	slots = string.sub(stored, slots_at)
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
