"""C5, 98-102, 111: somebody swaps directories, links and files on both sides while we copy.

Whatever happens, what lies outside the two trees is neither read into the copy nor changed.
"""

import ctypes
import os
import threading
import time

from trees import SHORT, cp, done, expect, manifest, place, run

RENAME_EXCHANGE = 2
libc = ctypes.CDLL(None, use_errno=True)


def exchange(one, other, directory=-100):
    libc.renameat2(directory, os.fsencode(one), directory, os.fsencode(other), RENAME_EXCHANGE)


class Attacker(threading.Thread):
    """Does something to the trees, again and again."""

    def __init__(self, act):
        super().__init__(daemon=True)
        self.act, self.ended, self.turns = act, False, 0

    def run(self):
        while not self.ended:
            try:
                self.act()
            except OSError:
                pass
            self.turns += 1

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.ended = True
        self.join()


def write(path, data):
    with open(path, "wb") as file:
        file.write(data)


def grow(root, directories=8, files=20):
    for number in range(directories):
        os.makedirs(f"{root}/d{number}/e")
        for file in range(files):
            write(f"{root}/d{number}/e/f{file}", b"inside")


def canary(directory):
    os.makedirs(f"{directory}/outside/e")
    for file in range(20):
        write(f"{directory}/outside/e/f{file}", b"SECRET")
        write(f"{directory}/outside/f{file}", b"SECRET")
    return manifest(f"{directory}/outside")


def secrets_in(root):
    found = []
    for base, _, files in os.walk(root):
        for name in files:
            path = os.path.join(base, name)
            if os.path.islink(path) or not os.path.isfile(path):
                continue
            with open(path, "rb") as file:
                if b"SECRET" in file.read():
                    found.append(path)
    return found


def attack_source(directory, rounds):
    """Directories and files of the source become links to what is outside, and back."""
    source = f"{directory}/source"
    grow(source)
    for number in range(4):
        os.symlink(f"{directory}/outside", f"{source}/trap{number}")
        os.symlink(f"{directory}/outside/f{number}", f"{source}/d{number}/e/trap")

    def act():
        for number in range(4):
            exchange(f"{source}/d{number}", f"{source}/trap{number}")
            exchange(f"{source}/d{number}/e/f1", f"{source}/d{number}/e/trap")

    with Attacker(act) as attacker:
        for turn in range(rounds):
            options = [[], ["--no-io-uring"], ["-j1"]][turn % 3]
            finished = cp("-a", *options, source, f"{directory}/copy", code=None)
            expect(finished.returncode in (0, 23), f"source attacked: {finished.returncode}")
            found = secrets_in(f"{directory}/copy")
            expect(not found, f"came from outside: {found[:3]}")
            run("rm", "-rf", f"{directory}/copy")
    print(f"source attacked {attacker.turns} times in {rounds} copies")


def attack_destination(directory, rounds, before):
    """Directories of the destination become links to what is outside, and back."""
    source, copy = f"{directory}/source", f"{directory}/target"
    for turn in range(rounds):
        os.mkdir(copy)
        inner = []
        for number in range(8):
            os.symlink(f"{directory}/outside", f"{copy}/trap{number}")
            os.makedirs(f"{copy}/d{number}/e")
            os.symlink(f"{directory}/outside/e", f"{copy}/d{number}/trap")
            # By descriptor: the attacker must not walk into its own traps.
            inner.append(os.open(f"{copy}/d{number}", os.O_RDONLY))

        def act():
            for number in range(8):
                exchange(f"{copy}/d{number}", f"{copy}/trap{number}")
                exchange("e", "trap", inner[number])

        with Attacker(act):
            options = [[], ["--no-io-uring"], ["-j1"]][turn % 3]
            finished = cp("-aT", *options, source, copy, code=None)
        expect(finished.returncode in (0, 23), f"target attacked: {finished.returncode}")
        for descriptor in inner:
            os.close(descriptor)
        expect(manifest(f"{directory}/outside") == before, "something outside was changed")
        run("rm", "-rf", copy)


def changing_files(directory, rounds):
    """Files grow, shrink, vanish and turn into fifos while they are read: whole, or named."""
    source = f"{directory}/moving"
    os.mkdir(source)
    for number in range(30):
        write(f"{source}/f{number}", b"a" * 300_000)
    os.mkfifo(f"{source}/fifo")

    def act():
        for number in range(0, 30, 3):
            write(f"{source}/f{number}", b"bc"[number % 2:][:1] * (100_000 + number))
            exchange(f"{source}/f{number + 1}", f"{source}/fifo")
            os.truncate(f"{source}/f{number}", 10)
            os.rename(f"{source}/f{number + 2}", f"{source}/g")
            os.rename(f"{source}/g", f"{source}/f{number + 2}")
            time.sleep(0.0005)

    with Attacker(act):
        for _ in range(rounds):
            finished = cp("-a", source, f"{directory}/copy", code=None, timeout=60)
            expect(finished.returncode in (0, 23), f"moving source: {finished.returncode}")
            for name in os.listdir(f"{directory}/copy"):
                path = f"{directory}/copy/{name}"
                if os.path.isfile(path):
                    with open(path, "rb") as file:
                        data = file.read()
                    expect(len(set(data)) <= 1, f"{name} is of two versions")
            run("rm", "-rf", f"{directory}/copy")


def main():
    rounds = 3 if SHORT else int(os.environ.get("WEIR_ROUNDS", "12"))
    with place() as directory:
        before = canary(directory)
        attack_source(directory, rounds)
        run("rm", "-rf", f"{directory}/source")
        grow(f"{directory}/source")
        attack_destination(directory, rounds, before)
        changing_files(directory, rounds // 2)
        expect(manifest(f"{directory}/outside") == before, "something outside was changed")
    done(f"{rounds} rounds")


main()
