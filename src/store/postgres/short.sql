-- The short ways. What happens most is tried with as few statements, expressions and columns as there can be, for the
-- server prepares each anew in every call; and whatever is not as usual goes the way of verbs.sql and rules.sql.
--
-- TERMS are what somebody asks for, in one text: limit (0: none is insisted on), weight, TTL, and the server as it is
-- known to the asker. A semaphore remembers the last ones that were found good, and whoever asks for the same need not be
-- compared with limit, longest TTL and server again. MORE is what only the long way needs: caution, how long one may be
-- silent (0: it does not wait), and how many may wait; or, of a lease, slot (2147483647: not known), weight, and caution.
--
-- acquire() and release() run with the rights of the schema's owner, but setting a search_path for each call would cost
-- as much as the update of a row. So nothing in them is looked up there: all names and operators are qualified, and so
-- are types that are not words of the language, as text is not: those of variables, too. The others go a short way only
-- if the caller's path is the one that all functions here have, and look at nothing before that could mean something
-- else with another one.
--
-- A lease counts from when the lock was had (L10). The server evaluates SET after that only if whoever had the lock has
-- changed the row, so the clock is looked at once more.

-- The sole lease counts from now on.
CREATE OR REPLACE FUNCTION @schema@.postpone(p_name text) RETURNS void
LANGUAGE plpgsql SET search_path = pg_catalog, @schema@, pg_temp AS $$
BEGIN
	UPDATE semaphore SET seen = clock_timestamp(), expires = clock_timestamp() + ttl WHERE name = p_name;
END $$;

-- ---- to acquire ----

CREATE OR REPLACE FUNCTION @schema@.long_acquire(p_name text, p_terms text, p_token uuid, p_owner text, p_channel text,
	p_more text) RETURNS bigint[]
LANGUAGE plpgsql SET search_path = pg_catalog, @schema@, pg_temp AS $$
DECLARE
	terms text[] := string_to_array(p_terms, ' ');
	more bigint[] := string_to_array(p_more, ' ');
BEGIN
	RETURN request(p_name, nullif(array_to_string(terms[4:], ' '), ''), more[1], terms[1]::integer, terms[2]::integer,
		terms[3]::bigint, 0, more[2], more[3]::integer, p_owner, NULL, p_channel, p_token, 0);
END $$;

-- One beside others. The answer is 0, slot, fence; NULL: the case is another one, and nothing has changed.
CREATE OR REPLACE FUNCTION @schema@.share(p_name text, asked text[], p_token uuid, p_owner text, p_channel text)
RETURNS bigint[] LANGUAGE plpgsql AS $$
DECLARE
	p_weight integer := asked[2];
	p_ttl bigint := asked[3];
	reading bigint := (date_part('epoch', clock_timestamp()) * 1000000)::bigint;
	now bigint;
	p_sem bigint;
	p_slot integer;
	p_fence bigint;
BEGIN
	UPDATE semaphore SET seen = clock_timestamp(), held = held + p_weight, fence = fence + 1,
		slots = CASE WHEN (state).low >= length(slots) THEN slots || B'1' ELSE set_bit(slots, (state).low, 1) END,
		state.taken = (state).low,
		state.low = CASE WHEN (state).low >= length(slots) THEN (state).low + 1 ELSE next_slot(slots, (state).low) END,
		state.first = least((state).first, reading + (state).ahead + p_ttl)
	WHERE name = p_name AND held + p_weight <= (state).permits AND sole IS NULL AND terms IS NOT NULL
		AND (state).first > reading + (state).ahead AND seen <= clock_timestamp() AND (state).longest >= p_ttl
		AND (state).permits = coalesce(nullif(asked[1]::integer, 0), (state).permits)
		AND (state).server = array_to_string(asked[4:], ' ')
	RETURNING id, (state).taken, fence,
		greatest(reading, (date_part('epoch', clock_timestamp()) * 1000000)::bigint) + (state).ahead
	INTO p_sem, p_slot, p_fence, now;
	IF NOT FOUND THEN
		RETURN NULL;
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

-- The sole one, on other terms than those before. The answer is its fence.
CREATE OR REPLACE FUNCTION @schema@.take(p_name text, asked text[], p_terms text, p_token uuid, p_owner text, p_channel text)
RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	answer text;
	punctual boolean;
