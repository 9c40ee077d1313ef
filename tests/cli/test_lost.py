"""weir run when its lease ends before the command does."""

import os
import signal
import subprocess
import sys
import time

from support import check, main, wait_gone, wait_state

# Says its pid, a child's pid in the same group, and each TERM; does not end by itself.
STUBBORN = ("trap 'echo TERM' TERM; sh -c 'trap \"\" TERM; while :; do sleep 1000; done' & "
            "echo $$ $!; while :; do wait; done")


def start(weir, *options, script=STUBBORN):
    process = weir.start("run", *options, "a", "sh", "-c", script)
    return process, [int(pid) for pid in process.line().split()]


def evict(weir):
    holder = weir.show("a")["holders"][0]
    code, out, err = weir.run("evict", "a", holder["id"])
    check((code, out) == (0, ""), "weir evict works", code, out, err)


def test_evicted_told_and_killed(weir):
    """Section 7: TERM, then KILL of the whole group after -k; 76"""
    process, pids = start(weir, "-k", "0.3")
    waiter = weir.start("run", "a", "echo", "next")
    weir.wait_waiting(1)
    evict(weir)
    check(process.line() == "TERM", "TERM first")
    check(waiter.end()[:2] == (0, "next\n"), "the next one is served at once")
    code, _, err = process.end()
    check(code == 76 and "lost" in err and "evicted" in err, "76: the lease was lost and the command stopped", code, err)
    for pid in pids:
        wait_gone(pid, "nobody of the group is left")


def test_evicted_and_gentle(weir):
    process, _ = start(weir, "-s", "INT", script="trap 'echo INT; exit 0' INT; echo 1; "
                       "while :; do sleep 0.05; done")
    evict(weir)
    check(process.line() == "INT", "-s says how it is told")
    check(process.end()[0] == 76, "76, whatever its own code is")


def test_evict_all(weir):
    weir.run("limit", "a", "2")
    first, _ = start(weir, "-k", "0")
    second, _ = start(weir, "-k", "0")
    check(weir.run("evict", "--all", "a")[0] == 0, "evict --all")
    check(first.end()[0] == 76 and second.end()[0] == 76, "both are stopped")


def test_max_hold(weir):
    """Section 7: 124"""
    begun = time.monotonic()
    process, pids = start(weir, "--max-hold", "0.5", "-k", "0.3")
    check(process.line() == "TERM", "TERM first")
    check(time.monotonic() - begun >= 0.5, "not before its time")
    code, _, err = process.end()
    check(code == 124 and "most allowed" in err, "124", code, err)
    for pid in pids:
        wait_gone(pid, "nobody of the group is left")
    weir.wait_free()
    code = weir.run("run", "--max-hold", "0.2", "a", "sleep", "1000")[0]
    check(code == 124, "124, though TERM was enough", code)
    for ttl in ("1s", "1h"):
        code = weir.run("run", "--ttl", ttl, "--max-hold", "0.2", "a", "sleep", "1000")[0]
        check(code == 124, "124, whatever the TTL is", ttl, code)
    check(weir.run("run", "--max-hold", "1m", "a", "sh", "-c", "exit 3")[0] == 3, "in time")


def test_max_hold_ends_the_family_too(weir):
    """CHECKLIST 90 and 124: what the command left behind is not alive past the lease's end"""
    process = weir.start("run", "--max-hold", "0.5", "-k", "0.2", "a", "sh", "-c",
                         "(trap '' TERM; exec sleep 1000) >/dev/null 2>&1 & echo $! $$; exit 3")
    pid, command = map(int, process.line().split())
    wait_state(command, "Z", "88: the id of the group is kept while there are signals to be sent to it")
    check(process.end()[0] == 124, "124")
    wait_gone(pid, "nobody of the group is left")
    weir.wait_free()
    code, out, _ = weir.run("run", "--max-hold", "1m", "a", "sh", "-c",
                            "sleep 0.2 >/dev/null 2>&1 & exit 3")
    check((code, out) == (3, ""), "its own code when all end in time", code, out)
    check(weir.show("a")["held"] == 0, "and then the permit is back")


def test_short_ttl_is_renewed(weir):
    """The lease outlives its TTL while the command runs"""
    process = weir.start("run", "--ttl", "1s", "a", "sh", "-c", "echo begun; read x; exit 0",
                         stdin=subprocess.PIPE)
    process.line()
    fence = weir.show("a")["holders"][0]["fence"]
    end = time.monotonic() + 3
    while time.monotonic() < end:
        holders = weir.show("a")["holders"]
        check(len(holders) == 1 and holders[0]["fence"] == fence, "L2: the same lease", holders)
        check(process.popen.poll() is None, "it runs on")
        time.sleep(0.1)
    check(weir.let_go(process)[0] == 0, "and ends as ever")


def test_store_out_of_reach(weir):
    """Section 7: when the lease cannot be renewed, TERM comes so early that -k is over before the
    lease is (CHECKLIST 38, 77)"""
    ttl = 3
    process, pids = start(weir, "--ttl", f"{ttl}s", "-k", "1s")
    os.rename(os.path.join(weir.environment["XDG_STATE_HOME"], "weir"), weir.path("elsewhere"))
    gone = time.monotonic()
    check(process.line() == "TERM", "TERM first")
    for pid in pids:
        wait_gone(pid, "nobody of the group is left")
    took = time.monotonic() - gone
    check(took <= ttl, "nobody is alive past the lease's end", took)
    code, _, err = process.end()
    check(code == 76 and "lost" in err and "not be renewed" in err, "76", code, err)


def test_frozen_weir_stops_its_command(weir):
    """L5, CHECKLIST 35: a weir that was stopped for longer than its lease does not go on"""
    process, pids = start(weir, "--ttl", "1s", "-k", "0.1")
    process.signal(signal.SIGSTOP)
    time.sleep(1.5)  # the event is that time passes
    process.signal(signal.SIGCONT)
    code, _, err = process.end()
    check(code == 76 and "ran out" in err, "76", code, err)
    for pid in pids:
        wait_gone(pid, "nobody of the group is left")


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    main()
