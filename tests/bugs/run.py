#!/usr/bin/env python3
"""Seeds one bug into a copy of the sources and shows that a test finds it, and how soon.

    run.py BUG [--explorer LIBRARY] [--cc COMPILER] [--seconds N]

"found by: model [NAME]" builds the explorer with the faulty sources; it must report a failure, in that model if
one is named, for a bug that few can find. "found by: unit
NAME" builds tests/unit/test_NAME.c with them; it must fail, crash or hang. The same program built from the
unchanged sources passes: that is what the suites `model` and `unit` show. "found by: redis KIND PROGRAM [ARGUMENT...]"
builds tests/chaos/PROGRAM.c, or the conformance suite, with the Redis store, and runs it with servers of that KIND.
"found by: sql NAME" makes the schema of the PostgreSQL store with them, on a server of its own; test_NAME of
tests/chaos/test_postgres_setup.py must fail.
"""

import argparse
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time

from bug import Bug

ROOT = pathlib.Path(__file__).resolve().parents[2]
FLAGS = ["-std=gnu11", "-D_GNU_SOURCE", '-DWEIR_VERSION="seeded"', "-O1", "-g", "-w", "-fno-inline", "-DNVALGRIND"]
LAYERS = ("base", "park", "sem", "task")  # that bugs are seeded into
# Chosen by the processor; the explorer has a switch of its own.
SWITCHES = {
    "x86_64": ("switch_x86_64.S", "context_x86_64.c"),
    "aarch64": ("switch_aarch64.S", "context_aarch64.c"),
}
SUPPORT = ("acquirer.c", "async.c", "crew.c", "stress.c", "futex_watch.c")
WATCHED = ["-Wl,--wrap=weir__futex_wait", "-Wl,--wrap=weir__futex_wake"]
WRAPPED = {
    "rules_parts": ["-Wl,--wrap=weir__alloc"],
    "agent_leads": WATCHED + ["-Wl,--wrap=weir__errand_has_room"],
    "lease_clock": WATCHED + ["-Wl,--wrap=weir__boottime"],
}
UNIT_SECONDS = 10  # a unit test that takes longer hangs; they take three at the most
REDIS_SECONDS = 60  # likewise; 22 at the most
SKIPPED = 77


def sources_of(copy):
    sources = [source for layer in LAYERS for source in sorted(copy.glob(f"src/{layer}/*.c"))]
    return [s for s in sources if not s.name.startswith(("switch_", "context_"))]


def switch_of(copy):
    names = SWITCHES.get(platform.machine(), ("switch_ucontext.c",))
    return [copy / "src/task" / name for name in names]


def sources_for(copy, name):
    """What the unit test of this name is built from: the rule book stands on its own."""
    if name.startswith("rules"):
        return [copy / "src/lease/rules.c", copy / "src/base/alloc.c"]
    sources = sources_of(copy) + switch_of(copy) + [ROOT / "tests/support" / s for s in SUPPORT]
    if name.startswith(("agent", "lease")):  # with the memory store, which is in every build
        sources += sorted(copy.glob("src/lease/*.c")) + sorted(copy.glob("src/store/*.c"))
    return sources


def compile_program(options, copy, program, extra_flags, sources, libraries):
    command = options.cc.split() + FLAGS + extra_flags
    command += [f"-I{copy}/include", f"-I{copy}/src", f"-I{ROOT}/tests"]
    command += [str(source) for source in sources] + ["-o", str(program)] + libraries
    subprocess.run(command, check=True)


def find_with_model(options, copy, program, models):
    outside = {copy / "src" / name for name in options.outside.split(",")}
    sources = [s for s in sources_of(copy) if s not in outside]
    compile_program(options, copy, program, ['-DWEIR_SEAM_HEADER="model/seam.h"'], sources,
                    [options.explorer])
    only = [word for model in models for word in ("--model", model)]
    run = subprocess.run([program, "--stop", "--seconds", str(options.seconds)] + only,
                         capture_output=True, text=True, timeout=10 * options.seconds + 60)
    if run.returncode == 0:
        return None
    found = re.search(r"FAILED (.*)\n(found after \d+ schedules)", run.stdout)
    if not found:
        raise SystemExit(f"the explorer ended without a finding:\n{run.stdout}{run.stderr}")
    return f"{found[2]} ({found[1]})"


def find_with_unit(options, copy, program, name):
    sources = sources_for(copy, name) + [ROOT / f"tests/unit/test_{name}.c"]
    wrapped = WRAPPED.get(name, WATCHED if not name.startswith("rules") else [])
    compile_program(options, copy, program, wrapped, sources, ["-lcmocka", "-lpthread"])
    try:
        run = subprocess.run([program], capture_output=True, text=True, timeout=UNIT_SECONDS)
    except subprocess.TimeoutExpired:
        return "found: it hangs"
    if run.returncode == 0:
        return None
    failed = re.findall(r"\[  FAILED  \] (\w+)", run.stdout + run.stderr)
    return "found: " + (f"{failed[0]} fails" if failed else f"it crashes ({run.returncode})")


