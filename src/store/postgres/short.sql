-- The short ways. What happens most, acquire and release, is tried with as few statements and expressions as there
-- can be, for each costs; and whatever is not as usual goes the way of verbs.sql and rules.sql.
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
		WHERE name = p_name AND sole = p_token AND reading + ahead < least(sole_expires, calm) AND seen <= reading
			AND server = p_server;
		-- Two expressions, for each looks up its functions even if it does not come to call them.
		IF FOUND THEN
			RETURN ARRAY[0];
		ELSIF hand_over(p_name, p_server, p_token, reading) THEN
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
