#!/usr/bin/env python3
"""Reads the log of a run of Meson's tests.

    tools/testlog.py count LOG        prints passed, failed and skipped, three numbers
    tools/testlog.py totals LOG       prints how much the explorer has seen: the line that each of its runs ended with
    tools/testlog.py failures LOG     prints each test that failed, with the end of what it printed

LOG is meson-logs/testlog.json in a build directory.
"""

import json
import sys

PASSED = {"OK", "EXPECTEDFAIL"}
SKIPPED = {"SKIP", "IGNORED"}
LINES = 60  # of a test that failed


def count(tests):
    results = [test["result"] for test in tests]
    passed = sum(result in PASSED for result in results)
    skipped = sum(result in SKIPPED for result in results)
    print(passed, len(results) - passed - skipped, skipped)


def failures(tests):
    for test in tests:
        if test["result"] not in PASSED | SKIPPED:
            print(f"-- {test['name']}: {test['result']} after {test['duration']:.1f} s")
            printed = test.get("stdout", "") + test.get("stderr", "")
            print("\n".join(printed.splitlines()[-LINES:]))


def totals(tests):
    for test in tests:
        for line in test.get("stdout", "").splitlines():
            if line.startswith("total: "):
                print(f"{test['name'].split(' / ')[-1]}: {line.removeprefix('total: ')}")


def main():
    what, log = sys.argv[1:]
    with open(log, encoding="utf-8") as file:
        tests = [json.loads(line) for line in file]
    {"count": count, "totals": totals, "failures": failures}[what](tests)


main()
