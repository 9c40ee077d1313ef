"""What other processes do with the processors: to be waited for, and noticed.

What they spend in user mode counts, for all that a copier causes elsewhere is the kernel's.
"""

import os
import time
from pathlib import Path

MUCH = 0.12  # of a processor
LOOK, PATIENCE = 0.25, 30


def used():
    """Seconds of processor in user mode, of all processes since the start."""
    line = Path("/proc/stat").read_text(encoding="ascii").split("\n", 1)[0].split()
    return (int(line[1]) + int(line[2])) / os.sysconf("SC_CLK_TCK")


def wait_until_idle():
    """Not for ever: who is still there after a while is there to stay."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        before = used()
        time.sleep(LOOK)
        if used() - before < MUCH * LOOK:
            return