BEGIN
	UPDATE semaphore SET seen = clock_timestamp(), fence = fence + 1, sole = p_token, owner = p_owner, channel = p_channel,
		terms = p_terms, weight = asked[2]::integer, ttl = asked[3]::bigint * interval '1 microsecond',
		expires = clock_timestamp() + asked[3]::bigint * interval '1 microsecond'
	WHERE name = p_name AND sole IS NULL AND held IS NULL AND terms IS NOT NULL AND seen <= clock_timestamp()
		AND asked[2]::integer <= (state).permits AND (state).longest >= asked[3]::bigint
		AND (state).permits = coalesce(nullif(asked[1]::integer, 0), (state).permits)
		AND (state).server = array_to_string(asked[4:], ' ')
	RETURNING fence, clock_timestamp() < seen + interval '1 ms' INTO answer, punctual;
	IF NOT punctual THEN
		PERFORM postpone(p_name);
	END IF;
	RETURN answer;
END $$;

-- There is a sole lease, and whoever asks must wait until it is over: as the next one, or behind it. The answer is that
-- of place().
CREATE OR REPLACE FUNCTION @schema@.queue_up(p_name text, asked text[], p_terms text, p_token uuid, p_owner text,
	p_channel text, silence bigint, max_waiting bigint) RETURNS bigint[]
LANGUAGE plpgsql AS $$
DECLARE
	reading bigint := (date_part('epoch', clock_timestamp()) * 1000000)::bigint;
	until timestamptz := to_timestamp((reading + silence) / 1e6);
	p_sem bigint;
	p_ticket bigint;
	now bigint;
	again interval;
BEGIN
	UPDATE semaphore SET seen = clock_timestamp(), next = p_token, next_owner = p_owner, next_channel = p_channel,
		next_since = clock_timestamp(), next_silent = until, waited = NULL,
		waits = CASE WHEN waited IS NULL THEN waits ELSE waits || waited END,
		-- As tell() and lease() say it.
		next_news = concat('g', replace(p_token::text, '-', ''), ' 0 ', asked[2], ' 0 ', fence + 1, ' ', asked[3], ' -1 ',
			asked[3]),
		state.ticket = (state).ticket + 1, state.front = (state).ticket + 1
	WHERE name = p_name AND sole IS NOT NULL AND next IS NULL AND waiting IS NULL AND silence > 0 AND max_waiting > 0
		AND terms = p_terms AND weight = (state).permits AND expires > clock_timestamp()
		AND seen <= clock_timestamp() AND cardinality(waits) < 32
	RETURNING (state).ticket, expires - clock_timestamp() INTO p_ticket, again;
	IF FOUND THEN
		RETURN ARRAY[1, p_ticket, (date_part('epoch', again) * 1000000)::bigint];
	END IF;
	UPDATE semaphore SET seen = clock_timestamp(), waiting = coalesce(waiting, 0) + 1, state.ticket = (state).ticket + 1,
		state.first = least((state).first, reading + (state).ahead + silence)
	WHERE name = p_name AND sole IS NOT NULL AND (next IS NOT NULL OR waiting > 0) AND silence > 0
		AND coalesce(waiting, 0) + CASE WHEN next IS NULL THEN 0 ELSE 1 END < max_waiting AND asked[2]::integer <= (state).permits
		AND (state).first > reading + (state).ahead AND least(expires, CASE WHEN next IS NOT NULL THEN next_silent END) > clock_timestamp()
		AND seen <= clock_timestamp()
		AND (state).permits = coalesce(nullif(asked[1]::integer, 0), (state).permits)
		AND (state).server = array_to_string(asked[4:], ' ')
	RETURNING id, (state).ticket, reading + (state).ahead INTO p_sem, p_ticket, now;
	IF NOT FOUND THEN
		RETURN NULL;
	END IF;
	INSERT INTO waiter VALUES (p_sem, p_ticket, p_token, asked[2]::integer, asked[3]::bigint, 0, now, now + silence, p_owner,
		NULL, p_channel);
	RETURN ARRAY[1, p_ticket, -1];
END $$;

-- Not the sole lease on the same terms as before.
CREATE OR REPLACE FUNCTION @schema@.acquire_otherwise(p_name text, p_terms text, p_token uuid, p_owner text, p_channel text,
	p_more text) RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	terms pg_catalog.text[];
	more bigint[];
	has_sole boolean;
	is_shared boolean;
	answer pg_catalog.text;
