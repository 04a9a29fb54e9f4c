#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares simulated jobs with `ringside compare`. Pairs of equal jobs, on other clocks and with
other noise, must not have a finding in more than 5 % of them, also where only the computing got
noisier or a rank is always late, and where a side holds several runs. A job that is a tenth slower in
all must be found, and each of its kinds whose times are known to 2 %.

    check_compare.py GENERATE RINGSIDE [--seeds N] [--first SEED] [--verbose]
"""

import argparse
import json
import math
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "diff"))
# pylint: disable=wrong-import-position
from trace_writer import Trace

# Large enough for the bandwidth to set the time, not the latency. The first of an iteration comes
# right behind the computing, whose noise it must not take for its own time.
KINDS = ["Broadcast:8388608", "AllReduce:16777216", "ReduceScatter:4194304", "AllGather:4194304",
         "Reduce:8388608", "AlltoAll:1048576"]


def generate(options, directory, seed, arguments):
    subprocess.run([options.generate, str(directory), "--seed", str(seed), "--operations-only",
                    *arguments], check=True, stdout=subprocess.DEVNULL)


def make_side(options, directory, seeds, arguments):
    """One run after the other; processes of a later run are others, an hour later."""
    directory.mkdir()
    for number, seed in enumerate(seeds):
        run = directory.parent / f"run{seed}"
        generate(options, run, seed, arguments)
        for path in sorted(run.iterdir()):
            if path.suffix == ".json":
                move(path, directory, number)
        shutil.rmtree(run)


def move(path, directory, number):
    """A later run has other ids and a later base; its file has another name."""
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    if number > 0:
        first = json.loads(lines[0].lstrip("[").rstrip().rstrip(","))
        args = first["args"]
        args["run_id"] = f"0x{int(args['run_id'], 16) + (number << 40):016x}"
        shift_ns = number * 3_600_000_000_000
        lines[0] = "[" + json.dumps(first, separators=(",", ":")) + ",\n"
        lines = [shifted(line, shift_ns) for line in lines]
    (directory / f"{path.name[:-5]}{number}.json").write_text("".join(lines), encoding="utf-8")


def shifted(line, shift_ns):
    """All times of a line, later."""
    body = line.strip().strip("[]").rstrip(",")
    if not body:
        return line
    event = json.loads(body)
    if event.get("ts"):
        event["ts"] += shift_ns / 1000
    move_times(event.get("args", {}), shift_ns)
    text = json.dumps(event, separators=(",", ":"))
    return line.replace(body, text)


def move_times(args, shift_ns):
    names = ("start_ns", "end_ns", "ts_ns", "created_ns", "finalized_ns", "enqueue_start_ns",
             "enqueue_end_ns", "segment_start_ns")
    for name in names:
        if isinstance(args.get(name), int):
            args[name] += shift_ns
    for name in ("realtime_ns", "monotonic_ns"):
        if name in args:
            args[name] = hex(int(args[name], 16) + shift_ns)


def write_side(directory, seed, noise_us, kept):
    """Two ranks of one host. Times of AllReduce follow each other closely: each is off by a share
    (`kept`) of the error before it. The root needs 100 us for a Broadcast. The leaf comes late by
    the noise of its computing, which does not change that."""
    draw = random.Random(seed)
    directory.mkdir()
    traces = [Trace(rank).communicator() for rank in range(2)]
    waves = [draw.gauss(0, 1) for _ in range(3)]
    for i in range(200):
        for kind, wave in enumerate(waves):
            waves[kind] = kept * wave + (1 - kept * kept) ** 0.5 * draw.gauss(0, 1)
            dur_us = 200 * math.exp(0.1 * waves[kind])
            for trace in traces:
                trace.operation("AllReduce", 1 << (16 + kind), seq=3 * i + kind, dur_us=dur_us,
                                times_from="gpu")
        late_us = draw.uniform(0, noise_us)
        for rank, trace in enumerate(traces):
            trace.operation("Broadcast", 1 << 18, seq=i, root=0, times_from="gpu",
                            early_us=rank * late_us, dur_us=100 - rank * late_us)
    for trace in traces:
        (directory / f"ringside.mix.node0.{trace.pid}.1.json").write_text(trace.text(),
                                                                         encoding="utf-8")


def check_written(options, seed, counts):
    draw = random.Random(seed)
    with tempfile.TemporaryDirectory() as temporary:
        directory = pathlib.Path(temporary)
        noise_us = draw.choice([5, 40])
        kept = draw.choice([0.9, 0.97, 0.99])
        write_side(directory / "a", 2 * seed, 5, kept)
        write_side(directory / "b", 2 * seed + 1, noise_us, kept)
        count_equal(options, seed, compare(options, directory), counts)


def count_equal(options, seed, found, counts):
    counts["equal"] += 1
    counts["runs"] += any(row.get("judged_by") == "runs"
                          for row in found["tables"]["changes"]["rows"])
    if found["findings"]:
        counts["wrong"] += 1
        if options.verbose:
            print(f"seed {seed}: {[finding['text'] for finding in found['findings']]}")


def compare(options, directory):
    output = subprocess.run([options.ringside, "compare", "--format", "json", "--top", "0",
                             str(directory / "a"), str(directory / "b")],
                            capture_output=True, check=False, text=True)
    assert output.returncode in (0, 1, 4), output.stderr
    return json.loads(output.stdout)


def check_pair(options, seed, counts):
    draw = random.Random(seed)
    runs = draw.choice([1, 1, 1, 2, 3])
    is_slower = seed % 4 == 3
    hosts = draw.choice([1, 2, 4])
    times = ["--times", draw.choice(["gpu", "proxy"])]
    common = ["--hosts", str(hosts), "--ranks-per-host", str(4 // hosts), "--iterations",
              "200" if is_slower else str(draw.choice([40, 100, 200])), *times]
    first = draw.randrange(len(KINDS))
    common += ["--pattern", ",".join(KINDS[first:] + KINDS[:first])]
    # A rank that is always late, on one side only, moves the bounds of its host's clock.
    late = ["--straggler", f"{draw.randrange(4)}:{draw.choice([100, 1000])}"]
    jitter = [draw.choice(["0.05", "0.2"]), draw.choice(["0.05", "0.2", "0.8"])]
    bandwidth = ["40", "36.3636" if is_slower else "40"]
    with tempfile.TemporaryDirectory() as temporary:
        directory = pathlib.Path(temporary)
        for side, name in enumerate("ab"):
            seeds = [seed * 100 + side * 10 + run for run in range(1 if is_slower else runs)]
            own_late = late if side == 1 and draw.random() < 0.5 else []
            are_alike = jitter[0] == jitter[1] and not own_late
            make_side(options, directory / name, seeds,
                      [*common, "--jitter", jitter[side], "--bandwidth", bandwidth[side],
                       "--compute-us", "550" if is_slower and side == 1 else "500",
                       *own_late])
        found = compare(options, directory)
    if is_slower:
        counts["jobs"] += 1
        is_found = any(finding["kind"] == "slower" for finding in found["findings"])
        counts["jobs_found"] += is_found
        if options.verbose and not is_found:
            print(f"seed {seed}: not found {found['tables'].get('iterations')}")
        for change in found["tables"]["changes"]["rows"]:
            least, most = (change.get(f"time_change_{of}_percent") for of in ("least", "most"))
            if least is not None and most - least < 4 and change["time_change_percent"] > 9:
                counts["slower"] += 1
                is_found = change["chance"] is not None and change["chance"] < 0.05
                counts["found"] += is_found
                if options.verbose and not is_found:
                    print(f"seed {seed}: not found {change}")
        return
    if not are_alike:  # the operations are alike all the same
        found["findings"] = [finding for finding in found["findings"]
                             if not finding["text"].startswith("Iterations ")]
    count_equal(options, seed, found, counts)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("generate", type=os.path.abspath)
    parser.add_argument("ringside", type=os.path.abspath)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    counts = dict.fromkeys(("equal", "runs", "wrong", "slower", "found", "jobs", "jobs_found"), 0)
    for seed in range(options.first, options.first + options.seeds):
        if seed % 4 == 2:
            check_written(options, seed, counts)
        else:
            check_pair(options, seed, counts)
    print(f"{counts['equal']} pairs of equal jobs, {counts['runs']} of them with several runs a "
          f"side: {counts['wrong']} have a finding. {counts['jobs_found']} of {counts['jobs']} jobs "
          f"that are a tenth slower were found. {counts['found']} of {counts['slower']} kinds "
          "that are a tenth slower, and known to 2 %, were found.")
    is_good = (counts["wrong"] <= max(1, counts["equal"] // 20)
               and counts["jobs_found"] >= 0.95 * counts["jobs"]
               and counts["found"] >= 0.95 * counts["slower"])
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main())
