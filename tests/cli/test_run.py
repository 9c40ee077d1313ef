"""weir run: exit codes, what the command gets, and the permit afterwards."""

import json
import os
import resource
import signal
import subprocess
import sys

from support import check, main


def test_exit_codes_are_the_commands_own(weir):
    for code in (0, 1, 2, 75, 125, 255):
        check(weir.run("run", "a", "sh", "-c", f"exit {code}")[0] == code, "section 7: its own code")
    for number in (signal.SIGTERM, signal.SIGKILL, signal.SIGINT, signal.SIGSEGV):
        code = weir.run("run", "a", "sh", "-c", f"ulimit -c 0; kill -{number.value} $$")[0]
        check(code == 128 + number, "CHECKLIST 93: 128 + n on signal n", number, code)
    weir.wait_free()


def test_a_command_that_cannot_be_run(weir):
    """CHECKLIST 92: reported, and the permit returned"""
    with open(weir.path("plain"), "w", encoding="ascii") as file:
        file.write("no program\n")
    for command, want in (("no-such-command", 127), (weir.path("nowhere"), 127),
                          (weir.path("plain"), 126), (weir.directory, 126), ("", 127)):
        code, out, err = weir.run("run", "a", "--", command)
        check(code == want and out == "" and err.count("\n") == 1, "92: 126 and 127", command, err)
        if command:
            check(command in err, "92: the message names it", err)
            check(weir.show("a")["held"] == 0, "92: the permit is returned")
    os.chmod(weir.path("plain"), 0o755)
    check(weir.run("run", "a", weir.path("plain"))[0] == 127, "a script without #! is the shell's")


def test_environment(weir):
    """Section 7: WEIR_* are exported; the rest is unchanged (Security 12)"""
    code, out, _ = weir.run("run", "-j", "3", "--owner", "me", "dir/name", "env", "-0",
                            env={"KEEP": "a b\nc", "WEIR_SLOT": "old"})
    got = dict(item.split("=", 1) for item in out.split("\0") if item)
    own = {name: got.pop(name) for name in list(got) if name.startswith("WEIR_")}
    check(code == 0 and got.pop("KEEP") == "a b\nc", "what was there is passed on")
    check(own["WEIR_NAME"] == "dir/name" and own["WEIR_OWNER"] == "me", "name and owner", own)
    check(own["WEIR_SLOT"] == "0" and int(own["WEIR_FENCE"]) > 0, "slot and fence", own)
    check(len(own["WEIR_TOKEN"]) == 32 and int(own["WEIR_TOKEN"], 16) >= 0, "token", own)
    check(set(got) <= set(weir.environment), "nothing else is added", set(got))
    _, out, _ = weir.run("run", "dir/name", "sh", "-c", "echo $WEIR_FENCE $WEIR_TOKEN")
    fence, token = out.split()
    check(int(fence) > int(own["WEIR_FENCE"]), "L2: fences rise")
    check(token != own["WEIR_TOKEN"], "Security 7: a token for each acquisition")


def describe(weir, *options, **keywords):
    """What a command sees of its signals and descriptors."""
    script = ("import json, os\n"
              "s = dict(line.split(':', 1) for line in open('/proc/self/status'))\n"
              "fds = {}\n"
              "for f in os.listdir('/proc/self/fd'):\n"
              "    try: fds[f] = os.readlink('/proc/self/fd/' + f)\n"
              "    except OSError: pass\n"
              "fds = {f: t for f, t in fds.items() if '/proc/' not in t}\n"
              "print(json.dumps([s['SigBlk'].strip(), s['SigIgn'].strip(), fds]))\n")
    with open(weir.path("describe.py"), "w", encoding="ascii") as file:
        file.write(script)
    process = weir.start("run", *options, "a", sys.executable, "-S", weir.path("describe.py"),
                         **keywords)
    code, out, err = process.end()
    check(code == 0, "the command ran", err)
    return json.loads(out)


def bits(*numbers):
    return sum(1 << (number - 1) for number in numbers)


def ours():
    """What this process ignores, and so gives to weir: whoever started it may ignore anything."""
    with open("/proc/self/status", encoding="ascii") as file:
        found = dict(line.split(":", 1) for line in file)
    return int(found["SigIgn"], 16)


# Python itself ignores these two.
PYTHONS = bits(signal.SIGPIPE, signal.SIGXFSZ)


