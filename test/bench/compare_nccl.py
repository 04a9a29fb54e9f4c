#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Time per collective with NCCL on emulated GPUs, without the plugin and with it, in turns.

Runs the training scenario of nccl_ranks again and again, each configuration once a round, so that what
else the machine does meets all of them. Prints, for each, the median and the quartiles of the time per
collective, and what it is more than without a plugin, as the median of the differences within rounds.
"""
import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile

CONFIGURATIONS = {
    "no plugin": None,
    "coll,p2p": "coll,p2p",
    "coll,p2p,proxy": "coll,p2p,proxy",
    "default (with steps)": "default",
    "with kernel": "coll,p2p,proxy,ce,kernel",
    "with kernel and steps": "coll,p2p,steps,ce,kernel",
    "all": "all",
}
RUN = re.compile(r"rank \d+/\d+ .*: ok, (\d+) collectives, init [\d.]+ s, run ([\d.]+) s")


def us_per_collective(options, events, directory):
    environment = {key: value for key, value in os.environ.items()
                   if not key.startswith(("NCCL_", "RINGSIDE_"))}
    # Kernel channels can make this NCCL hang without that (docs/environment.md).
    environment.update(NCCL_ALLGATHERV_ENABLE="0", RINGSIDE_DIR=os.path.join(directory, "traces"),
                       RINGSIDE_LOG="/dev/null", RINGSIDE_RING_DIR=options.ring_dir)
    command = [options.ranks_program, "--scenario", "train", "--ranks", str(options.ranks),
               "--iterations", str(options.iterations), "--out", directory]
    if events is not None:
        command += ["--plugin", options.plugin]
        environment["RINGSIDE_EVENTS"] = events
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300,
                          check=False)
    runs = RUN.findall(done.stdout)
    if done.returncode != 0 or len(runs) != options.ranks:
        sys.exit(f"{' '.join(command)}: exit status {done.returncode}\n{done.stdout[-2000:]}")
    return max(float(seconds) * 1e6 / int(count) for count, seconds in runs)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ranks-program", required=True, help="nccl_ranks")
    parser.add_argument("--plugin", required=True, help="libnccl-profiler-ringside.so")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--iterations", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--ring-dir", default="/dev/shm")
    options = parser.parse_args()
    options.plugin = os.path.abspath(options.plugin)
    times = {name: [] for name in CONFIGURATIONS}
    for number in range(options.rounds):
        for name, events in CONFIGURATIONS.items():
            with tempfile.TemporaryDirectory(prefix="ringside-compare-") as directory:
                times[name].append(us_per_collective(options, events, directory))
        print(f"round {number + 1} of {options.rounds}", file=sys.stderr)
    print(f"{'configuration':22}{'median us':>12}{'quartiles us':>20}{'added us':>10}{'added':>9}")
    base = times["no plugin"]
    for name, seen in times.items():
        low, median, high = statistics.quantiles(seen, n=4)
        added = statistics.median(a - b for a, b in zip(seen, base))
        print(f"{name:22}{median:12.1f}{f'{low:.1f} to {high:.1f}':>20}{added:10.1f}"
              f"{100 * added / statistics.median(base):8.1f}%")
    return 0


if __name__ == "__main__":
    sys.exit(main())
