"""The command: names, exit codes, bad input, dry runs, updates, filters, interruption."""

import json
import os
import pty
import signal
import subprocess
import time

from trees import (
    SHORT, WEIR_CP, Forest, compare, cp, done, expect, flat, leftovers, manifest, place, run,
    wait_until,
)


def write(path, text="x"):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def usage(directory):
    expect(b"usage" in cp("--help").stdout, "--help")
    expect(cp("--version").stdout.startswith(b"weir "), "--version")
    for wrong in (
        [], ["one"], ["--nonsense", "a", "b"], ["-Z", "a", "b"], ["--queue-depth", "0", "a", "b"],
        ["--queue-depth", "99999", "a", "b"], ["-j", "0", "a", "b"], ["-j", "x", "a", "b"],
        ["--copy-method", "magic", "a", "b"], ["--buffer-size", "1", "a", "b"], ["a", "b", "-j"],
        ["--threads=-1", "a", "b"], ["--archive=3", "a", "b"], ["--stats=xml", "a", "b"],
        ["-j", "99999999999999999999", "a", "b"],
    ):
        finished = cp(*wrong, code=64, cwd=directory)
        expect(finished.stderr, f"{wrong}: nothing is said")


def names(directory):
    os.makedirs(f"{directory}/s/sub")
    write(f"{directory}/s/f", "F")
    write(f"{directory}/s/sub/g", "G")
    os.mkdir(f"{directory}/d")
    here = {"cwd": directory}
    cp("-a", "s", "new", **here)
    expect(read(f"{directory}/new/sub/g") == "G", "a new name becomes the copy")
    cp("-a", "s", "d", **here)
    expect(read(f"{directory}/d/s/f") == "F", "into an existing directory")
    cp("-a", "s/", "d", **here)
    expect(read(f"{directory}/d/sub/g") == "G", "what is in it, with a slash")
    cp("-a", "s/.", "fresh", **here)
    expect(read(f"{directory}/fresh/f") == "F", "what is in it, into a new directory")
    cp("s/f", "file", **here)
    expect(read(f"{directory}/file") == "F", "a file to a new name")
    cp("s/f", "s/sub/g", "d", **here)
    expect(read(f"{directory}/d/g") == "G", "several files into a directory")
    cp("-aT", "s", "d", **here)
    cp("-a", "--", "s/f", "-dash", **here)
    expect(read(f"{directory}/-dash") == "F", "names after --")
    cp("-a", *[f"{directory}/s/f"] * 300, f"{directory}/d", **here)


def reasons(directory):
    """The one thing that is wrong is said, and nothing that might have been"""
    directory += "/reasons"
    here = {"cwd": directory}
    os.makedirs(f"{directory}/tree")
    write(f"{directory}/plain")
    os.symlink("plain", f"{directory}/link")
    os.symlink("loop", f"{directory}/loop")
    for arguments, code, said in (
        (["link", "out"], 23, b"link: a link, and links are not followed: -l copies links"),
        (["-r", "tree", "tree/in"], 23, b"tree/in: a directory cannot be copied into itself"),
        (["plain", "nodir/"], 125, b"nodir/: there is no such directory"),
        (["plain", "link", "nodir"], 125, b"nodir: there is no such directory"),
        (["plain", "link/"], 125, b"link/: Not a directory"),
        (["plain", "loop"], 125, b"loop: a link is in the way"),
    ):
        finished = cp(*arguments, code=code, **here)
        expect(said + b"\n" in finished.stderr, f"{arguments}: {finished.stderr} does not say {said}")


def bad_input(directory):
    here = {"cwd": directory}
    write(f"{directory}/plain")
    os.makedirs(f"{directory}/tree/in")
    write(f"{directory}/tree/in/ok")
    for arguments, code, named in (
        (["-a", "missing", "out"], 23, b"missing"),
        (["-a", "missing", "plain", "d"], 23, b"missing"),
        (["plain", "nowhere/x"], 125, b"nowhere/x"),
        (["-a", "tree/", "nowhere/x"], 125, b"nowhere/x"),
        (["tree", "out2"], 23, b"tree"),
        (["-a", "tree", "tree/in/copy"], 23, b"copy"),
        (["-a", "tree/", "tree/in"], 23, b"in"),
        (["-a", "tree", "."], 23, b"tree"),
        (["plain", "plain"], 23, b"plain"),
        (["plain", "."], 23, b"plain"),
        (["plain", "s", "plain"], 125, b"plain"),
        (["-aT", "tree", "plain"], 23, b"tree"),
        (["-T", "plain", "tree"], 23, b"plain"),
        (["plain", "x" * 300], 125, b"xxx"),
        (["", "out"], 125, b""),
        (["plain", ""], 125, b""),
    ):
        finished = cp(*arguments, code=code, **here)
        expect(named in finished.stderr, f"{arguments}: {finished.stderr}")
    expect(read(f"{directory}/plain") == "x", "a file was harmed")
    expect(read(f"{directory}/tree/in/ok") == "x", "a tree was harmed")
    expect(b"x" == open(f"{directory}/d/plain", "rb").read(), "the rest must be copied")