BEGIN
	IF pg_catalog.current_setting('search_path') OPERATOR(pg_catalog.=) 'pg_catalog, @schema@, pg_temp' THEN
		terms := string_to_array(p_terms, ' ');
		SELECT sole IS NOT NULL, held IS NOT NULL INTO has_sole, is_shared FROM semaphore WHERE name = p_name;
		IF is_shared THEN
			answer := share(p_name, terms, p_token, p_owner, p_channel);
		ELSIF has_sole THEN
			more := string_to_array(p_more, ' ');
			answer := queue_up(p_name, terms, p_terms, p_token, p_owner, p_channel, more[2], more[3]);
		ELSE
			answer := take(p_name, terms, p_terms, p_token, p_owner, p_channel);
		END IF;
		IF answer IS NOT NULL THEN
			RETURN answer;
		END IF;
	END IF;
	RETURN @schema@.long_acquire(p_name, p_terms, p_token, p_owner, p_channel, p_more);
END $$;

-- There is no lease, and the terms are those of the last one. The answer is the fence.
CREATE OR REPLACE FUNCTION @schema@.acquire(p_name text, p_terms text, p_token uuid, p_owner text, p_channel text,
	p_more text, OUT answer text) LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
	punctual boolean;
BEGIN
	UPDATE @schema@.semaphore SET seen = pg_catalog.clock_timestamp(), fence = fence OPERATOR(pg_catalog.+) 1,
		expires = pg_catalog.clock_timestamp() OPERATOR(pg_catalog.+) ttl, sole = p_token, owner = p_owner,
		channel = p_channel
	WHERE name OPERATOR(pg_catalog.=) p_name AND sole IS NULL AND held IS NULL AND terms OPERATOR(pg_catalog.=) p_terms
		AND seen OPERATOR(pg_catalog.<=) pg_catalog.clock_timestamp()
	RETURNING fence::pg_catalog.text,
		pg_catalog.clock_timestamp() OPERATOR(pg_catalog.<) (seen OPERATOR(pg_catalog.+) interval '1 ms')
	INTO answer, punctual;
	IF punctual THEN
		RETURN;
	END IF;
	IF FOUND THEN
		PERFORM @schema@.postpone(p_name);
	ELSE
		answer := @schema@.acquire_otherwise(p_name, p_terms, p_token, p_owner, p_channel, p_more);
	END IF;
END $$;

-- Several beside others, as share(). The answers are one array, with 3 before each.
CREATE OR REPLACE FUNCTION @schema@.share_all(p_name text, asked text[], tokens uuid[], p_owner text, p_channel text)
RETURNS bigint[] LANGUAGE plpgsql AS $$
DECLARE
	n integer := cardinality(tokens);
	p_weight integer := asked[2];
	p_ttl bigint := asked[3];
	now bigint;
	p_sem bigint;
	p_fence bigint;
	p_first bigint;
	p_ahead bigint;
	p_low integer;
	p_slots bit varying;
	answers bigint[];
	taken integer[];
BEGIN
	SELECT id, fence, (state).first, (state).ahead, (state).low, slots INTO p_sem, p_fence, p_first, p_ahead, p_low, p_slots
	FROM semaphore
	WHERE name = p_name AND held + n * p_weight <= (state).permits AND sole IS NULL AND terms IS NOT NULL
		AND seen <= clock_timestamp() AND (state).longest >= p_ttl
		AND (state).permits = coalesce(nullif(asked[1]::integer, 0), (state).permits)
		AND (state).server = array_to_string(asked[4:], ' ')
	FOR UPDATE;
	now := clock() + p_ahead;
	IF NOT FOUND OR now >= p_first THEN
		RETURN NULL;
	END IF;
	FOR i IN 1..n LOOP
		taken[i] := p_low;
		answers := answers || ARRAY[3, 0, p_low, p_fence + i];
		IF p_low >= length(p_slots) THEN
			p_slots := p_slots || B'1';
			p_low := p_low + 1;
		ELSE
			p_slots := set_bit(p_slots, p_low, 1);
			p_low := next_slot(p_slots, p_low);
		END IF;
	END LOOP;
	UPDATE semaphore SET seen = to_timestamp((now - p_ahead) / 1e6), held = held + n * p_weight, fence = fence + n,
		slots = p_slots, state.low = p_low, state.first = least(p_first, now + p_ttl)
	WHERE name = p_name;
	INSERT INTO holder SELECT p_sem, slot, token, p_weight, p_fence + i, now, now + p_ttl, 0, p_ttl, p_owner, NULL, p_channel
	FROM unnest(taken, tokens) WITH ORDINALITY AS t (slot, token, i)
	ON CONFLICT (sem, slot) DO UPDATE SET token = EXCLUDED.token, weight = p_weight, fence = EXCLUDED.fence, since = now,
		expires = now + p_ttl, hard_end = 0, ttl = p_ttl, owner = p_owner, channels = p_channel;
	RETURN answers;
