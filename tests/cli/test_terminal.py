"""weir run on a terminal: who has it, what its keys do, and the status line."""

import os
import signal
import sys

from support import Terminal, check, main, wait_state


def test_the_command_has_the_terminal(weir):
    """CHECKLIST 87"""
    terminal = Terminal(weir, [weir.binary, "run", "a", "sh", "-c",
                               "echo pid=$$; read x; echo got=$x; exit 3"])
    pid = int(terminal.expect(r"pid=(\d+)\r\n", "it runs")[0])
    check(terminal.foreground() == pid, "87: its group is in the foreground")
    terminal.send(b"typed\n")
    terminal.expect(r"got=typed", "87: it reads from the terminal")
    status, _ = terminal.end()
    check(os.WIFEXITED(status) and os.WEXITSTATUS(status) == 3, "exit code", status)


# Both hear of a signal through a pipe, as it may come just before a read that then waits.
HEARD = """
import os, select, signal
here, there = os.pipe()
os.set_blocking(there, False)
signal.set_wakeup_fd(there)
signal.signal(2, lambda *_: None)
"""

# Says at once when the interrupt key has reached it, until it gets a line.
TELLER = HEARD + """
os.write(1, b"ready ")
while here in (ready := select.select([0, here], [], [])[0]):
    os.write(1, b"INT " * len(os.read(here, 100)))
os.write(1, b"line " + os.read(0, 100))
"""

# Says how often it did, when nobody can write to it any more.
CONSUMER = HEARD + """
os.write(2, b"is up\\n")
while os.read(0, 100):
    pass
print("seen", len(os.read(here, 100)))
"""


def test_interrupt_key_reaches_it_once(weir):
    """CHECKLIST 86"""
    terminal = Terminal(weir, [weir.binary, "run", "a", sys.executable, "-S", "-c", TELLER])
    terminal.expect("ready ", "it runs")
    terminal.send(b"\x03")
    terminal.expect("INT ", "86: the interrupt key reaches it")
    terminal.send(b"x\n")
    terminal.expect("line x", "it goes on")
    _, rest = terminal.end()
    check(b"INT" not in rest, "86: once")


def test_interrupt_key_ends_it(weir):
    terminal = Terminal(weir, [weir.binary, "run", "a", "sh", "-c", "echo ready; exec sleep 1000"])
    terminal.expect("ready", "it runs")
    terminal.send(b"\x03")
    status, _ = terminal.end()
    check(os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGINT, "it dies of INT", status)
    weir.wait_free()


def test_interrupt_key_ends_a_script(weir):
    """A script that calls weir ends with the command, as it would without weir"""
    command = f"{weir.binary} run a sh -c 'echo ready >/dev/tty; exec sleep 1000'"
    for shell in ("bash", "dash"):
        for elsewhere in ("", "2>/dev/null", "</dev/null >/dev/null 2>&1"):
            terminal = Terminal(weir, [shell, "-c", f"{command} {elsewhere}; echo went on"])
            terminal.expect("ready", "it runs")
            terminal.send(b"\x03")
            _, rest = terminal.end()
            check(b"went on" not in rest, "87: the script ends, too", shell, elsewhere, rest)
            weir.wait_free()


def test_interrupt_key_ends_a_loop(weir):
    """At a prompt weir is a process group of its own, and only its death by the signal ends the loop"""
    terminal = Terminal(weir, ["bash", "--norc", "--noprofile", "-i"], {"PS1": "prompt> "})
    terminal.expect("prompt> ", "a shell")
    terminal.send(f"for i in 1 2; do {weir.binary} run a sh -c 'echo r''eady; exec sleep 1000' 2>/dev/null; "
                  "echo went''on; done\n".encode())
    terminal.expect("ready", "it runs")
    terminal.send(b"\x03")
    terminal.expect("prompt> ", "the loop ends")
    terminal.send(b"echo code=$?\n")
    terminal.expect(r"code=130\r\n", "the shell sees 130")
    weir.wait_free()
    terminal.send(b"exit\n")
    terminal.end()


def test_interrupt_key_ends_a_script_and_leaves_a_family(weir):
    """Also when processes are left that do not mind, and have the permit"""
    left = 'sh -c "echo left=\\$\\$; exec sleep 1000"'
    command = f"{weir.binary} run a sh -c '{left} & exec sleep 1000'"
    terminal = Terminal(weir, ["bash", "-c", f"{command}; echo went on"])
    left = int(terminal.expect(r"left=(\d+)\r\n", "it runs")[0])
    terminal.send(b"\x03")
    try:
        status, rest = terminal.end()
        check(os.WIFSIGNALED(status) and b"went on" not in rest, "87: the script ends", status, rest)
        check(weir.show("a")["held"] == 1, "90: the permit is still taken")
    finally:
        os.kill(left, signal.SIGKILL)