def one_failure_does_not_stop_the_others(directory):
    os.makedirs(f"{directory}/mixed/sub")
    for number in range(50):
        write(f"{directory}/mixed/f{number}")
    os.makedirs(f"{directory}/onto/mixed/f7")
    finished = cp("-a", "mixed", "onto", code=23, cwd=directory)
    expect(finished.stderr.count(b"\n") == 1 and b"mixed/f7" in finished.stderr, "f7 is not named")
    expect(len(os.listdir(f"{directory}/onto/mixed")) == 51, "the others must be there")
    expect(cp("-aq", "mixed", "onto", code=23, cwd=directory).stderr == b"", "-q says something")


def dry_run(directory):
    source = Forest(5).grow(f"{directory}/dry").decode()
    before = manifest(source)
    finished = cp("-anv", source, f"{directory}/dry-out")
    expect(not os.path.exists(f"{directory}/dry-out"), "a dry run made something")
    expect(manifest(source) == before, "a dry run changed the source")
    expect(finished.stdout.count(b"\n") == len(before) + 1, "not every entry is named")
    os.mkdir(f"{directory}/dry-out")
    cp("-an", source + "/", f"{directory}/dry-out")
    expect(not os.listdir(f"{directory}/dry-out"), "a dry run wrote something")


def update(directory):
    source = f"{directory}/up"
    flat(source, 20)
    cp("-a", source, f"{directory}/up2")
    write(f"{source}/f3", "changed")
    os.chmod(f"{source}/f4", 0o600)
    inode = os.stat(f"{directory}/up2/f5").st_ino
    stats = json.loads(cp("-aT", "--update", "--stats=json", source, f"{directory}/up2").stdout)
    expect(stats["skipped"] == 19 and stats["files"] == 1, f"update: {stats}")
    expect(os.stat(f"{directory}/up2/f5").st_ino == inode, "an unchanged file was replaced")
    compare(manifest(source), manifest(f"{directory}/up2"), "update")


def replacing(directory):
    """BEHAVIOURS 26, 109: what was there is replaced in one step, by its kind."""
    os.makedirs(f"{directory}/new-kind")
    os.makedirs(f"{directory}/old-kind")
    write(f"{directory}/new-kind/a", "new")
    os.symlink("a", f"{directory}/new-kind/b")
    os.mkfifo(f"{directory}/new-kind/c")
    write(f"{directory}/outside", "mine")
    os.symlink(f"{directory}/outside", f"{directory}/old-kind/a")
    write(f"{directory}/old-kind/b", "old")
    write(f"{directory}/old-kind/c", "old")
    cp("-aT", f"{directory}/new-kind", f"{directory}/old-kind")
    compare(manifest(f"{directory}/new-kind"), manifest(f"{directory}/old-kind"), "replaced")
    expect(read(f"{directory}/outside") == "mine", "a link was followed")


def filters(directory):
    for path in ("a.c", "a.o", "sub/b.c", "sub/b.o", "skip/x", "sub/skip/y", "sub/keep.o", "z"):
        os.makedirs(os.path.dirname(f"{directory}/flt/{path}"), exist_ok=True)
        write(f"{directory}/flt/{path}")

    def copied(*options):
        run("rm", "-rf", f"{directory}/flt2")
        cp("-a", *options, "flt/", "flt2", cwd=directory)
        found = set()
        for base, _, files in os.walk(f"{directory}/flt2"):
            found |= {os.path.relpath(f"{base}/{file}", f"{directory}/flt2") for file in files}
        return found

    everything = {"a.c", "a.o", "sub/b.c", "sub/b.o", "skip/x", "sub/skip/y", "sub/keep.o", "z"}
    objects = {"a.o", "sub/b.o", "sub/keep.o"}
    expect(copied() == everything, "no filter")
    expect(copied("--exclude=*.o") == everything - objects, "*.o")
    expect(copied("--include=keep.o", "--exclude=*.o") == everything - {"a.o", "sub/b.o"}, "keep.o")
    expect(copied("--exclude=/skip/") == everything - {"skip/x"}, "/skip/")
    expect(copied("--exclude=skip/") == everything - {"skip/x", "sub/skip/y"}, "skip/")
    expect(copied("--exclude=sub/*.o") == everything - {"sub/b.o", "sub/keep.o"}, "sub/*.o")
    expect(copied("--exclude=/**/y") == everything - {"sub/skip/y"}, "**")
    expect(copied("--exclude=/sub/***") == {path for path in everything if path[:4] != "sub/"}, "***")
    expect(not os.path.exists(f"{directory}/flt2/sub"), "three stars are for the directory, too")
    expect(copied(r"--exclude=\a.?") == everything - {"a.c", "a.o"}, "a backslash in a pattern")
    expect(copied(r"--exclude=\a.c") == everything, "a backslash in a name")
    expect(copied(r"--exclude=a\.[[:alpha:]]") == everything - {"a.c", "a.o"}, "a class")
    expect(copied("--exclude=[a-m].?") == everything - {"a.c", "a.o", "sub/b.c", "sub/b.o"}, "sets")


