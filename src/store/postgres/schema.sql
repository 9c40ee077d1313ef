-- The tables of version 1. @schema@ is the name of the schema, checked.
--
-- All times are microseconds of the clock of a semaphore: the server's, plus what it was set back by since the
-- semaphore exists. So it never runs backwards. Whatever happens to a semaphore happens with its row locked, and
-- other tables are only touched under that lock.
--
-- No column that an acquire or a release changes is in an index, and pages are left half empty: each new version of
-- a row finds room beside the old one, and the next operation on the page removes what is dead. So nothing grows
-- under churn, whenever the server gets round to a vacuum.
--
-- A lease is a row of holder, and whoever waits is a row of waiter; but a lease that is granted while there is no other
-- may be in the row of the semaphore itself, as its SOLE one, and the first to wait for that as the NEXT one, so that
-- most operations change one row. The sole one has slot 0, the semaphore's fence, and WEIGHT and TTL; the next one
-- asks for the same, and for all permits there are. Whoever has more to do than the short ways of short.sql first
-- makes them rows like all others: see enter() in rules.sql.

CREATE TABLE @schema@.store (
	one boolean PRIMARY KEY DEFAULT true CHECK (one),
	version integer NOT NULL,
	identity text NOT NULL, -- of the server that spoke last for the store
	closed bigint NOT NULL DEFAULT 0, -- until then, a name that is new may have been known to another server
	floor bigint NOT NULL DEFAULT 0, -- the fences of a name that is new begin above, for the same reason
	reaped bigint NOT NULL DEFAULT 0 -- when somebody last looked for what is over
);

-- Emptied by the server after a crash and on a replica: then commits that did not wait for the disk may be lost.
CREATE UNLOGGED TABLE @schema@.incarnation (
	one boolean PRIMARY KEY DEFAULT true CHECK (one),
	id uuid NOT NULL DEFAULT gen_random_uuid()
);

-- What short ways mostly need not look at. One column, for what an update takes is by the column.
CREATE TYPE @schema@.state AS (
	server text, -- that answered last; see whereabouts() in rules.sql
	permits integer, -- the limit; 0: paused
	longest bigint, -- the longest TTL ever granted
	closed bigint, -- nobody is granted before
	wary bigint, -- until then, a request may come that was given up and sent again
	ahead bigint, -- what the server's clock was set back by
	low integer, -- the lowest slot that is free
	taken integer, -- the slot that was given last
	ticket bigint, -- the last one given
	front bigint, -- nobody waits with a lower ticket; the next one's own
	first bigint, -- nothing in a row of its own expires before
	skipped bigint, -- fences that were not given
	after_wait bigint,
	refused bigint,
	expired bigint,
	renewals_failed bigint,
	slowest bigint, -- the longest wait
	good text -- the last terms that were found good; see short.sql
);

-- The times in here are the server's own clock.
CREATE TABLE @schema@.semaphore (
	name text COLLATE "C" PRIMARY KEY,
	id bigint GENERATED ALWAYS AS IDENTITY,
	state @schema@.state NOT NULL,
	slots bit varying NOT NULL DEFAULT B'', -- which are taken, but for the sole one's
	terms text, -- those that weight and ttl are of; empty: none; NULL: somebody waits, or something is to be thought of
	weight integer,
	ttl interval,
	-- What changes each time is side by side, for the server logs what is between the first and the last difference.
	seen timestamptz NOT NULL, -- when it was last looked at
	fence bigint NOT NULL DEFAULT 0, -- the last one given
	expires timestamptz,
	sole uuid, -- the sole lease's token; NULL: there is none, and the rest of it means nothing
	owner text,
	channel text,
	held integer, -- by leases in rows of their own; NULL: there are none
	waiting integer, -- in rows of their own; NULL: nobody
	next uuid, -- the next one's token; NULL: there is none, and the rest of it means nothing
	next_owner text,
	next_channel text,
	next_since timestamptz,
	next_silent timestamptz, -- gone at this time unless heard of before
	next_news text, -- what it will be told
	waited interval, -- how long the last one did that was the next one, unless that is among waits
	waits interval[] NOT NULL DEFAULT '{}' -- that are not in the table wait yet
) WITH (fillfactor = 50);

-- A row for each slot that was ever used; it is free when it has no token.
CREATE TABLE @schema@.holder (
	sem bigint NOT NULL,
	slot integer NOT NULL,
	token uuid,
	weight integer NOT NULL,
	fence bigint NOT NULL,
	since bigint NOT NULL,
	expires bigint NOT NULL,
	hard_end bigint NOT NULL, -- 0: none
	ttl bigint NOT NULL,
	owner text NOT NULL,
	request text, -- NULL: nobody will ask again under the same id
	channels text NOT NULL, -- of the agents to be told
	PRIMARY KEY (sem, slot)
) WITH (fillfactor = 50);
CREATE INDEX holder_request ON @schema@.holder (sem, request) WHERE request IS NOT NULL;

CREATE TABLE @schema@.waiter (
	sem bigint NOT NULL,
	ticket bigint NOT NULL,
	token uuid NOT NULL,
	weight integer NOT NULL,
	ttl bigint NOT NULL,
	max_hold bigint NOT NULL, -- 0: none
	since bigint NOT NULL,
	silent bigint NOT NULL, -- gone at this time unless heard of before
	owner text NOT NULL,
	request text,
	channels text NOT NULL,
	PRIMARY KEY (sem, ticket)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000);
