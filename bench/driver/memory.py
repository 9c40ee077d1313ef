"""Memory that costs every peer the same.

A virtual machine may have lent free memory to its host, and gets it back page by page, which takes several
times as long as all that a peer does with it. So whoever is measured first would pay for those who come
after. A process of ours touches as much as is needed just before each run, and ends.
"""

import os
import subprocess
import sys

TOUCH = """
import mmap, sys
size = int(sys.argv[1])
memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
for at in range(0, size, mmap.PAGESIZE):
    memory[at] = 1
"""


def fetch(size):
    free = os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGESIZE")
    subprocess.run([sys.executable, "-c", TOUCH, str(min(size, free // 2))], check=True)
