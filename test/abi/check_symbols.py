#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks the symbols of a plugin file: it exports only those listed; nothing keeps it from being
unloaded (STB_GNU_UNIQUE); it has no executable stack.

usage: check_symbols.py PLUGIN LIST [ABI_VERSION]     ABI_VERSION: only that interface is expected
"""
import re
import subprocess
import sys


def output_of(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def exported(plugin):
    """Name and kind of every defined dynamic symbol; a version node's own symbol is none."""
    for line in output_of("nm", "-D", "--defined-only", plugin).splitlines():
        kind, name = line.split()[-2:]
        if kind != "A":
            yield name.split("@")[0], kind


def trouble_with(plugin, expected):
    found = dict(exported(plugin))
    for name in sorted(set(found) - expected):
        yield f"exported, but not documented: {name}"
    for name in sorted(expected - set(found)):
        yield f"documented, but not exported: {name}"
    for line in output_of("readelf", "-W", "--dyn-syms", plugin).splitlines():
        if re.search(r"\bUNIQUE\b", line) and " UND " not in line:
            yield f"STB_GNU_UNIQUE: {line.split()[-1]}"
    stack = re.search(r"GNU_STACK.*", output_of("readelf", "-W", "-l", plugin))
    if stack is None:
        yield "no GNU_STACK header: the stack would be executable"
    elif re.search(r"\bRWE\b", stack.group(0)):
        yield "GNU_STACK is executable"


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    with open(sys.argv[2], encoding="utf-8") as names:
        expected = set(names.read().split())
    if len(sys.argv) == 4:
        expected = {name for name in expected
                    if not name.startswith("ncclProfiler_") or name.endswith("_v" + sys.argv[3])}
    troubles = list(trouble_with(sys.argv[1], expected))
    for trouble in troubles:
        print(trouble)
    print(f"{len(expected)} symbols expected, {len(troubles)} troubles")
    return 1 if troubles else 0


if __name__ == "__main__":
    sys.exit(main())
