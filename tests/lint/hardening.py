"""The installed libraries are hardened as promised: readelf says so.

    hardening.py LIBRARY.SO LIBRARY.A ...
"""

import platform
import re
import sys

from lint import report, run


def check(library, archive, problems):
    dynamic = run("readelf", "-W", "-d", library)
    segments = run("readelf", "-W", "-l", library)
    symbols = run("readelf", "-W", "--dyn-syms", library)

    def require(condition, problem):
        if not condition:
            problems.append(f"{library}: {problem}")

    require(re.search(r"\(FLAGS_1\).*\bNOW\b", dynamic), "symbols are not bound at start (-z now)")
    require("TEXTREL" not in dynamic, "code is relocated at start, so it has to be writable")
    # In the build directory a library finds its neighbour; installing takes that away.
    paths = re.findall(r"\((?:RUNPATH|RPATH)\).*\[(.*)\]", dynamic)
    require(all(path.strip("/:") == "$ORIGIN" for path in paths), "a search path is built in")
    require("GNU_RELRO" in segments, "relocated data stay writable (-z relro)")
    require(re.search(r"GNU_STACK.* RW  ", segments), "the stack is executable (-z noexecstack)")
    require(not re.search(r"LOAD.* RWE ", segments), "a segment is writable and executable")
    code = re.search(r"LOAD +0x(\w+).* R E ", segments)
    require(code and int(code[1], 16) > 0, "headers are executable (-z separate-code)")
    require("__stack_chk_fail" in symbols, "no stack protector (-fstack-protector-strong)")
    if platform.machine() == "x86_64":
        # Of the objects: the linked library says so only if the C library's start-up code does.
        notes = re.split(r"^File: ", run("readelf", "-W", "-n", archive), flags=re.MULTILINE)
        for note in notes[1:]:
            name = re.search(r"\((.*)\)", note)[1]
            # The switch between stacks cannot have a shadow of its returns.
            wanted = "IBT" if "_switch_" in name and ".S." in name else "IBT, SHSTK"
            require(wanted in note, f"{name}: no control-flow protection (-fcf-protection)")


def main():
    problems = []
    libraries = sys.argv[1:]
    for library, archive in zip(libraries[::2], libraries[1::2]):
        check(library, archive, problems)
    report(problems, "now, relro, stack, separate code, stack protector")


main()
