-- Around the scripts that make or migrate the schema: one at a time, all or nothing.
BEGIN;
SET LOCAL lock_timeout = '30s';
SET LOCAL statement_timeout = '60s';
SELECT pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtext('weir store init'));
-- What is somebody else's is left alone: rights would be taken away from it below.
DO $$
DECLARE
	schema_ oid := (SELECT oid FROM pg_catalog.pg_namespace WHERE nspname = '@schema@');
BEGIN
	IF schema_ IS NULL THEN
		CREATE SCHEMA @schema@;
	ELSIF NOT EXISTS (SELECT FROM pg_catalog.pg_class WHERE relnamespace = schema_ AND relname = 'incarnation')
		AND (EXISTS (SELECT FROM pg_catalog.pg_class WHERE relnamespace = schema_)
			OR EXISTS (SELECT FROM pg_catalog.pg_proc WHERE pronamespace = schema_)
			OR EXISTS (SELECT FROM pg_catalog.pg_type WHERE typnamespace = schema_))
	THEN
		RAISE EXCEPTION 'the schema @schema@ has something else in it; a store needs one of its own: say schema=ANOTHER'
			USING ERRCODE = 'WE002';
	END IF;
END $$;
SET LOCAL search_path = pg_catalog, @schema@, pg_temp;
