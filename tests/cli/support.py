"""What the tests of the command share: a store of their own, the real binary, and waiting for events.

Each test program ends in main(), which runs every function whose name begins with test_, each with a
Weir of its own. Nothing here waits for a while: it waits for a line, an exit, a state that weir
shows, and gives up only after GIVE_UP seconds.
"""

import fcntl
import json
import os
import pty
import re
import select
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time
import traceback

GIVE_UP = 60


class Failure(Exception):
    """An assertion that did not hold."""


def check(condition, promise, *details):
    """Fails with the promise, or the CHECKLIST number, that was broken."""
    if not condition:
        raise Failure(promise + "".join(f"\n    {detail!r}" for detail in details))


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(77)


class Process:
    """A running weir. What it prints can be waited for line by line."""

    def __init__(self, command, environment, **options):
        options.setdefault("stdin", subprocess.DEVNULL)
        options.setdefault("stdout", subprocess.PIPE)
        options.setdefault("stderr", subprocess.PIPE)
        # The terminal of whoever runs the tests is not theirs: on one, weir ends by the signal.
        options.setdefault("start_new_session", True)
        self.popen = subprocess.Popen(command, env=environment, **options)
        self.pid = self.popen.pid
        self.buffer = b""

    def line(self):
        """The next line of standard output, without its end."""
        end = time.monotonic() + GIVE_UP
        while b"\n" not in self.buffer:
            ready = select.select([self.popen.stdout], [], [], max(0, end - time.monotonic()))[0]
            data = os.read(self.popen.stdout.fileno(), 4096) if ready else b""
            if not data:
                raise Failure(f"no line came, only {self.buffer!r}; "
                              f"exit code {self.popen.poll()}, {self.errors_so_far()!r}")
            self.buffer += data
        line, self.buffer = self.buffer.split(b"\n", 1)
        return line.decode()

    def errors_so_far(self):
        if not self.popen.stderr or self.popen.poll() is None:
            return b""
        return self.popen.stderr.read()

    def signal(self, number):
        os.kill(self.pid, number)

    def end(self):
        """Waits for its end: exit code (negative: died of a signal), rest of output, errors."""
        out, err = self.popen.communicate(timeout=GIVE_UP)
        return self.popen.returncode, (self.buffer + (out or b"")).decode(), (err or b"").decode()


class Weir:
    """The binary and a directory of its own with a store."""

    def __init__(self, binary):
        self.binary = binary
        self.directory = tempfile.mkdtemp(prefix="weir-cli-")
        self.environment = {
            "PATH": os.environ.get("PATH", "/usr/bin:/bin"),
            "XDG_STATE_HOME": os.path.join(self.directory, "state"),
            "HOME": self.directory,
            "LC_ALL": "C.UTF-8",
        }
        for name in os.environ:
            if name.endswith("SAN_OPTIONS") or name.startswith("LD_"):
                self.environment[name] = os.environ[name]
        self.started = []

    def path(self, name):
        return os.path.join(self.directory, name)

    def start(self, *arguments, env=None, **options):
        process = Process([self.binary, *arguments], self.environment | (env or {}), **options)
        self.started.append(process)
        return process

    def run(self, *arguments, **options):
        """Exit code, output, errors of a weir that ends by itself."""
        return self.start(*arguments, **options).end()

    def holder(self, *options, name="a"):
        """A weir run that holds a permit until its standard input is closed, and has begun."""
        process = self.start("run", *options, name, "--", "sh", "-c", "echo begun; read x; exit 0",
                             stdin=subprocess.PIPE)
        check(process.line() == "begun", "a holder begins")
        return process

    def let_go(self, process):
        process.popen.stdin.close()
        process.popen.stdin = None
        return process.end()

    def show(self, name):
        """What weir show says of one name."""
        code, out, err = self.run("show", "--json", name)
        check(code == 0, "weir show works", code, out, err)
        return json.loads(out)[0]

    def wait_until(self, condition, what):
        """Asks the store again and again; condition gets what weir ls says, by name."""
        end = time.monotonic() + GIVE_UP
        while True:
            code, out, err = self.run("ls", "--json")
            check(code == 0, "weir ls works", code, out, err)
            state = {info["name"]: info for info in json.loads(out)}
            if condition(state):
                return state
            check(time.monotonic() < end, f"in time: {what}", state)
            time.sleep(0.01)

    def wait_waiting(self, count, name="a"):
        self.wait_until(lambda s: name in s and s[name]["waiting"] == count, f"{count} wait")

    def wait_free(self, name="a"):
        self.wait_until(lambda s: name in s and s[name]["held"] == 0, "nothing is held")

    def close(self):
        for process in self.started:
            if process.popen.poll() is None:
                process.popen.kill()
                process.popen.wait()
            for stream in (process.popen.stdin, process.popen.stdout, process.popen.stderr):
                if stream:
                    stream.close()
        shutil.rmtree(self.directory, ignore_errors=True)