END $$;

-- One after the other; but when the first has made it a case for share_all(), the rest at once.
CREATE OR REPLACE FUNCTION @schema@.acquire_each(p_name text, p_terms text, tokens uuid[], p_owner text, p_channel text,
	p_more text) RETURNS bigint[]
LANGUAGE plpgsql SET search_path = pg_catalog, @schema@, pg_temp AS $$
DECLARE
	asked text[] := string_to_array(p_terms, ' ');
	answer text;
	one bigint[];
	answers bigint[];
BEGIN
	FOR i IN 1..cardinality(tokens) LOOP
		IF i = 2 THEN
			one := share_all(p_name, asked, tokens[2:], p_owner, p_channel);
			IF one IS NOT NULL THEN
				RETURN answers || one;
			END IF;
		END IF;
		answer := acquire(p_name, p_terms, tokens[i], p_owner, p_channel, p_more);
		IF starts_with(answer, '{') THEN
			one := answer;
		ELSE
			one := ARRAY[0, asked[2]::bigint, 0, answer::bigint, asked[3]::bigint, -1, asked[3]::bigint];
		END IF;
		answers := answers || cardinality(one)::bigint || one;
	END LOOP;
	RETURN answers;
END $$;

-- For those who have just been beside others. For each, how many numbers its answer has, and these.
CREATE OR REPLACE FUNCTION @schema@.join_in(p_name text, p_terms text, tokens uuid[], p_owner text, p_channel text,
	p_more text, OUT answers bigint[]) LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
	IF pg_catalog.current_setting('search_path') OPERATOR(pg_catalog.=) 'pg_catalog, @schema@, pg_temp' THEN
		IF cardinality(tokens) = 1 THEN
			answers := 3::bigint || share(p_name, string_to_array(p_terms, ' '), tokens[1], p_owner, p_channel);
		ELSE
			answers := share_all(p_name, string_to_array(p_terms, ' '), tokens, p_owner, p_channel);
		END IF;
		IF cardinality(answers) > 1 THEN
			RETURN;
		END IF;
	END IF;
	answers := @schema@.acquire_each(p_name, p_terms, tokens, p_owner, p_channel, p_more);
END $$;

-- ---- to release ----

CREATE OR REPLACE FUNCTION @schema@.long_release(p_name text, p_server text, p_token uuid, p_more text) RETURNS bigint[]
LANGUAGE plpgsql SET search_path = pg_catalog, @schema@, pg_temp AS $$
DECLARE
	more bigint[] := string_to_array(p_more, ' ');
BEGIN
	RETURN finish(p_name, p_server, more[3], p_token, more[1]::integer, false);
END $$;

-- A sole lease is given back, nobody is the next one, but others wait, and the head of the queue can be the sole one:
-- nobody else fits beside it. Whether it is; nothing has changed if not. Rows are not read as such, for that costs more
-- than variables.
CREATE OR REPLACE FUNCTION @schema@.hand_over(p_name text, p_server text, p_token uuid) RETURNS boolean
LANGUAGE plpgsql AS $$
DECLARE
	p_sem bigint;
	p_front bigint;
	p_fence bigint;
	p_first bigint;
	p_ahead bigint;
	p_longest bigint;
	p_permits integer;
	p_waiting integer;
	now bigint;
	w_token uuid;
	w_weight integer;
	w_ttl bigint;
	w_owner text;
	w_channel text;
	wait bigint;
