-- The operations. Each is one call and locks the row of its semaphore before it looks at anything.
--
-- server: identity and incarnation, as the client knows them from the connection; NULL if it cannot know.
-- caution: how long nobody may be granted under a name that is new; -1: nor need anybody wait because the server is
-- another one. Answers are arrays of numbers; the first is 0 or more, or an error as the client's system numbers them:
-- -2 no such semaphore, -7 too heavy, -11 full, -17 another limit, -105 too many wait, -116 no such lease.

CREATE OR REPLACE FUNCTION @schema@.hello(OUT version integer, OUT server text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, @schema@, pg_temp AS $$
DECLARE
	s store;
	identity_ text;
	longest_ bigint;
BEGIN
	server := whereabouts();
	identity_ := split_part(server, ' ', 1);
	SELECT * INTO s FROM store;
	version := s.version;
	IF s.identity <> identity_ THEN
		SELECT max(longest) INTO longest_ FROM semaphore WHERE longest > 0;
		UPDATE store SET identity = identity_, closed = greatest(closed, clock() + longest_)
		WHERE identity <> identity_;
	ELSIF s.closed > 0 AND s.closed <= clock() THEN
		-- Nor is it again when the clock is set back.
		UPDATE store SET closed = 0 WHERE closed = s.closed;
	END IF;
END $$;

CREATE OR REPLACE FUNCTION @schema@.ensure(p_name text, p_server text, caution bigint,
	p_limit integer) RETURNS bigint[]
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, @schema@, pg_temp AS $$
BEGIN
	IF EXISTS (SELECT FROM semaphore WHERE name = p_name) THEN
		RETURN ARRAY[0];
	END IF;
	RETURN ARRAY[make(p_name, p_server, caution, p_limit)::integer];
END $$;

CREATE OR REPLACE FUNCTION @schema@.set_limit(p_name text, p_server text, caution bigint,
	p_limit integer) RETURNS bigint[]
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, @schema@, pg_temp AS $$
DECLARE
	h semaphore;
	w waiter;
	now bigint;
BEGIN
	h := start(p_name, p_server, caution);
	IF h.id IS NULL THEN
		RETURN ARRAY[-2];
	END IF;
	now := h.seen + h.ahead;
	h.permits := p_limit;
	FOR w IN SELECT * FROM waiter WHERE sem = h.id AND p_limit > 0 AND weight > p_limit ORDER BY ticket LOOP
		DELETE FROM waiter WHERE sem = h.id AND ticket = w.ticket;
		h.waiting := h.waiting - 1;
		PERFORM tell('h', w.token, w.channels, NULL);
	END LOOP;
	h := settle(h, now);
	PERFORM save(h);
	RETURN ARRAY[0];
END $$;

-- The short ways. What happens most, acquire and release, is tried with as few statements and expressions as there
-- can be, for each costs; and whatever is not as usual goes the way of rules.sql.
--
-- They run with the rights of the schema's owner, but setting a search_path for each call would cost as much as the
-- update of a row. So they go the short way only if the caller's is the one that all functions here have, and have
-- looked at nothing before that could mean something else with another one: names in the first statement are
-- qualified, and the types of variables are words of the language.
--
-- *reading* is the clock before the row is locked. What is done then counts as done at that time: nothing has been
-- done later, for the row was last changed when the clock was not past it (seen <= reading). Only what a lease lasts
-- counts from when the lock was had (L10), so acquire looks again: the server evaluates SET anew only if whoever had
-- the lock has changed the row.

-- There is a sole lease, and whoever asks must wait until it is over. The answer is that of place(); NULL: the case
-- is another one, and nothing has changed.
CREATE OR REPLACE FUNCTION @schema@.queue_up(p_name text, p_server text, p_limit integer, p_weight integer, p_ttl bigint,
	silence bigint, max_waiting integer, p_owner text, p_channel text, p_token uuid, reading bigint) RETURNS bigint[]
LANGUAGE plpgsql AS $$
DECLARE
	p_sem bigint;
	p_ticket bigint;
	now bigint;
	next bigint;
BEGIN
	UPDATE semaphore SET seen = reading, waiting = waiting + 1, ticket = ticket + 1, calm = 0,
		front = CASE WHEN waiting = 0 THEN ticket + 1 ELSE front END,
		first = least(first, nullif(calm, 0), reading + ahead + silence)
	WHERE name = p_name AND sole IS NOT NULL AND silence > 0 AND waiting < max_waiting AND closed = 0
		AND (waiting > 0 OR sole_weight + p_weight > permits) AND p_weight <= permits AND wary <= reading + ahead
		AND reading + ahead < least(first, nullif(calm, 0), sole_expires) AND seen <= reading
		AND permits = coalesce(p_limit, permits) AND server = p_server
	RETURNING id, ticket, reading + ahead, CASE WHEN waiting = 1 THEN least(first, sole_expires) END
	INTO p_sem, p_ticket, now, next;
	IF NOT FOUND THEN
		RETURN NULL;
	END IF;
	INSERT INTO waiter VALUES (p_sem, p_ticket, p_token, p_weight, p_ttl, 0, now, now + silence, p_owner, NULL, p_channel);
	RETURN ARRAY[1, p_ticket, coalesce(next - now, -1)];
END $$;

-- A permit is free, nobody waits, nothing is to be dropped, no id to look up. The answer is 0, slot, fence. limit: NULL
-- if none is insisted on.
CREATE OR REPLACE FUNCTION @schema@.acquire(p_name text, p_server text, caution bigint, p_limit integer,
	p_weight integer, p_ttl bigint, silence bigint, max_waiting integer, p_owner text, p_channel text, p_token uuid)
RETURNS bigint[] LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
	reading bigint;
	late bigint;
	now bigint;
	p_sem bigint;
	p_slot integer;
	p_fence bigint;
BEGIN
	IF pg_catalog.current_setting('search_path') OPERATOR(pg_catalog.<>) 'pg_catalog, @schema@, pg_temp' THEN
		RETURN @schema@.request(p_name, p_server, caution, coalesce(p_limit, 0), p_weight, p_ttl, 0, silence, max_waiting,
			p_owner, NULL, p_channel, p_token, 0);
	END IF;
	reading := (date_part('epoch', clock_timestamp()) * 1000000)::bigint;
	UPDATE semaphore SET seen = reading, fence = fence + 1, sole = p_token, sole_weight = p_weight, sole_ttl = p_ttl,
		sole_expires = reading + ahead + p_ttl, sole_owner = p_owner, sole_channels = p_channel
	WHERE name = p_name AND sole IS NULL AND held = 0 AND reading + ahead < calm AND seen <= reading AND p_weight <= permits
		AND permits = coalesce(p_limit, permits) AND longest >= p_ttl AND server = p_server
	RETURNING fence, (date_part('epoch', clock_timestamp()) * 1000000)::bigint - reading INTO p_fence, late;
	IF late < 1000 THEN
		RETURN ARRAY[0, 0, p_fence];
	ELSIF FOUND THEN
		UPDATE semaphore SET seen = seen + late, sole_expires = sole_expires + late WHERE name = p_name;
		RETURN ARRAY[0, 0, p_fence];
	END IF;
	UPDATE semaphore SET seen = reading, held = held + p_weight, taken = low,
		low = CASE WHEN low >= length(slots) THEN low + 1 ELSE next_slot(slots, low) END, fence = fence + 1,
		calm = least(calm, reading + ahead + p_ttl),
		slots = CASE WHEN low >= length(slots) THEN slots || B'1' ELSE set_bit(slots, low, 1) END
	WHERE name = p_name AND sole IS NULL AND reading + ahead < calm AND seen <= reading AND held + p_weight <= permits
		AND permits = coalesce(p_limit, permits) AND longest >= p_ttl AND server = p_server
	RETURNING id, taken, fence, greatest(reading, (date_part('epoch', clock_timestamp()) * 1000000)::bigint) + ahead
	INTO p_sem, p_slot, p_fence, now;
	IF NOT FOUND THEN
		RETURN coalesce(queue_up(p_name, p_server, p_limit, p_weight, p_ttl, silence, max_waiting, p_owner, p_channel, p_token,
				reading),
			request(p_name, p_server, caution, coalesce(p_limit, 0), p_weight, p_ttl, 0, silence, max_waiting, p_owner, NULL,
				p_channel, p_token, 0));
	END IF;
	UPDATE holder SET token = p_token, weight = p_weight, fence = p_fence, since = now, expires = now + p_ttl,
		hard_end = 0, ttl = p_ttl, owner = p_owner, channels = p_channel
	WHERE sem = p_sem AND slot = p_slot;
	IF NOT FOUND THEN
		INSERT INTO holder VALUES (p_sem, p_slot, p_token, p_weight, p_fence, now, now + p_ttl, 0, p_ttl, p_owner, NULL,
			p_channel);
	END IF;
	RETURN ARRAY[0, p_slot, p_fence];
END $$;

-- silence: how long it may be silent while it waits, 0: it does not wait. request: NULL if nobody will ask again under
-- the same id. again: the answer to an earlier question was lost, and for so long it may still be on its way.
CREATE OR REPLACE FUNCTION @schema@.request(p_name text, p_server text, caution bigint, p_limit integer,
	p_weight integer, p_ttl bigint, p_max_hold bigint, silence bigint, max_waiting integer, p_owner text,
	p_request text, p_channel text, p_token uuid, again bigint) RETURNS bigint[]
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, @schema@, pg_temp AS $$
DECLARE
	h semaphore;
	c holder;
	w waiter;
	now bigint;
	given record;
	answer bigint[];
BEGIN
	h := enter(p_name);
	IF h.id IS NULL THEN
		IF p_limit = 0 THEN
			RETURN ARRAY[-2];
		END IF;
		PERFORM make(p_name, p_server, caution, p_limit);
		h := enter(p_name);
	END IF;
	IF p_limit <> 0 AND h.permits <> 0 AND p_limit <> h.permits THEN
		RETURN ARRAY[-17, h.permits];
	END IF;
	now := h.seen + h.ahead;
	h := refresh(h, now, p_server, caution, 2147483647);

	-- L4: under the same id, the same lease or the same place. The token is an id, too: of a question that is asked
	-- again because its answer was lost.
	IF again > 0 THEN
		h.wary := greatest(h.wary, now + again);
	END IF;
	IF now < h.wary THEN
		c := holding(h, p_token, 2147483647);
		SELECT * INTO w FROM waiter WHERE token = p_token AND sem = h.id;
	END IF;
	IF p_request IS NOT NULL AND c.token IS NULL AND w.token IS NULL THEN
		SELECT * INTO c FROM holder WHERE sem = h.id AND request = p_request;
		SELECT * INTO w FROM waiter WHERE sem = h.id AND request = p_request;
	END IF;
	IF c.token IS NOT NULL THEN
		IF strpos(c.channels, p_channel) = 0 AND length(c.channels) < 1000 THEN
			UPDATE holder SET channels = c.channels || ' ' || p_channel WHERE sem = h.id AND slot = c.slot;
		END IF;
		PERFORM save(h);
		RETURN lease(c, now) || halves(c.token);
	ELSIF w.token IS NOT NULL AND silence = 0 THEN
		h.refused := h.refused + 1;
		PERFORM save(h);
		RETURN ARRAY[-11];
	ELSIF w.token IS NOT NULL THEN
		IF strpos(w.channels, p_channel) = 0 AND length(w.channels) < 1000 THEN
			w.channels := w.channels || ' ' || p_channel;
		END IF;
		UPDATE waiter SET silent = now + silence, channels = w.channels WHERE sem = h.id AND ticket = w.ticket;
		h.first := least(h.first, now + silence);
		PERFORM save(h);
		RETURN place(h, w.ticket, now) || halves(w.token);
	END IF;

	IF h.permits <> 0 AND p_weight > h.permits THEN
		answer := ARRAY[-7, h.permits];
	ELSIF h.waiting = 0 AND h.held + p_weight <= h.permits AND now >= h.closed THEN
		c.token := p_token;
		c.weight := p_weight;
		c.ttl := p_ttl;
		c.owner := p_owner;
		c.request := p_request;
		c.channels := p_channel;
		given := give(h, c, now, p_max_hold);
		h := given.h;
		answer := lease(given.c, now);
	ELSIF silence = 0 THEN
		h.refused := h.refused + 1;
		answer := ARRAY[-11];
	ELSIF h.waiting >= max_waiting THEN
		h.refused := h.refused + 1;
		answer := ARRAY[-105];
	ELSE
		h.ticket := h.ticket + 1;
		IF h.waiting = 0 THEN
			h.front := h.ticket;
		END IF;
		h.waiting := h.waiting + 1;
		h.first := least(h.first, now + silence);
		INSERT INTO waiter VALUES (h.id, h.ticket, p_token, p_weight, p_ttl, p_max_hold, now, now + silence, p_owner,
			p_request, p_channel);
		answer := place(h, h.ticket, now);
	END IF;
	PERFORM save(h);
	RETURN answer;
END $$;

-- For each token ten numbers: the lease, that it waits, or that it is gone.
CREATE OR REPLACE FUNCTION @schema@.poll(p_name text, p_server text, caution bigint, silence bigint,
	tokens uuid[]) RETURNS bigint[]
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, @schema@, pg_temp AS $$
DECLARE
	h semaphore := enter(p_name);
	kept semaphore := h;
	c holder;
	now bigint;
	p_ticket bigint;
	p_token uuid;
	one bigint[];
	answers bigint[] := '{}';
BEGIN
	IF h.id IS NOT NULL THEN
		now := h.seen + h.ahead;
		-- Asking is a sign of life, so it comes before anything is dropped for silence.
		UPDATE waiter SET silent = now + silence
		WHERE token = ANY (tokens) AND sem = h.id AND silent > now AND silent < now + silence / 2;
		h := refresh(h, now, p_server, caution, 2147483647);
	END IF;
	FOREACH p_token IN ARRAY tokens LOOP
		one := ARRAY[-116];
		SELECT ticket INTO p_ticket FROM waiter WHERE token = p_token AND sem = h.id;
		IF FOUND THEN
			one := place(h, p_ticket, now);
		ELSE
			c := holding(h, p_token, 2147483647);
			IF c.token IS NOT NULL THEN
				one := lease(c, now);
			END IF;
		END IF;
		answers := answers || one || array_fill(0::bigint, ARRAY[10 - cardinality(one)]);
	END LOOP;
	IF h IS DISTINCT FROM kept THEN
		PERFORM save(h);
	END IF;
	RETURN answers;
END $$;

CREATE OR REPLACE FUNCTION @schema@.withdraw(p_name text, p_server text, caution bigint,
	p_token uuid, timed_out integer, p_channel text) RETURNS bigint[]
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, @schema@, pg_temp AS $$
DECLARE
	h semaphore;
	c holder;
	w waiter;
	now bigint;
	others text;
BEGIN
	h := start(p_name, p_server, caution);
	IF h.id IS NULL THEN
		RETURN ARRAY[1];
	END IF;
	now := h.seen + h.ahead;
	SELECT * INTO w FROM waiter WHERE token = p_token AND sem = h.id;
	IF FOUND THEN
		others := array_to_string(array_remove(string_to_array(w.channels, ' '), p_channel), ' ');
		IF others <> '' THEN
			UPDATE waiter SET channels = others WHERE sem = h.id AND ticket = w.ticket;
		ELSE
			DELETE FROM waiter WHERE sem = h.id AND ticket = w.ticket;
			h.waiting := h.waiting - 1;
			h.refused := h.refused + timed_out;
			h := settle(h, now);
		END IF;
	ELSE
		c := holding(h, p_token, 2147483647);
	END IF;
	PERFORM save(h);
	RETURN CASE WHEN c.token IS NULL THEN ARRAY[1] ELSE lease(c, now) END;
END $$;

-- Extends to now + ttl, or as far as it may be held; never shortens. ttl 0 only looks.
CREATE OR REPLACE FUNCTION @schema@.renew(p_name text, p_server text, caution bigint, p_token uuid,
	p_slot integer, p_ttl bigint) RETURNS bigint[]
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, @schema@, pg_temp AS $$
DECLARE
	h semaphore;
	c holder;
	now bigint;
	until bigint;
BEGIN
	h := start(p_name, p_server, caution);
	IF h.id IS NULL THEN
		RETURN ARRAY[-2];
	END IF;
	now := h.seen + h.ahead;
	c := holding(h, p_token, p_slot);
	IF c.token IS NULL THEN
		h.renewals_failed := h.renewals_failed + 1;
		PERFORM save(h);
		RETURN ARRAY[-116];
	END IF;
	until := CASE WHEN c.hard_end = 0 THEN now + p_ttl ELSE least(now + p_ttl, c.hard_end) END;
	IF until > c.expires THEN
		c.expires := until;
		IF p_ttl > h.longest THEN
			PERFORM keep(h.server);
			h.longest := p_ttl;
		END IF;
		UPDATE holder SET expires = until WHERE sem = h.id AND slot = c.slot;
	END IF;
	PERFORM save(h);
	RETURN lease(c, now);
END $$;

-- A sole lease is given back while others wait, and the head of the queue can be the next sole one: nobody else fits
-- beside it. Whether it is; nothing has changed if not. Rows are not read as such, for that costs more than variables.
CREATE OR REPLACE FUNCTION @schema@.hand_over(p_name text, p_server text, p_token uuid, reading bigint) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
	now bigint;
	p_sem bigint;
	p_front bigint;
	p_fence bigint;
	until bigint;
	p_ahead bigint;
	p_longest bigint;
	p_permits integer;
	p_waiting integer;
	next uuid;
	p_weight integer;
	p_ttl bigint;
	p_owner text;
	channel text;
	wait bigint;
BEGIN
	SELECT id, front, fence + 1, least(first, sole_expires), ahead, longest, permits, waiting
	INTO p_sem, p_front, p_fence, until, p_ahead, p_longest, p_permits, p_waiting
	FROM semaphore
	WHERE name = p_name AND sole = p_token AND waiting > 0 AND closed = 0 AND seen <= reading AND server = p_server
	FOR UPDATE;
	now := greatest(reading, (date_part('epoch', clock_timestamp()) * 1000000)::bigint) + p_ahead;
	IF NOT FOUND OR now >= until THEN
		RETURN false;
	END IF;
	DELETE FROM waiter
	WHERE sem = p_sem AND ticket = p_front AND weight <= p_permits AND (weight = p_permits OR p_waiting = 1)
		AND ttl <= p_longest AND max_hold = 0 AND request IS NULL AND strpos(channels, ' ') = 0
	RETURNING token, weight, ttl, owner, channels, now - since INTO next, p_weight, p_ttl, p_owner, channel, wait;
	IF NOT FOUND THEN
		RETURN false;
	END IF;
	UPDATE semaphore SET seen = now - p_ahead, fence = p_fence, waiting = p_waiting - 1, front = p_front + 1,
		after_wait = after_wait + 1, slowest = greatest(slowest, wait),
		calm = CASE WHEN p_waiting > 1 OR wary > now THEN 0 ELSE first END,
		sole = next, sole_weight = p_weight, sole_ttl = p_ttl, sole_expires = now + p_ttl, sole_owner = p_owner,
		sole_channels = channel
	WHERE name = p_name;
	-- As tell() and lease() say it. An expression costs less than a statement would.
	RETURN count_wait(p_sem, wait) AND pg_notify(channel, 'g' || replace(next::text, '-', '') || ' 0 ' || p_weight || ' 0 '
		|| p_fence || ' ' || p_ttl || ' -1 ' || p_ttl) IS NOT NULL;
END $$;

-- slot, weight: of the lease; 2147483647 if that is not known. If they are wrong, it is tried again without.
CREATE OR REPLACE FUNCTION @schema@.release(p_name text, p_server text, caution bigint, p_token uuid, p_slot integer,
	p_weight integer) RETURNS bigint[]
LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
	reading bigint;
	p_sem bigint;
BEGIN
	IF pg_catalog.current_setting('search_path') OPERATOR(pg_catalog.<>) 'pg_catalog, @schema@, pg_temp' THEN
		RETURN @schema@.long_release(p_name, p_server, caution, p_token, p_slot);
	END IF;
	reading := (date_part('epoch', clock_timestamp()) * 1000000)::bigint;
	IF p_slot = 0 THEN
		UPDATE semaphore SET seen = reading, sole = NULL
		WHERE name = p_name AND sole = p_token AND reading + ahead < sole_expires AND reading + ahead < calm
			AND seen <= reading AND server = p_server;
		IF FOUND OR hand_over(p_name, p_server, p_token, reading) THEN
			RETURN ARRAY[0];
		END IF;
	END IF;
	UPDATE semaphore SET seen = reading, held = held - p_weight,
		low = CASE WHEN held = p_weight THEN 0 ELSE least(low, p_slot) END,
		slots = CASE WHEN held = p_weight THEN B'' ELSE set_bit(slots, p_slot, 0) END
	WHERE name = p_name AND sole IS NULL AND reading + ahead < calm AND seen <= reading AND server = p_server
		AND p_slot < length(slots)
	RETURNING id INTO p_sem;
	IF FOUND THEN
		UPDATE holder SET token = NULL, request = NULL
		WHERE sem = p_sem AND slot = p_slot AND token = p_token AND weight = p_weight;
		IF NOT FOUND THEN
			RAISE EXCEPTION 'no such lease in slot %', p_slot USING ERRCODE = 'WE001';
		END IF;
		RETURN ARRAY[0];
	END IF;
	RETURN finish(p_name, p_server, caution, p_token, p_slot, false);
END $$;

-- For a caller with another search_path.
CREATE OR REPLACE FUNCTION @schema@.long_release(p_name text, p_server text, caution bigint, p_token uuid, p_slot integer)
RETURNS bigint[]
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, @schema@, pg_temp AS $$
BEGIN
	RETURN finish(p_name, p_server, caution, p_token, p_slot, false);
END $$;

CREATE OR REPLACE FUNCTION @schema@.evict(p_name text, p_server text, caution bigint, p_token uuid)
RETURNS bigint[]
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, @schema@, pg_temp AS $$
BEGIN
	RETURN finish(p_name, p_server, caution, p_token, 2147483647, true);
END $$;

-- Housekeeping: drops up to *most* of the leases that are over, and forgets slots that nobody uses. cadence: does
-- nothing if somebody has done it less long ago.
CREATE OR REPLACE FUNCTION @schema@.reap(p_server text, caution bigint, most bigint, cadence bigint)
RETURNS bigint[]
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, @schema@, pg_temp AS $$
DECLARE
	h semaphore;
	due text;
	reaped_ bigint := 0;
	before bigint;
	reading bigint := clock();
BEGIN
	IF cadence > 0 THEN
		UPDATE store SET reaped = reading WHERE reaped <= reading - cadence OR reaped > reading;
		IF NOT FOUND THEN
			RETURN ARRAY[0];
		END IF;
	END IF;
	-- In the order of names, as every transaction that locks several.
	FOR due IN SELECT name FROM semaphore
		WHERE first <= reading + ahead OR (sole IS NOT NULL AND sole_expires <= reading + ahead) ORDER BY name
	LOOP
		EXIT WHEN reaped_ >= most;
		h := enter(due);
		CONTINUE WHEN h.id IS NULL;
		before := h.expired;
		h := refresh(h, h.seen + h.ahead, p_server, caution, most - reaped_);
		reaped_ := reaped_ + h.expired - before;
		IF h.held = 0 THEN
			DELETE FROM holder WHERE sem = h.id AND slot >= 64;
		END IF;
		PERFORM save(h);
	END LOOP;
	RETURN ARRAY[reaped_];
END $$;

CREATE OR REPLACE FUNCTION @schema@.names(beyond text, most integer) RETURNS SETOF text
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, @schema@, pg_temp AS $$
BEGIN
	RETURN QUERY SELECT name FROM semaphore WHERE name > beyond ORDER BY name LIMIT most;
END $$;

-- kind 0: the semaphore; 1: how many have waited how long; 2: holders; 3: waiters, in order. In one statement, so that
-- all are of one moment.
CREATE OR REPLACE FUNCTION @schema@.list(p_name text, p_server text, caution bigint)
RETURNS TABLE (kind integer, numbers bigint[], token uuid, owner text, request text)
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, @schema@, pg_temp AS $$
#variable_conflict use_column
DECLARE
	h semaphore;
	now bigint;
BEGIN
	SELECT * INTO h FROM semaphore WHERE name = p_name;
	h := look_at_clock(h);
	now := h.seen + h.ahead;
	IF now >= h.first OR (h.closed > 0 AND now >= h.closed) OR (h.sole IS NOT NULL AND now >= h.sole_expires) THEN
		h := start(p_name, p_server, caution);
		now := h.seen + h.ahead;
		PERFORM save(h);
	END IF;
	RETURN QUERY SELECT * FROM (
	SELECT 0 AS kind, ARRAY[now, s.permits, s.held + CASE WHEN s.sole IS NULL THEN 0 ELSE s.sole_weight END,
		(SELECT count(*) FROM lease l WHERE l.name = p_name), s.waiting, s.fence, s.fence - s.after_wait, s.after_wait, s.refused, s.expired,
		s.renewals_failed, s.slowest] AS numbers, NULL::uuid, NULL::text, NULL::text
	FROM semaphore s WHERE s.name = p_name
	UNION ALL SELECT 1, ARRAY[class, waits], NULL, NULL, NULL FROM wait WHERE sem = h.id
	UNION ALL SELECT 2, ARRAY[c.weight, c.slot, c.fence, c.since, c.expires, c.hard_end, c.ttl], c.token, c.owner, c.request
	FROM lease c WHERE c.name = p_name
	UNION ALL SELECT 3, ARRAY[w.weight, w.ticket, w.since], w.token, w.owner, w.request FROM waiter w WHERE w.sem = h.id
	) AS every ORDER BY every.kind, every.numbers[2];
END $$;

-- Lets a role use the store.
CREATE OR REPLACE FUNCTION @schema@.admit(role text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('GRANT USAGE ON SCHEMA @schema@ TO %I', role);
	EXECUTE format('GRANT EXECUTE ON FUNCTION @schema@.hello, @schema@.ensure, @schema@.set_limit, @schema@.acquire, @schema@.request,
		@schema@.poll, @schema@.withdraw, @schema@.renew, @schema@.release, @schema@.evict, @schema@.reap, @schema@.names,
		@schema@.list TO %I', role);
END $$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA @schema@ FROM PUBLIC;
