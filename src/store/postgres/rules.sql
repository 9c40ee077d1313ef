-- The rule book, src/lease/rules.c, in the server's own language.
--
-- These functions are given the row of a semaphore, which is locked, and return it changed; whoever called writes it
-- back. Nobody but the schema's owner may call them; the operations in verbs.sql do, with their search_path.

-- Which server this is, in words: one that has been promoted has another timeline; tables that were made of a backup, or
-- a copy of the database, are others. What it may have lost besides, in a crash, shows in the second word, if the third
-- one says that commits do not wait for the disk. (One that does wait takes all earlier ones with it.)
CREATE OR REPLACE FUNCTION @schema@.whereabouts() RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	identity text;
	incarnation_ uuid;
BEGIN
	SELECT concat_ws(':', system_identifier, left(pg_walfile_name(pg_current_wal_lsn()), 8), d.oid,
		'@schema@.store'::regclass::oid)
	INTO identity FROM pg_control_system(), pg_database d WHERE d.datname = current_database();
	SELECT id INTO incarnation_ FROM incarnation;
	IF NOT FOUND THEN
		INSERT INTO incarnation DEFAULT VALUES ON CONFLICT DO NOTHING;
		SELECT id INTO incarnation_ FROM incarnation;
	END IF;
	RETURN identity || ' ' || incarnation_ || CASE WHEN current_setting('synchronous_commit') = 'off' THEN ' lax' ELSE '' END;
END $$;

-- This transaction must not be lost: without it nobody would know, after a crash, what else may be.
CREATE OR REPLACE FUNCTION @schema@.keep(p_server text) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	IF split_part(p_server, ' ', 3) = 'lax' THEN
		PERFORM set_config('synchronous_commit', 'on', true);
	END IF;
END $$;

-- How long a lease may live that another server has granted under a name that is not known to have had any here: as long
-- as any that is known of, or else the default_ttl of stores.
CREATE OR REPLACE FUNCTION @schema@.longest_known() RETURNS bigint LANGUAGE plpgsql AS $$
BEGIN
	RETURN coalesce((SELECT max(longest) FROM whole WHERE longest > 0), 30000000);
END $$;

-- The server's clock.
CREATE OR REPLACE FUNCTION @schema@.clock() RETURNS bigint LANGUAGE sql AS $$
	SELECT (date_part('epoch', clock_timestamp()) * 1000000)::bigint
$$;

-- L10: read after the lock was taken. The server's clock may be set back: then it goes on from where it was.
CREATE OR REPLACE FUNCTION @schema@.look_at_clock(h @schema@.whole) RETURNS @schema@.whole
LANGUAGE plpgsql AS $$
DECLARE
	reading bigint := clock();
BEGIN
	h.ahead := h.ahead + greatest(h.seen - reading, 0);
	h.seen := reading;
	RETURN h;
END $$;

-- Of one that enter() has read.
CREATE OR REPLACE FUNCTION @schema@.save(h @schema@.whole) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	p_terms text;
BEGIN
	IF h.waiting = 0 AND h.closed = 0 AND h.wary <= h.seen + h.ahead THEN
		p_terms := coalesce(h.good, '');
	END IF;
	UPDATE semaphore SET state = ROW(h.server, h.permits, h.longest, h.closed, h.wary, h.ahead, h.low, (state).taken, h.ticket,
			h.front, h.first, h.skipped, h.after_wait, h.refused, h.expired, h.renewals_failed, h.slowest, h.good)::state,
		slots = h.slots, terms = p_terms,
		weight = CASE WHEN p_terms <> '' THEN split_part(p_terms, ' ', 2)::integer END,
		ttl = CASE WHEN p_terms <> '' THEN split_part(p_terms, ' ', 3)::bigint * interval '1 microsecond' END,
		seen = to_timestamp(h.seen / 1e6), fence = h.fence, sole = NULL, held = nullif(h.held, 0),
		waiting = nullif(h.waiting, 0), next = NULL, waited = NULL, waits = h.waits
	WHERE name = h.name;
