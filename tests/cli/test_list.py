"""weir ls, show, limit and doctor."""

import ctypes
import json
import os
import subprocess
import sys

from support import check, main


def test_tables_are_aligned(weir):
    weir.run("limit", "a", "2")
    weir.run("limit", "much/longer.name", "10")
    holder = weir.holder(name="much/longer.name")
    code, out, _ = weir.run("ls")
    lines = out.splitlines()
    check(code == 0 and len(lines) == 3 and lines[0].startswith("NAME "), "one line each", out)
    check(lines[1].startswith("much/longer.name "), "fullest first", out)
    column = lines[0].index("LIMIT") + 5
    check(all(line[column - 1].isdigit() and line[column] == " " for line in lines[1:]),
          "columns are aligned", out)
    code, out, _ = weir.run("show", "much/longer.name")
    check(code == 0 and "1 of 10 permits taken" in out and "slot 0" in out, "show", out)
    weir.let_go(holder)


def test_json_is_valid_whatever_is_in_it(weir):
    owner = "quote \" back \\ tick ' <&>"
    holder = weir.holder("--owner", owner)
    waiter = weir.start("run", "--owner", "w", "a", "true")
    weir.wait_waiting(1)
    code, out, _ = weir.run("show", "--json", "a")
    info = json.loads(out)[0]
    check(code == 0 and info["holders"][0]["owner"] == owner, "escaped", out)
    check(info["holders"][0]["pid"] == holder.pid, "the holder's process", info)
    check(info["waiters"][0]["position"] == 1 and info["waiters"][0]["owner"] == "w", "waiters")
    check({"limit", "held", "percent", "waiting", "fence", "wait_p99"} <= set(info), "statistics")
    weir.let_go(holder)
    waiter.end()
    weir.run("limit", "b", "1")
    infos = json.loads(weir.run("show", "--json", "a", "b")[1])
    check({i["name"] for i in infos} == {"a", "b"}, "several names", infos)
    check(all(i["holders"] == [] and i["waiters"] == [] for i in infos), "empty lists", infos)


def test_holder_without_a_process(weir):
    check(weir.run("acquire", "a")[0] == 0, "a lease of a script")
    check(weir.show("a")["holders"][0]["pid"] is None, "null: no process has it", weir.show("a"))


def test_nothing_there(weir):
    code, out, err = weir.run("ls")
    check(code == 0 and out == "" and err.count("\n") == 1, "an empty store", code, out, err)
    check(weir.run("ls", "--json") == (0, "[]\n", ""), "an empty list")
    check(weir.run("ls", "nobody")[0] == 64, "an unknown name")


def test_limit(weir):
    check(weir.run("limit", "a", "0")[0] == 0 and weir.run("limit", "a")[1] == "0\n", "pause")
    waiter = weir.start("run", "a", "echo", "ran")
    weir.wait_waiting(1)
    check("paused" in weir.run("show", "a")[1] and "paused" in weir.run("ls")[1], "it is said")
    check(weir.run("doctor")[0] == 1, "doctor notices who waits for a paused one")
    check(json.loads(weir.run("limit", "--json", "a")[1]) == {"name": "a", "limit": 0}, "JSON")
    check(weir.run("limit", "a", "2")[0] == 0, "raise")
    check(waiter.end()[:2] == (0, "ran\n"), "raising wakes")


def test_output_that_cannot_be_written(weir):
    weir.run("limit", "a", "1")
    for command in (["ls"], ["show", "a"], ["ls", "--json"], ["doctor"], ["--help"], ["limit", "a"],
                    ["run", "--help"], ["--version"]):
        with open("/dev/full", "w", encoding="ascii") as full:
            code, _, err = weir.run(*command, stdout=full)
        check(code == 125 and "standard output" in err, "ENOSPC is reported", command, code, err)
        here, there = os.pipe()
        os.close(here)
        code, _, err = weir.run(*command, stdout=there, restore_signals=False,
                                preexec_fn=ignore_pipe)
        os.close(there)
        check(code == 125 and "standard output" in err, "EPIPE is reported", command, code, err)


def ignore_pipe():
    import signal
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)


def test_doctor(weir):
    code, out, _ = weir.run("doctor")
    check(code == 0 and "ok" in out, "a fresh store is well", out)
    database = os.path.join(weir.environment["XDG_STATE_HOME"], "weir", "weir.db")
    check(os.stat(database).st_mode & 0o777 == 0o600, "Security 1: 0600")
    check(os.stat(os.path.dirname(database)).st_mode & 0o777 == 0o700, "Security 1: in 0700")
    findings = json.loads(weir.run("doctor", "--json")[1])
    check({"grade", "about", "text"} == set(findings[0]), "JSON", findings)
    os.chmod(database, 0o666)
    code, out, _ = weir.run("doctor")
    check(code != 0 and "chmod" in out, "a file that everybody may change, and what to do", out)


