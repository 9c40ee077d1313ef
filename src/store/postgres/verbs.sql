-- The operations; acquire and release are in short.sql. Each is one call and locks the row of its semaphore before it
-- looks at anything.
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
BEGIN
	server := whereabouts();
	identity_ := split_part(server, ' ', 1);
	SELECT * INTO s FROM store;
	version := s.version;
	IF s.identity <> identity_ THEN
		-- L2: past any that was lost, as in refresh(). A store that is new has lost none.
		UPDATE store SET identity = identity_,
			closed = CASE WHEN identity = '' THEN 0 ELSE greatest(closed, clock() + longest_known()) END,
			floor = CASE WHEN identity = '' THEN 0 ELSE greatest(floor, clock()) END
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
	h whole;
	w waiter;
	now bigint;
BEGIN
	h := start(p_name, p_server, caution);
	IF h.id IS NULL THEN
		RETURN ARRAY[-2];
	END IF;
	now := h.seen + h.ahead;
	h.permits := p_limit;
	h.good := NULL;
	FOR w IN SELECT * FROM waiter WHERE sem = h.id AND p_limit > 0 AND weight > p_limit ORDER BY ticket LOOP
		DELETE FROM waiter WHERE sem = h.id AND ticket = w.ticket;
		h.waiting := h.waiting - 1;
		PERFORM tell('h', w.token, w.channels, NULL);
	END LOOP;
	h := settle(h, now);
	PERFORM save(h);
	RETURN ARRAY[0];
END $$;

-- silence: how long it may be silent while it waits, 0: it does not wait. request: NULL if nobody will ask again under
-- the same id. again: the answer to an earlier question was lost, and for so long it may still be on its way.
CREATE OR REPLACE FUNCTION @schema@.request(p_name text, p_server text, caution bigint, p_limit integer,
	p_weight integer, p_ttl bigint, p_max_hold bigint, silence bigint, max_waiting integer, p_owner text,
	p_request text, p_channel text, p_token uuid, again bigint) RETURNS bigint[]
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, @schema@, pg_temp AS $$
DECLARE
	h whole;
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
		IF p_request IS NULL AND p_max_hold = 0 AND p_server IS NOT NULL THEN
			h.good := concat_ws(' ', p_limit, p_weight, p_ttl, p_server);
		END IF;
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
	h whole := enter(p_name);
	kept whole := h;
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
	h whole;
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
	h whole;
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
	h whole;
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
	FOR due IN SELECT name FROM whole
		WHERE first <= reading + ahead OR (sole IS NOT NULL AND sole_expires <= reading + ahead)
			OR (next IS NOT NULL AND next_silent <= reading + ahead)
		ORDER BY name
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
	h whole;
	now bigint;
BEGIN
	SELECT * INTO h FROM whole WHERE name = p_name;
	h := look_at_clock(h);
	now := h.seen + h.ahead;
	-- Another server than the one that answered last may have to close it, and is not to show it as open until then.
	IF now >= h.first OR (h.closed > 0 AND now >= h.closed) OR (h.sole IS NOT NULL AND now >= h.sole_expires)
		OR (h.next IS NOT NULL AND now >= h.next_silent) OR h.server <> coalesce(p_server, whereabouts())
	THEN
		h := start(p_name, p_server, caution);
		now := h.seen + h.ahead;
		PERFORM save(h);
	END IF;
	RETURN QUERY SELECT * FROM (
	SELECT 0 AS kind, ARRAY[now, s.permits, s.held, (SELECT count(*) FROM lease l WHERE l.name = p_name), s.waiting, s.fence,
		s.fence - s.skipped - s.after_wait, s.after_wait, s.refused, s.expired, s.renewals_failed,
		greatest(s.slowest, (SELECT max(microseconds(wait)) FROM unnest(s.waits) wait)),
		greatest(s.closed - now, 0)] AS numbers,
		NULL::uuid, NULL::text, NULL::text
	FROM whole s WHERE s.name = p_name
	UNION ALL SELECT 1, ARRAY[class, sum(waits)::bigint], NULL, NULL, NULL FROM (
		SELECT class, waits FROM wait WHERE sem = h.id
		UNION ALL SELECT wait_class(microseconds(wait)), 1 FROM whole s, unnest(s.waits) wait WHERE s.name = p_name) AS w
		GROUP BY class
	UNION ALL SELECT 2, ARRAY[c.weight, c.slot, c.fence, c.since, c.expires, c.hard_end, c.ttl], c.token, c.owner, c.request
	FROM lease c WHERE c.name = p_name
	UNION ALL SELECT 3, ARRAY[w.weight, w.ticket, w.since], w.token, w.owner, w.request FROM queue w WHERE w.name = p_name
	) AS every ORDER BY every.kind, every.numbers[2];
END $$;

-- Lets a role use the store.
CREATE OR REPLACE FUNCTION @schema@.admit(role text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('GRANT USAGE ON SCHEMA @schema@ TO %I', role);
	EXECUTE format('GRANT EXECUTE ON FUNCTION @schema@.hello, @schema@.ensure, @schema@.set_limit, @schema@.acquire, @schema@.join_in, @schema@.request,
		@schema@.poll, @schema@.withdraw, @schema@.renew, @schema@.release, @schema@.leave, @schema@.evict, @schema@.reap, @schema@.names,
		@schema@.list TO %I', role);
END $$;

REVOKE ALL ON ALL FUNCTIONS IN SCHEMA @schema@ FROM PUBLIC;
