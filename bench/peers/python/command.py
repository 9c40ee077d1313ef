"""One command at a time, or a few: weir run beside flock and GNU sem, as a shell would start them.

    command.py PEER WEIR one=1 seconds=0.5         nanoseconds of a run of `true`, the median
    command.py PEER WEIR many=200 seconds=0.5      of each of many, eight at a time, four of them let in
"""

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

TRUE = shutil.which("true")
AT_A_TIME = "8"
LIMIT = "4"
# A run of GNU sem takes a tenth of a second: fewer will do.
SLOW = {"gnu-sem": 20}


def command(peer, weir, directory, limit):
    return {
        "true": [TRUE],
        "weir": [weir, "run", "-j", limit, "bench", TRUE],
        "flock": [shutil.which("flock"), os.path.join(directory, "lock"), TRUE],
        "gnu-sem": [shutil.which("sem"), "--fg", "--id", "bench", "-j", limit, TRUE],
    }[peer]


def one(words, seconds):
    times = []
    end = time.perf_counter() + seconds
    while len(times) < 5 or time.perf_counter() < end:
        start = time.perf_counter_ns()
        _, status = os.waitpid(os.posix_spawn(words[0], words, os.environ), 0)
        times.append(time.perf_counter_ns() - start)
        if status:
            sys.exit(f"{words[0]}: status {status}")
    return statistics.median(times)


def many(words, count):
    lines = "\n" * count
    start = time.perf_counter_ns()
    subprocess.run(["xargs", "-P", AT_A_TIME, "-d", "\n", "-I", "{}", *words],
                   input="x" + lines.replace("\n", "\nx")[:-1], text=True, check=True)
    return (time.perf_counter_ns() - start) / count


def main():
    peer, weir = sys.argv[1:3]
    arguments = dict(word.split("=") for word in sys.argv[3:])
    with tempfile.TemporaryDirectory() as directory:
        os.environ["XDG_STATE_HOME"] = directory
        os.environ["HOME"] = directory
        os.environ["PARALLEL_HOME"] = directory
        os.environ.pop("WEIR_STORE", None)
        with open(os.path.join(directory, "will-cite"), "w", encoding="ascii"):
            pass
        if "many" in arguments:
            count = SLOW.get(peer, int(arguments["many"]))
            print("ns", many(command(peer, weir, directory, LIMIT), count))
        else:
            print("ns", one(command(peer, weir, directory, "1"), float(arguments["seconds"])))


main()
