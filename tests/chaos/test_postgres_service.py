#!/usr/bin/env python3
"""A PostgreSQL store as its administrator runs it: views, growth, restarts, backups, a replica that takes over.

    test_postgres_service.py WEIR [PAIRS]

PAIRS: how many acquisitions and releases the test of growth makes."""

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "support"))

from play_postgres import WEIR, check, play, shown, weir  # noqa: E402
from with_postgres import Server, run  # noqa: E402

PAIRS = int(sys.argv[2]) if len(sys.argv) > 2 else 3000


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


def test_promotion(server):
    """A replica that took over may not know every lease: nobody is granted until the longest TTL is over."""
    check(weir(server.unix_url, "acquire", "-j", "2", "--ttl", "4s", "p")[0] == 0, "acquired")
    # Of which it has heard less: of no lease but one's, and of none.
    heard, unheard = "&schema=heard", "&schema=unheard"
    check(fence_of(server.unix_url + heard, "-j", "1", "--ttl", "4s", "old") == 1, "the first fence")
    for schema in heard, unheard:
        check(weir(server.unix_url + schema, "limit", "idle", "1")[0] == 0, "a name that has had no lease")
    replica = Server(server.directory, data="replica")
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
        check(0 < shown(replica.unix_url, "p")["closed"] <= 4, "who looks before anybody asks is told how long it is closed")
        code, _, err = weir(replica.unix_url, "run", "-n", "p", "true")
        check(code == 75 and "started again or replaced" in err, f"nobody is granted at once: {err}")
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
        check(shown(replica.unix_url, "p")["closed"] == 0, "then it is open")
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


if __name__ == "__main__":
    play(test_views, test_dead_in_views, test_growth, test_lock, test_restart, test_lax_restart, test_backup, test_promotion)
