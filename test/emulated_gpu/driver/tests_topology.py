# SPDX-License-Identifier: Apache-2.0
"""The topology that the plugin reads: machines that the emulated NVML presents, and one that hangs."""

import json
import pathlib

import adapters
from harness import Job, check, print_facts

MACHINES = pathlib.Path(__file__).resolve().parent.parent / "machines"


def run_on(setup, machine, *options, ranks=2, ranks_per_host=2, **variables):
    setup.start_anew(f"{machine}{len(setup.jobs)}")
    path = MACHINES / f"{machine}.json"
    described = json.loads(path.read_text(encoding="utf-8"))
    # All processes of the job share it, so an adapter that is slow on one host is so on all.
    adapters.write_sysfs(described, setup.directory / "sys",
                         described.get("slow_adapter", {}).get("host"))
    return Job(setup, "--scenario", "burst", "--iterations", "4", "--ranks-per-host",
               str(ranks_per_host), *options, ranks=ranks, timeout=60, EMUGPU_MACHINE=str(path),
               RINGSIDE_SYSFS=str(setup.directory / "sys"), **variables).wait()


def readings(trace):
    return [line["args"] for line in trace.lines if line["name"] == "ringside_topology"]


def faults(setup):
    """Two hosts that are not alike: ranks, matrix and findings are those of the description."""
    # Long enough that the reading at the start has ended before the job does.
    job = run_on(setup, "dgx_h100_faults", "--late-rank", "0", "--late-us", "20000", ranks=4)
    counts = []
    for trace in job.traces():
        found = readings(trace)
        counts.append(len(found))
        check(all(r["state"] == "complete" and r["gpus"] == 8 for r in found), str(found))
        print_facts(rank=trace.rank, us_per_gpu=found[-1]["nvml_ns"] // 8000)
    # The exit waits 50 ms for the last reading. On a busy machine these can pass before it begins.
    check(min(counts) >= 1 and max(counts) >= 2, f"{counts} readings, not start and end")
    told = json.loads(setup.run_analyzer("topology", "--format", "json",
                                         setup.directory / "traces"))
    domains = {row["domain"]: row for row in told["tables"]["domains"]["rows"]}
    check(set(domains) == {"emulated-host-0", "emulated-host-1"}, f"domains {list(domains)}")
    check([domains[f"emulated-host-{h}"]["links_min"] for h in (0, 1)] == [18, 17],
          f"links {domains}")
    kinds = sorted(finding["kind"] for finding in told["findings"])
    check({"topology-differs", "link-down", "link-errors", "pcie-degraded", "adapter-slow"}
          <= set(kinds), f"findings {kinds}")
    refused = setup.run_analyzer("topology", "--mesh", "0,2", setup.directory / "traces",
                                 expected=(3,))
    check(refused == "", f"a matrix of two hosts: {refused}")


def hangs(setup):
    """An NVML that never returns costs the job nothing, at load and at exit."""
    for machine, state in (("nvml_hangs_init", "unfinished"), ("nvml_hangs_later", "complete")):
        job = run_on(setup, machine)
        for trace in job.traces():
            check(trace.closed, f"{trace.path.name} is not closed")
            found = readings(trace)
            check([r["state"] for r in found] == [state], f"{machine}: {found}")
        job.summary()


def turned_off(setup):
    for prefix, variables in (("GPU-", {}), ("MIG-", {"EMUGPU_MIG": "1"})):
        job = run_on(setup, "dgx_h100", RINGSIDE_TOPOLOGY="0", **variables)
        for trace in job.traces():
            check(not readings(trace), "RINGSIDE_TOPOLOGY=0, but there is a topology")
            gpus = [line["args"]["gpu"] for line in trace.lines
                    if line["name"] == "ringside_communicator"]
            check(gpus and all(gpu["uuid"].startswith(prefix) for gpu in gpus), f"{gpus}")


TESTS = {"nccl-topology": faults, "nccl-topology-hangs": hangs, "nccl-topology-off": turned_off}
