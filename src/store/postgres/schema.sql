-- The tables of version 1. @schema@ is the name of the schema, checked and quoted.
--
-- All times are microseconds of the clock of a semaphore: the server's, plus what it was set back by since the
-- semaphore exists. So it never runs backwards. Whatever happens to a semaphore happens with its row locked, and
-- other tables are only touched under that lock.
--
-- No column that an acquire or a release changes is in an index, and pages are left half empty: each new version of
-- a row finds room beside the old one, and the next operation on the page removes what is dead. So nothing grows
-- under churn, whenever the server gets round to a vacuum.
--
-- A lease is a row of holder; but one that is granted while there is no other may be in the row of the semaphore
-- itself, as its SOLE one, so that most acquires and releases change one row. It has slot 0 and the semaphore's
-- fence, and counts neither in held, low, slots nor in first. Whoever has more to do than the short ways of
-- acquire() and release() first makes it one like all others: see enter() in rules.sql.

CREATE TABLE @schema@.store (
	one boolean PRIMARY KEY DEFAULT true CHECK (one),
	version integer NOT NULL,
	identity text NOT NULL, -- of the server that spoke last for the store
	closed bigint NOT NULL DEFAULT 0, -- until then, a name that is new may have been known to another server
	reaped bigint NOT NULL DEFAULT 0 -- when somebody last looked for what is over
);

-- Emptied by the server after a crash and on a replica: then commits that did not wait for the disk may be lost.
CREATE UNLOGGED TABLE @schema@.incarnation (
	one boolean PRIMARY KEY DEFAULT true CHECK (one),
	id uuid NOT NULL DEFAULT gen_random_uuid()
);

CREATE TABLE @schema@.semaphore (
	name text COLLATE "C" PRIMARY KEY,
	id bigint GENERATED ALWAYS AS IDENTITY,
	server text NOT NULL, -- that answered last; see whereabouts() in rules.sql
	permits integer NOT NULL, -- the limit; 0: paused
	longest bigint NOT NULL DEFAULT 0, -- the longest TTL ever granted
	closed bigint NOT NULL DEFAULT 0, -- nobody is granted before
	wary bigint NOT NULL DEFAULT 0, -- until then, a request may come that was given up and sent again
	ahead bigint NOT NULL DEFAULT 0, -- what the server's clock was set back by
	held integer NOT NULL DEFAULT 0,
	waiting integer NOT NULL DEFAULT 0,
	low integer NOT NULL DEFAULT 0, -- the lowest slot that is free
	taken integer NOT NULL DEFAULT 0, -- the slot that was given last
	ticket bigint NOT NULL DEFAULT 0, -- the last one given
	front bigint NOT NULL DEFAULT 0, -- nobody waits with a lower ticket
	first bigint NOT NULL DEFAULT 4611686018427387904, -- nothing expires before that, or calm if that is less and not 0
	calm bigint NOT NULL DEFAULT 0, -- until then nobody waits and nothing is to be thought of; 0: there is
	after_wait bigint NOT NULL DEFAULT 0,
	refused bigint NOT NULL DEFAULT 0,
	expired bigint NOT NULL DEFAULT 0,
	renewals_failed bigint NOT NULL DEFAULT 0,
	slowest bigint NOT NULL DEFAULT 0, -- the longest wait
	slots bit varying NOT NULL DEFAULT B'', -- which are taken
	-- What changes each time is side by side, for the server logs what is between the first and the last difference.
	seen bigint NOT NULL DEFAULT 0, -- the server's clock, when it was last looked at
	fence bigint NOT NULL DEFAULT 0, -- the last one given, and so how many there were
	sole_expires bigint,
	sole_ttl bigint,
	sole_weight integer,
	sole uuid, -- the sole lease's token; NULL: there is none, and the rest of it means nothing
	sole_owner text,
	sole_channels text
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

-- All leases, wherever they are.
CREATE VIEW @schema@.lease AS
SELECT s.name, s.ahead, c.* FROM @schema@.semaphore s JOIN @schema@.holder c ON c.sem = s.id WHERE c.token IS NOT NULL
UNION ALL
SELECT name, ahead, id, 0, sole, sole_weight, fence, sole_expires - sole_ttl, sole_expires, 0, sole_ttl, sole_owner, NULL,
	sole_channels
FROM @schema@.semaphore WHERE sole IS NOT NULL;

CREATE VIEW @schema@.status AS
SELECT name, permits, l.held, round(100.0 * l.held / nullif(permits, 0), 1) AS percent, l.holders, waiting, fence,
	fence - after_wait AS granted_at_once, after_wait AS granted_after_wait, refused, expired, renewals_failed,
	slowest * interval '1 microsecond' AS longest_wait,
	CASE WHEN closed > 0 THEN to_timestamp((closed - ahead) / 1e6) END AS closed_until
FROM @schema@.semaphore s, LATERAL (SELECT coalesce(sum(weight), 0)::integer AS held, count(*) AS holders
	FROM @schema@.lease WHERE lease.name = s.name) l;

CREATE VIEW @schema@.holders AS
SELECT name, slot, owner, weight, fence, to_timestamp((since - ahead) / 1e6) AS since,
	to_timestamp((expires - ahead) / 1e6) AS expires,
	CASE WHEN hard_end > 0 THEN to_timestamp((hard_end - ahead) / 1e6) END AS ends_at_the_latest,
	request AS request_id, left(token::text, 8) AS token
FROM @schema@.lease
WHERE to_timestamp((expires - ahead) / 1e6) > clock_timestamp();

CREATE VIEW @schema@.waiters AS
SELECT s.name, row_number() OVER (PARTITION BY w.sem ORDER BY w.ticket) AS position, w.owner, w.weight,
	to_timestamp((w.since - s.ahead) / 1e6) AS since, w.request AS request_id
FROM @schema@.semaphore s JOIN @schema@.waiter w ON w.sem = s.id;
