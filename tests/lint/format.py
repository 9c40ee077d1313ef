"""C sources are as clang-format leaves them.

    format.py DIRECTORY...
"""

import re
import shutil
import subprocess
import sys
from collections import Counter

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
    places = Counter(re.findall(r"^(.*?):\d+:\d+: error: code should", done.stderr, re.MULTILINE))
    problems = [f"{file}: {n} places; clang-format -i puts them right" for file, n in places.items()]
    if done.returncode != 0 and not problems:
        problems.append(done.stderr)
    report(problems, f"{len(files)} files")


main()
