#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the traces of test/data/topology, which cases topology-* and summary-peak-* read: NCCL on
emulated GPUs, whose NVML presents a machine of test/emulated_gpu/machines to the plugin. Times and
ids differ from run to run, so this is run by hand, and run_cases.py --update after it.

usage: topology_inputs.py --ranks-program NCCL_RANKS --plugin PLUGIN [NAME ...]
"""

import argparse
import gzip
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
EMULATED = HERE.parent / "emulated_gpu"
sys.path.insert(0, str(EMULATED / "driver"))
import adapters  # noqa: E402

# Name: machine, ranks, ranks on a host.
JOBS = {
    "dgx1": ("dgx1_v100", 8, 8),
    "dgx-a100": ("dgx_a100", 4, 4),
    "dgx-h100-faults": ("dgx_h100_faults", 4, 2),
    "nvl72": ("gb200_nvl72", 6, 2),
    "hgx-4": ("hgx_a100_4", 4, 4),
    "two-pairs": ("two_pairs", 4, 4),
    "pcie": ("pcie_only", 2, 2),
    "nvml-fails": ("nvml_fails", 2, 2),
    "nvml-hangs": ("nvml_hangs_links", 2, 2),
}


# NCCL's features that the emulation cannot carry are off. The traces are to be those of the machine.
LIMITS = ("NCCL_IB_DISABLE", "NCCL_NET", "NCCL_P2P_DISABLE")


def as_of_the_machine(line):
    """The first line of a trace names files of the machine that wrote it, and NCCL's limits."""
    first = json.loads(line[1:].rstrip(",\n"))
    for variables in (first["args"]["config"], first["args"]["environment"]):
        for name, value in variables.items():
            variables[name] = re.sub(r"^/.*/", "", value) if value.startswith("/") else value
    first["args"]["config"].pop("RINGSIDE_SYSFS", None)
    for name in LIMITS:
        first["args"]["environment"].pop(name, None)
    return "[" + json.dumps(first, separators=(",", ":")) + ",\n"


def record(name, arguments):
    machine_name, ranks, ranks_per_host = JOBS[name]
    machine = EMULATED / "machines" / f"{machine_name}.json"
    with tempfile.TemporaryDirectory() as directory:
        work = pathlib.Path(directory)
        (work / "rings").mkdir()
        adapters.write_sysfs(json.loads(machine.read_text(encoding="utf-8")), work / "sys")
        environment = {key: value for key, value in os.environ.items()
                       if not key.startswith(("NCCL_", "RINGSIDE_", "EMUGPU_"))}
        # Ranks of one host have no network: only the GPU's channels tell how long a call took.
        environment.update(NCCL_ALLGATHERV_ENABLE="0", RINGSIDE_EVENTS="default,kernel")
        environment.update(EMUGPU_MACHINE=str(machine), RINGSIDE_SYSFS=str(work / "sys"),
                           RINGSIDE_DIR=str(work / "traces"), RINGSIDE_RING_DIR=str(work / "rings"))
        subprocess.run(
            [arguments.ranks_program, "--ranks", str(ranks), "--ranks-per-host",
             str(ranks_per_host), "--scenario", "sweep", "--collective", "all_reduce",
             "--min-bytes", "4194304", "--max-bytes", "4194304", "--iterations", "4", "--warmup",
             "1", "--timeout", "120", "--plugin", arguments.plugin, "--out", str(work)],
            check=True, env=environment, stdout=subprocess.DEVNULL)
        target = HERE.parent / "data" / "topology" / name
        target.mkdir(parents=True, exist_ok=True)
        for path in target.iterdir():
            path.unlink()
        for path in (work / "traces").glob("*.json"):
            lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
            rank = json.loads(lines[0][1:].rstrip(",\n"))["args"]["launcher_rank"]
            text = as_of_the_machine(lines[0]) + "".join(lines[1:])
            with gzip.GzipFile(target / f"ringside.rank{rank}.json.gz", "wb", mtime=0) as file:
                file.write(text.encode())
    print(name)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranks-program", required=True)
    parser.add_argument("--plugin", required=True)
    parser.add_argument("name", nargs="*", metavar="NAME", choices=[*JOBS, []])
    arguments = parser.parse_args()
    for name in arguments.name or JOBS:
        record(name, arguments)


if __name__ == "__main__":
    main()
