"""What the lint tests share. Each test is a script that collects its problems and ends in report()."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PUBLIC_HEADERS = sorted((ROOT / "include/weir").glob("*.h"))


def report(problems, what):
    """Ends the test: failed with all the problems, or passed and saying what was looked at."""
    for problem in problems:
        print(problem)
    if not problems:
        print(f"ok: {what}")
    sys.exit(1 if problems else 0)


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(77)


def run(*command, **options):
    """The standard output of a command that has to succeed."""
    done = subprocess.run(
        [str(word) for word in command], text=True, capture_output=True, check=False, **options
    )
    if done.returncode != 0:
        print(f"failed ({done.returncode}): {' '.join(str(word) for word in command)}")
        print(done.stdout + done.stderr)
        sys.exit(1)
    return done.stdout


def exported(library):
    """The symbols that a shared library defines for others."""
    lines = run("nm", "-D", "--defined-only", "--format=posix", library).splitlines()
    # The names of versions (kind A) are in the list, too.
    return {line.split("@")[0] for line in lines if line.split()[1] != "A"}
