"""weir run and signals, death, and those that a command leaves behind."""

import fcntl
import json
import os
import signal
import struct
import subprocess
import sys
import time

from support import check, is_alive, main, wait_gone, wait_state

FORWARDED = [signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT, signal.SIGUSR1,
             signal.SIGUSR2]

# Counts what arrives, and says so. Through a pipe, as a signal may come just before a read that then waits.
COUNTER = """
import os, select, signal
here, there = os.pipe()
os.set_blocking(there, False)
signal.set_wakeup_fd(there)
for number in (15, 2, 1, 3, 10, 12, 18):
    signal.signal(number, lambda number, frame: None)
os.write(1, f"pid {os.getpid()} {os.getpgrp()}\\n".encode())
while True:
    ready = select.select([0, here], [], [])[0]
    if here in ready:
        for number in os.read(here, 100):
            os.write(1, f"{number}\\n".encode())
    elif os.read(0, 100):
        os.write(1, b"pong\\n")
    else:
        break
"""


def counter(weir, *options):
    process = weir.start("run", *options, "a", sys.executable, "-S", "-c", COUNTER,
                         stdin=subprocess.PIPE)
    _, pid, group = process.line().split()
    return process, int(pid), int(group)


def test_signals_reach_the_command_exactly_once(weir):
    """CHECKLIST 86: once, whether sent to weir or to its process group"""
    process, pid, group = counter(weir, "-q")
    check(pid == group and group != os.getpgid(process.pid), "its own process group")
    for number in FORWARDED + [signal.SIGCONT]:
        process.signal(number)
        check(process.line() == str(number.value), "86: it arrives", number)
        # Whatever came twice would be seen before the answer.
        process.popen.stdin.write(b"ping\n")
        process.popen.stdin.flush()
        check(process.line() == "pong", "86: and only once", number)
    check(weir.let_go(process)[0] == 0, "weir lives on")


def wait_for_waiter(inode):
    """Until somebody waits for a lock on that file: /proc/locks has an arrow for that"""
    end = time.monotonic() + 60
    while True:
        with open("/proc/locks", encoding="ascii") as file:
            if any(" -> " in line and f":{inode} " in line for line in file):
                return
        check(time.monotonic() < end, "weir waits for the lock")
        time.sleep(0.005)


def lock_store(weir):
    """As somebody does who was stopped while having the lock of the store's file."""
    weir.run("limit", "a", "1")
    lock = os.open(os.path.join(weir.environment["XDG_STATE_HOME"], "weir", "weir.db-live", "lock"),
                   os.O_RDWR)
    # F_OFD_SETLK, F_WRLCK: one byte at 0.
    fcntl.fcntl(lock, 37, struct.pack("hhqqi4x", fcntl.F_WRLCK, os.SEEK_SET, 0, 1, 0))
    return lock


def test_a_store_that_is_locked_can_be_left(weir):
    """CHECKLIST 72"""
    lock = lock_store(weir)
    for command in (["run", "a", "true"], ["run", "-n", "a", "true"], ["acquire", "a"]):
        process = weir.start(*command)
        wait_for_waiter(os.fstat(lock).st_ino)
        process.signal(signal.SIGTERM)
        check(process.end()[0] == 128 + signal.SIGTERM, "a signal ends it", command)
    os.close(lock)
    check(weir.run("run", "-n", "a", "true")[0] == 0, "and nothing is left of it")


def test_doctor_knows_a_store_that_is_locked(weir):
    """CHECKLIST 72: weir run says 'see weir doctor', which has an end of its own, and whole output"""
    lock = lock_store(weir)
    doctors = [weir.start("doctor"), weir.start("doctor", "--json")]
    (code, out, err), (of_json, found, _) = (doctor.end() for doctor in doctors)
    os.close(lock)
    check(code == of_json == 69 and err == "", "69", code, of_json, err)
    last, found = out.splitlines()[-1], json.loads(found)
    check(last.startswith("broken") and "weir.db-live/lock" in last, "the lock is named", out)
    check([one["grade"] for one in found] == ["ok", "ok", "broken"], "JSON, to its end", found)
    check(found[-1]["text"] in last, "that says the same", found, last)