END $$;

-- What a lease is to its holder: 0, weight, slot, fence, left, left at most (-1: for ever), ttl.
CREATE OR REPLACE FUNCTION @schema@.lease(c @schema@.holder, now bigint) RETURNS bigint[] LANGUAGE plpgsql AS $$
BEGIN
	RETURN ARRAY[0, c.weight, c.slot, c.fence, c.expires - now,
		CASE WHEN c.hard_end = 0 THEN -1 ELSE c.hard_end - now END, c.ttl];
END $$;

-- A token as two numbers, for an answer about another's.
CREATE OR REPLACE FUNCTION @schema@.halves(token uuid) RETURNS bigint[] LANGUAGE plpgsql AS $$
DECLARE
	hex text := replace(token::text, '-', '');
BEGIN
	RETURN ARRAY[('x' || left(hex, 16))::bit(64)::bigint, ('x' || right(hex, 16))::bit(64)::bigint];
END $$;

-- L8: those concerned are told, and nobody else: g(ranted), l(ost), h(eavier than the limit). Most often that is one
-- agent; several if they asked under the same id. A grant's message has the whole lease in it.
CREATE OR REPLACE FUNCTION @schema@.tell(event text, token uuid, channels text, lease bigint[]) RETURNS void
LANGUAGE plpgsql AS $$
DECLARE
	message text := event || replace(token::text, '-', '') || coalesce(' ' || array_to_string(lease, ' '), '');
	channel text;
BEGIN
	IF strpos(channels, ' ') = 0 THEN
		PERFORM pg_notify(channels, message);
		RETURN;
	END IF;
	FOREACH channel IN ARRAY string_to_array(channels, ' ') LOOP
		PERFORM pg_notify(channel, message);
	END LOOP;
END $$;

-- Four classes to each doubling, as weir__wait_class().
CREATE OR REPLACE FUNCTION @schema@.wait_class(wait bigint) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
	high integer := 64 - position(B'1' IN wait::bit(64)); -- the highest bit that is set
BEGIN
	RETURN CASE WHEN wait < 4 THEN greatest(wait, 0) ELSE least((high - 1) * 4 + (wait >> (high - 2) & 3), 127) END;
END $$;

CREATE OR REPLACE FUNCTION @schema@.microseconds(span interval) RETURNS bigint LANGUAGE sql AS $$
	SELECT (date_part('epoch', span) * 1000000)::bigint
$$;

CREATE OR REPLACE FUNCTION @schema@.count_wait(p_sem bigint, wait bigint) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
	p_class integer := wait_class(wait);
BEGIN
	UPDATE wait SET waits = waits + 1 WHERE sem = p_sem AND class = p_class;
	IF NOT FOUND THEN
		INSERT INTO wait VALUES (p_sem, p_class, 1);
	END IF;
END $$;

-- The next free slot when *slot* was the lowest one and is taken.
CREATE OR REPLACE FUNCTION @schema@.next_slot(slots bit varying, slot integer) RETURNS integer LANGUAGE plpgsql AS $$
BEGIN
	RETURN slot + coalesce(nullif(position(B'0' IN substring(slots FROM slot + 2)), 0),
		greatest(length(slots) - slot, 1));
END $$;

-- Writes a lease into the row of its slot.
CREATE OR REPLACE FUNCTION @schema@.put(c @schema@.holder) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
	UPDATE holder SET token = c.token, weight = c.weight, fence = c.fence, since = c.since, expires = c.expires,
		hard_end = c.hard_end, ttl = c.ttl, owner = c.owner, request = c.request, channels = c.channels
	WHERE sem = c.sem AND slot = c.slot;
	IF NOT FOUND THEN
		INSERT INTO holder SELECT c.*;
	END IF;
END $$;