def compile_redis(options, copy, program, name):
    sources = sources_of(copy) + switch_of(copy) + [ROOT / "tests/support" / s for s in SUPPORT[:4]]
    sources += [s for part in ("lease", "store", "store/redis") for s in sorted(copy.glob(f"src/{part}/*.c"))]
    if name == "conformance":
        sources += sorted((ROOT / "tests/conformance").glob("*.c"))
    else:
        sources += [ROOT / "tests/chaos" / s for s in (f"{name}.c", "servers.c", "proxy.c", "proxy_protocol.c")]
    subprocess.run([ROOT / "tools/embed_lua.py", copy / "src/store/redis", copy / "scripts.c"], check=True)
    flags = ["-DWEIR_HAVE_REDIS"]
    for library in ("hiredis", "ssl", "crypto"):
        soname = subprocess.run([ROOT / "tools/soname.sh", *options.cc.split(), library], check=True,
                                capture_output=True, text=True).stdout.strip()
        flags.append(f'-DWEIR_{library.upper()}_SONAME="{soname}"')
    compile_program(options, copy, program, flags, sources + [copy / "scripts.c"], ["-lcmocka", "-lpthread"])


def find_with_redis(options, copy, program, kind, name, *arguments):
    compile_redis(options, copy, program, name)
    where = ["REDIS_URL"] if name == "conformance" else ["REDIS_URL", "REDIS_DIR"]
    command = [ROOT / "tests/support/with_redis.py", kind, program, *where, *arguments]
    started = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                               errors="replace", start_new_session=True)
    try:
        said = started.communicate(timeout=REDIS_SECONDS)[0]
    except subprocess.TimeoutExpired:
        started.terminate()  # and it ends its servers
        started.communicate()
        return "found: it hangs"
    if started.returncode == SKIPPED:
        print(said)
        raise SystemExit(SKIPPED)
    failed = re.findall(r"\[  (?:FAILED  |ERROR   )\] (\w+)", said)
    if started.returncode == 0:
        return None
    return "found: " + (f"{failed[0]} fails" if failed else f"it crashes ({started.returncode})")


PRINT_SCRIPT = """#include <stdio.h>
#include "store/postgres/script.h"
int main(void) { return puts(weir__pg_script("weir", 0)) < 0; }
"""


def script_of(options, copy, program):
    """What the store would send to make its schema."""
    for script in copy.glob("src/store/postgres/*.sql"):
        subprocess.run([ROOT / "tools/embed.py", script, copy / f"src/postgres_{script.name}.h", f"{script.stem}_sql"],
                       check=True)
    source = copy / "print_script.c"
    source.write_text(PRINT_SCRIPT)
    compile_program(options, copy, program, [], [source, copy / "src/store/postgres/script.c"], [])
    return subprocess.run([program], capture_output=True, text=True, check=True).stdout


def find_with_sql(options, copy, program, name):
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
            server.sql(script_of(options, copy, program))
            server.sql("SELECT weir.admit('app')")
            getattr(tests, f"test_{name}")(server)
        except AssertionError as failure:
            return f"found: {str(failure).splitlines()[0]}"
        finally:
            server.stop()
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("bug")
    parser.add_argument("--explorer", default="")
    parser.add_argument("--outside", default="")  # what the explorer brings instead: tests/model/env*.c
    parser.add_argument("--cc", default="cc")
    parser.add_argument("--seconds", type=int, default=60)
    options = parser.parse_args()
    del sys.argv[1:]  # they are no business of the tests that are imported
    bug = Bug(options.bug)

    with tempfile.TemporaryDirectory() as directory:
        copy = pathlib.Path(directory)
        for part in ("include", "src"):
            shutil.copytree(ROOT / part, copy / part)
        bug.seed(copy)
        started = time.monotonic()
        if bug.finder[0] == "model":
            found = find_with_model(options, copy, copy / "program", bug.finder[1:])
        elif bug.finder[0] == "redis":
            found = find_with_redis(options, copy, copy / "program", *bug.finder[1:])
        elif bug.finder[0] == "sql":
            found = find_with_sql(options, copy, copy / "program", bug.finder[1])
        else:
            found = find_with_unit(options, copy, copy / "program", bug.finder[1])
    print(f"{bug.name} (checklist {bug.line}): {bug.title}")
    if not found:
        raise SystemExit(f"NOT FOUND by {' '.join(bug.finder)}")
    print(f"{found}, {time.monotonic() - started:.1f} s with the build")


if __name__ == "__main__":
    main()
