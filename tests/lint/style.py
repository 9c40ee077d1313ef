"""What a machine can see of good manners: blanks, line lengths, loose ends, and private matters."""

import re
from pathlib import Path

from lint import ROOT, report

COLUMNS = 100
TAB = 8
SKIPPED = re.compile(r"^(\.git|build.*|bench-results|__pycache__)$")
CODE = {".c", ".h", ".cc", ".cpp", ".hpp", ".S"}

# Loose ends are fine when they say where they are followed up: TODO(#12).
LOOSE_END = re.compile(r"\b(TODO|FIXME|XXX|HACK)\b(?!\(#\d+\))")
CONFLICT = re.compile(r"^(<{7}|={7}|>{7})( |$)")
# A path from somebody's machine. These are on every machine.
PATH = re.compile(r"(?<![\w.~$})\]*/-])/([A-Za-z][\w.-]*)/[\w.-]")
COMMON = {"bin", "dev", "etc", "lib", "proc", "run", "sbin", "sys", "tmp", "usr", "var"}
# Links that a stranger can follow.
LINK = re.compile(r"https?://([\w.-]+)")
HOSTS = {"www.apache.org", "man7.org", "sourceware.org", "www.kernel.org", "www.w3.org"}


def files():
    found = []
    waiting = [ROOT]
    while waiting:
        for entry in sorted(waiting.pop().iterdir()):
            if SKIPPED.match(entry.name):
                continue
            if entry.is_dir():
                waiting.append(entry)
            elif entry != Path(__file__).resolve() and entry.suffix != ".svg":
                found.append(entry)
    return found


def check_line(line, is_code):
    if re.search(r"[ \t]+$", line):
        yield "blanks at the end"
    if is_code and len(line.expandtabs(TAB)) > COLUMNS:
        yield f"{len(line.expandtabs(TAB))} columns, more than {COLUMNS}"
    if is_code and re.match(r" +\t", line):
        yield "blanks before a tab"
    if LOOSE_END.search(line):
        yield "a loose end without an issue number, TODO(#n)"
    if CONFLICT.match(line):
        yield "a merge conflict"
    for match in PATH.finditer(line):
        if match[1] not in COMMON:
            yield f"a path of one machine: {match[0]}"
    for match in LINK.finditer(line):
        if match[1] not in HOSTS:
            yield f"a link to a host not known here: {match[1]}"


def main():
    problems = []
    checked = files()
    for file in checked:
        name = file.relative_to(ROOT)
        try:
            text = file.read_text()
        except UnicodeDecodeError:
            problems.append(f"{name}: is not text")
            continue
        if not text.endswith("\n") or text.endswith("\n\n"):
            problems.append(f"{name}: does not end in one newline")
        for number, line in enumerate(text.split("\n"), 1):
            for problem in check_line(line, file.suffix in CODE):
                problems.append(f"{name}:{number}: {problem}")
    report(problems, f"{len(checked)} files")


main()
