"""C1, C2: a limit of 1, trees deeper than any limit, few descriptors, bounded memory (107, 108)."""

import os
import resource
import subprocess
import time

from trees import (
    SHORT, WEIR_CP, Forest, compare, cp, deep, depth_of, done, expect, flat, manifest, place,
)

DEPTH = 300 if SHORT else 1000


def limit_nofile(number):
    return lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (number, number))


def remove(path):
    """Deeper than shutil.rmtree dares to go."""
    subprocess.run(["rm", "-rf", path], check=True)


def deep_trees(directory):
    deep(f"{directory}/deep", DEPTH)
    for options in (["-j1"], ["-j1", "--threads", "1", "--no-io-uring"], ["-j3"], []):
        cp("-a", *options, f"{directory}/deep", f"{directory}/copy")
        expect(depth_of(f"{directory}/copy") == DEPTH, f"depth {DEPTH} with {options}")
        remove(f"{directory}/copy")


def few_descriptors(directory):
    source = Forest(77).grow(f"{directory}/source", 150).decode()
    wanted = manifest(source)
    for number in [16, 20] if SHORT else [16, 17, 18, 20, 24, 32, 64]:
        cp("-a", "-T", source, f"{directory}/few", preexec_fn=limit_nofile(number))
        compare(wanted, manifest(f"{directory}/few"), f"RLIMIT_NOFILE {number}")
        remove(f"{directory}/few")
        cp("-a", f"{directory}/deep", f"{directory}/few", preexec_fn=limit_nofile(number))
        expect(depth_of(f"{directory}/few") == DEPTH, f"depth {DEPTH} with {number} descriptors")
        remove(f"{directory}/few")
    finished = cp("-a", source, f"{directory}/none", code=None, preexec_fn=limit_nofile(7))
    expect(finished.returncode in (23, 125), f"7 descriptors: exit {finished.returncode}")


def peaks(*arguments):
    """Copies, and watches: the highest resident memory in MiB and the most descriptors."""
    with subprocess.Popen([WEIR_CP, *arguments]) as process:
        memory = descriptors = 0
        while process.poll() is None:
            try:
                descriptors = max(descriptors, len(os.listdir(f"/proc/{process.pid}/fd")))
                with open(f"/proc/{process.pid}/status", encoding="ascii") as status:
                    for line in status:
                        if line.startswith("VmHWM"):
                            memory = max(memory, int(line.split()[1]) / 1024)
            except OSError:
                pass
            time.sleep(0.002)
        expect(process.returncode == 0, f"{arguments}: exit {process.returncode}")
    return memory, descriptors


def wide(directory):
    count = 1500 if SHORT else int(os.environ.get("WEIR_WIDE", "100000"))
    flat(f"{directory}/wide", count)
    for limit in (1024, 16):
        memory, descriptors = peaks("-a", "-j", str(limit), f"{directory}/wide", f"{directory}/w")
        print(f"{count} files, limit {limit}: {memory:.0f} MiB, {descriptors} descriptors")
        expect(memory <= 64, f"{memory:.0f} MiB of memory at a limit of {limit}")
        expect(descriptors <= 2 * limit + 64, f"{descriptors} descriptors at a limit of {limit}")
        expect(len(os.listdir(f"{directory}/w")) == count, "not all arrived")
        remove(f"{directory}/w")


def many_directories(directory):
    for number in range(300 if SHORT else 3000):
        os.makedirs(f"{directory}/many/{number % 10}/{number}/x")
        with open(f"{directory}/many/{number % 10}/{number}/x/f", "w", encoding="ascii") as file:
            file.write(str(number))
    wanted = manifest(f"{directory}/many")
    for limit in ("4", "1024"):
        memory, descriptors = peaks("-a", "-j", limit, f"{directory}/many", f"{directory}/m")
        print(f"directories, limit {limit}: {memory:.0f} MiB, {descriptors} descriptors")
        expect(descriptors <= 2 * int(limit) + 64, f"{descriptors} descriptors at {limit}")
        compare(wanted, manifest(f"{directory}/m"), f"many directories, limit {limit}")
        remove(f"{directory}/m")


def a_million(directory):
    """The bounds hold however many entries there are."""
    count = 2000 if SHORT else int(os.environ.get("WEIR_ENTRIES", "1000000"))
    for number in range(count):
        parent = f"{directory}/million/{number // 100_000}/{number // 100}"
        if number % 100 == 0:
            os.makedirs(parent)
        os.close(os.open(f"{parent}/{number}", os.O_CREAT | os.O_WRONLY))
    memory, descriptors = peaks("-a", f"{directory}/million", f"{directory}/m")
    print(f"{count} files in directories of 100: {memory:.0f} MiB, {descriptors} descriptors")
    expect(memory <= 64, f"{memory:.0f} MiB of memory for {count} files")
    expect(descriptors <= 2 * 1024 + 64, f"{descriptors} descriptors for {count} files")
    expect(sum(len(names) for _, _, names in os.walk(f"{directory}/m")) == count, "not all arrived")
    remove(f"{directory}/m")
    remove(f"{directory}/million")


def main():
    with place() as directory:
        deep_trees(directory)
        few_descriptors(directory)
        wide(directory)
        many_directories(directory)
        a_million(directory)
        remove(f"{directory}/deep")
    done("deep, narrow, wide")


main()
