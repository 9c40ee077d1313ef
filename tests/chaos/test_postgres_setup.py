#!/usr/bin/env python3
"""A PostgreSQL store as its administrator sees it: roles, the schema, views, growth, failover.

    test_postgres_setup.py WEIR [PAIRS]

PAIRS: how many acquisitions and releases the test of growth makes."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import quote

sys.path.insert(0, str(Path(__file__).parent.parent / "support"))

from with_postgres import PASSWORD, Server, need_postgres, new_directory, run  # noqa: E402

WEIR = sys.argv[1] if len(sys.argv) > 1 else None
PAIRS = int(sys.argv[2]) if len(sys.argv) > 2 else 3000
said = []


def check(condition, what):
    if not condition:
        raise AssertionError(what)


def weir(url, *arguments, environment=None):
    done = subprocess.run([WEIR, *arguments], env={**os.environ, "WEIR_STORE": url,
                                                   **(environment or {})},
                          text=True, capture_output=True, stdin=subprocess.DEVNULL)
    said.append(done.stdout + done.stderr)
    return done.returncode, done.stdout, done.stderr


def shown(url, name):
    code, out, err = weir(url, "show", "--json", name)
    check(code == 0, err)
    return json.loads(out)[0]


def administer(sentence):
    """Runs what a sentence says that somebody runs, as a shell would, for an administrator."""
    command = re.search(r"runs: (weir store init .*)$", sentence.strip())
    check(command is not None, f"the sentence has a command in it: {sentence}")
    check(PASSWORD not in sentence, "no password is shown")
    done = subprocess.run(["sh", "-c", command.group(1)], text=True, capture_output=True, stdin=subprocess.DEVNULL,
                          env={"PATH": f"{Path(WEIR).absolute().parent}:{os.environ['PATH']}", "PGUSER": "root",
                               "PGPASSWORD": PASSWORD})
    check(done.returncode == 0, f"{command.group(1)}: {done.stderr}")


def test_roles(server):
    """A user without rights is told what its administrator must run; after that, it may use the store and no more."""
    url = f"postgres://app:{PASSWORD}@127.0.0.1:{server.port}/postgres"
    code, _, err = weir(url, "ls")
    check(code == 69, f"no schema: {code} {err}")
    administer(err)
    check(weir(url, "run", "-n", "a", "true")[0] == 0, "the user may use it now")
    for table in ("semaphore", "holder", "waiter", "store"):
        done = subprocess.run([server.bin / "psql", "-X", "-q", "-c", f"SELECT * FROM weir.{table}", url],
                              text=True, capture_output=True)
        check("permission denied" in done.stderr, f"{table}: {done.stdout}{done.stderr}")
    done = subprocess.run([server.bin / "psql", "-X", "-q", "-c", "SELECT weir.whereabouts()", url],
                          text=True, capture_output=True)
    check("permission denied" in done.stderr, "what is not an operation is not the user's to call")
    server.sql("REVOKE EXECUTE ON FUNCTION weir.acquire FROM app")
    code, _, err = weir(url, "run", "-n", "a", "true")
    check(code == 69 and "function acquire" in err, f"a right that was taken away: {code} {err}")
    administer(err)
    check(weir(url, "run", "-n", "a", "true")[0] == 0, "and is given back")
    server.sql("CREATE ROLE other LOGIN PASSWORD 'x'")
    code, _, err = weir(f"postgres://other:x@127.0.0.1:{server.port}/postgres", "ls")
    check(code == 69 and "--grant 'other'" in err, f"a user who was not let in: {err}")


def test_remedies(server):
    """The command that an administrator is told to run does it, whatever the names are and wherever they come from."""
    role, database = "We'ird \"$(false)\" %41 &", "My db%? 'x' #&ü"
    server.sql(f"""CREATE ROLE "{role.replace('"', '""')}" LOGIN PASSWORD '{PASSWORD}'""")
    server.sql(f'CREATE DATABASE "{database}"')
    services = server.directory / "services"
    services.write_text(f"[s]\nhost=127.0.0.1\nport={server.port}\n")
    user, path = quote(role, safe=""), quote(database, safe="")
    who, port, directory = f"postgres://{user}:{PASSWORD}@", server.port, server.directory
    cases = [(f"{who}/{path}?host={directory}&port={port}", {}),
             (f"{who}/{path}?service=s", {"PGSERVICEFILE": str(services)}),
             (f"{who}/{path}", {"PGHOST": str(directory), "PGPORT": str(port)}),
             (f"{who}127.0.0.1:1,127.0.0.1:{port}/{path}", {}),
             (f"{who}127.0.0.1:{port}/{path}?sslmode=disable", {})]
    if "::1" in server.addresses:
        cases.append((f"{who}[::1]:{port}/{path}", {}))
    for url, environment in cases:
        code, _, err = weir(url, "ls", environment=environment)
        check(code == 69 and "no store in the schema weir" in err, f"{url}: {code} {err}")
        administer(err)
        code, _, err = weir(url, "run", "-n", "a", "true", environment=environment)
        check(code == 0, f"{url}: {err}")
        server.sql("DROP SCHEMA weir CASCADE", database)
    # Half of a command is worse than none.
    long = "'" * 63
    server.sql(f'CREATE ROLE "{long}" LOGIN')
    server.sql(f'CREATE DATABASE "{"ü" * 31}"')
    code, _, err = weir(f"postgres://{long}@/{quote('ü' * 31)}?host={directory}&port={port}", "ls")
    check(code == 69 and err.endswith("somebody who may runs: weir store init there\n"), f"{code} {err}")
    # Who may not let others in, and who may not migrate.
    url, other = f"postgres://app:{PASSWORD}@127.0.0.1:{port}/postgres", f"postgres://{user}@/postgres?host={directory}&port={port}"
    code, _, err = weir(url, "store", "init", "--grant", role)
    check(code == 69 and "app may not let others use" in err, f"{code} {err}")
    administer(err)
    check(weir(other, "ls")[0] == 0, "the one who was named is let in")
    server.sql("UPDATE weir.store SET version = 0")
    code, _, err = weir(url, "ls")
    check(code == 69 and "the schema weir is of version 0" in err and "--grant 'app'" in err, f"{code} {err}")
    server.sql("UPDATE weir.store SET version = 1")


