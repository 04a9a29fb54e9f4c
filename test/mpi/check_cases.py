#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the golden cases (test/diff/run_cases.py) whose command ringside-mpi has, which must say what
ringside says, to the byte, with any number of processes. Each case is run with one number of
processes, and the numbers take turns; --all runs each case with all of them."""

import argparse
import concurrent.futures
import os
import pathlib
import shlex
import sys

import mpi_runs

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "diff"))
import run_cases  # noqa: E402  pylint: disable=wrong-import-position

COMMANDS = {"summary", "match", "calls", "communicators", "hang", "fr", "stragglers", "what-if", "network", "overlap",
            "critical-path", "iterations", "dependencies", "compare", "topology", "report", "help", "sumary", "stray"}
COUNTS = (1, 2, 3, 7)


def cases():
    """The directory and the words of each case. One that may write over its inputs is left alone."""
    for path in sorted(run_cases.CASES.glob("*/cmd")):
        words = shlex.split(path.read_text(encoding="utf-8"))
        if words and words[0] in COMMANDS and "--force" not in words:
            yield path.parent, words


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("mpiexec", help="starts processes: mpiexec.openmpi, ...")
    parser.add_argument("program", help="ringside-mpi, built with the same MPI")
    parser.add_argument("cases", nargs="*", help="names of cases; all, if none are given")
    parser.add_argument("--all", action="store_true", help="each case with 1, 2, 3 and 7 processes")
    parser.add_argument("--first", type=int, default=0, help="which number of processes the first case has")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="only each N-th case")
    arguments = parser.parse_args()
    mpi = mpi_runs.Mpi(arguments.mpiexec, arguments.program)
    work = []
    for i, (directory, words) in enumerate(cases()):
        if arguments.cases and directory.name not in arguments.cases:
            continue
        if i % arguments.every != 0:
            continue
        counts = COUNTS if arguments.all else [COUNTS[(i + arguments.first) % len(COUNTS)]]
        work += [(directory, words, count) for count in counts]
    failed = 0
    # Open MPI takes a second or two to end a job whose exit status is not 0, and waits meanwhile.
    with concurrent.futures.ThreadPoolExecutor(2 * os.cpu_count()) as pool:
        results = list(pool.map(lambda one: mpi.run(one[2], one[0], one[1]), work))
    for (directory, _, count), (status, stdout, stderr, others) in zip(work, results):
        actual = {"stdout": stdout, "stderr": stderr + others, "status": f"{status}\n"}
        if actual != run_cases.expected(directory):
            print(f"with {count} processes:")
            run_cases.is_same(directory, run_cases.expected(directory), actual)
            failed += 1
    print(f"{len(work)} runs of golden cases, {failed} failed")
    return 1 if failed or not work else 0


if __name__ == "__main__":
    sys.exit(main())
