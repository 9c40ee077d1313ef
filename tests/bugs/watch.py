"""Runs a program in which a bug was seeded, until it fails, ends or hangs."""

import os
import pathlib
import re
import signal
import subprocess
import tempfile
import time

PERIOD = 0.05  # seconds between two looks
FAILED = re.compile(r"\[  (?:FAILED  |ERROR   )\] (\w+)")


class Stuck:
    """Tells a hang without a look at the wall clock, so that a busy machine makes nobody hang.

    A program hangs if, without printing a line, it sleeps for ASLEEP seconds altogether, all threads of all its
    processes at once: one that waits for a processor does not sleep. It hangs as well if it has used a processor for
    AWAKE seconds since its last line. The unit tests that bugs are found by sleep for one and a half and work
    for one at the most.
    """

    ASLEEP = 3
    AWAKE = 5
    SLEEPING = "SZX"  # or at its end

    def __init__(self):
        self.asleep, self.used, self.printed, self.looked = 0.0, 0, 0, time.monotonic()

    def hangs(self, session, printed):
        now, threads = time.monotonic(), list(threads_of(session))
        used = sum(int(thread[11]) + int(thread[12]) for thread in threads) / os.sysconf("SC_CLK_TCK")
        if printed != self.printed:
            self.asleep, self.used, self.printed = 0.0, used, printed
        elif all(thread[0] in self.SLEEPING for thread in threads):
            self.asleep += min(now - self.looked, 2 * PERIOD)  # of a longer time nobody knows what it was
        self.looked = now
        return self.asleep >= self.ASLEEP or used - self.used >= self.AWAKE


class Overdue:
    """For one that waits for servers, which are slow at times, and are not watched."""

    def __init__(self, seconds):
        self.end = time.monotonic() + seconds

    def hangs(self, _session, _printed):
        return time.monotonic() >= self.end


def fields_of(stat):
    return stat.read_text().rpartition(")")[2].split()


def threads_of(session):
    """What the kernel says of each thread of the session, from its state on."""
    for process in pathlib.Path("/proc").iterdir():
        if not process.name.isdigit():
            continue
        try:
            if int(fields_of(process / "stat")[3]) == session:
                yield from [fields_of(thread / "stat") for thread in (process / "task").iterdir()]
        except (FileNotFoundError, ProcessLookupError):
            continue  # it has ended meanwhile


def end(started):
    started.terminate()  # one that has started servers ends them
    try:
        started.wait(20)
    except subprocess.TimeoutExpired:
        pass
    try:
        os.killpg(started.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    started.wait()


def run(command, judge):
    """Returns what was found, None if nothing was, and the exit code and the words of a program that has ended."""
    with tempfile.NamedTemporaryFile() as output:
        started = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                                   start_new_session=True)
        try:
            while True:
                try:
                    code = started.wait(PERIOD)
                except subprocess.TimeoutExpired:
                    code = None
                said = pathlib.Path(output.name).read_text(errors="replace")
                if failed := FAILED.search(said):
                    return f"found: {failed[1]} fails", code, said
                if code is not None:
                    return f"found: it crashes ({code})" if code else None, code, said
                if judge.hangs(started.pid, len(said)):
                    return "found: it hangs", None, said
        finally:
            end(started)