def test_signal_mask_and_dispositions_as_they_were(weir):
    """CHECKLIST 91"""
    blocked, ignored, _ = describe(weir)
    check(int(blocked, 16) == 0, "91: nothing is blocked", blocked)
    check(int(ignored, 16) & ~PYTHONS == ours() & ~PYTHONS, "91: nothing else is ignored", ignored)

    def before():
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])

    blocked, ignored, _ = describe(weir, preexec_fn=before)
    check(int(blocked, 16) == bits(signal.SIGUSR1), "91: the mask is the caller's", blocked)
    check(int(ignored, 16) & ~PYTHONS == ours() & ~PYTHONS | bits(signal.SIGHUP, signal.SIGCHLD),
          "91: what the caller ignores stays ignored", ignored)


def test_descriptors(weir):
    """Section 7: the very same descriptors; Security 12: none of weir's own but the binding one"""
    here, there = os.pipe()
    with open(weir.path("out"), "w+", encoding="utf-8") as out:
        _, _, fds = describe(weir, pass_fds=[there])
        own = {int(f) for f in fds} - {0, 1, 2, there}
        check(len(own) <= 1 and all(f >= 230 for f in own), "12: no stray descriptors", fds)
        process = weir.start("run", "a", "sh", "-c", "echo direct; sed p", stdin=out, stdout=out)
        out.write("")
        check(process.end()[0] == 0, "it ran")
        out.seek(0)
        check(out.read() == "direct\n", "95: weir adds nothing to the output")
    os.close(here)
    os.close(there)


def test_few_descriptors(weir):
    """A command never runs without the descriptor that keeps its permit (CHECKLIST 90)"""
    outcomes = []
    for most in range(3, 40):
        def before(most=most):
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))

        code, out, err = weir.run("run", "a", "sh", "-c", "ls -l /proc/$$/fd 2>/dev/null; echo ran",
                                  preexec_fn=before)
        if "ran\n" in out:
            check(code == 0 and "-live/f" in out, "90: bound to what it runs", most, out, err)
        else:
            check(code in (69, 125, 127) and err, "what is missing is said", most, code, out, err)
        outcomes.append("ran\n" in out)
        check(weir.run("doctor")[0] == 0, "the store is whole", most)
    check(outcomes[-1] and not outcomes[0], "both were seen", outcomes)
    check(weir.show("a")["held"] == 0, "nothing is left behind")


def test_closed_standard_descriptors(weir):
    """Closed stdin, stdout or stderr stay closed, and nothing goes astray"""
    for closed in ([0], [1], [2], [0, 1, 2]):
        def before(closed=closed):
            for fd in closed:
                os.close(fd)

        target = weir.path("seen")
        process = weir.start("run", "a", "sh", "-c", f"ls -l /proc/$$/fd > {target}; exit 7",
                             preexec_fn=before)
        check(process.end()[0] == 7, "the command runs all the same", closed)
        with open(target, encoding="utf-8") as file:
            fds = {line.split(" -> ")[0].split()[-1] for line in file if " -> " in line}
        check(not fds & {str(fd) for fd in closed} - {"1"}, "they stay closed", closed, fds)
        check(weir.run("doctor")[0] == 0, "the store is whole")


def test_shell_only_with_c(weir):
    check(weir.run("run", "a", "-c", "echo $((1 + 1))")[1] == "2\n", "-c after NAME")
    check(weir.run("run", "-c", "exit 4", "a")[0] == 4, "-c before NAME")
    check(weir.run("run", "a", "echo", "$HOME;`x`")[1] == "$HOME;`x`\n", "no shell without -c")


def test_try_wait_and_conflict_code(weir):
    holder = weir.holder()
    code, out, err = weir.run("run", "-n", "a", "echo", "ran")
    check(code == 75 and out == "" and err.count("\n") == 1, "75: -n and full", code, out, err)
    check(weir.run("run", "-n", "-E", "9", "a", "true")[0] == 9, "-E")
    check(weir.run("run", "-E", "0", "-n", "-q", "a", "true") == (0, "", ""), "-E 0, quiet")
    check(weir.run("run", "-w", "0.05", "a", "true")[0] == 75, "75: -w passed")
    check(weir.show("a")["waiting"] == 0, "who gave up waits no more")
    waiter = weir.start("run", "-w", "1m", "a", "echo", "ran")
    weir.wait_waiting(1)
    check(weir.run("run", "-n", "-q", "a", "true")[0] == 75, "P3: a try overtakes nobody")
    check(weir.let_go(holder)[0] == 0, "the holder ends")
    check(waiter.end() == (0, "ran\n", ""), "the waiter runs", )