def test_search_path(server):
    """Whatever a user puts in front of the server's own functions does not run with the rights of the store's owner."""
    url = f"postgres://app:{PASSWORD}@127.0.0.1:{server.port}/postgres"

    def sql(text):
        done = subprocess.run([server.bin / "psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-c", text, url],
                              text=True, capture_output=True)
        check(done.returncode == 0, done.stderr)
        return done.stdout.split()

    server.sql("CREATE SCHEMA trap AUTHORIZATION app; GRANT USAGE ON SCHEMA trap TO PUBLIC; SELECT weir.ensure('s', NULL, 0, 1)")
    sql("CREATE TABLE trap.caught (who text); GRANT INSERT ON trap.caught TO PUBLIC")
    catch = "LANGUAGE plpgsql AS $$BEGIN INSERT INTO trap.caught VALUES (current_user); RETURN NULL; END$$"
    for name, values, result in (("clock_timestamp", "", "timestamptz"), ("pg_notify", "text, text", "text"),
                                 ("current_setting", "text", "text"), ("string_to_array", "text, text", "text[]"),
                                 ("date_part", "text, timestamptz", "float8"), ("nextval", "regclass", "bigint")):
        sql(f"CREATE FUNCTION trap.{name}({values}) RETURNS {result} {catch}")
    for number, (sign, left, right, result) in enumerate((
            ("+", "bigint", "integer", "bigint"), ("+", "bigint", "bigint", "bigint"),
            ("+", "timestamptz", "interval", "timestamptz"), ("-", "timestamptz", "timestamptz", "interval"),
            ("=", "text", "text", "boolean"), ("<>", "text", "text", "boolean"), ("=", "uuid", "uuid", "boolean"),
            ("<", "timestamptz", "timestamptz", "boolean"), (">", "timestamptz", "timestamptz", "boolean"),
            ("<=", "timestamptz", "timestamptz", "boolean"))):
        sql(f"CREATE FUNCTION trap.op_{number}({left}, {right}) RETURNS {result} {catch}")
        sql(f"CREATE OPERATOR trap.{sign} (FUNCTION = trap.op_{number}, LEFTARG = {left}, RIGHTARG = {right})")
    sql("CREATE FUNCTION trap.look(text) RETURNS boolean LANGUAGE plpgsql AS "
        "$$BEGIN INSERT INTO trap.caught VALUES (current_user); RETURN true; END$$")
    for name in "text", "uuid", "timestamptz", "int4", "int8", "bool", "interval", "varbit", "name":
        sql(f"CREATE DOMAIN trap.{name} AS pg_catalog.{name} CHECK (trap.look(VALUE::pg_catalog.text))")
    path = "SET search_path = trap, pg_catalog, weir; "
    word = server.sql("SELECT server FROM weir.hello()").strip()
    first, second = (f"00000000-0000-0000-0000-00000000000{digit}" for digit in (3, 4))

    def acquire(token, path=path):
        return sql(path + f"SELECT weir.acquire('s', '1 1 30000000 {word}', '{token}', 'me', 'c', '0 9000000 9')")[0]

    def release(token, guess):
        return sql(path + f"SELECT coalesce(weir.release('s', '{word}', '{token}', '0 1 0', {guess}), '{{0}}')")[0]

    # The long way, the sole lease, one to wait for it, which is handed it; and those who were beside others.
    check(acquire(first).startswith("{0,") and release(first, False) == "{0}", "granted and released")
    for fence, guess in (2, False), (4, True):
        check(acquire(first) == str(fence), "granted in the shortest way")
        check(acquire(second, "SET search_path = pg_catalog, weir, pg_temp; ").startswith("{1,"), "waits as the next one")
        check(release(first, guess) == "1" and release(second, guess) == "{0}", "handed over and released")
    check(acquire(first) == "6", "and again")
    check(acquire(second).startswith("{1,"), "waits")
    check(sql(path + f"SELECT weir.leave('s', '{word}', ARRAY['{first}', '{second}']::pg_catalog.uuid[], '{{0,0}}', "
              "'{1,1}', 0)") == ["{0,0}"], "handed over and released together")
    check(sql(path + f"SELECT weir.join_in('s', '1 1 30000000 {word}', ARRAY['{first}', '{second}']::pg_catalog.uuid[], "
              "'me', 'c', '0 0 9')")[0].endswith(",1,-11}"), "one is granted, the other one not")
    check(sql("SELECT who FROM trap.caught") == [], "somebody else's functions were called")
    sql(path + "SELECT 1::bigint + 1::bigint")
    check(sql("SELECT who FROM trap.caught") == ["app"], "the trap works")


