"""The scripts in examples/ do what they say."""

import os
import re
import signal
import subprocess
import sys

from support import GIVE_UP, check, main

EXAMPLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../examples")


def environment(weir):
    path = os.path.dirname(weir.binary) + ":" + weir.environment["PATH"]
    return weir.environment | {"PATH": path, "WEIR": weir.binary}


def script(weir, name, *arguments, **options):
    return subprocess.Popen([os.path.join(EXAMPLES, name), *arguments], env=environment(weir),
                            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            text=True, **options)


def finish(process):
    out, err = process.communicate(timeout=GIVE_UP)
    return process.returncode, out, err


def test_cron_job_never_overlaps(weir):
    first = script(weir, "cron_job.sh", "report", "sh", "-c", "echo begun; read x; exit 0")
    check(first.stdout.readline() == "begun\n", "the first one runs")
    check(finish(script(weir, "cron_job.sh", "report", "echo", "ran")) == (0, "", ""),
          "the second one is left out, silently")
    check(finish(first)[0] == 0, "the first one ends")
    check(finish(script(weir, "cron_job.sh", "report", "echo", "ran"))[:2] == (0, "ran\n"),
          "and then the next one runs")


def test_few_compilers(weir):
    """As a build would call it: 12 at a time, of which at most 3 run"""
    check(weir.run("limit", "compilers", "3")[0] == 0, "weir limit compilers 3")
    log = weir.path("log")
    compiler = f"echo + >> {log}; sleep 0.03; echo - >> {log}"
    builds = [script(weir, "few_compilers.sh", "sh", "-c", compiler) for _ in range(12)]
    for build in builds:
        check(finish(build)[0] == 0, "each one compiles")
    running, most = 0, 0
    with open(log, encoding="ascii") as file:
        for line in file:
            running += 1 if line == "+\n" else -1
            most = max(most, running)
    check(most <= 3 and running == 0, "L1: never more than 3", most)


def test_deploy_holds_over_its_steps(weir):
    target = weir.path("target")
    lease = weir.run("acquire", "--json", "--ttl", "1m", "deploy")
    check(lease[0] == 0, "somebody else deploys")
    process = script(weir, "deploy.sh", target)
    weir.wait_waiting(1, "deploy")
    check(not os.path.exists(target), "it waits before it does anything")
    check(weir.run("evict", "--all", "deploy")[0] == 0, "the other one goes")
    code, out, err = finish(process)
    check(code == 0 and "deployed" in out, "it deploys", code, out, err)
    weir.wait_free("deploy")
    with open(os.path.join(target, "fence"), encoding="ascii") as file:
        check(int(file.read()) > 0, "its fence is known")


def test_demo(weir):
    """make demo: nothing is left over, and the killed one is followed at once"""
    process = script(weir, "demo.sh", start_new_session=True)
    try:
        code, out, err = finish(process)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        raise
    check(code == 0, "it runs", code, out, err)
    for line in ("anna begins in slot", "next ", "hugo begins in slot", "exit code 76", "NAME "):
        check(line in out, "it shows what it says", line, out)
    check(re.search(r"slot 0 +anna .*\nslot 1 +bert .*\nnext +cleo .*\nwait 2 +dora .*\nwait 3 +emil ", out),
          "they are in line as they came", out)


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    main()