def test_interrupt_key_reaches_a_pipeline_once(weir):
    """CHECKLIST 86: where the terminal tells the whole pipeline, weir does not tell it again"""
    with open(weir.path("consumer"), "w", encoding="ascii") as file:
        file.write(CONSUMER)
    terminal = Terminal(weir, ["bash", "--norc", "--noprofile", "-i"], {"PS1": "prompt> "})
    terminal.expect("prompt> ", "a shell")
    terminal.send(f"{weir.binary} run a sh -c 'echo r''eady >&2; exec sleep 1000' | "
                  f"{sys.executable} -S {weir.path('consumer')}\n".encode())
    terminal.expect("(?s)is up.*ready|ready.*is up", "both run")
    terminal.send(b"\x03")
    check(terminal.expect(r"seen (\d+)", "the consumer ends") == ["1"], "86: once")
    terminal.send(b"exit\n")
    terminal.end()


# Two weirs in the foreground of a terminal, one of which is sent a signal.
HARNESS = """
import signal, subprocess, sys
seen = []
signal.signal(2, lambda *_: seen.append(2))
one, other = (subprocess.Popen([sys.argv[1], "run", name, "sh", "-c", "echo; read x; exit 5"], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE) for name in "ab")
one.stdout.readline(), other.stdout.readline()
one.send_signal(2)
one.wait()
other.communicate()
print("ended:", one.returncode, other.returncode, "seen:", len(seen))
"""


def test_a_signal_for_one_is_for_no_other(weir):
    """CHECKLIST 86: what weir was sent is not for the rest of its process group"""
    terminal = Terminal(weir, [sys.executable, "-S", "-c", HARNESS, weir.binary])
    ended = terminal.expect(r"ended: (\S+) (\S+) seen: (\d+)", "both end")
    check(ended == [str(-signal.SIGINT), "5", "0"], "86: the other goes on, and so does who started them", ended)
    terminal.end()
    # Nor where the command has the terminal: a shell would go on if somebody sent it to the command.
    command = f"{weir.binary} run a sh -c 'kill -INT $PPID; exec sleep 1000'"
    terminal = Terminal(weir, ["bash", "-c", f"{command}; echo went on"])
    terminal.expect("went on", "86: the script goes on")
    terminal.end()


def test_stop_key_and_foreground(weir):
    """CHECKLIST 87, 97: ^Z stops the job, fg continues it, and it has the terminal again"""
    terminal = Terminal(weir, ["bash", "--norc", "--noprofile", "-i"], {"PS1": "prompt> "})
    terminal.expect("prompt> ", "a shell")
    terminal.send(f"{weir.binary} run a sh -c 'echo pid=$$; read x; echo got=$x'\n".encode())
    pid = int(terminal.expect(r"pid=(\d+)\r\n", "it runs")[0])
    terminal.send(b"\x1a")
    terminal.expect("Stopped", "87: the shell sees the stop")
    terminal.expect("prompt> ", "and has the terminal")
    wait_state(pid, "T", "97: the command is stopped")
    check(weir.run("run", "-nq", "a", "true")[0] == 75, "97: and keeps its permit")
    terminal.send(b"fg\n")
    wait_state(pid, "SR", "87: fg continues it")
    terminal.send(b"typed\n")
    terminal.expect("got=typed", "87: it has the terminal again")
    terminal.expect("prompt> ", "it ends")
    terminal.send(b"exit\n")
    terminal.end()


def test_pipe_to_a_pager(weir):
    """The terminal stays with the rest of the pipeline, and is handed over when it is asked for"""
    pager = "sh -c 'cat >/dev/null; read y </dev/tty; echo pager=$y'"
    terminal = Terminal(weir, ["bash", "--norc", "--noprofile", "-i"], {"PS1": "prompt> "})
    terminal.expect("prompt> ", "a shell")
    terminal.send(f"{weir.binary} run a echo x | {pager}\n".encode())
    terminal.send(b"typed\n")
    terminal.expect("pager=typed", "87: the pager reads from the terminal")
    terminal.expect("prompt> ", "it ends")
    asks = f"{weir.binary} run a sh -c 'echo asks >&2; read x; echo got=$x >&2' | cat\n"
    terminal.send(asks.encode())
    terminal.expect("asks\r\n", "it runs")
    terminal.send(b"answer\n")
    terminal.expect("got=answer", "87: the command gets it when it reads")
    terminal.expect("prompt> ", "it ends")
    terminal.send(b"exit\n")
    terminal.end()