-- L2: the fence rises with each grant, the slot is one that nobody has. *c* has the rest.
CREATE OR REPLACE FUNCTION @schema@.give(INOUT h @schema@.whole, INOUT c @schema@.holder, now bigint, max_hold bigint)
LANGUAGE plpgsql AS $$
BEGIN
	h.held := h.held + c.weight;
	h.fence := h.fence + 1;
	IF c.ttl > h.longest THEN
		PERFORM keep(h.server);
		h.longest := c.ttl;
	END IF;
	c.sem := h.id;
	c.slot := h.low;
	h.low := next_slot(h.slots, c.slot);
	h.slots := CASE WHEN c.slot < length(h.slots) THEN set_bit(h.slots, c.slot, 1) ELSE h.slots || B'1' END;
	c.fence := h.fence;
	c.since := now;
	c.hard_end := CASE WHEN max_hold = 0 THEN 0 ELSE now + max_hold END;
	c.expires := CASE WHEN max_hold = 0 THEN now + c.ttl ELSE now + least(c.ttl, max_hold) END;
	h.first := least(h.first, c.expires);
	PERFORM put(c);
END $$;

-- P3, P4: from the head on, as long as they fit. Whatever may change who fits ends here.
CREATE OR REPLACE FUNCTION @schema@.settle(h @schema@.whole, now bigint) RETURNS @schema@.whole
LANGUAGE plpgsql AS $$
DECLARE
	w waiter;
	c holder;
	given record;
BEGIN
	WHILE h.waiting > 0 LOOP
		SELECT * INTO w FROM waiter WHERE sem = h.id AND ticket >= h.front ORDER BY ticket LIMIT 1;
		h.front := w.ticket;
		EXIT WHEN now < h.closed OR h.held + w.weight > h.permits;
		DELETE FROM waiter WHERE sem = h.id AND ticket = w.ticket;
		h.front := w.ticket + 1;
		h.waiting := h.waiting - 1;
		h.after_wait := h.after_wait + 1;
		h.slowest := greatest(h.slowest, now - w.since);
		PERFORM count_wait(h.id, now - w.since);
		c.token := w.token;
		c.weight := w.weight;
		c.ttl := w.ttl;
		c.owner := w.owner;
		c.request := w.request;
		c.channels := w.channels;
		given := give(h, c, now, w.max_hold);
		h := given.h;
		c := given.c;
		PERFORM tell('g', c.token, c.channels, lease(c, now));
	END LOOP;
	RETURN h;
END $$;

-- A lease is over, for whatever reason.
CREATE OR REPLACE FUNCTION @schema@.drop_holder(h @schema@.whole, c @schema@.holder) RETURNS @schema@.whole
LANGUAGE plpgsql AS $$
BEGIN
	UPDATE holder SET token = NULL, request = NULL WHERE sem = c.sem AND slot = c.slot;
	h.held := h.held - c.weight;
	h.slots := set_bit(h.slots, c.slot, 0);
	h.low := least(h.low, c.slot);
	IF h.held = 0 THEN
		h.slots := B'';
		h.low := 0;
		IF h.waiting = 0 THEN
			h.first := 4611686018427387904;
		END IF;
	END IF;
	RETURN h;
END $$;

-- L9: drops up to *most* of the leases that are over, and all who have been silent for too long.
CREATE OR REPLACE FUNCTION @schema@.drop_dead(h @schema@.whole, now bigint, most bigint) RETURNS @schema@.whole
LANGUAGE plpgsql AS $$
DECLARE
	c holder;
	silenced integer;
	before bigint := h.expired;
BEGIN
	DELETE FROM waiter WHERE sem = h.id AND silent <= now;
	GET DIAGNOSTICS silenced = ROW_COUNT;
	h.waiting := h.waiting - silenced;
	FOR c IN SELECT * FROM holder WHERE sem = h.id AND token IS NOT NULL AND expires <= now
		ORDER BY expires, fence LIMIT most
	LOOP
		h := drop_holder(h, c);
		h.expired := h.expired + 1;
		PERFORM tell('l', c.token, c.channels, NULL);
	END LOOP;
	h.first := least(
		(SELECT min(expires) FROM holder WHERE sem = h.id AND token IS NOT NULL),
		(SELECT min(silent) FROM waiter WHERE sem = h.id), 4611686018427387904);
	IF silenced > 0 OR h.expired > before THEN
		h := settle(h, now);
	END IF;
	RETURN h;