def test_stop_and_continue(weir):
    """TSTP stops the command and weir, CONT continues both; the permit stays (CHECKLIST 97)"""
    process, pid, _ = counter(weir)
    process.signal(signal.SIGTSTP)
    wait_state(pid, "T", "TSTP reaches the command")
    wait_state(process.pid, "T", "97: weir stops with it")
    check(weir.run("run", "-nq", "a", "true")[0] == 75, "97: a stopped job keeps its permit")
    process.signal(signal.SIGCONT)
    check(process.line() == str(signal.SIGCONT.value), "CONT reaches the command")
    wait_state(process.pid, "SR", "weir goes on")
    check(weir.let_go(process)[0] == 0, "and ends as ever")


def test_signal_while_waiting(weir):
    """CHECKLIST 94: who is told to end while it waits leaves the queue, with 128 + n"""
    holder = weir.holder()
    for number in FORWARDED:
        waiter = weir.start("run", "a", "echo", "ran")
        weir.wait_waiting(1)
        waiter.signal(number)
        code, out, _ = waiter.end()
        check(code == 128 + number and out == "", "94: 128 + n, and it never ran", number, code)
        check(weir.show("a")["waiting"] == 0, "94: no row is left")
    waiter = weir.start("run", "a", "echo", "ran")
    weir.wait_waiting(1)
    waiter.signal(signal.SIGKILL)
    waiter.end()
    weir.wait_waiting(0)
    weir.let_go(holder)


def test_stopped_while_waiting(weir):
    """Who was stopped until its time was over has had an answer all the same: 75, and not 69"""
    holder = weir.holder()
    waiter = weir.start("run", "-w", "1", "a", "echo", "ran")
    weir.wait_waiting(1)
    waiter.signal(signal.SIGSTOP)
    time.sleep(4)  # the event is that time passes
    waiter.signal(signal.SIGCONT)
    code, out, err = waiter.end()
    check(code == 75 and out == "", "75: -w passed", code, err)
    weir.let_go(holder)


def test_weir_killed_with_kill(weir):
    """L11, CHECKLIST 89: the command gets TERM"""
    process, pid, _ = counter(weir)
    waiter = weir.start("run", "a", "echo", "next")
    weir.wait_waiting(1)
    process.signal(signal.SIGKILL)
    check(process.line() == str(signal.SIGTERM.value), "89: TERM, by PDEATHSIG")
    check(is_alive(pid) and weir.show("a")["held"] == 1,
          "the permit stays taken while the command lives")
    check(waiter.popen.poll() is None, "the next one waits")
    process.popen.stdin.close()
    wait_gone(pid, "the command ends")
    check(waiter.end()[:2] == (0, "next\n"), "and then the next one starts")


def test_holder_killed_hands_over(weir):
    """L11: kill -9 of weir and its command gives the permit to the next at once"""
    process = weir.start("run", "a", "sh", "-c", "echo $$; exec sleep 1000")
    pid = int(process.line())
    waiter = weir.start("run", "a", "echo", "next")
    weir.wait_waiting(1)
    process.signal(signal.SIGKILL)
    wait_gone(pid, "TERM ends a command that does not catch it")
    check(waiter.end()[:2] == (0, "next\n"), "L11")


def test_family_keeps_the_permit(weir):
    """CHECKLIST 90: what the command leaves running has the permit until it ends"""
    fifo = weir.path("fifo")
    os.mkfifo(fifo)
    code, out, _ = weir.run("run", "a", "sh", "-c",
                            f"(read x < {fifo}) </dev/null >/dev/null 2>&1 & echo $!; exit 5")
    pid = int(out)
    check(code == 5 and is_alive(pid), "90: weir ends with the command's code", code)
    check(weir.show("a")["held"] == 1, "90: the permit is still taken")
    check(weir.run("run", "-nq", "a", "true")[0] == 75, "90: nobody else gets it")
    waiter = weir.start("run", "a", "echo", "next")
    weir.wait_waiting(1)
    with open(fifo, "w", encoding="ascii") as file:
        file.write("go\n")
    check(waiter.end()[:2] == (0, "next\n"), "90: it comes back with the last of the family")


def test_nothing_is_left_over(weir):
    """CHECKLIST 94: no processes, no rows"""
    check(weir.run("run", "a", "sh", "-c", "echo $$")[0] == 0, "one run")
    weir.wait_free()
    check(weir.show("a")["holders"] == [] and weir.show("a")["waiters"] == [], "94: no rows")


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    main()
