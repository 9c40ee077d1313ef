#!/usr/bin/env python3
"""Counts the results in a Meson test log: prints passed, failed and skipped, three numbers.

    tools/tally.py BUILD-DIRECTORY/meson-logs/testlog.json
"""

import json
import sys

PASSED = {"OK", "EXPECTEDFAIL"}
SKIPPED = {"SKIP", "IGNORED"}


def main():
    with open(sys.argv[1]) as log:
        results = [json.loads(line)["result"] for line in log]
    passed = sum(result in PASSED for result in results)
    skipped = sum(result in SKIPPED for result in results)
    print(passed, len(results) - passed - skipped, skipped)


main()
