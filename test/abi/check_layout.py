#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares what print_layout prints with profiler-abi-layout.tsv, row by row in any order."""
import subprocess
import sys


def rows(lines):
    table = {}
    for line in lines:
        version, struct, field, *rest = line.rstrip("\n").split("\t")
        if version != "abi_version":
            table[(int(version), struct, field)] = tuple(rest)
    return table


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: check_layout.py PRINT_LAYOUT TABLE")
    printed = subprocess.run([sys.argv[1]], check=True, capture_output=True, text=True).stdout
    ours = rows(printed.splitlines())
    with open(sys.argv[2], encoding="utf-8") as table:
        nccls = rows(table)
    wrong = 0
    for key in sorted(set(ours) | set(nccls)):
        if ours.get(key) != nccls.get(key):
            wrong += 1
            print(f"v{key[0]} {key[1]} {key[2]}: ours {ours.get(key)}, NCCL's {nccls.get(key)}")
    print(f"{len(nccls)} rows, {wrong} differ (offset, size, type)")
    return 1 if wrong or not nccls else 0


if __name__ == "__main__":
    sys.exit(main())