BEGIN
	SELECT id, (state).front, fence + 1, (state).first, (state).ahead, (state).longest, (state).permits, waiting
	INTO p_sem, p_front, p_fence, p_first, p_ahead, p_longest, p_permits, p_waiting
	FROM semaphore
	WHERE name = p_name AND sole = p_token AND waiting > 0 AND next IS NULL AND (state).server = p_server
		AND seen <= clock_timestamp() AND expires > clock_timestamp() AND cardinality(waits) < 32
	FOR UPDATE;
	now := (date_part('epoch', clock_timestamp()) * 1000000)::bigint + p_ahead;
	IF NOT FOUND OR now >= p_first THEN
		RETURN false;
	END IF;
	DELETE FROM waiter
	WHERE sem = p_sem
		AND ticket = (SELECT min(ticket) FROM waiter WHERE sem = p_sem AND ticket >= p_front)
		AND weight <= p_permits AND (weight = p_permits OR p_waiting = 1)
		AND ttl <= p_longest AND max_hold = 0 AND request IS NULL AND strpos(channels, ' ') = 0
	RETURNING ticket, token, weight, ttl, owner, channels, now - since
	INTO p_front, w_token, w_weight, w_ttl, w_owner, w_channel, wait;
	IF NOT FOUND THEN
		RETURN false;
	END IF;
	UPDATE semaphore SET seen = to_timestamp((now - p_ahead) / 1e6), fence = p_fence, sole = w_token, owner = w_owner,
		channel = w_channel, expires = to_timestamp((now - p_ahead + w_ttl) / 1e6),
		terms = CASE WHEN weight = w_weight AND ttl = w_ttl * interval '1 microsecond' THEN terms ELSE '' END,
		weight = w_weight, ttl = w_ttl * interval '1 microsecond', waiting = nullif(p_waiting - 1, 0),
		waited = wait * interval '1 microsecond',
		waits = CASE WHEN waited IS NULL THEN waits ELSE waits || waited END, state.front = p_front + 1
	WHERE name = p_name;
	PERFORM tell('g', w_token, w_channel, ARRAY[0, w_weight, 0, p_fence, w_ttl, -1, w_ttl]);
	RETURN true;
END $$;

-- Not the sole lease, or others than the next one wait.
CREATE OR REPLACE FUNCTION @schema@.release_otherwise(p_name text, p_server text, p_token uuid, p_more text, OUT answer text)
LANGUAGE plpgsql AS $$
DECLARE
	reading bigint;
	more integer[];
	p_sem bigint;
BEGIN
	IF pg_catalog.current_setting('search_path') OPERATOR(pg_catalog.<>) 'pg_catalog, @schema@, pg_temp' THEN
		answer := @schema@.long_release(p_name, p_server, p_token, p_more);
		RETURN;
	END IF;
	reading := (date_part('epoch', clock_timestamp()) * 1000000)::bigint;
	more := (string_to_array(p_more, ' '))[:2];
	UPDATE semaphore SET seen = clock_timestamp(), held = nullif(held - more[2], 0),
		slots = CASE WHEN held = more[2] THEN B'' ELSE set_bit(slots, more[1], 0) END,
		state.low = CASE WHEN held = more[2] THEN 0 ELSE least((state).low, more[1]) END
	WHERE name = p_name AND more[1] < length(slots) AND sole IS NULL AND terms IS NOT NULL
		AND (state).first > reading + (state).ahead AND seen <= clock_timestamp() AND (state).server = p_server
	RETURNING id INTO p_sem;
	IF FOUND THEN
		UPDATE holder SET token = NULL, request = NULL
		WHERE sem = p_sem AND slot = more[1] AND token = p_token AND weight = more[2];
		IF FOUND THEN
			RETURN;
		END IF;
		RAISE EXCEPTION 'no such lease in slot %', more[1] USING ERRCODE = 'WE001';
	END IF;
	IF more[1] = 0 AND hand_over(p_name, p_server, p_token) THEN
		RETURN;
	END IF;
	answer := long_release(p_name, p_server, p_token, p_more);
END $$;

-- The sole lease: nobody waits, and the answer is NULL; or the next one is granted and told, and the answer is 1. What
-- was right the last time (p_next) is tried first.
CREATE OR REPLACE FUNCTION @schema@.release(p_name text, p_server text, p_token uuid, p_more text, p_next boolean,
	OUT answer text) LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
	punctual boolean;
	is_last boolean := false;
BEGIN
	LOOP
		IF p_next THEN
			UPDATE @schema@.semaphore SET seen = pg_catalog.clock_timestamp(), fence = fence OPERATOR(pg_catalog.+) 1,
				expires = pg_catalog.clock_timestamp() OPERATOR(pg_catalog.+) ttl, sole = next, owner = next_owner,
				channel = next_channel, next = NULL,
				waited = pg_catalog.clock_timestamp() OPERATOR(pg_catalog.-) next_since
			WHERE name OPERATOR(pg_catalog.=) p_name AND sole OPERATOR(pg_catalog.=) p_token AND next IS NOT NULL
				AND least(expires, next_silent) OPERATOR(pg_catalog.>) pg_catalog.clock_timestamp()
				AND seen OPERATOR(pg_catalog.<=) pg_catalog.clock_timestamp()
				AND (state).server OPERATOR(pg_catalog.=) p_server
			RETURNING pg_catalog.pg_notify(channel, next_news) IS NOT NULL
				AND pg_catalog.clock_timestamp() OPERATOR(pg_catalog.<) (seen OPERATOR(pg_catalog.+) interval '1 ms')
			INTO punctual;
			IF FOUND THEN
				answer := '1';
				IF NOT punctual THEN
					PERFORM @schema@.postpone(p_name);
				END IF;
				RETURN;
			END IF;
		ELSE
			UPDATE @schema@.semaphore SET sole = NULL
			WHERE name OPERATOR(pg_catalog.=) p_name AND sole OPERATOR(pg_catalog.=) p_token AND next IS NULL
				AND waiting IS NULL AND expires OPERATOR(pg_catalog.>) pg_catalog.clock_timestamp();
			IF FOUND THEN
				RETURN;
			END IF;
		END IF;
		EXIT WHEN is_last;
		is_last := true;
		p_next := NOT p_next;
	END LOOP;
	answer := @schema@.release_otherwise(p_name, p_server, p_token, p_more);