def test_secrets(server):
    """A wrong password is refused, at once, and not repeated."""
    code, _, err = weir(f"postgres://app:wrong-{PASSWORD}@127.0.0.1:{server.port}/postgres?attempts=1000", "ls")
    check(code == 69 and PASSWORD not in err and "password" in err, err)
    check("28P01" not in err and ".c:" not in err, f"what only helps a programmer is left out: {err}")
    code, _, err = weir(f"postgres://app:{PASSWORD}@127.0.0.1:{server.port}/nowhere?attempts=1000", "ls")
    check(code == 69 and '"nowhere"' in err, f"no such database, at once: {err}")
    code, _, _ = weir(f"postgres://app@127.0.0.1:{server.port}/postgres", "ls",
                      environment={"PGPASSWORD": PASSWORD})
    check(code == 0, "the password may be in the environment")
    passfile = server.directory / "pass"
    passfile.write_text(f"*:*:*:*:{PASSWORD}\n")
    passfile.chmod(0o600)
    code, _, err = weir(f"postgres://app@127.0.0.1:{server.port}/postgres?passfile={passfile}", "ls")
    check(code == 0, f"or in a file: {err}")
    check(weir("postgres:a:secret-1@h/x", "ls")[0] == 64, "a URL that is none")
    code, _, err = weir(f"postgres://app:{PASSWORD}@192.0.2.1/postgres?attempts=1&connect_timeout=100ms", "ls")
    check(code == 69 and PASSWORD not in err, err)
    for secret in "cut/here", "cut@here", "cut@he/re":
        code, _, err = weir(f"postgres://app:{secret}@127.0.0.1:{server.port}/postgres?attempts=1", "ls")
        check(code == 64 and "cut" not in err and "here" not in err and "%40 %2F" in err, err)
    code, _, err = weir(f"postgres://root:*@/a*b?host={server.directory}&port={server.port}&attempts=1", "ls")
    check(code == 69 and "a*b" in err, f"one that redacts to itself: {err}")


def test_hosts(server):
    """Where the first of several hosts refuses, the next one is asked."""
    code, _, err = weir(f"postgres://app:{PASSWORD}@127.0.0.1:1,127.0.0.1:{server.port}/postgres?attempts=1", "ls")
    check(code == 0, err)


def test_tls_by_default(server):
    """Off this host a server must prove who it is, unless somebody has said otherwise. This one cannot."""
    far = f"app:{PASSWORD}@0.0.0.0:{server.port}"  # it is this host all the same
    service = f"postgres://app:{PASSWORD}@/postgres?attempts=1&service="
    services = server.directory / "services"
    services.write_text(f"[far]\nhost=0.0.0.0\nport={server.port}\n"
                        f"[trusted]\nhost=0.0.0.0\nport={server.port}\nsslmode=disable\n")
    for url, environment, expected in (
            (f"postgres://{far}/postgres?attempts=1", {}, 69),
            (f"postgres://{far},127.0.0.1:1/postgres?attempts=1", {}, 69),
            (f"{service}far", {"PGSERVICEFILE": str(services)}, 69),
            (f"postgres://{far}/postgres?attempts=1&sslmode=prefer", {}, 0),
            (f"postgres://{far}/postgres?attempts=1", {"PGSSLMODE": "prefer"}, 0),
            (f"{service}trusted", {"PGSERVICEFILE": str(services)}, 0)):
        code, _, err = weir(url, "ls", environment=environment)
        check(code == expected and (code == 0 or "SSL was required" in err), f"{url}: {code} {err}")


