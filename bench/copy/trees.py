"""The trees that are copied: the same ones each time, larger or smaller with `scale`."""

import os
import random
import subprocess

BLOB = random.Random(1).randbytes(1 << 20)


def write(path, size, pick):
    with open(path, "wb") as file:
        while size > 0:
            part = min(size, len(BLOB) // 2)
            begin = pick.randrange(len(BLOB) // 2)
            file.write(BLOB[begin:begin + part])
            size -= part


def many(root, count, least, most, each=100):
    pick = random.Random(2)
    for number in range(count):
        place = f"{root}/d{number // each // 30}/e{number // each}"
        if number % each == 0:
            os.makedirs(place)
        write(f"{place}/file{number}", pick.randint(least, most), pick)


def small(root, scale):
    count = int(100_000 * scale)
    many(root, count, 1024, 8192)
    return f"{count:,} files of 1-8 KiB"


def medium(root, scale):
    count = int(10_000 * scale)
    many(root, count, 65536, 65536)
    return f"{count:,} files of 64 KiB"


def large(root, scale):
    size = int(512 * scale)
    os.mkdir(root)
    for number in range(8):
        write(f"{root}/file{number}", size << 20, random.Random(number))
    return f"8 files of {size} MiB"


def mixed(root, scale):
    pick = random.Random(3)
    place = root
    os.mkdir(root)
    levels = int(300 * scale) + 20
    for level in range(levels):
        place = f"{place}/l" if level % 40 else f"{root}/chain{level}"
        os.mkdir(place)
        for number in range(20):
            path = f"{place}/f{number}"
            write(path, int(pick.paretovariate(0.7) * 1000) % 3_000_000, pick)
            if number % 5 == 0:
                os.link(path, f"{path}.link")
            if number % 7 == 0:
                os.setxattr(path, "user.origin", b"somewhere")
            if number % 11 == 0:
                os.truncate(path, 4_000_000)
        os.symlink("f1", f"{place}/symlink")
    return f"{levels * 26:,} entries of all sizes, with holes, links and attributes"


def deep(root, scale):
    pick = random.Random(4)
    os.mkdir(root)
    chains = int(40 * scale) + 2
    for chain in range(chains):
        place = f"{root}/chain{chain}"
        for _ in range(100):
            os.mkdir(place)
            for number in range(3):
                write(f"{place}/f{number}", pick.randint(0, 8192), pick)
            os.symlink("f1", f"{place}/symlink")
            place += "/level"
    return f"{chains * 500:,} entries, 100 levels deep"


# Each makes its tree and says what it made.
TREES = {"small": small, "medium": medium, "large": large, "mixed": mixed, "deep": deep}


def bytes_of(tree):
    return int(subprocess.run(["du", "-s", "-B1", tree], check=True, text=True,
                              capture_output=True).stdout.split()[0])