def test_doctor_and_the_store_agree_on_directories(weir):
    """Security 1: what the store refuses is broken, what it takes is not"""
    for mode, code, grade in ((0o700, 0, "ok"), (0o755, 0, "ok"), (0o1777, 0, "ok"),
                              (0o775, 1, "attention"), (0o777, 69, "broken")):
        directory = weir.path(f"{mode:o}")
        os.mkdir(directory)
        os.chmod(directory, mode)
        url = f"sqlite:{directory}/weir.db"
        found, out, err = weir.run("doctor", "--json", "--store", url)
        grades = [f["grade"] for f in json.loads(out) if f["about"] == "directory"]
        check((found, grades) == (code, [grade]), f"doctor of {mode:o}", found, out, err)
        found = weir.run("run", "--store", url, "a", "true")[0]
        check(found == (69 if code == 69 else 0), f"the store in {mode:o}", found)


def lose_the_right_to_go_anywhere():
    """root may enter every directory, but for this (PR_CAPBSET_DROP of CAP_DAC_OVERRIDE and CAP_DAC_READ_SEARCH)"""
    libc = ctypes.CDLL(None)
    libc.prctl(24, 1, 0, 0, 0)
    libc.prctl(24, 2, 0, 0, 0)


def test_directory_that_may_not_be_entered(weir):
    """It is there: nobody has to make it, and it is not well"""
    closed = weir.path("closed")
    os.makedirs(f"{closed}/below")
    os.chmod(closed, 0)
    for path in (f"{closed}/weir.db", f"{closed}/below/weir.db"):
        store = ("--store", f"sqlite:{path}")
        code, out, err = weir.run("ls", *store, preexec_fn=lose_the_right_to_go_anywhere)
        check(code == 69 and err.count("\n") == 1, "69", path, code, out, err)
        check("make" not in err and "-live" not in err and ("enter" in err or "get to" in err), "why", err)
        code, out, err = weir.run("doctor", *store, preexec_fn=lose_the_right_to_go_anywhere)
        check(code == 69 and "not there yet" not in out and "cannot get to" in out, "doctor", code, out, err)
    os.chmod(closed, 0o700)


def test_what_is_no_directory(weir):
    """Neither a file nor a link that leads nowhere is one in which a store could be, and doctor knows as opening does"""
    with open(weir.path("file"), "w", encoding="ascii"):
        pass
    os.symlink("nowhere", weir.path("link"))
    for path, told, found in (("file/weir.db", "file is not a directory", "file is not a directory"),
                              ("link/weir.db", "link: No such", "link is a link that leads nowhere"),
                              ("link/below/weir.db", "cannot make", "link is a link that leads nowhere")):
        store = ("--store", f"sqlite:{weir.path(path)}")
        code, out, err = weir.run("ls", *store)
        check(code == 69 and told in err and "enter" not in err, "opening says why", path, code, out, err)
        code, out, err = weir.run("doctor", "--json", *store)
        said = {of["about"]: (of["grade"], of["text"]) for of in json.loads(out)}
        check(code == 69 and said["directory"][0] == "broken" and found in said["directory"][1], "doctor, too", code, said)
        check(set(said) == {"directory", "open"} and err == "", "and nothing that follows from it", said, err)


def test_doctor_says_what_is_broken(weir):
    weir.run("limit", "a", "1")
    database = os.path.join(weir.environment["XDG_STATE_HOME"], "weir", "weir.db")
    for name in os.listdir(os.path.dirname(database)):
        if name.startswith("weir.db-"):
            path = os.path.join(os.path.dirname(database), name)
            if os.path.isfile(path):
                os.unlink(path)
    with open(database, "wb") as file:
        file.write(b"nonsense " * 1000)
    code, out, err = weir.run("doctor")
    check(code == 69 and "broken" in out and err == "", "69: a damaged file, said once", code, out, err)
    code, out, err = weir.run("doctor", "--store", "sqlite:x?nonsense=1")
    check(code == 64 and out.count("nonsense") == 1 and err == "", "64: an option that is none", code, out, err)
    code, out, err = weir.run("run", "a", "echo", "ran")
    check(code == 69 and out == "" and err.count("\n") == 1, "69, and nothing is run", code, err)


