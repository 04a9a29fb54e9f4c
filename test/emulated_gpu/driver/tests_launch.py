# SPDX-License-Identifier: Apache-2.0
"""`ringside run` in front of a program with NCCL: one command, and its table."""

import pathlib
import re
import subprocess

from harness import check


def run(setup, *options, ranks, expected):
    """nccl_ranks is told nothing of a plugin. Gives what ringside said, and the command."""
    nccl = pathlib.Path(setup.ranks_program).parent.parent / "lib" / "libnccl.so.2"
    result = subprocess.run(
        [setup.analyzer, "run", "--plugin", setup.plugin, "--nccl", str(nccl), "--",
         setup.ranks_program, "--out", str(setup.directory), "--ranks", str(ranks), "--timeout",
         "60", *options],
        env=setup.environment({}), cwd=setup.directory, stdin=subprocess.DEVNULL,
        capture_output=True, text=True, timeout=100, check=False)
    check(result.returncode == expected,
          f"exit status {result.returncode}, not {expected}\n{result.stdout}{result.stderr}")
    check("ringside" not in result.stdout, f"standard output is not the command's: {result.stdout}")
    print(result.stderr)
    return result.stderr, result.stdout


def whole(setup):
    """Four ranks; the summary has all of them and their collectives, with bandwidths."""
    said, out = run(setup, "--scenario", "sweep", "--max-bytes", "262144", ranks=4, expected=0)
    check("PASS" in out, out)
    check("Read: 4 traces, 4 ranks on 1 host" in said and "all closed, nothing dropped" in said, said)
    check(re.search(r"^  AllReduce +256 KiB +Float32 .* \d+\.\d\d +proxy$", said, re.MULTILINE), said)
    check("NCCL_ALLGATHERV_ENABLE=0 is set" in said, said)
    check(f"4 trace files in {setup.directory / 'traces'}\n" in said, said)


def killed(setup):
    """One rank is killed: its rings are recovered, the status is the command's."""
    said, _ = run(setup, "--scenario", "train", "--iterations", "100", "--kill-rank", "1",
                  "--kill-at", "60", ranks=3, expected=0)
    check("rings removed" in said and "Recovered after their process had died" in said, said)
    check(not list(setup.rings.iterdir()), "rings are left")


TESTS = {"nccl-run": whole, "nccl-run-killed": killed}