class Terminal:
    """A session on a pseudo terminal of its own, as a shell or a login has it."""

    def __init__(self, weir, arguments, environment=None, columns=80):
        self.seen = b""
        self.status = None
        self.pid, self.master = pty.fork()
        if self.pid == 0:
            signal.signal(signal.SIGPIPE, signal.SIG_DFL)
            os.execvpe(arguments[0], arguments, weir.environment | {"TERM": "xterm"} |
                       (environment or {}))
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))

    def read(self, timeout):
        if not select.select([self.master], [], [], timeout)[0]:
            return False
        try:
            data = os.read(self.master, 65536)
        except OSError:
            return False
        self.seen += data
        return bool(data)

    def expect(self, pattern, promise):
        """Waits until the pattern was seen, and forgets what came before its end."""
        end = time.monotonic() + GIVE_UP
        while True:
            match = re.search(pattern.encode(), self.seen)
            if match:
                self.seen = self.seen[match.end():]
                return [group.decode() for group in match.groups()]
            if not self.read(max(0, end - time.monotonic())) and (
                    time.monotonic() >= end or self.has_ended()):
                raise Failure(f"{promise}: did not see {pattern!r} in {self.seen!r}")

    def has_ended(self):
        if self.status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.status = status
        return self.status is not None

    def send(self, data):
        os.write(self.master, data)

    def foreground(self):
        return os.tcgetpgrp(self.master)

    def end(self):
        """Waits for the end: its wait status, and what else was printed."""
        end = time.monotonic() + GIVE_UP
        while not self.has_ended():
            self.read(0.01)
            check(time.monotonic() < end, "the session ends in time", self.seen)
        while self.read(0):
            pass
        os.close(self.master)
        return self.status, self.seen


def is_alive(pid):
    """Whether a process exists and is no zombie."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            return file.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def wait_gone(pid, promise):
    end = time.monotonic() + GIVE_UP
    while is_alive(pid):
        check(time.monotonic() < end, promise)
        time.sleep(0.005)


def wait_state(pid, states, promise):
    """Until the process is in one of these states of /proc: T is stopped."""
    end = time.monotonic() + GIVE_UP
    while True:
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            if file.read().rsplit(")", 1)[1].split()[0] in states:
                return
        check(time.monotonic() < end, promise)
        time.sleep(0.005)


def main():
    binary = os.path.abspath(sys.argv[1])
    wanted = sys.argv[2:]
    module = sys.modules["__main__"]
    tests = [name for name in vars(module) if name.startswith("test_")]
    failed = 0
    # As a shell gives them to a command in the foreground, also when it has put us in the background.
    for number in (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGQUIT, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for name in tests:
        if wanted and name not in wanted:
            continue
        weir = Weir(binary)
        try:
            getattr(module, name)(weir)
            print(f"ok: {name}", flush=True)
        except Exception as error:  # pylint: disable=broad-except
            failed += 1
            print(f"FAILED: {name}: {error}", flush=True)
            if not isinstance(error, Failure):
                traceback.print_exc(file=sys.stdout)
        finally:
            weir.close()
    sys.exit(1 if failed else 0)