def test_store_that_cannot_be_reached(weir):
    with open(weir.path("file"), "w", encoding="ascii"):
        pass
    for url in ("sqlite:/proc/nowhere/weir.db", f"sqlite:{weir.path('file')}/weir.db",
                f"sqlite:{weir.directory}"):
        code, out, err = weir.run("run", "--store", url, "a", "echo", "ran")
        check(code == 69 and out == "" and err.count("\n") == 1, "69", url, code, out, err)
    check(not os.path.exists(weir.directory + "-live"), "nothing is made beside a directory")
    code, _, err = weir.run("ls", env={"XDG_STATE_HOME": "", "HOME": ""})
    check(code == 64 and "--store" in err, "without HOME there is no default", code, err)
    for command in (["run", "a", "echo", "ran"], ["doctor"]):
        code, out, err = weir.run(*command, env={"WEIR_STORE": "memory:"})
        check(code == 64 and "ran" not in out and "memory:" in out + err,
              "64: a store that nobody else sees guards nothing", code, out, err)
    code, out, err = weir.run("doctor", env={"XDG_STATE_HOME": "", "HOME": ""})
    check(code == 64 and "--store" in out and "success" not in out, "doctor says so", code, out, err)


def test_paths_of_all_kinds(weir):
    for name in ("with space", "per%20cent", "hash#", "ampersand&x=1", "new\nline", "\xe4"):
        code, _, err = weir.run("run", "a", "true", env={"XDG_STATE_HOME": weir.path(name)})
        check(code == 0 and os.path.exists(weir.path(f"{name}/weir/weir.db")), "a path", name, err)
    code, _, err = weir.run("run", "a", "true", env={"XDG_STATE_HOME": weir.path("what?")})
    check(code == 64 and "question mark" in err, "a question mark begins options", code, err)
    code, _, err = weir.run("run", "--store", f"sqlite:{weir.path('/'.join(['x' * 200] * 3))}", "a",
                            "true")
    check(code == 64 and "too long" in err, "64: longer than SQLite can use", code, err)


def test_disk_that_is_read_only_or_full(weir):
    """69 in one sentence, and nothing is run; what is held is given back all the same"""
    disk = weir.path("disk")
    store = ("--store", f"sqlite:{disk}/weir.db")
    os.mkdir(disk)
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=2m,mode=0700", "none", disk],
                      capture_output=True, check=False).returncode != 0:
        print("no disk of its own: needs the right to mount one")
        return
    try:
        subprocess.run(["mount", "-o", "remount,ro", disk], check=True)
        code, out, err = weir.run("run", *store, "a", "echo", "ran")
        check(code == 69 and out == "" and err.count("\n") == 1 and disk in err and "use a path" in err,
              "69: read-only", code, out, err)
        subprocess.run(["mount", "-o", "remount,rw", disk], check=True)
        holder = weir.holder(*store)
        with open(f"{disk}/filler", "wb", buffering=0) as filler:
            try:
                while filler.write(b"x" * 4096):
                    pass
            except OSError:
                pass
        for _ in range(500):  # until the log must grow
            code, out, err = weir.run("run", *store, "-n", "b", "echo", "ran")
            if code == 69:
                break
        check(code == 69 and out == "" and err.count("\n") == 1 and "full" in err,
              "69: full", code, out, err)
        code, out, err = weir.run("doctor", *store)
        check(code == 1 and "free some space" in out, "doctor notices", code, out, err)
        check(weir.let_go(holder)[0] == 0, "what is held is given back")
        os.unlink(f"{disk}/filler")
        check(weir.run("run", *store, "-n", "a", "true")[0] == 0, "and goes on")
    finally:
        subprocess.run(["umount", "-l", disk], check=False)


def test_store_is_found(weir):
    """Section 7: --store, else $WEIR_STORE, else $XDG_STATE_HOME, else ~/.local/state"""
    one, two = (f"sqlite:{weir.path(name)}" for name in ("one.db", "two.db"))
    os.chmod(weir.directory, 0o700)
    check(weir.run("limit", "--store", one, "a", "5", env={"WEIR_STORE": two})[0] == 0, "--store")
    check(weir.run("limit", "a", env={"WEIR_STORE": one})[1] == "5\n", "$WEIR_STORE")
    check(weir.run("limit", "a", "7", env={"XDG_STATE_HOME": "relative"})[0] == 0, "HOME")
    check(os.path.exists(weir.path(".local/state/weir/weir.db")), "~/.local/state")


def test_pipe_that_closes_early(weir):
    """As with any other command, SIGPIPE ends it silently"""
    weir.run("limit", "a", "1")
    done = subprocess.run(f"{weir.binary} ls | true; echo ${{PIPESTATUS[0]}}", shell=True,
                          executable="/bin/bash", env=weir.environment, capture_output=True,
                          text=True, check=False)
    check(done.stderr == "", "silently", done)


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    main()
