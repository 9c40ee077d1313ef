#!/usr/bin/env python3
"""Reads the log of a run of Meson's tests.

    tools/testlog.py count LOG             prints passed, failed and skipped, three numbers
    tools/testlog.py show LOG SUITE...     prints what the tests of these suites printed

LOG is meson-logs/testlog.json in a build directory.
"""

import json
import sys

PASSED = {"OK", "EXPECTEDFAIL"}
SKIPPED = {"SKIP", "IGNORED"}


def count(tests):
    results = [test["result"] for test in tests]
    passed = sum(result in PASSED for result in results)
    skipped = sum(result in SKIPPED for result in results)
    print(passed, len(results) - passed - skipped, skipped)


def show(tests, suites):
    for test in tests:
        # "weir:SUITE / TEST", but only "TEST" in a run of a single suite.
        *suite, name = test["name"].split(" / ")
        if (not suite or suite[0].split(":")[-1] in suites) and test["stdout"].strip():
            print(f"-- {name}")
            print(test["stdout"].strip())


def main():
    what, log, *suites = sys.argv[1:]
    with open(log, encoding="utf-8") as file:
        tests = [json.loads(line) for line in file]
    if what == "count":
        count(tests)
    else:
        show(tests, suites)


main()
