-- The beginning of each script: the head of the record, and what time it is.
--
-- A script is put together of: this file; the short ways for its verb, if it has any; the rest of the head; the way
-- to the next in line, if the verb has one; the rule book; the verb. Short ways are for what happens most, a permit
-- that is free and one that nobody waits for, and return before anything is read, or a function made, that they can
-- do without. What a server takes for a call is most of all strings and numbers that come and go: hence few
-- arguments, what changes together packed together, and answers that are not tables.
--
-- KEYS, both of one name and so of one hash slot:
--   1 state   hash: "h" -> the head, below; "t" .. token -> a claim, packed; "r" .. request id -> token;
--             "w" .. class -> how many have waited so long
--   2 times   sorted set: token -> when it expires (holders) or has been silent for too long (waiters);
--             "q" .. token -> its ticket, less ALL, so that those who wait come first, in their order
-- ARGV: the identity of the server as the client knows it, and, if there is more to say, a blank, how long nobody may
-- be granted under a name that is new (-1: nor need anybody wait because the server is another one), and what the
-- client knows of an earlier server (doubt.c): + (nothing was lost) or -, and its identity. Then what the verb needs.
--
-- Times are microseconds of the server's clock, read here (L10), and never run backwards for a name. No key ever
-- expires, so none can shorten a lease.
--
-- THE HEAD: fence, seen, at_once, holders, lone, first; limit, ahead, longest, closed, identity; ticket and counters;
-- and unless nobody holds or waits: held, waiting, low, listed, slots. The first six numbers are all that a short way
-- changes. A lease that is the only one and came that way is not in the hash, but in the head instead of what comes
-- last: `lone` is since when, `first` until when, and there is the token, and what the client said of it.
--
-- LISTED: waiters are among the times; a holder need not be, unless there are MANY. Then `first` is enough to know
-- that nothing is over yet, and when something may be, all are listed.

local call = redis.call
local STATE, TIMES, WHO = KEYS[1], KEYS[2], ARGV[1]

-- seen, ahead: the clock, below. first: nothing is over before. longest: the longest TTL ever granted.
-- closed: nobody is granted before. `at` is where the tickets begin in the head.
local fence, seen, at_once, holders, lone, first, limit, ahead, longest, closed, identity, at
local stored = call('HGET', STATE, 'h')
if stored then
	fence, seen, at_once, holders, lone, first, limit, ahead, longest, closed, identity, at =
		struct.unpack('<dddddddddds', stored)
end

-- Another server than the one that answered last under this name may not know every lease that one has granted.
-- Whoever asks is to find out first (EXDEV).
local IDENTITY, CAUTION, DOUBT = WHO, 0, ''
if identity ~= WHO then
	IDENTITY, CAUTION, DOUBT = string.match(WHO, '^(%S*) ?(%-?%d*)(.*)$')
	CAUTION = tonumber(CAUTION) or 0
	if stored and identity ~= IDENTITY and CAUTION >= 0 and longest > 0 and string.sub(DOUBT, 2) ~= identity then
		return { -18, identity }
	end
end

-- The server's clock may be set back. Then it goes on from where it was: `ahead` is what it is short of.
local time = call('TIME')
local now = time[1] * 1000000 + time[2]
local plain = false
if stored then
	plain = now >= seen and identity == IDENTITY
	if now < seen then
		ahead = ahead + seen - now
	end
	seen = now
	now = now + ahead
end
