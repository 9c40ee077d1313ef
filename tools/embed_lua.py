#!/usr/bin/env python3
"""Puts the Redis scripts together and writes them as a C file.

    embed_lua.py SOURCE_DIRECTORY OUTPUT.c

Comments and indentation are left out: the server would read them each time a script is loaded."""

import hashlib
import re
import sys
from pathlib import Path

VERBS = "ensure limit request poll withdraw renew release evict reap list".split()


def compose(directory, verb):
    parts = ["prelude.lua", f"short_{verb}.lua", "whole.lua", f"next_{verb}.lua", "book.lua", f"verb_{verb}.lua"]
    lines = []
    for part in parts:
        path = directory / part
        if path.exists():
            lines += path.read_text().splitlines()
        elif not part.startswith(("short_", "next_")):
            sys.exit(f"{path} is missing")
    kept = (line.strip() for line in lines)
    return "".join(line + "\n" for line in kept if line and not line.startswith("--"))


def literal(text):
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return "\n".join(f'\t"{line}\\n"' for line in escaped.splitlines())


def main():
    directory, output = Path(sys.argv[1]), Path(sys.argv[2])
    out = ['#include "store/redis/script.h"\n']
    table = []
    for verb in VERBS:
        text = compose(directory, verb)
        if re.search(r"--(?!\[\[)", text):
            sys.exit(f"{verb}: a comment at the end of a line")
        digest = hashlib.sha1(text.encode()).hexdigest()
        out.append(f"static const char {verb}_text[] =\n{literal(text)};\n")
        table.append(f'\t{{ {verb}_text, sizeof({verb}_text) - 1, "{digest}" }},')
    out.append("const struct weir__script_text weir__scripts[WEIR__LUA_COUNT] = {")
    out += table + ["};", ""]
    output.write_text("\n".join(out))


main()
