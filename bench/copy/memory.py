"""Memory for the copies that costs every copier the same.

A virtual machine may give free memory back to its host, and gets it again page by page, which takes
several times as long as copying does: then a run measures how much of the memory it happened to get
was there. The host is given whole large blocks only. So a process of ours touches twice the memory
that a copy needs and gives back every other piece of a MiB: those pieces stay with the machine, for
their neighbours are in use, and the caches take them first, for they are the smallest that will do.
When a copy was measured it is forgotten by the caches, and the pieces are free again.
"""

import os
import subprocess
import sys
from pathlib import Path

HOLDER = """
import mmap, sys
piece = 1 << 20
size = int(sys.argv[1]) * 2 * piece
memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
for at in range(0, size, mmap.PAGESIZE):
    memory[at] = 1
for at in range(0, size, 2 * piece):
    memory.madvise(mmap.MADV_DONTNEED, at, piece)
print("ready", flush=True)
sys.stdin.read()
"""


def available():
    for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return 0


class Pieces:
    """Free memory in pieces, enough for one copy of so many bytes, while this is open."""

    def __init__(self, size):
        most = available() // 4
        pieces = min(size + size // 2 + (256 << 20), most) >> 20
        self.holder = subprocess.Popen([sys.executable, "-c", HOLDER, str(pieces)],
                                       stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.holder.stdout.readline()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.holder.communicate()


def forget(tree):
    """The caches let go of what is in the files of the tree."""
    os.sync()
    for place, _, names in os.walk(tree):
        for name in names:
            try:
                file = os.open(f"{place}/{name}", os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            except OSError:
                continue  # a symbolic link
            os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(file)


def warm(tree):
    """All of the tree is in the caches."""
    with subprocess.Popen(["tar", "-C", tree, "-cf", "-", "."], stdout=subprocess.PIPE) as tar:
        while tar.stdout.read(1 << 20):
            pass
    if tar.returncode != 0:
        sys.exit(f"cannot read {tree}")


def drop_caches():
    """Whether that is permitted."""
    try:
        os.sync()
        Path("/proc/sys/vm/drop_caches").write_text("3\n", encoding="ascii")
        return True
    except OSError:
        return False
