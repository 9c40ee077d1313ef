-- Around the scripts that make or migrate the schema: one at a time, all or nothing.
BEGIN;
SET LOCAL lock_timeout = '30s';
SET LOCAL statement_timeout = '60s';
SELECT pg_catalog.pg_advisory_xact_lock(pg_catalog.hashtext('weir store init'));
DO $$
BEGIN
	IF NOT EXISTS (SELECT FROM pg_catalog.pg_namespace WHERE nspname = '@schema@') THEN
		CREATE SCHEMA @schema@;
	END IF;
END $$;
SET LOCAL search_path = pg_catalog, @schema@, pg_temp;
