"""Where the copies go, on a file system whose history would be measured otherwise.

ext4 goes around inodes that were freed in the last minutes, one by one, whoever asks for new ones: a
copy next to what was removed lately takes several times as long. So copies stay until everything was
measured, unless they are few files; each goes to a part of the disk of its own; and that part is tried
first.
"""

import array
import fcntl
import os
import statistics
import subprocess
import time

import memory

GET_FLAGS, SET_FLAGS, SPREAD = 0x80086601, 0x40086602, 0x00020000  # as chattr +T does
TRIES, FILES, LONG = 12, 40, 80e-6


def spread(directory):
    """Directories made in this one are to lie apart: a hint, for those who know it."""
    handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        flags = array.array("L", [0])
        fcntl.ioctl(handle, GET_FLAGS, flags)
        flags[0] |= SPREAD
        fcntl.ioctl(handle, SET_FLAGS, flags)
    except OSError:
        pass
    finally:
        os.close(handle)


def is_slow(place):
    """Whether it takes long to make a file there."""
    each = []
    for number in range(FILES):
        begin = time.monotonic()
        os.close(os.open(f"{place}/{number}", os.O_CREAT | os.O_EXCL | os.O_WRONLY))
        each.append(time.monotonic() - begin)
    return statistics.median(each) > LONG


class Targets:
    """Names for copies: each is in a new place, and few are removed."""

    def __init__(self, directory, few):
        self.directory, self.few, self.count = directory, few, 0
        os.mkdir(directory)
        spread(directory)

    def next(self):
        for _ in range(TRIES):
            self.count += 1
            place = f"{self.directory}/{time.time_ns():x}-{self.count}"
            os.mkdir(place)
            if not is_slow(place):
                break
        return f"{place}/copy"

    def done(self, target):
        if self.few:
            subprocess.run(["rm", "-rf", target], check=True)
        else:
            memory.forget(target)
