#!/usr/bin/env python3
"""Turns a text file into a C header with one string.

    embed.py INPUT OUTPUT NAME
"""

import sys
from pathlib import Path


def main():
    source, target, name = sys.argv[1:]
    lines = Path(source).read_text().splitlines()
    quoted = [line.replace("\\", "\\\\").replace('"', '\\"') for line in lines]
    text = "\n".join(f'\t"{line}\\n"' for line in quoted)
    Path(target).write_text(f"static const char {name}[] =\n{text};\n")


main()