def test_why_there_is_no_permit(weir):
    """-n says which it is: paused, all taken, too few free, or others wait"""
    def told(*options):
        code, out, err = weir.run("run", "-n", *options, "a", "echo", "ran")
        check(code == 75 and out == "" and err.count("\n") == 1, "75", options, code, out, err)
        return err

    weir.run("limit", "a", "0")
    check("paused" in told() and "weir limit a N" in told(), "paused", told())
    weir.run("limit", "a", "3")
    holder = weir.holder("--weight", "2")
    check("no 2 permits" in told("--weight", "2") and "1 of 3 are free" in told("--weight", "2"), "too few are free")
    waiter = weir.start("run", "--weight", "2", "a", "true")
    weir.wait_waiting(1)
    check("others wait" in told(), "others wait", told())
    weir.run("limit", "a", "2")
    check("all are taken" in told(), "all are taken", told())
    weir.let_go(holder)
    check(waiter.end()[0] == 0, "the waiter runs")


def test_limits(weir):
    """Section 7: without -j a new one gets 1 and an existing one keeps its limit; 64 names both"""
    check(weir.run("run", "a", "true")[0] == 0, "a new one")
    check(weir.show("a")["limit"] == 1, "gets 1")
    check(weir.run("limit", "a", "3")[0] == 0 and weir.run("run", "a", "true")[0] == 0, "keeps")
    check(weir.run("limit", "a") == (0, "3\n", ""), "its limit")
    code, _, err = weir.run("run", "-j", "2", "a", "true")
    check(code == 64 and " 3" in err and " 2" in err and "weir limit a 2" in err,
          "64: the message names both and the command that changes it", err)
    check(weir.run("run", "-j", "3", "a", "true")[0] == 0, "the same limit is fine")
    holders = [weir.holder() for _ in range(3)]
    check(sorted(h["slot"] for h in weir.show("a")["holders"]) == [0, 1, 2], "L2: slots")
    check(weir.run("run", "-nq", "a", "true")[0] == 75, "L1: never more than the limit")
    for holder in holders:
        weir.let_go(holder)
    weir.wait_free()


def test_weight(weir):
    check(weir.run("limit", "a", "3")[0] == 0, "limit")
    holder = weir.holder("--weight", "2")
    check(weir.show("a")["held"] == 2, "weight counts")
    check(weir.run("run", "-nq", "--weight", "2", "a", "true")[0] == 75, "2 and 2 are more than 3")
    check(weir.run("run", "-n", "a", "true")[0] == 0, "2 and 1 fit")
    weir.let_go(holder)


def test_order(weir):
    """L7: first come, first served"""
    holder = weir.holder()
    waiters = []
    for i in range(5):
        waiters.append(weir.start("run", "a", "sh", "-c", f"echo {i} >> {weir.path('order')}"))
        weir.wait_waiting(i + 1)
    positions = [w["position"] for w in weir.show("a")["waiters"]]
    check(positions == [1, 2, 3, 4, 5], "positions are shown", positions)
    weir.let_go(holder)
    for waiter in waiters:
        check(waiter.end()[0] == 0, "each runs")
    with open(weir.path("order"), encoding="ascii") as file:
        check(file.read().split() == ["0", "1", "2", "3", "4"], "L7")


def test_verbose_and_json(weir):
    code, out, err = weir.run("run", "-v", "a", "echo", "x")
    check(code == 0 and out == "x\n" and "slot 0" in err, "-v says it on standard error", err)
    code, out, err = weir.run("run", "--json", "a", "sh", "-c", "exit 3")
    events = [json.loads(line) for line in err.splitlines()]
    check(code == 3 and out == "" and [e["event"] for e in events] == ["acquired", "ended"],
          "--json: one object a line", err)
    check(events[1]["code"] == 3 and events[0]["slot"] == 0, "--json: facts", events)


def test_how_the_command_ended(weir):
    """What is told of the command is the command's, whatever the exit code is that weir makes of it"""
    gentle = "trap 'exit 5' TERM; while :; do sleep 0.01; done"
    for options, command, code, own, text in (
            ([], "exit 3", 3, {"command_code": 3}, "the command ended with exit code 3\n"),
            ([], "kill -KILL $$", 137, {"command_signal": 9}, "signal 9 (Killed) ended the command\n"),
            (["--max-hold", "0.3"], gentle, 124, {"command_code": 5}, "exit code 5; that of weir is 124\n"),
            (["--max-hold", "0.3"], "exec sleep 1000", 124, {"command_signal": 15}, "command; that of weir is 124\n"),
            (["--max-hold", "0.3"], "sleep 1000 >/dev/null 2>&1 & exit 7", 124, {"command_code": 7}, "weir is 124\n"),
            (["--max-hold", "0.3"], "sleep 1000 >/dev/null 2>&1 & kill $$", 124, {"command_signal": 15}, "weir is 124\n"),
            (["-k", "0"], f"{weir.binary} evict --all a; exec sleep 1000", 76, None, "command; that of weir is 76\n")):
        got, _, err = weir.run("run", "--json", *options, "a", "sh", "-c", command)
        ended = json.loads(err.splitlines()[-1])
        facts = {key: ended[key] for key in ended if key.startswith("command_")}
        check(got == code and ended["code"] == code, "code is weir's", command, got, err)
        check(facts == own or own is None and facts["command_signal"] in (9, 15), "the rest is the command's", command, ended)
        err = weir.run("run", "-v", *options, "a", "sh", "-c", command)[2]
        check(err.endswith(text), "-v says the same", command, err)


