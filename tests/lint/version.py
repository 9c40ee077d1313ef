"""There is one version: CHANGELOG.md's newest numbered entry, the build, weir.pc and weir_version() agree.

    version.py VERSION LIBWEIR.SO WEIR.PC
"""

import ctypes
import re
import sys
from pathlib import Path

from lint import ROOT, report


def find(pattern, file):
    match = re.search(pattern, file.read_text(), re.MULTILINE)
    return match[1] if match else f"nothing like '{pattern}'"


def main():
    version, library, pc_file = sys.argv[1:]
    weir_version = ctypes.CDLL(library).weir_version
    weir_version.restype = ctypes.c_char_p
    places = {
        "CHANGELOG.md": find(r"^## (\d\S*)", ROOT / "CHANGELOG.md"),
        "weir.pc": find(r"^Version: (\S+)", Path(pc_file)),
        "weir_version()": weir_version().decode(),
    }
    report(
        [f"meson.build says {version}, {p} {v}" for p, v in places.items() if v != version],
        f"{version} in meson.build, {', '.join(places)}",
    )


main()
