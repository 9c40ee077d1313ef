#!/usr/bin/env python3
"""A PostgreSQL store as its administrator sets it up: roles, the schema, settings, what a URL may say.

    test_postgres_setup.py WEIR"""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import quote

sys.path.insert(0, str(Path(__file__).parent.parent / "support"))

from play_postgres import WEIR, check, play, weir  # noqa: E402
from with_postgres import PASSWORD, Pool  # noqa: E402


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


def examine(url):
    """What doctor says about the server: the words of each remark, of those that matter with a ! before them."""
    code, out, err = weir(url, "doctor", "--json")
    check(code in (0, 1), f"{code} {err}")
    found = {f"{'!' if of['grade'] == 'attention' else ''}{of['about']}": of["text"] for of in json.loads(out)}
    check(code == any(about[0] == "!" for about in found), f"the exit code is {code}: {out}")
    return {about: text for about, text in found.items() if about not in ("open", "store")}


def test_doctor(server):
    """It says what the server is, and what should be done about it."""
    where, far = f"127.0.0.1:{server.port}/postgres", f"postgres://app:{PASSWORD}@0.0.0.0:{server.port}/postgres"
    found = examine(f"postgres://app:{PASSWORD}@{where}")
    version = server.sql("SHOW server_version").split()[0]
    check(list(found) == ["server", "!disk"] and "fsync" in found["!disk"], f"tests do without it: {found}")
    for word in where, f"PostgreSQL {version};", "app uses", "schema weir,":
        check(word in found["server"], f"{word} is not in {found}")
    found = examine(server.unix_url + "&failover=continue")
    check("more holders" in found["!failover"], f"that is bold: {found}")
    found = examine(far + "?sslmode=disable")
    check("sslmode=verify-full" in found["!network"] and "the password too" in found["!network"], f"others may listen: {found}")
    pool = Pool(server)
    pool.start()
    try:
        check("direct=" in examine(pool.url)["!pooler"], "nobody hears through it")
        direct = f"{pool.url}?direct={server.directory}:{server.port}"
        check(list(examine(direct)) == ["server", "!disk"], "unless he knows another way")
    finally:
        pool.stop()
    server.stop(signal.SIGINT)
    server.options.remove("fsync=off")
    server.start()
    try:
        found = examine(server.unix_url)
        check(list(found) == ["server", "disk"] and "loses nothing" in found["disk"], f"nothing to do: {found}")
        found = examine(server.unix_url + "&synchronous_commit=off")
        check("last moments; nobody is granted then" in found["disk"], f"it was asked for: {found}")
        found = examine(server.unix_url + "&synchronous_commit=off&failover=continue")
        check("last moments" in found["disk"] and "nobody" not in found["disk"], f"and that, too: {found}")
        server.sql("ALTER ROLE root SET synchronous_commit = off")
        check("last moments" in examine(server.unix_url)["disk"], "or is the default")
    finally:
        server.sql("ALTER ROLE root RESET ALL")
        server.stop(signal.SIGINT)
        server.options.append("fsync=off")
        server.start()


def test_direct(server):
    """Behind a pooler, whoever waits is told by another way to the server, however that is written. None would ask."""
    hosts = [str(server.directory), *(f"[{host}]" if ":" in host else host for host in server.addresses)]
    pool = Pool(server)
    pool.start()
    waiter = None
    try:
        for host in hosts:
            url = (f"postgres://root:{PASSWORD}@127.0.0.1:{pool.port}/postgres?direct={host}:{server.port}&heartbeat=1h"
                   "&max_ttl=10h")
            check(weir(url, "acquire", "-j", "1", "--ttl", "10m", "far")[0] == 0, "acquired")
            waiter = subprocess.Popen([WEIR, "run", "-q", "--ttl", "3h", "far", "true"],
                                      env={**os.environ, "WEIR_STORE": url})
            while server.sql("SELECT count(*) FROM weir.waiters WHERE name = 'far'").strip() == "0":
                check(waiter.poll() is None, "it waits")
            check(weir(url, "evict", "-a", "far")[0] == 0, "evicted")
            check(waiter.wait(60) == 0, f"it was told by {host}")
    finally:
        if waiter is not None:
            waiter.kill()
            waiter.wait()
        pool.stop()


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
                          ("direct=h:99999", "direct 65535"), ("direct=[::1", "direct"), ("direct=[]:1", "direct"),
                          ("direct=[::1]1:2", "direct"), ("direct=[::1]:x", "direct")):
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


if __name__ == "__main__":
    play(test_roles, test_remedies, test_search_path, test_secrets, test_tls_by_default, test_doctor, test_direct,
         test_settings, test_too_many, test_reaper, test_percent_signs, test_options, test_hosts, test_versions, test_own_schema)
