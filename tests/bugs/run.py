#!/usr/bin/env python3
"""Seeds one bug into a copy of the sources and shows that a test finds it, and how soon.

    run.py BUG [--build DIRECTORY] [--cc COMPILER] [--seconds N]
    run.py --unseeded BUG... [--build DIRECTORY] [--cc COMPILER]

"found by: model [NAME]" links the explorer with the faulty source; it must report a failure, in that model if
one is named, for a bug that few can find. "found by: unit NAME" links the unit test of that name with it; it must
fail, crash or hang. "found by: redis KIND PROGRAM [ARGUMENT...]" links a program of tests/chaos, or the
conformance suite, and runs it with servers of that KIND. "found by: sql NAME" makes the schema of the PostgreSQL
store with it, on a server of its own; test_NAME of tests/chaos/test_postgres_setup.py must fail.

All but the faulty source is taken from the build DIRECTORY, which has to be up to date. Without one a new
build is made, which takes a while. --unseeded changes nothing in the copy, and nothing may be found then: once for
each program that needs no servers.
"""

import argparse
import pathlib
import re
import subprocess
import sys
import tempfile
import time

import relink
import watch
from bug import Bug

ROOT = relink.ROOT
REDIS_SECONDS = 60  # a test with servers that takes longer hangs; they take 22 at the most
UNSEEDED_SECONDS = 2  # of the explorer, in which it finds most bugs
SKIPPED = 77


def target_of(finder):
    """The program of the build that is to find it."""
    if finder[0] == "model":
        return "tests/model/explorer"
    if finder[0] == "unit":
        return f"tests/unit/unit_{finder[1]}"
    return "tests/conformance/conformance" if finder[2] == "conformance" else f"tests/chaos/{finder[2]}"


def find_with_model(options, program, *models):
    only = [word for model in models for word in ("--model", model)]
    run = subprocess.run([program, "--stop", "--seconds", str(options.seconds)] + only,
                         capture_output=True, text=True, timeout=10 * options.seconds + 60)
    if run.returncode == 0:
        return None
    found = re.search(r"FAILED (.*)\n(found after \d+ schedules)", run.stdout)
    if not found:
        raise SystemExit(f"the explorer ended without a finding:\n{run.stdout}{run.stderr}")
    return f"{found[2]} ({found[1]})"


def find_with_unit(_options, program, _name):
    return watch.run([program], watch.Stuck())[0]


def find_with_redis(_options, program, kind, name, *arguments):
    where = ["REDIS_URL"] if name == "conformance" else ["REDIS_URL", "REDIS_DIR"]
    command = [ROOT / "tests/support/with_redis.py", kind, program, *where, *arguments]
    found, code, said = watch.run(command, watch.Overdue(REDIS_SECONDS))
    if code == SKIPPED:
        print(said)
        raise SystemExit(SKIPPED)
    return found


def find_with_sql(options, copy, name):
    sys.path[:0] = [str(ROOT / "tests/chaos"), str(ROOT / "tests/support")]
    import test_postgres_setup as tests
    import with_postgres

    with_postgres.need_postgres()
    with with_postgres.new_directory() as directory:
        server = with_postgres.Server(directory)
        try:
            server.create()
            server.start()
            server.make_user()
            server.sql(script_of(options, copy))
            server.sql("SELECT weir.admit('app')")
            getattr(tests, f"test_{name}")(server)
        except AssertionError as failure:
            return f"found: {str(failure).splitlines()[0]}"
        finally:
            server.stop()
    return None


PRINT_SCRIPT = """#include <stdio.h>
#include "store/postgres/script.h"
int main(void) { return puts(weir__pg_script("weir", 0)) < 0; }
"""


def script_of(options, copy):
    """What the store would send to make its schema."""
    for script in copy.glob("src/store/postgres/*.sql"):
        subprocess.run([ROOT / "tools/embed.py", script, copy / f"src/postgres_{script.name}.h", f"{script.stem}_sql"],
                       check=True)
    source, program = copy / "print_script.c", copy / "print_script"
    source.write_text(PRINT_SCRIPT)
    subprocess.run([*options.cc.split(), "-std=gnu11", "-D_GNU_SOURCE", '-DWEIR_VERSION="seeded"', "-w",
                    f"-I{copy}/include", f"-I{copy}/src", source, copy / "src/store/postgres/script.c",
                    "-o", program], check=True)
    return subprocess.run([program], capture_output=True, text=True, check=True).stdout


FIND = {"model": find_with_model, "unit": find_with_unit, "redis": find_with_redis}


def find(options, bug, seeded=True):
    """What the bug is found by, or None."""
    with tempfile.TemporaryDirectory() as directory:
        copy = pathlib.Path(directory) / "copy"
        relink.copy_sources(copy)
        if seeded:
            bug.seed(copy)
        how, *arguments = bug.finder
        if how == "sql":
            return find_with_sql(options, copy, *arguments)
        build, target = options.build, target_of(bug.finder)
        if not build:
            build = pathlib.Path(directory) / "build"
            relink.make_build(build, target, options.cc)
        relink.Program(build, target).seed(copy, bug.file, copy / "program")
        return FIND[how](options, copy / "program", *arguments)


def find_nothing(options, bugs):
    options.seconds = UNSEEDED_SECONDS
    programs = {" ".join(bug.finder): bug for bug in bugs if bug.finder in (["model"], ["unit", bug.finder[-1]])}
    for finder, bug in programs.items():
        if found := find(options, bug, seeded=False):
            raise SystemExit(f"{finder} finds a bug in {bug.file} where none was seeded: {found}")
        print(f"{finder}: passes with a {bug.file} compiled anew")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("bugs", nargs="+", metavar="BUG")
    parser.add_argument("--build")
    parser.add_argument("--cc", default="cc")
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--unseeded", action="store_true")
    options = parser.parse_args()
    del sys.argv[1:]  # they are no business of the tests that are imported
    bugs = [Bug(path) for path in options.bugs]
    if options.unseeded:
        find_nothing(options, bugs)
        return
    for bug in bugs:
        started = time.monotonic()
        found = find(options, bug)
        print(f"{bug.name} (checklist {bug.line}): {bug.title}")
        if not found:
            raise SystemExit(f"NOT FOUND by {' '.join(bug.finder)}")
        print(f"{found}, {time.monotonic() - started:.1f} s with the build")


if __name__ == "__main__":
    main()