END $$;

-- Brings a semaphore up to date. Another server than the one that answered last under this name may not know every
-- lease that one has granted; nor may the same one after a crash, if commits did not wait for the disk. Nobody is
-- granted until the longest of them must be over. caution < 0: somebody knows that nothing was lost.
CREATE OR REPLACE FUNCTION @schema@.refresh(h @schema@.whole, now bigint, p_server text, caution bigint, most bigint)
RETURNS @schema@.whole
LANGUAGE plpgsql AS $$
DECLARE
	is_other boolean;
	life bigint;
BEGIN
	IF p_server IS NULL THEN
		p_server := whereabouts();
	END IF;
	IF h.server <> p_server THEN
		is_other := split_part(h.server, ' ', 1) <> split_part(p_server, ' ', 1);
		IF is_other
			OR (split_part(h.server, ' ', 3) = 'lax' AND split_part(h.server, ' ', 2) <> split_part(p_server, ' ', 2))
		THEN
			-- L2: past any that was lost, for none has taken less than a microsecond.
			h.skipped := h.skipped + greatest(now - h.fence, 0);
			h.fence := greatest(h.fence, now);
			life := CASE WHEN is_other AND h.longest = 0 THEN longest_known() ELSE h.longest END;
			IF caution >= 0 AND life > 0 THEN
				h.closed := greatest(h.closed, now + life);
			END IF;
		END IF;
		PERFORM keep(p_server); -- that from now on something may be lost
		h.server := p_server;
		h.good := NULL;
	END IF;
	IF now >= h.first THEN
		h := drop_dead(h, now, most);
	END IF;
	IF h.closed > 0 AND now >= h.closed THEN
		h.closed := 0;
		h := settle(h, now);
	END IF;
	RETURN h;
END $$;

-- What the short ways keep in the row of the semaphore becomes rows of its own, and waits are counted.
CREATE OR REPLACE FUNCTION @schema@.spread(h @schema@.whole) RETURNS @schema@.whole LANGUAGE plpgsql AS $$
DECLARE
	c holder;
	wait interval;
BEGIN
	IF h.sole IS NOT NULL THEN
		SELECT h.id, 0, h.sole, h.sole_weight, h.fence, h.sole_expires - h.sole_ttl, h.sole_expires, 0, h.sole_ttl,
			h.sole_owner, NULL, h.sole_channel INTO c;
		PERFORM put(c);
		h.low := 1;
		h.slots := B'1';
		h.first := least(h.first, h.sole_expires);
		h.sole := NULL;
	END IF;
	IF h.next IS NOT NULL THEN
		INSERT INTO waiter VALUES (h.id, h.front, h.next, h.sole_weight, h.sole_ttl, 0, h.next_since, h.next_silent,
			h.next_owner, NULL, h.next_channel);
		h.first := least(h.first, h.next_silent);
		h.next := NULL;
	END IF;
	FOREACH wait IN ARRAY h.waits LOOP
		h.slowest := greatest(h.slowest, microseconds(wait));
		PERFORM count_wait(h.id, microseconds(wait));
	END LOOP;
	h.waits := '{}';
	PERFORM save(h);
	RETURN h;
END $$;

-- The row of a semaphore, locked, in which all leases and all who wait are in rows of their own; its id is NULL if there
-- is none.
CREATE OR REPLACE FUNCTION @schema@.enter(p_name text) RETURNS @schema@.whole LANGUAGE plpgsql AS $$
DECLARE
	h whole;
	ahead_ bigint;
BEGIN
	SELECT * INTO h FROM whole WHERE name = p_name FOR UPDATE;
	IF h.sole IS NOT NULL OR h.waits <> '{}' THEN
		h := spread(h);
	END IF;
	ahead_ := h.ahead;
	h := look_at_clock(h);
	IF h.ahead > ahead_ THEN
		-- Also if nothing else is to be written: or the clock would stand still until it is where it was.
		PERFORM save(h);
	END IF;
	RETURN h;