END $$;

-- Several that were beside others. Whether it is done; nothing has changed if not.
CREATE OR REPLACE FUNCTION @schema@.leave_all(p_name text, p_server text, tokens uuid[], p_slots integer[],
	weights integer[]) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
	now bigint;
	p_sem bigint;
	p_held integer;
	p_low integer;
	p_taken bit varying;
	p_first bigint;
	left_ integer;
BEGIN
	SELECT id, held, (state).low, slots, (state).first, clock() + (state).ahead
	INTO p_sem, p_held, p_low, p_taken, p_first, now
	FROM semaphore
	WHERE name = p_name AND sole IS NULL AND held IS NOT NULL AND terms IS NOT NULL AND seen <= clock_timestamp()
		AND (state).server = p_server
	FOR UPDATE;
	IF NOT FOUND OR now >= p_first THEN
		RETURN false;
	END IF;
	UPDATE holder SET token = NULL, request = NULL FROM unnest(tokens, p_slots, weights) AS t (token, slot, weight)
	WHERE sem = p_sem AND holder.slot = t.slot AND holder.token = t.token AND holder.weight = t.weight;
	GET DIAGNOSTICS left_ = ROW_COUNT;
	IF left_ < cardinality(tokens) THEN
		RAISE EXCEPTION 'no such lease in some slot' USING ERRCODE = 'WE001';
	END IF;
	FOR i IN 1..left_ LOOP
		p_held := p_held - weights[i];
		p_low := least(p_low, p_slots[i]);
		p_taken := set_bit(p_taken, p_slots[i], 0);
	END LOOP;
	UPDATE semaphore SET seen = clock_timestamp(), held = nullif(p_held, 0),
		slots = CASE WHEN p_held = 0 THEN B'' ELSE p_taken END, state.low = CASE WHEN p_held = 0 THEN 0 ELSE p_low END
	WHERE name = p_name;
	RETURN true;
END $$;

CREATE OR REPLACE FUNCTION @schema@.release_each(p_name text, p_server text, tokens uuid[], p_slots integer[],
	weights integer[], caution bigint) RETURNS bigint[]
LANGUAGE plpgsql SET search_path = pg_catalog, @schema@, pg_temp AS $$
DECLARE
	answers bigint[];
	answer text;
BEGIN
	FOR i IN 1..cardinality(tokens) LOOP
		answer := release_otherwise(p_name, p_server, tokens[i], concat_ws(' ', p_slots[i], weights[i], caution));
		answers := answers || coalesce(answer::bigint[], ARRAY[0::bigint]);
	END LOOP;
	RETURN answers;
END $$;

-- For those who were beside others. The answer is NULL; or a number for each.
CREATE OR REPLACE FUNCTION @schema@.leave(p_name text, p_server text, tokens uuid[], p_slots integer[], weights integer[],
	caution bigint, OUT answers bigint[]) LANGUAGE plpgsql SECURITY DEFINER AS $$
BEGIN
	IF pg_catalog.current_setting('search_path') OPERATOR(pg_catalog.=) 'pg_catalog, @schema@, pg_temp' THEN
		IF cardinality(tokens) = 1 THEN
			answers := release_otherwise(p_name, p_server, tokens[1], concat_ws(' ', p_slots[1], weights[1], caution));
			RETURN;
		ELSIF leave_all(p_name, p_server, tokens, p_slots, weights) THEN
			RETURN;
		END IF;
	END IF;
	answers := @schema@.release_each(p_name, p_server, tokens, p_slots, weights, caution);
END $$;