def test_status_line(weir):
    """Section 7: position, holders and time on one line, cleared afterwards"""
    holder = weir.holder()
    terminal = Terminal(weir, [weir.binary, "run", "a", "echo", "ran"], columns=60)
    first = terminal.expect(r"\r(weir: waiting for a[^\r\n]*)\x1b\[K", "the line is drawn")[0]
    check("number 1 of 1" in first and "1 of 1" in first, "position and holders", first)
    check(len(first) < 60, "on one line", first)
    weir.let_go(holder)
    terminal.expect(r"\r\x1b\[K(?:[^\n]*)ran\r\n", "it is cleared before the command runs")
    terminal.end()


def test_no_status_line_when_quiet(weir):
    holder = weir.holder()
    terminal = Terminal(weir, [weir.binary, "run", "-q", "-w", "0.7", "a", "true"])
    status, seen = terminal.end()
    check(os.WEXITSTATUS(status) == 75 and seen == b"", "-q draws nothing", seen)
    code, out, err = weir.run("run", "-w", "0.7", "a", "true")
    check("\r" not in err and code == 75 and out == "", "and nobody draws without a terminal", err)
    weir.let_go(holder)


def test_interrupt_key_while_waiting(weir):
    holder = weir.holder()
    terminal = Terminal(weir, [weir.binary, "run", "a", "echo", "ran"])
    terminal.expect("waiting for a", "it waits")
    terminal.send(b"\x03")
    status, seen = terminal.end()
    check(os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGINT, "it dies of INT", status)
    check(seen.endswith(b"\r\x1b[K") and b"ran" not in seen, "the line is cleared", seen)
    check(weir.show("a")["waiting"] == 0, "94: nobody waits")
    weir.let_go(holder)


def test_colour_only_on_a_terminal(weir):
    weir.run("limit", "a", "2")
    for command in (["ls"], ["show", "a"], ["doctor"]):
        _, seen = Terminal(weir, [weir.binary, *command]).end()
        check(b"\x1b[" in seen, "colour on a terminal", command, seen)
        _, seen = Terminal(weir, [weir.binary, *command], {"NO_COLOR": "1"}).end()
        check(b"\x1b" not in seen, "never with NO_COLOR", command, seen)
        check("\x1b" not in weir.run(*command)[1], "never without a terminal", command)


def test_watch(weir):
    """weir show --watch: a live table"""
    weir.run("limit", "a", "2")
    terminal = Terminal(weir, [weir.binary, "show", "--watch", "a"])
    terminal.expect("0 of 2 permits taken", "it shows")
    holder = weir.holder()
    terminal.expect("1 of 2 permits taken", "and shows the change")
    weir.let_go(holder)
    terminal.expect("0 of 2 permits taken", "again")
    terminal.send(b"\x03")
    terminal.end()


def test_watch_all(weir):
    """weir ls --watch: the same of all of them, from before there is one"""
    terminal = Terminal(weir, [weir.binary, "ls", "--watch"])
    terminal.expect("no semaphores yet", "it waits for the first one")
    weir.run("limit", "a", "17")
    terminal.expect("17", "and shows it")
    terminal.send(b"\x03")
    terminal.end()


def test_watch_what_is_not_there(weir):
    """Others are: that what was asked for is not is said again and again, and off a terminal, too"""
    weir.run("limit", "other", "2")
    for words in (["ls"], ["show"]):
        watcher = weir.start(*words, "--watch", f"new-{words[0]}")
        for _ in range(2):
            check(watcher.line() == f"there is no semaphore new-{words[0]} yet", "it is not there", words)
        weir.run("limit", f"new-{words[0]}", "3")
        while " yet" in watcher.line():
            pass
        watcher.signal(signal.SIGTERM)
        watcher.end()
        watcher = weir.start(*words, "--watch", "one", "two")
        check(watcher.line() == "there is none of these semaphores yet", "neither of two", words)
        watcher.signal(signal.SIGTERM)
        watcher.end()


def test_long_names_are_cut(weir):
    """On a terminal that is too narrow for them, and nowhere else; the other columns stay"""
    name = "x" * 200
    weir.run("limit", name, "10000")
    terminal = Terminal(weir, [weir.binary, "ls", "--watch"])
    line = terminal.expect(r"\n(x{12,77}\.\.\. [^\r\n]*10000[^\r\n]*)", "the name is cut")[0]
    check(len(line) == 80, "the line is as long as the terminal is wide", line)
    terminal.send(b"\x03")
    terminal.end()
    check(name + " " in weir.run("ls")[1] and f'"{name}"' in weir.run("ls", "--json")[1], "whole elsewhere")


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    if not os.path.exists("/dev/ptmx"):
        sys.exit(77)
    main()
