#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the parts of gpu_check, one after the other, within a budget; scripts/gpu_check.sh calls it.

Exit status 0: all that ran passed, 1: something failed, 2: nothing could be checked.
"""

import argparse
import pathlib
import shutil
import sys
import tempfile

import parts_cost
import parts_events
import parts_faults
import parts_machine
import parts_times
import parts_torch
from machine import Machine
from results import Results

# The ones that show most come first: what does not fit into the budget is not run.
PARTS = {
    "doctor": parts_machine.doctor,
    "times": parts_times.with_kernel_channels,
    "torch": parts_torch.every_job,
    "faults": parts_faults.every_fault,
    "network": parts_times.with_network_times,
    "events": parts_events.every_list,
    "cost": parts_cost.added_time,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("out", "plugin", "ringside", "bench"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--nccl", help="the NCCL library that the ranks use")
    parser.add_argument("--library-path", help="where the ranks find NCCL and the CUDA runtime")
    parser.add_argument("--own-libraries", help="where `ringside` finds its libraries")
    parser.add_argument("--emulated", metavar="NCCL_RANKS", help="run on emulated GPUs")
    parser.add_argument("--has-torch", action="store_true")
    parser.add_argument("--budget", type=float, default=520, help="seconds for all parts together")
    parser.add_argument("--parts", default=",".join(PARTS), help="of " + ", ".join(PARTS))
    parser.add_argument("--work", help="keep what the jobs leave in this directory")
    arguments = parser.parse_args()
    unknown = set(arguments.parts.split(",")) - set(PARTS)
    if unknown:
        parser.error(f"no such part: {', '.join(sorted(unknown))}")

    is_temporary = arguments.work is None
    arguments.work = arguments.work or tempfile.mkdtemp(prefix="gpu-check-")
    out = pathlib.Path(arguments.out)
    out.mkdir(parents=True, exist_ok=True)
    machine = Machine(arguments)
    results = Results(out, machine.emulated, arguments.budget)
    machine.results = results
    results.on_failure = machine.keep_failed
    try:
        parts_machine.describe(machine, results)
        for name in PARTS:
            if name in arguments.parts.split(","):
                PARTS[name](machine, results)
        parts_machine.never(machine, results)
    finally:
        for job in machine.jobs:
            job.kill()
        if is_temporary:
            shutil.rmtree(arguments.work, ignore_errors=True)
    print(f"{results.counts()}; {out / 'result.md'}")
    return results.exit_status()


if __name__ == "__main__":
    sys.exit(main())