def test_settings(server):
    """CHECKLIST 64: no session of ours has a lock for long, whatever the server's own settings are."""
    server.sql("CREATE TABLE seen (name text, value text); CREATE FUNCTION see() RETURNS trigger LANGUAGE plpgsql AS "
               "$$BEGIN INSERT INTO public.seen SELECT s.name, s.setting FROM pg_settings s; RETURN NULL; END$$; "
               "CREATE TRIGGER see AFTER INSERT ON weir.semaphore EXECUTE FUNCTION see(); "
               "ALTER ROLE root SET default_transaction_isolation = 'serializable'")
    try:
        check(weir(server.unix_url + "&timeout=4s&synchronous_commit=local", "limit", "settings", "1")[0] == 0, "made")
        seen = dict(line.split("|", 1) for line in server.sql("SELECT * FROM seen").splitlines() if "|" in line)
        for name, value in (("statement_timeout", "4000"), ("lock_timeout", "3000"),
                            ("idle_in_transaction_session_timeout", "4000"), ("transaction_isolation", "read committed"),
                            ("search_path", "pg_catalog, weir, pg_temp"), ("synchronous_commit", "local")):
            check(seen[name] == value, f"{name} is {seen[name]}")
    finally:
        server.sql("DROP FUNCTION see CASCADE; DROP TABLE seen; ALTER ROLE root RESET ALL")


def test_too_many(server):
    """CHECKLIST 70: whoever finds no connection free tries again."""
    url = f"postgres://app:{PASSWORD}@127.0.0.1:{server.port}/postgres"
    server.sql("ALTER ROLE app CONNECTION LIMIT 0")
    try:
        code, _, err = weir(url + "?attempts=1", "ls")
        check(code == 69 and "too many connections" in err, f"{code} {err}")
        late = subprocess.Popen([WEIR, "ls"], env={**os.environ, "WEIR_STORE": url + "?attempts=1000&max_delay=100ms"},
                                stdout=subprocess.DEVNULL)
        time.sleep(0.5)
        check(late.poll() is None, "it has not given up")
    finally:
        server.sql("ALTER ROLE app CONNECTION LIMIT -1")
    check(late.wait(60) == 0, "and is let in when there is one")


def test_reaper(server):
    """What is over is cleared away by whoever is connected, as many at a time as it was told; or by nobody."""
    def left():
        return int(server.sql("SELECT count(*) FROM weir.lease WHERE name LIKE 'over-%'"))

    def make():
        for i in range(3):
            check(weir(server.unix_url, "acquire", "-j", "1", "--ttl", "1s", f"over-{i}")[0] == 0, "acquired")
        while int(server.sql("SELECT count(*) FROM weir.holders WHERE name LIKE 'over-%'")):
            time.sleep(0.05)

    make()
    for options, batches in ("&reaper_cadence=0", 0), ("&reaper_cadence=100ms&reaper_batch=1", 3), ("&reaper_cadence=100ms", 1):
        if left() == 0:
            make()
        idle = subprocess.Popen([WEIR, "run", "-q", "idle", "sleep", "60"],
                                env={**os.environ, "WEIR_STORE": server.unix_url + options})
        try:
            until = time.monotonic() + (20 if batches else 1)
            while left() != 0 and time.monotonic() < until:
                time.sleep(0.05)
        finally:
            idle.terminate()
            idle.wait()
        check(left() == (0 if batches else 3), f"{left()} are left with {options}")
        # Each batch is a transaction.
        seen = server.sql("SELECT count(DISTINCT xmin::text) FROM weir.semaphore WHERE name LIKE 'over-%'").strip()
        check(batches == 0 or seen == str(batches), f"{seen} batches with {options}")


def test_percent_signs(server):
    """The values of options are as in libpq's URLs."""
    directory = str(server.directory).replace("/", "%2F").replace("t", "%74")
    url = f"postgres://root@/postgres?host={directory}&port=%3{str(server.port)[0]}{str(server.port)[1:]}"
    code, _, err = weir(url, "ls")
    check(code == 0, f"a socket's directory with percent signs: {err}")
    for value in ("%", "%2", "%2x", "a%00b"):
        code, _, err = weir(f"postgres:///postgres?host={value}", "ls")
        check(code == 64 and "option host" in err, f"{value}: {code} {err}")
    role = "one & two? 100%41"
    server.sql(f'CREATE ROLE "{role}"')
    code, _, err = weir(server.unix_url, "store", "init", "--grant", role)
    check(code == 0, f"any role can be let in: {err}")
    check(server.sql(f"SELECT has_schema_privilege('{role}', 'weir', 'USAGE')").strip() == "t", "and is")


