"""Every complete program in README.md compiles as it stands, and runs.

    readme.py LIBRARY-DIRECTORY COMPILER...
"""

import os
import re
import sys
import tempfile
from pathlib import Path

from lint import ROOT, report, run, skip


def main():
    libraries, *compiler = sys.argv[1:]
    readme = ROOT / "README.md"
    if not readme.is_file():
        skip("there is no README.md")
    blocks = re.findall(r"^```c\n(.*?)^```$", readme.read_text(), re.MULTILINE | re.DOTALL)
    programs = [block for block in blocks if re.search(r"\bint main\b", block)]
    flags = ["-Wall", "-Wextra", "-Werror", f"-I{ROOT / 'include'}", f"-L{libraries}"]
    environment = os.environ | {"LD_LIBRARY_PATH": libraries}
    with tempfile.TemporaryDirectory() as directory:
        for number, program in enumerate(programs, 1):
            source = Path(directory) / f"program{number}.c"
            source.write_text(program)
            binary = source.with_suffix("")
            run(*compiler, *flags, source, "-o", binary, "-lweir")
            print(run(binary, env=environment, timeout=60), end="")
    report([] if programs else ["README.md has no complete program"], f"{len(programs)} programs")


main()