def interruption(directory):
    """SIGINT ends within a second, leaves no temporary names and nothing half-written."""
    megabytes = 30 if SHORT else 300
    flat(f"{directory}/long", 1500 if SHORT else 20000, 3000)
    with open(f"{directory}/long/huge", "wb") as file:
        for _ in range(megabytes):
            file.write(b"h" * 1_000_000)
    for options in ([], ["--copy-method=read-write"], ["--no-io-uring"]):
        with subprocess.Popen(
            [WEIR_CP, "-a", *options, f"{directory}/long", f"{directory}/cut"],
            stderr=subprocess.DEVNULL, start_new_session=True,
        ) as process:
            wait_until(lambda: os.path.exists(f"{directory}/cut"), 60)
            time.sleep(0.01 if SHORT else 0.05)
            process.send_signal(signal.SIGINT)
            begin = time.monotonic()
            code = process.wait(timeout=60)
            print(f"interrupted: exit {code} after {time.monotonic() - begin:.2f} s")
            expect(code in (0, 125), f"interrupted: exit {code}")
        expect(not leftovers(directory), "temporary names are left")
        for name in os.listdir(f"{directory}/cut"):
            size = os.stat(f"{directory}/cut/{name}").st_size
            expect(size in (3000, megabytes * 1_000_000), f"{name} is {size} bytes long")
        run("rm", "-rf", f"{directory}/cut")


def interrupt_key(directory):
    """On a terminal it ends by the signal, so that loops end, wherever its output goes; elsewhere with 125."""
    for number, key in ((signal.SIGINT, b"\x03"), (signal.SIGTERM, None)):
        ended = 0
        while ended == 0:  # all was copied before it was told
            pid, terminal = pty.fork()
            if pid == 0:
                nothing = os.open("/dev/null", os.O_WRONLY)
                os.dup2(nothing, 1)
                os.dup2(nothing, 2)
                os.execv(WEIR_CP, [WEIR_CP, "-a", f"{directory}/long", f"{directory}/cut"])
            wait_until(lambda: os.path.exists(f"{directory}/cut"), 60)
            if key:
                os.write(terminal, key)
            else:
                os.kill(pid, number)
            ended = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
            os.close(terminal)
            expect(not leftovers(directory), "temporary names are left")
            run("rm", "-rf", f"{directory}/cut")
        expect(ended == -number, f"interrupted on a terminal: {ended}")


def output(directory):
    write(f"{directory}/odd\x1b[31m\n", "x")
    finished = cp("-v", f"{directory}/odd\x1b[31m\n", f"{directory}/odd2")
    expect(b"\x1b" not in finished.stdout, "a name reached the terminal as it is")
    finished = cp("-a", "--progress", f"{directory}/long", f"{directory}/shown")
    expect(b"in flight" in finished.stderr or not finished.stderr, "progress")
    stats = json.loads(cp("-aT", "--stats=json", f"{directory}/s", f"{directory}/js").stdout)
    expect(stats["files"] == 2 and stats["directories"] == 2 and stats["bytes"] == 2, f"{stats}")
    with open("/dev/full", "wb") as full:
        finished = subprocess.run(
            [WEIR_CP, "-av", f"{directory}/s", f"{directory}/full"], stdout=full, check=False,
            stderr=subprocess.PIPE)
        expect(finished.returncode == 125, f"a full stdout: exit {finished.returncode}")


def main():
    with place() as directory:
        for part in (
            usage, names, reasons, bad_input, one_failure_does_not_stop_the_others, dry_run, update,
            replacing, filters, interruption, interrupt_key, output,
        ):
            part(directory)
    done("the command")


main()