def test_options(server):
    """What cannot be meant is refused before a server is asked, and what there is instead is said."""
    for option, words in (("sslmod=require", "option sslmod is sslmode reaper_batch"), ("sslmode=bogus", "sslmode verify-full"),
                          ("port=99999", "port 65535"), ("port=1,2x", "port"), ("port=0", "port"), ("port=", ""),
                          ("direct=h:99999", "direct 65535")):
        code, _, err = weir(f"{server.unix_url.split('&')[0]}&attempts=1&{option}", "ls")
        check(code == (64 if words else 69) and all(word in err for word in words.split()), f"{option}: {code} {err}")
    code, _, err = weir(f"postgres://app:{PASSWORD}@127.0.0.1:65536/postgres", "ls")
    check(code == 64 and "65535" in err and PASSWORD not in err, f"{code} {err}")


def test_versions(server):
    """A schema of a newer version is left alone; another schema is another store."""
    server.sql("UPDATE weir.store SET version = 99")
    code, _, err = weir(server.unix_url, "ls")
    check(code != 0 and "99" in err and "newer" in err, err)
    server.sql("UPDATE weir.store SET version = 1")
    other = server.unix_url + "&schema=other_1"
    check(weir(other, "limit", "x", "3")[0] == 0, "another schema is made")
    check(weir(server.unix_url, "limit", "x")[0] != 0, "and shares nothing")
    check(weir(server.unix_url + '&schema=a"b', "ls")[0] == 64, "a schema's name is checked")
    for word in "user", "order", "table", "select", "none", "left", "between":
        code, _, err = weir(f"{server.unix_url}&schema={word}", "ls")
        check(code == 64 and f"such as {word}" in err, f"a word of SQL's: {code} {err}")
    check(weir(server.unix_url + "&schema=data", "ls")[0] == 0, "some words can be names")


def test_own_schema(server):
    """A schema with somebody else's things in it is left alone. An empty one will do."""
    server.sql("CREATE SCHEMA shop; GRANT USAGE ON SCHEMA shop TO app; "
               "CREATE FUNCTION shop.price() RETURNS integer LANGUAGE sql AS 'SELECT 42'; "
               "CREATE SCHEMA stock; CREATE TABLE stock.item (); CREATE SCHEMA kinds; CREATE TYPE kinds.kind AS ENUM ('a'); "
               "CREATE SCHEMA chain; CREATE TABLE chain.store (); CREATE SCHEMA vacant")
    for schema in "shop", "stock", "kinds", "chain":
        code, _, err = weir(server.unix_url, "store", "init", "--store", f"{server.unix_url}&schema={schema}")
        check(code != 0 and schema in err and "something else in it" in err and "schema=" in err, f"{code} {err}")
    done = subprocess.run([server.bin / "psql", "-X", "-q", "-A", "-t", "-c", "SELECT shop.price()", server.tcp_url],
                          text=True, capture_output=True)
    check(done.stdout.strip() == "42", f"and what was allowed is: {done.stderr}")
    check(weir(server.unix_url + "&schema=vacant", "limit", "x", "3")[0] == 0, "an empty schema is used")
    for schema in "public", "information_schema":
        code, _, err = weir(f"{server.unix_url}&schema={schema}", "ls")
        check(code == 64 and schema in err, f"{schema}: {code} {err}")


def test_views(server):
    """Whoever operates a server sees in SQL who holds and who waits."""
    url = server.unix_url
    check(weir(url, "acquire", "-j", "1", "--owner", "anna", "--ttl", "1m", "v")[0] == 0, "acquired")
    waiter = subprocess.Popen([WEIR, "run", "-q", "--owner", "bert", "v", "true"],
                              env={**os.environ, "WEIR_STORE": url})
    try:
        while not server.sql("SELECT owner FROM weir.waiters WHERE name = 'v'").strip():
            time.sleep(0.02)
        check(server.sql("SELECT owner, slot, weight, fence FROM weir.holders WHERE name = 'v'").strip() ==
              "anna|0|1|1", "the holder")
        check(server.sql("SELECT owner, position FROM weir.waiters WHERE name = 'v'").strip() == "bert|1",
              "the waiter")
        check(server.sql("SELECT permits, held, percent, waiting FROM weir.status WHERE name = 'v'")
              .strip() == "1|1|100.0|1", "the semaphore")
        check(weir(url, "evict", "-a", "v")[0] == 0, "evicted")
        check(waiter.wait(20) == 0, "and the next one runs")
    finally:
        waiter.kill()
        waiter.wait()


