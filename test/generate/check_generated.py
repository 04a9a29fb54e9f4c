#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Generated traces keep to the format, are read without trouble, and hold what their truth says.

usage: check_generated.py RINGSIDE_GENERATE RINGSIDE
"""
import json
import pathlib
import subprocess
import sys
import tempfile

SMALL = ["--hosts", "2", "--ranks-per-host", "2", "--iterations", "4"]  # unless hosts are given
# Options, whether all files are closed, whether `summary --strict` finds all complete.
CASES = [
    ("", True, True),
    ("--seed 2 --split 2 --full", True, True),
    ("--seed 3 --steps --slow-link 1:2:1:8", True, True),
    ("--seed 4 --times proxy --drift-ppm 50 --wander-us 300 --wander-period-s 1", True, True),
    ("--seed 5 --straggler 1:400:2 --sample 3", True, True),
    ("--seed 6 --mismatch size:1:0 --mismatch datatype:2:1 --mismatch function:3:13", True, True),
    ("--seed 7 --mismatch root:3:3 --missing 2:16", True, True),
    ("--seed 8 --split 2 --hang 2:2", True, True),
    ("--seed 9 --hang 0:1 --end killed --full", False, False),
    ("--seed 10 --drop 1:30 --full", True, False),
    ("--seed 11 --truncate 2 --lose 3", False, False),
    ("--seed 12 --start-late 1:2 --seq-from-window --no-hash", True, True),
    ("--seed 13 --hosts 3 --iterations 4 --ranks-per-host 1 --offset-ms 5000 --missing 1:5", True, True),
]


def run(*command):
    return subprocess.run([str(part) for part in command], capture_output=True, text=True,
                          timeout=60, check=False)


def expect(condition, text):
    if not condition:
        sys.exit(text)


def check_truth(directory, options):
    truth = json.loads((directory / "truth.txt").read_text(encoding="utf-8"))
    lost = {fault["rank"] for fault in truth["faults"] if fault["kind"] == "lose"}
    cut = {fault["rank"] for fault in truth["faults"] if fault["kind"] == "truncate"}
    names = {rank["file"] for rank in truth["ranks"] if rank["rank"] not in lost}
    expect(names == {path.name for path in directory.glob("*.json")}, f"{options}: other files")
    stuck = any(fault["kind"] == "hang" for fault in truth["faults"])
    expect(not stuck or any(rank["stuck"] for rank in truth["ranks"]), f"{options}: nobody hangs")
    for rank in truth["ranks"]:
        if rank["rank"] in lost | cut:
            continue
        text = (directory / rank["file"]).read_text(encoding="utf-8")
        expect(text.count('"enqueue_start_ns"') == rank["operations"],
               f"{options}: rank {rank['rank']} has other operations")
        expect(('"in_flight":true' in text) == rank["stuck"],
               f"{options}: rank {rank['rank']} hangs and does not say so, or the reverse")
    for rank in cut:
        data = (directory / truth["ranks"][rank]["file"]).read_bytes()
        expect(not data.endswith(b"\n"), f"{options}: rank {rank} is cut between lines")
    return truth


def check_synchronised(directory, truth, options):
    """In true time, which the truth gives back, no AllReduce ends before all have begun it."""
    clocks = {host["host"]: host for host in truth["hosts"]}
    if any(clock["wander_ns"] for clock in clocks.values()):
        return
    times = {}
    for rank in truth["ranks"]:
        clock = clocks[rank["host"]]
        for line in (directory / rank["file"]).read_text(encoding="utf-8").splitlines():
            if '"func":"AllReduce"' not in line or '"end_ns"' not in line:
                continue
            args = json.loads(line.rstrip(","))["args"]
            key = (args["comm"], args["seq"])
            for name in ("start_ns", "end_ns"):
                since = args[name] - clock["offset_ns"] - truth["job_start_ns"]
                times.setdefault(key, {}).setdefault(name, []).append(
                    since / (1 + clock["drift_ppb"] * 1e-9))
    expect(times, f"{options}: no AllReduce")
    for key, time in times.items():
        expect(min(time["end_ns"]) > max(time["start_ns"]), f"{options}: {key} ends too early")


def check(generate, ringside, options, is_closed, is_complete):
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name) / "a"
        again = pathlib.Path(name) / "b"
        for place in (directory, again):
            small = [] if "--hosts" in options else SMALL
            made = run(generate, place, *small, *options.split())
            expect(made.returncode == 0, f"{options}: {made.stderr}")
        for path in directory.iterdir():
            expect(path.read_bytes() == (again / path.name).read_bytes(),
                   f"{options}: {path.name} differs when it is made again")
        lint = run(ringside, "lint", *(["--closed"] if is_closed else []), directory)
        expect(lint.returncode == 0, f"{options}: {lint.stdout[:2000]}{lint.stderr[:500]}")
        summary = run(ringside, "summary", "--strict", directory)
        expect(summary.returncode == (0 if is_complete else 4),
               f"{options}: summary says {summary.returncode}: {summary.stderr[:500]}")
        truth = check_truth(directory, options)
        if options == "":
            check_synchronised(directory, truth, options)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    for options, is_closed, is_complete in CASES:
        check(sys.argv[1], sys.argv[2], options, is_closed, is_complete)
    wrong = run(sys.argv[1], "/nonexistent/x", "--hang", "99:0")
    expect(wrong.returncode != 0 and "no rank 99" in wrong.stderr, f"took rank 99: {wrong.stderr}")
    print(f"{len(CASES)} cases")


if __name__ == "__main__":
    main()
