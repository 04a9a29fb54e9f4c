#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the golden cases: each directory of cases/ has `cmd` (the arguments of ringside, run in that
directory), and what is expected of it: `stdout`, `stderr` (if not empty) and `status` (if not 0)."""

import argparse
import concurrent.futures
import difflib
import os
import pathlib
import shlex
import subprocess
import sys

EMULATOR = shlex.split(os.environ.get("RINGSIDE_TEST_EMULATOR", ""))
CASES = pathlib.Path(__file__).resolve().parent / "cases"


def run_words(ringside, directory, words):
    """Status, stdout and stderr of ringside with these arguments in that directory."""
    result = subprocess.run([*EMULATOR, ringside, *words], cwd=directory, stdin=subprocess.DEVNULL,
                            capture_output=True, timeout=60, check=False,
                            env={**os.environ, "LC_ALL": "C", "COLUMNS": "", "TMPDIR": ""})
    return (result.returncode, result.stdout.decode(errors="backslashreplace"),
            result.stderr.decode(errors="backslashreplace"))


def run(ringside, directory):
    status, stdout, stderr = run_words(
        ringside, directory, shlex.split((directory / "cmd").read_text(encoding="utf-8")))
    return {"stdout": stdout, "stderr": stderr, "status": f"{status}\n"}


def expected(directory):
    def read(name, otherwise):
        path = directory / name
        return path.read_text(encoding="utf-8") if path.exists() else otherwise
    return {"stdout": read("stdout", ""), "stderr": read("stderr", ""),
            "status": read("status", "0\n")}


def on_all_cores(work, directories):
    """Returns the results of work(directory) in order. A case writes in its own directory only."""
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return zip(directories, pool.map(work, directories))


def update(directory, actual):
    for name, text in actual.items():
        path = directory / name
        if text in ("", "0\n"):
            path.unlink(missing_ok=True)
        else:
            path.write_text(text, encoding="utf-8")


def is_same(directory, wanted, actual):
    """Prints how the output differs from what is wanted; True if it does not."""
    same = True
    for name, text in wanted.items():
        if text != actual[name]:
            same = False
            sys.stdout.writelines(difflib.unified_diff(
                text.splitlines(keepends=True), actual[name].splitlines(keepends=True),
                f"{directory.name}/{name} (expected)", f"{directory.name}/{name} (now)"))
    print(f"{directory.name}: {'ok' if same else 'FAILED'}")
    return same


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("ringside", help="the program under test")
    parser.add_argument("cases", nargs="*", default=["*"], help="patterns of names; all, if none")
    parser.add_argument("--skip", default="", help="a pattern of names that are left out")
    parser.add_argument("--update", action="store_true", help="write what is expected")
    arguments = parser.parse_args()
    program = pathlib.Path(arguments.ringside).resolve()
    directories = sorted({path.parent for pattern in arguments.cases
                          for path in CASES.glob(f"{pattern}/cmd")
                          if not path.parent.match(arguments.skip or "/")})
    failed = 0
    for directory, actual in on_all_cores(lambda case: run(program, case), directories):
        if arguments.update:
            update(directory, actual)
        elif not is_same(directory, expected(directory), actual):
            failed += 1
    print(f"{len(directories)} cases, {failed} failed")
    return 1 if failed or not directories else 0


if __name__ == "__main__":
    sys.exit(main())