def test_dead_in_views(server):
    """A view has neither leases that are over nor who was killed while it waited, although nobody has cleared them away."""
    url = server.unix_url + "&heartbeat=200ms"

    def counts(name):
        return server.sql("SELECT held, holders, waiting, (SELECT count(*) FROM weir.holders h WHERE h.name = s.name), "
                          "(SELECT count(*) FROM weir.waiters w WHERE w.name = s.name) FROM weir.status s "
                          f"WHERE name = '{name}'").strip()

    def await_counts(name, expected):
        until = time.monotonic() + 20
        while counts(name) != expected:
            check(time.monotonic() < until, f"{name} is {counts(name)}, not {expected}")
            time.sleep(0.02)

    # The first lease of a name has a row of its own, the second one is the sole one; likewise of two that wait one is
    # the next one.
    check(weir(url, "run", "-j", "1", "--ttl", "1s", "twice", "true")[0] == 0, "used")
    for name, is_sole in ("once", "f"), ("twice", "t"):
        check(weir(url, "acquire", "-j", "1", "--ttl", "1s", name)[0] == 0, "acquired")
        await_counts(name, "0|0|0|0|0")
        check(server.sql("SELECT sole IS NOT NULL FROM weir.lease JOIN weir.semaphore USING (name) "
                         f"WHERE name = '{name}'").strip() == is_sole, "it was not cleared away")
    check(weir(url, "acquire", "-j", "1", "--ttl", "10m", "stays")[0] == 0, "acquired")
    waiters = []
    try:
        for waiting in 1, 2:
            waiters.append(subprocess.Popen([WEIR, "run", "-q", "--ttl", "10m", "stays", "true"],
                                            env={**os.environ, "WEIR_STORE": url}))
            await_counts("stays", f"1|1|{waiting}|1|{waiting}")
    finally:
        for waiter in waiters:
            waiter.kill()
            waiter.wait()
    await_counts("stays", "1|1|0|1|0")
    check(server.sql("SELECT count(*) FROM weir.queue WHERE name = 'stays'").strip() == "2", "they were not cleared away")


def sizes(server):
    return server.sql("SELECT sum(pg_total_relation_size(oid)) FROM pg_class WHERE relnamespace = "
                      "'weir'::regnamespace AND relkind = 'r'").strip()


def test_growth(server):
    """Acquiring and releasing makes nothing grow, although nobody vacuums. CHECKLIST 69."""
    server.sql("ALTER TABLE weir.semaphore SET (autovacuum_enabled = off); "
               "ALTER TABLE weir.holder SET (autovacuum_enabled = off)")
    word = server.sql("SELECT server FROM weir.hello()").strip()
    # The path of those who go the short ways. One semaphore has a lease that stays, so the others are in rows of
    # their own.
    server.sql("ALTER ROLE root SET search_path = pg_catalog, weir, pg_temp; ALTER ROLE root SET enable_seqscan = off")
    server.sql("SELECT weir.ensure('g', NULL, 0, 1), weir.ensure('h', NULL, 0, 3)")
    comes, stays = "00000000-0000-0000-0000-000000000001", "00000000-0000-0000-0000-000000000002"
    server.sql(f"SELECT weir.request('h', '{word}', 0, 0, 1, 3600000000, 0, 0, 9, 'me', NULL, 'c', '{stays}', 0)")
    script = server.directory / "pair.sql"
    script.write_text("".join(
        f"SELECT weir.{acquire}, 'me', 'c', '0 0 9');\nSELECT weir.{release});\n" for acquire, release in (
            (f"acquire('g', '0 1 30000000 {word}', '{comes}'", f"release('g', '{word}', '{comes}', '0 1 0', false"),
            (f"join_in('h', '0 1 30000000 {word}', '{{{comes}}}'", f"leave('h', '{word}', '{{{comes}}}', '{{1}}', '{{1}}', 0"))))

    def churn(pairs):
        out = run([server.bin / "pgbench", "-n", "-M", "prepared", "-h", server.directory, "-p", server.port,
                   "-U", "root", "-f", script, "-t", pairs, "postgres"])
        check(f"actually processed: {pairs}/{pairs}" in out, out)

    churn(500)
    before = int(sizes(server))
    churn(PAIRS)
    after = int(sizes(server))
    server.sql("ALTER ROLE root RESET ALL")
    counts = server.sql("SELECT fence, held FROM weir.status WHERE name IN ('g', 'h') ORDER BY name").split()
    check(counts == [f"{PAIRS + 500}|0", f"{PAIRS + 501}|1"], f"all were granted: {counts}")
    # Whoever reads anywhere at that moment, as the server itself does now and then, keeps old versions for as long, and
    # then a row may have to move to another page; once there are some to move to, there need not be more. Without any
    # clearing away it would be a kilobyte and more for each pair. Two million were seen to add 48 KiB, all of it in the
    # first 800,000.
    check(after <= before + 131072, f"{before} bytes became {after} after {PAIRS} pairs")
    # Each new version of a row finds room beside the old one, and no index hears of it.
    hot = server.sql("SELECT relname FROM pg_stat_user_tables WHERE schemaname = 'weir' AND "
                     f"n_tup_upd >= {PAIRS} AND n_tup_hot_upd >= 0.99 * n_tup_upd ORDER BY relname").split()
    check(hot == ["holder", "semaphore"], f"rows are updated in place only in {hot}")


