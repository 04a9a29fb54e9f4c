#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`ringside run`, `env` and `doctor` with small programs as the command.

usage: run.py --ringside R --plugin P --host H --library L [CASE...]

H is guarantee_host, which stands for a program with NCCL: it loads the plugin and calls it. L stands
for NCCL itself, and for somebody else's plugin. Without a CASE all are run.
"""
import argparse
import sys

import test_doctor
import test_environment
import test_job
import test_lasting
import test_traces
from place import Failure, Place

CASES = {**test_job.CASES, **test_lasting.CASES, **test_environment.CASES, **test_traces.CASES, **test_doctor.CASES}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("ringside", "plugin", "host", "library"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("cases", nargs="*", choices=[*CASES, []], metavar="CASE")
    options = parser.parse_args()
    failed = 0
    for name in options.cases or CASES:
        try:
            with Place(options) as place:
                CASES[name](place)
            print(f"{name}: ok")
        except Failure as failure:
            print(f"{name}: {failure}", file=sys.stderr)
            failed += 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
