#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a program with a deliberate bug: it must fail, as a test with such a bug would, and say why.

usage: expect_report.py PROGRAM REPORT     REPORT: text that must be on the program's stderr
"""
import subprocess
import sys


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    program, report = sys.argv[1:]
    run = subprocess.run([program], stderr=subprocess.PIPE, text=True, errors="replace")
    if run.returncode != 0 and report in run.stderr:
        print(f"found: {report} (exit status {run.returncode})")
        return 0
    print(run.stderr)
    print(f"exit status {run.returncode} (must not be 0); expected in the output: {report}")
    return 1


if __name__ == "__main__":
    sys.exit(main())
