"""What those who know cp and rsync take for granted, where a copier could do otherwise unnoticed."""

import json
import os
import stat
import subprocess

from trees import ROOT, WEIR_CP, compare, cp, done, expect, manifest, place, run


def write(path, text="x"):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def read(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def closed_streams(directory):
    """What is said on a stream that is closed must not end up in a copy."""
    for number in range(40):
        write(f"{directory}/streams/f{number}", f"content {number}")
    os.makedirs(f"{directory}/gone/streams/f7")
    for closed in ("1>&-", "2>&-", "1>&- 2>&-", "0<&- 1>&- 2>&-"):
        words = f'"$1" -av "$2/streams" "$2/gone" {closed}'
        code = subprocess.run(["sh", "-c", words, "sh", WEIR_CP, directory], check=False,
                              stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode
        expect(code == 23, f"{closed}: exit {code}")
        for number in range(40):
            path = f"{directory}/gone/streams/f{number}"
            expect(number == 7 or read(path) == f"content {number}", f"{closed}: {path} is harmed")


def full_output(directory):
    for option in ("--help", "--version"):
        with open("/dev/full", "wb") as full:
            finished = subprocess.run([WEIR_CP, option], stdout=full, stderr=subprocess.PIPE,
                                      check=False, cwd=directory)
        expect(finished.returncode == 125 and finished.stderr, f"{option} to a full disk: {finished}")


def whole_lines(directory):
    """One write for each line, so that the lines of several copiers do not mix."""
    os.makedirs(f"{directory}/lines")
    reader, writer = os.pipe2(os.O_DIRECT)  # a packet for each write
    packets = []
    with subprocess.Popen([WEIR_CP, "-a", "missing1", "missing2", "lines"], cwd=directory,
                          stderr=writer):
        os.close(writer)
        while packet := os.read(reader, 4096):
            packets.append(packet)
    os.close(reader)
    expect(len(packets) == 2 and all(packet.endswith(b"\n") for packet in packets), f"{packets}")


def slash_at_the_end(directory):
    write(f"{directory}/slash/a", "a")
    write(f"{directory}/slash/b", "b")
    here = {"cwd": f"{directory}/slash"}
    cp("a", "b/", code=125, **here)
    expect(read(f"{directory}/slash/b") == "b", "a file was taken for a directory, and replaced")
    cp("a", "new/", code=125, **here)
    expect(not os.path.lexists(f"{directory}/slash/new"), "a file where a directory was meant")
    os.mkdir(f"{directory}/slash/d")
    cp("a", "d/", **here)
    cp("-a", "d", "e/", **here)
    cp("-a", "d/", "f/", **here)
    for path in ("d/a", "e/a", "f/a"):
        expect(read(f"{directory}/slash/{path}") == "a", f"{path}: a slash at the end")


def one_name_twice(directory):
    """C3: of two files that go to one name, one does not arrive, and that is said."""
    for where in ("p", "q"):
        write(f"{directory}/twice/{where}/x", where)
        for number in range(300):
            write(f"{directory}/twice/{where}/tree/f{number}", where)
    here = {"cwd": f"{directory}/twice"}
    write(f"{directory}/twice/p/tree/only", "p")
    for name in ("files", "same", "trees", "contents", "mixed"):
        os.mkdir(f"{directory}/twice/{name}")
    finished = cp("p/x", "q/x", "p/tree/f1", "files", code=23, **here)
    expect(b"q/x" in finished.stderr, f"the second is not named: {finished.stderr}")
    expect(read(f"{directory}/twice/files/x") == "p", "the second took the place of the first")
    expect(read(f"{directory}/twice/files/f1") == "p", "the others must be copied")
    cp("p/x", "p/x", "./p/x", "same", **here)
    for options, sources, into in (([], ["p/tree", "q/tree"], "trees/tree"),
                                   ([], ["p/tree/", "q/tree/"], "contents"),
                                   (["-j1"], ["p/tree/", "q/tree/f1", "q/tree/f2"], "mixed")):
        cp("-a", *options, *sources, into.split("/", maxsplit=1)[0], **here)
        expect(read(f"{directory}/twice/{into}/only") == "p", f"{into}: what only the first has")
        taken = {name for name in os.listdir(f"{directory}/twice/{into}")
                 if read(f"{directory}/twice/{into}/{name}") == "q"}
        expect(taken == ({"f1", "f2"} if into == "mixed" else {f"f{n}" for n in range(300)}),
               f"{into}: {len(taken)} of the last, which is to have the last word")


def kinds_that_are_left_out(directory):
    """Who names a link or a fifo and does not get it hears of it; in a tree they are counted."""
    write(f"{directory}/kinds/tree/file")
    os.symlink("file", f"{directory}/kinds/tree/link")
    os.mkfifo(f"{directory}/kinds/tree/fifo")
    here = {"cwd": f"{directory}/kinds"}
    for name in ("link", "fifo"):
        finished = cp(f"tree/{name}", "out", code=23, **here)
        expect(name.encode() in finished.stderr, f"{name} is not named: {finished.stderr}")
        expect(not os.path.lexists(f"{directory}/kinds/out"), f"{name} was copied")
        cp("-a", f"tree/{name}", f"{name}2", **here)
    finished = cp("-r", "--stats=json", "tree", "r", **here)
    expect(b"2 entries were left out" in finished.stderr, f"not counted: {finished.stderr}")
    expect(json.loads(finished.stdout)["skipped"] == 2, f"not counted: {finished.stdout}")
    expect(cp("-rq", "tree", "rq", **here).stderr == b"", "-q says something")
    expect(cp("-a", "tree", "all", **here).stderr == b"", "nothing was left out")


def devices(directory):
    """Who copies to a device wants it written to, which we do not do; it must not be replaced."""
    write(f"{directory}/dev/file")
    os.mkfifo(f"{directory}/dev/fifo")
    os.symlink("fifo", f"{directory}/dev/link")
    os.makedirs(f"{directory}/dev/in")
    os.mkfifo(f"{directory}/dev/in/file")
    for target in ("fifo", "link", "in"):
        finished = cp("-a", "file", target, code=23, cwd=f"{directory}/dev")
        expect(b"device" in finished.stderr, f"{target}: {finished.stderr}")
    for path in ("fifo", "link", "in/file"):
        expect(stat.S_ISFIFO(os.stat(f"{directory}/dev/{path}").st_mode), f"{path} was replaced")


def newer_files(directory):
    """-u is that of rsync: what was changed in the destination since is left alone."""
    write(f"{directory}/newer/from/f", "old")
    write(f"{directory}/newer/to/f", "mine")
    write(f"{directory}/newer/from/g", "new")
    write(f"{directory}/newer/to/g", "old")
    os.utime(f"{directory}/newer/from/f", ns=(10**18, 10**18))
    os.utime(f"{directory}/newer/to/f", ns=(10**18, 10**18 + 1))
    os.utime(f"{directory}/newer/to/g", ns=(10**18, 10**18))
    os.chmod(f"{directory}/newer/to/f", 0o600)
    cp("-au", "from/", "to", cwd=f"{directory}/newer")
    st = os.stat(f"{directory}/newer/to/f")
    expect(read(f"{directory}/newer/to/f") == "mine", "a newer file was replaced")
    expect((st.st_mtime_ns, stat.S_IMODE(st.st_mode)) == (10**18 + 1, 0o600), "or its attributes")
    expect(read(f"{directory}/newer/to/g") == "new", "an older one was left")


def privileges(directory):
    """A new file in the place of one that ran as somebody does not run as its new owner."""
    write(f"{directory}/bits/new", "new")
    write(f"{directory}/bits/old", "old")
    if ROOT:
        os.chown(f"{directory}/bits/old", 65534, 65534)
    os.chmod(f"{directory}/bits/old", 0o6751)
    cp("new", "old", cwd=f"{directory}/bits")
    mode = stat.S_IMODE(os.stat(f"{directory}/bits/old").st_mode)
    expect(mode == 0o751, f"mode {mode:o} after a file was replaced")


def names_of_one_thing(directory):
    """C4: links and special files may have several names as well."""
    for kind in ("link", "fifo"):
        path = f"{directory}/one/from/{kind}"
        os.makedirs(f"{directory}/one/from/sub", exist_ok=True)
        if kind == "link":
            os.symlink("nowhere", path)
        else:
            os.mkfifo(path)
        for number in range(20):
            os.link(path, f"{directory}/one/from/sub/{kind}{number}", follow_symlinks=False)
    for options in (["-a"], ["-a", "-j1"], ["-a"]):  # the last one finds them there
        cp(*options, "from/", "to", cwd=f"{directory}/one")
        compare(manifest(f"{directory}/one/from"), manifest(f"{directory}/one/to"), "names")
    cp("-rlD", "from/", "apart", cwd=f"{directory}/one")
    expect(os.lstat(f"{directory}/one/apart/link").st_nlink == 1, "links without -H")


def patterns_and_sources(directory):
    """As with rsync, a path begins with the name of the source, and sources are entries as well."""
    for name in ("a.o", "a.c", "tree/secret", "tree/open"):
        write(f"{directory}/pat/{name}")
    here = {"cwd": f"{directory}/pat"}
    for _ in range(2):  # into a new name, and into a directory that is there
        cp("-a", "--exclude=/" + "tree/secret", "tree", "copy", **here)
    for name in ("copy", "copy/tree"):
        expect("open" in os.listdir(f"{directory}/pat/{name}"), f"{name} is not complete")
        expect("secret" not in os.listdir(f"{directory}/pat/{name}"), f"{name}: it was left out")
    os.mkdir(f"{directory}/pat/named")
    cp("-a", "--exclude=*.o", "--exclude=tree/", "a.o", "a.c", "tree", "named", **here)
    expect(os.listdir(f"{directory}/pat/named") == ["a.c"], "a source that a pattern leaves out")


def file_size_limit(directory):
    """C3: a file that may not become so long does not stop the others."""
    write(f"{directory}/long/big", "x" * 100_000)
    write(f"{directory}/long/small")
    finished = run("sh", "-c", 'ulimit -f 64; exec "$1" -a long short', "sh", WEIR_CP, cwd=directory)
    expect(finished.returncode == 23 and b"long/big" in finished.stderr, f"{finished}")
    expect(os.listdir(f"{directory}/short") == ["small"], "the others must be there, and nothing else")


def empty_names(directory):
    write(f"{directory}/empty/f")
    for arguments in (["f", ""], ["", "f"]):
        finished = cp(*arguments, code=125, cwd=f"{directory}/empty")
        expect(b"empty name" in finished.stderr, f"{arguments}: {finished.stderr}")


def main():
    with place() as directory:
        for part in (closed_streams, full_output, whole_lines, slash_at_the_end, one_name_twice,
                     kinds_that_are_left_out, devices, newer_files, privileges,
                     names_of_one_thing, patterns_and_sources, file_size_limit,
                     empty_names):
            part(directory)
    done("habits")


main()