END $$;

-- What every operation begins with.
CREATE OR REPLACE FUNCTION @schema@.start(p_name text, p_server text, caution bigint) RETURNS @schema@.whole
LANGUAGE plpgsql AS $$
DECLARE
	h whole := enter(p_name);
BEGIN
	IF h.id IS NULL THEN
		RETURN h;
	END IF;
	RETURN refresh(h, h.seen + h.ahead, p_server, caution, 2147483647);
END $$;

-- The lease of a token. Whoever knows its slot need not look for it.
CREATE OR REPLACE FUNCTION @schema@.holding(h @schema@.whole, p_token uuid, p_slot integer, OUT c @schema@.holder)
LANGUAGE plpgsql AS $$
BEGIN
	SELECT * INTO c FROM holder WHERE sem = h.id AND slot = p_slot AND token = p_token;
	IF NOT FOUND THEN
		SELECT * INTO c FROM holder WHERE sem = h.id AND token = p_token;
	END IF;
END $$;

-- Of a waiter: that it waits; its ticket; and, if it is next, after how long to look again because a lease expires
-- then; else -1.
CREATE OR REPLACE FUNCTION @schema@.place(h @schema@.whole, p_ticket bigint, now bigint) RETURNS bigint[]
LANGUAGE plpgsql AS $$
BEGIN
	IF EXISTS (SELECT FROM waiter WHERE sem = h.id AND ticket >= h.front AND ticket < p_ticket) THEN
		RETURN ARRAY[1, p_ticket, -1];
	END IF;
	RETURN ARRAY[1, p_ticket,
		greatest(least(h.first, CASE WHEN h.closed > now THEN h.closed END) - now, 0)];
END $$;

-- Whether it has made a new semaphore; if not, somebody else has just made it.
CREATE OR REPLACE FUNCTION @schema@.make(p_name text, p_server text, caution bigint,
	p_permits integer) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
	reading bigint := clock();
BEGIN
	IF p_server IS NULL THEN
		-- Nor has whoever asks noticed, then, that it is another one.
		SELECT server INTO p_server FROM hello();
	END IF;
	PERFORM keep(p_server);
	INSERT INTO semaphore (name, seen, fence, terms, state)
	SELECT p_name, to_timestamp(reading / 1e6), s.floor, CASE WHEN c.closed = 0 THEN '' END,
		ROW(p_server, p_permits, 0, c.closed, 0, 0, 0, 0, 0, 0, 4611686018427387904, s.floor, 0, 0, 0, 0, 0, NULL)::state
	FROM store s, LATERAL (SELECT CASE WHEN caution > 0 THEN reading + caution
		-- If the clock was set back since, not for longer than that.
		WHEN caution = 0 AND s.closed > reading THEN least(s.closed, reading + longest_known())
		ELSE 0 END AS closed) c
	ON CONFLICT DO NOTHING;
	RETURN FOUND;
END $$;

-- A lease is given back, or ended by an operator.
CREATE OR REPLACE FUNCTION @schema@.finish(p_name text, p_server text, caution bigint, p_token uuid,
	p_slot integer, evicted boolean) RETURNS bigint[]
LANGUAGE plpgsql AS $$
DECLARE
	h whole;
	c holder;
BEGIN
	h := start(p_name, p_server, caution);
	IF h.id IS NULL THEN
		RETURN ARRAY[-2];
	END IF;
	c := holding(h, p_token, p_slot);
	IF c.token IS NOT NULL THEN
		h := drop_holder(h, c);
		IF evicted THEN
			PERFORM tell('l', c.token, c.channels, NULL);
		END IF;
		h := settle(h, h.seen + h.ahead);
	END IF;
	PERFORM save(h);
	RETURN ARRAY[CASE WHEN c.token IS NOT NULL THEN 0 ELSE -116 END];
END $$;
