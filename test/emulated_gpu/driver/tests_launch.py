# SPDX-License-Identifier: Apache-2.0
"""`ringside run` in front of a program with NCCL: one command, and its table."""

import math
import pathlib
import re
import signal
import subprocess
import time

import traces
from harness import calls_of, check
from tests_faults import operations_reach


def command(setup, *options, ranks):
    """nccl_ranks is told nothing of a plugin."""
    nccl = pathlib.Path(setup.ranks_program).parent.parent / "lib" / "libnccl.so.2"
    return [setup.analyzer, "run", "--plugin", setup.plugin, "--nccl", str(nccl), "--",
            setup.ranks_program, "--out", str(setup.directory), "--ranks", str(ranks), "--timeout",
            "60", *options]


def run(setup, *options, ranks, expected):
    """Gives what ringside said, and the command."""
    result = subprocess.run(
        command(setup, *options, ranks=ranks),
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
    check(re.search(r"^  AllReduce +256 KiB +float32 .* <?\d+\.\d\d +gpu$", said, re.MULTILINE), said)
    check("kernel channels are recorded" in said.splitlines()[0], said)
    check("NCCL_ALLGATHERV_ENABLE=0 is set" in said, said)
    check(f"4 trace files in {setup.directory / 'traces'}\n" in said, said)


def killed(setup):
    """One rank is killed: its rings are recovered, the status is the command's."""
    said, _ = run(setup, "--scenario", "train", "--iterations", "100", "--kill-rank", "1",
                  "--kill-at", "60", ranks=3, expected=0)
    check("rings removed" in said and "Recovered after their process had died" in said, said)
    check(not list(setup.rings.iterdir()), "rings are left")


def terminated(setup):
    """SIGTERM to ringside alone: nccl_ranks ends at once, and the kernel then kills its ranks. The
    summary has all that they called."""
    ranks = 3
    process = subprocess.Popen(
        command(setup, "--scenario", "train", "--iterations", "100000", "--log-calls", ranks=ranks),
        env=setup.environment({}), cwd=setup.directory, stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        deadline = time.monotonic() + 60
        while min(len(calls_of(setup, rank)) for rank in range(ranks)) < 300:
            check(process.poll() is None and time.monotonic() < deadline, "the job does not begin")
            time.sleep(0.05)
        process.send_signal(signal.SIGTERM)
        said = process.communicate(timeout=60)[1]
    finally:
        process.kill()
    print(said)
    check(process.returncode == 128 + signal.SIGTERM, f"exit status {process.returncode}")
    check(not list(setup.rings.iterdir()), "rings are left")
    check(f"Read: {ranks} traces" in said and "Not closed" not in said, "traces are not whole")
    in_summary = int(re.search(r"^Read: .* (\d+) operations", said, re.MULTILINE).group(1))
    paths = sorted((setup.directory / "traces").glob("*.json"))
    setup.run_analyzer("lint", *paths)
    found = [traces.Trace(path) for path in paths]
    for trace in found:
        operations_reach(trace, calls_of(setup, trace.rank), math.inf)
    there = sum(len(trace.operations) for trace in found)
    check(in_summary == there, f"{in_summary} operations in the summary, {there} in the traces")


TESTS = {"nccl-run": whole, "nccl-run-killed": killed, "nccl-run-terminated": terminated}