CREATE INDEX waiter_token ON @schema@.waiter (token);
CREATE INDEX waiter_request ON @schema@.waiter (sem, request) WHERE request IS NOT NULL;

-- How many have waited how long: four classes to each doubling of a microsecond.
CREATE TABLE @schema@.wait (
	sem bigint NOT NULL,
	class smallint NOT NULL,
	waits bigint NOT NULL,
	PRIMARY KEY (sem, class)
) WITH (fillfactor = 50);

-- Everything about a semaphore, in the semaphore's own time.
CREATE VIEW @schema@.whole AS
SELECT name, id, (state).server, (state).permits, (state).longest, (state).closed, (state).wary, (state).ahead,
	coalesce(held, CASE WHEN sole IS NULL THEN 0 ELSE weight END) AS held,
	coalesce(waiting, 0) + CASE WHEN next IS NULL THEN 0 ELSE 1 END AS waiting,
	(state).low, (state).ticket, (state).front, (state).first, (state).skipped,
	(state).after_wait + cardinality(waits) + CASE WHEN waited IS NULL THEN 0 ELSE 1 END AS after_wait,
	(state).refused, (state).expired,
	(state).renewals_failed, (state).slowest, -- without waits
	(state).good, slots,
	(date_part('epoch', seen) * 1000000)::bigint AS seen, fence, sole, weight AS sole_weight,
	(date_part('epoch', ttl) * 1000000)::bigint AS sole_ttl,
	(date_part('epoch', expires) * 1000000)::bigint + (state).ahead AS sole_expires, owner AS sole_owner,
	channel AS sole_channel, next, next_owner, next_channel,
	(date_part('epoch', next_since) * 1000000)::bigint + (state).ahead AS next_since,
	(date_part('epoch', next_silent) * 1000000)::bigint + (state).ahead AS next_silent,
	CASE WHEN waited IS NULL THEN waits ELSE waits || waited END AS waits
FROM @schema@.semaphore;

-- All leases, wherever they are.
CREATE VIEW @schema@.lease AS
SELECT s.name, (s.state).ahead, c.* FROM @schema@.semaphore s JOIN @schema@.holder c ON c.sem = s.id WHERE c.token IS NOT NULL
UNION ALL
SELECT name, ahead, id, 0, sole, sole_weight, fence, sole_expires - sole_ttl, sole_expires, 0, sole_ttl, sole_owner, NULL,
	sole_channel
FROM @schema@.whole WHERE sole IS NOT NULL;

-- All who wait, likewise.
CREATE VIEW @schema@.queue AS
SELECT s.name, (s.state).ahead, w.* FROM @schema@.semaphore s JOIN @schema@.waiter w ON w.sem = s.id
UNION ALL
SELECT name, ahead, id, front, next, sole_weight, sole_ttl, 0, next_since, next_silent, next_owner, NULL, next_channel
FROM @schema@.whole WHERE next IS NOT NULL;

-- What is over, or has been silent for too long, stays where it is until somebody looks; views for people are without it.
CREATE VIEW @schema@.status AS
SELECT name, permits, l.held, round(100.0 * l.held / nullif(permits, 0), 1) AS percent, l.holders, q.waiting, fence,
	fence - skipped - after_wait AS granted_at_once, after_wait AS granted_after_wait, refused, expired, renewals_failed,
	greatest(slowest * interval '1 microsecond', (SELECT max(wait) FROM unnest(waits) wait)) AS longest_wait,
	CASE WHEN to_timestamp((closed - ahead) / 1e6) > clock_timestamp() THEN to_timestamp((closed - ahead) / 1e6) END
		AS closed_until
FROM @schema@.whole s, LATERAL (SELECT coalesce(sum(weight), 0)::integer AS held, count(*) AS holders
	FROM @schema@.lease WHERE lease.name = s.name AND to_timestamp((expires - ahead) / 1e6) > clock_timestamp()) l,
	LATERAL (SELECT count(*) AS waiting
	FROM @schema@.queue WHERE queue.name = s.name AND to_timestamp((silent - ahead) / 1e6) > clock_timestamp()) q;

CREATE VIEW @schema@.holders AS
SELECT name, slot, owner, weight, fence, to_timestamp((since - ahead) / 1e6) AS since,
	to_timestamp((expires - ahead) / 1e6) AS expires,
	CASE WHEN hard_end > 0 THEN to_timestamp((hard_end - ahead) / 1e6) END AS ends_at_the_latest,
	request AS request_id, left(token::text, 8) AS token
FROM @schema@.lease
WHERE to_timestamp((expires - ahead) / 1e6) > clock_timestamp();

CREATE VIEW @schema@.waiters AS
SELECT name, row_number() OVER (PARTITION BY sem ORDER BY ticket) AS position, owner, weight,
	to_timestamp((since - ahead) / 1e6) AS since, request AS request_id
FROM @schema@.queue
WHERE to_timestamp((silent - ahead) / 1e6) > clock_timestamp();
