"""C sources are as clang-format leaves them.

    format.py DIRECTORY...
"""

import shutil
import subprocess
import sys

from lint import ROOT, report, skip


def main():
    if not shutil.which("clang-format"):
        skip("clang-format is not installed")
    files = []
    for directory in sys.argv[1:]:
        files += sorted((ROOT / directory).rglob("*.[ch]"))
    done = subprocess.run(
        ["clang-format", "--dry-run", "--Werror", *files],
        text=True, capture_output=True, check=False,
    )
    report([done.stderr] if done.returncode else [], f"{len(files)} files")


main()