def test_every_json_has_an_end(weir):
    """Also of a command that cannot be run; what is said for people is a line beside the objects"""
    with open(weir.path("plain"), "w", encoding="ascii") as file:
        file.write("no program\n")
    for options, command, code in (([], "no-such-command", 127), ([], weir.path("plain"), 126),
                                   (["-k", "20s", "--store", f"sqlite:{weir.path('short.db')}?default_ttl=30s"], "true", 64)):
        got, out, err = weir.run("run", "--json", *options, "a", command)
        lines = err.splitlines()
        events = [json.loads(line) for line in lines if not line.startswith("weir: ")]
        check(got == code and out == "" and len(lines) == 3 and len(events) == 2, "two objects and a reason", got, err)
        check(events[0]["event"] == "acquired" and events[1] == {"event": "ended", "name": "a", "code": code},
              "the end has the exit code, and nothing of a command", events)
        code, _, err = weir.run("run", "-v", *options, "a", command)
        check("nobody knows" not in err and "ended" not in err, "-v does not speak of its end", err)


def test_json_in_one_write(weir):
    """Several commands that share a log do not write into each other's objects"""
    reader, writer = os.pipe2(os.O_DIRECT)  # a packet for each write
    process = weir.start("run", "--json", "a", "true", stderr=writer)
    os.close(writer)
    packets = []
    while packet := os.read(reader, 4096):
        packets.append(packet)
    os.close(reader)
    check(process.end()[0] == 0, "it runs")
    check([json.loads(packet)["event"] for packet in packets] == ["acquired", "ended"],
          "an object for each write", packets)


def test_kill_after_beyond_all_bounds(weir):
    code, _, err = weir.run("run", "-k", "106751d", "a", "true")
    check(code == 64 and "15s" in err, "what is allowed is said", code, err)


def test_ttl_of_the_store(weir):
    """A command runs to its end, however long a lease of the store lives without --ttl"""
    store = f"sqlite:{weir.path('ttl.db')}"
    for option in ("default_ttl=5s", "default_ttl=4s", "max_ttl=1s"):
        code, out, err = weir.run("run", "--store", f"{store}?{option}", "a", "sh", "-c", "sleep 0.1; echo ran")
        check(code == 0 and out == "ran\n" and err == "", "it runs to its end", option, code, err)
    check(weir.run("run", "--store", f"{store}?default_ttl=1m", "-k", "20s", "a", "true")[0] == 0,
          "--kill-after may be more where leases live long")
    code, out, err = weir.run("run", "--store", f"{store}?max_ttl=4s", "-k", "3s", "a", "echo", "ran")
    check(code == 64 and out == "" and "2s" in err, "and must be less where they do not", code, err)
    check(weir.run("run", "-n", "--store", store, "a", "true")[0] == 0, "the permit is returned")


def test_umask_that_takes_everything(weir):
    """Section 7: 0600 in 0700, so that the next process can open it, whatever the umask is"""
    binary = [weir.binary, "run", "--store", f"sqlite:{weir.path('own/weir.db')}", "a", "true"]
    words = "umask 777 && exec \"$@\""
    if os.geteuid() == 0:  # nothing is closed to root
        os.chmod(weir.directory, 0o777)
        os.mkdir(weir.path("own"))
        os.chown(weir.path("own"), 65534, 65534)
        words = "umask 777 && exec setpriv --reuid=65534 --regid=65534 --clear-groups \"$@\""
    for turn in ("first", "second"):
        done = subprocess.run(["sh", "-c", words, "sh", *binary], env=weir.environment,
                              capture_output=True, check=False)
        check(done.returncode == 0, f"the {turn} one", done)


def test_refuses_setuid(weir):
    """Security 11"""
    if os.geteuid() != 0:
        return
    binary = weir.path("weir-setuid")
    subprocess.run(["cp", weir.binary, binary], check=True)
    os.chown(binary, 65534, 65534)
    os.chmod(binary, 0o4755)
    os.chmod(weir.directory, 0o755)
    # A leak checker cannot look into a process of somebody else.
    environment = weir.environment | {"ASAN_OPTIONS": "detect_leaks=0"}
    done = subprocess.run([binary, "run", "a", "true"], env=environment, capture_output=True,
                          text=True, check=False)
    check(done.returncode == 64 and "setuid" in done.stderr, "11: refused", done)


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    main()