def test_lock(server):
    """L10: a lease counts from when the lock was had, also if whoever had it before has changed nothing."""
    url = server.unix_url
    # As long a one as there was before, so it goes the short way.
    check(weir(url, "run", "-n", "-j", "1", "--ttl", "10m", "k", "true")[0] == 0, "used")
    psql = subprocess.Popen([server.bin / "psql", "-X", "-q", "-A", "-t", url], text=True,
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    psql.stdin.write("BEGIN; SELECT FROM weir.semaphore WHERE name = 'k' FOR UPDATE; SELECT 'locked';\n")
    psql.stdin.flush()
    while psql.stdout.readline().strip() != "locked":
        check(psql.poll() is None, "psql has ended")
    waiter = subprocess.Popen([WEIR, "acquire", "--ttl", "10m", "k"], env={**os.environ, "WEIR_STORE": url},
                              stdout=subprocess.DEVNULL)
    while server.sql("SELECT count(*) FROM pg_locks WHERE NOT granted").strip() == "0":
        check(waiter.poll() is None, "it did not wait for the lock")
    free = server.sql("SELECT clock_timestamp()").strip()
    psql.communicate("COMMIT;\n")
    check(waiter.wait() == 0, "acquired")
    late = server.sql(f"SELECT since >= '{free}' FROM weir.holders WHERE name = 'k'").strip()
    check(late == "t", f"the lease counts from before {free}")


def test_restart(server):
    """A crash of the server loses no lease, and nobody has to wait for that."""
    url = server.unix_url
    code, out, _ = weir(url, "acquire", "-j", "1", "--ttl", "10m", "r")
    check(code == 0, "acquired")
    server.stop(signal.SIGKILL)
    server.start()
    check(weir(url, "run", "-n", "r", "true")[0] == 75, "it is still held")
    variables = dict(re.findall(r"(WEIR_\w+)='?([^'\n;]*)'?", out))
    check(weir(url, "release", "r", variables["WEIR_TOKEN"])[0] == 0, "and can be given back")
    code, _, err = weir(url, "run", "-n", "r", "true")
    check(code == 0, f"nothing was lost, so nobody waits: {err}")


def test_lax_restart(server):
    """If commits do not wait for the disk, a crash may lose some: nobody is granted while they may live."""
    url = server.unix_url + "&synchronous_commit=off"
    check(weir(url, "run", "-n", "--ttl", "3s", "l", "true")[0] == 0, "used")
    server.sql("CHECKPOINT")
    server.stop(signal.SIGKILL)
    server.start()
    started = time.monotonic()
    check(weir(url, "run", "-n", "--ttl", "3s", "l", "true")[0] == 75, "nobody is granted at once")
    check(weir(url, "run", "-w", "20s", "--ttl", "3s", "l", "true")[0] == 0, "but later")
    check(time.monotonic() - started > 1, "after a while")


def fence_of(url, *arguments):
    """Of a lease that is given back at once."""
    code, out, err = weir(url, "run", "-q", *arguments, "sh", "-c", "echo $WEIR_FENCE")
    check(code == 0, f"{arguments}: {err}")
    return int(out)


def test_backup(server):
    """What was granted since a dump was made is lost when that is restored: nobody is granted while it may live, and
    no fence comes again."""
    url = server.unix_url + "&schema=saved"
    dump = server.directory / "dump.sql"
    check(fence_of(url, "-j", "1", "--ttl", "3s", "b") == 1, "the first fence")
    dump.write_text(run([server.bin / "pg_dump", "-h", server.directory, "-p", server.port, "-U", "root", "-n", "saved",
                         "postgres"]))
    check([fence_of(url, "--ttl", "3s", "b") for _ in range(3)] == [2, 3, 4], "three more")
    check(weir(url, "acquire", "--ttl", "3s", "b")[0] == 0, "and one that is held")
    server.sql("DROP SCHEMA saved CASCADE")
    run([server.bin / "psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-h", server.directory, "-p", server.port, "-U", "root",
         "-f", dump, "postgres"])
    check(weir(url, "run", "-n", "--ttl", "3s", "b", "true")[0] == 75, "nobody is granted at once")
    check(weir(url, "run", "-n", "-j", "1", "--ttl", "3s", "unheard-of", "true")[0] == 75, "nor under a name that is new")
    check(fence_of(url, "-w", "20s", "--ttl", "3s", "b") > 5, "and later, the fence has not gone back")


def test_promotion(server, directory):
    """A replica that took over may not know every lease: nobody is granted until the longest TTL is over."""
    check(weir(server.unix_url, "acquire", "-j", "2", "--ttl", "4s", "p")[0] == 0, "acquired")
    # Of which it has heard less: of no lease but one's, and of none.
    heard, unheard = "&schema=heard", "&schema=unheard"
    check(fence_of(server.unix_url + heard, "-j", "1", "--ttl", "4s", "old") == 1, "the first fence")
    for schema in heard, unheard:
        check(weir(server.unix_url + schema, "limit", "idle", "1")[0] == 0, "a name that has had no lease")
    replica = Server(directory, data="replica")
    replica.follow(server.port)
    try:
        replica.start()
        code, _, err = weir(replica.unix_url + "&attempts=1", "ls")
        check(code == 69 and "replica" in err, f"a replica is not asked: {err}")
        replica.stop(signal.SIGINT)
        check([fence_of(server.unix_url + heard, "-j", "1", "--ttl", "4s", "young") for _ in range(3)] == [1, 2, 3],
              "three fences of which it will not hear")
        server.stop(signal.SIGKILL)
        replica.start()
        run([server.bin / "pg_ctl", "promote", "-w", "-D", replica.data])
        started = time.monotonic()
        check(weir(replica.unix_url, "run", "-n", "p", "true")[0] == 75, "nobody is granted at once")
        for schema in heard, unheard:
            for name in "idle", "young":
                check(weir(replica.unix_url + schema, "run", "-n", "-j", "1", "--ttl", "4s", name, "true")[0] == 75,
                      f"nor under {name} of {schema}")
        check(replica.sql("SELECT name FROM unheard.status WHERE closed_until BETWEEN now() + interval '20 s' AND now() + "
                          "interval '30 s' ORDER BY name").split() == ["idle", "young"], "for as long as one lives by default")
        check(weir(replica.unix_url, "run", "-n", "-j", "1", "brand-new", "true")[0] == 75,
              "nor under a name that is new")
        check(weir(replica.unix_url + "&failover=continue", "run", "-n", "-j", "1", "newer", "true")[0] == 0,
              "unless somebody knows better")
        check(weir(replica.unix_url, "run", "-w", "30s", "p", "true")[0] == 0, "but when it is over")
        check(time.monotonic() - started > 2, "and not before")
        for name in "young", "younger":
            check(fence_of(replica.unix_url + heard, "-w", "20s", "-j", "1", "--ttl", "4s", name) > 3,
                  f"the fence of {name} has not gone back")
        grants = {"old": 2, "young": 1, "younger": 1}
        check(fence_of(replica.unix_url + heard, "-w", "20s", "--ttl", "4s", "old") > 1, "nor has that of one it knew")
        seen = {name: counted["granted_at_once"] + counted["granted_after_wait"]
                for name in grants for counted in [shown(replica.unix_url + heard, name)]}
        check(seen == grants, f"the jump counts as grants: {seen}")
        seen = replica.sql("SELECT name, granted_at_once + granted_after_wait FROM heard.status ORDER BY name").split()
        check(seen == ["idle|0", *(f"{name}|{count}" for name, count in grants.items())], f"nor in the view: {seen}")
    finally:
        replica.stop()


def use_v6(server):
    """Where this host has it."""
    server.addresses = ["127.0.0.1"]
    try:
        with socket.create_server(("::1", 0), family=socket.AF_INET6):
            server.addresses.append("::1")
    except OSError:
        return
    server.options.append("listen_addresses=" + ",".join(server.addresses))
    with open(server.data / "pg_hba.conf", "a", encoding="ascii") as file:
        file.write("host all all ::1/128 scram-sha-256\n")


def main():
    need_postgres()
    with new_directory() as directory:
        server = Server(directory)
        try:
            server.create()
            use_v6(server)
            server.start()
            server.sql(f"ALTER ROLE root PASSWORD '{PASSWORD}'; CREATE ROLE app LOGIN PASSWORD '{PASSWORD}'; "
                       "REVOKE CREATE ON DATABASE postgres FROM PUBLIC")
            for test in (test_roles, test_remedies, test_search_path, test_secrets, test_tls_by_default,
                         test_settings, test_too_many, test_reaper, test_percent_signs, test_options, test_hosts,
                         test_versions, test_own_schema, test_views, test_dead_in_views, test_growth,
                         test_lock, test_restart, test_lax_restart, test_backup):
                test(server)
                print("ok", test.__name__, flush=True)
            test_promotion(server, directory)
            print("ok test_promotion")
        finally:
            server.stop()
    check(not any(PASSWORD in text for text in said), "no output has a password in it")


if __name__ == "__main__":
    main()
