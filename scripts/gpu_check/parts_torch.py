# SPDX-License-Identifier: Apache-2.0
"""PyTorch: DDP under torch.profiler, and a captured graph."""

import json
import os
import pathlib
import re
import statistics

import torch_ranks
from machine import Job
from results import NOT_RUN, PASS, require

RANKS = 2
PROGRAM = pathlib.Path(torch_ranks.__file__).resolve()

# Both place the GPU's clock on the host's, each in its own way.
KERNEL_NS = 500_000


def torch_job(machine, mode, limit_s):
    """PyTorch finds its libraries, NCCL among them, by itself."""
    variables = {"RINGSIDE_EVENTS": "coll,p2p,kernel,proxy",
                 "LD_LIBRARY_PATH": os.environ.get("LD_LIBRARY_PATH"),
                 "TORCH_NCCL_ASYNC_ERROR_HANDLING": "0" if mode == "graphs" else None}
    command = [machine.python, PROGRAM, RANKS, mode, "."]
    return Job(machine, f"torch-{mode}", command, RANKS, limit_s, variables)


def distances_ns(path):
    """For each kernel that was found among the operations: how far their two starts are apart."""
    with open(path, encoding="utf-8") as file:
        events = json.load(file)
    starts = {(event["args"]["rank"], event["args"]["op"]): event["ts"] * 1e3 for event in events
              if event["ph"] == "b" and event.get("cat") == "op" and "op" in event.get("args", {})}
    ranks = {event["pid"]: int(re.search(r"kineto\.(\d+)\.json", event["args"]["file"])[1])
             for event in events if event["name"] == "ringside_merged_foreign"}
    return sorted(abs(event["ts"] * 1e3 - starts[ranks[event["pid"]], event["args"]["ringside_op"]])
                  for event in events if "ringside_op" in event.get("args", {}))


def ddp(machine, results):
    """Kernels that torch.profiler saw are operations of the trace, and at the same time."""
    job = torch_job(machine, "ddp", 120).wait()
    traces = job.traces()
    merged = job.directory / "merged.json"
    profiles = sorted(job.directory.glob("kineto.*.json"))
    require(len(profiles) == RANKS, f"{len(profiles)} profiles")
    said = machine.analyzer("merge", job.directory / "traces", "--output", merged,
                            *(word for path in profiles for word in ("--kineto", path)),
                            errors=True)
    machine.analyzer("lint", merged)
    found = re.search(r"(\d+) of (\d+) NCCL kernels? found among the operations", said)
    require(found and int(found[2]) > 0, f"the profiles have no kernels of NCCL: {said[-300:]}")
    reductions = [sum(one["func"] == "AllReduce" for one in trace.operations) for trace in traces]
    require(min(reductions) >= torch_ranks.STEPS, f"AllReduces of DDP: {reductions}")
    machine.keep(job, "torch-ddp")
    require(int(found[1]) >= 0.95 * int(found[2]), found[0])
    results.add("PyTorch", "DDP under torch.profiler", PASS,
                f"{found[0]}; AllReduces in the traces: {reductions}")
    return merged


def kernel_times(results, merged):
    apart = distances_ns(merged)
    require(apart, "no kernel was found among the operations")
    p99 = apart[len(apart) * 99 // 100]
    detail = (f"starts of {len(apart)} kernels are {statistics.median(apart) / 1e3:.1f} us "
              f"(median), {p99 / 1e3:.1f} us (p99) from their operation's")
    require(p99 <= KERNEL_NS, detail)
    results.add("GPU clock", "against torch.profiler's kernels", PASS, detail)


def graphs(machine, results):
    """Each replay of a captured AllReduce is an operation."""
    job = torch_job(machine, "graphs", 90).wait()
    size = torch_ranks.ELEMENTS * 4
    counts = []
    for trace in job.traces():
        of_size = [one for one in trace.operations
                   if one["func"] == "AllReduce" and one["bytes"] == size]
        counts.append(sum(bool(one.get("graph")) for one in of_size))
        eager = len(of_size) - counts[-1]
        require(eager >= 3, f"rank {trace.rank}: {eager} AllReduces that were not captured")
    machine.keep(job, "graphs")
    require(min(counts) >= torch_ranks.REPLAYS,
            f"{torch_ranks.REPLAYS} replays, operations of a graph: {counts}")
    results.add("CUDA graphs", "replays of a captured AllReduce", PASS,
                f"{torch_ranks.REPLAYS} replays; operations of a graph on each rank: {counts}")


def every_job(machine, results):
    if not machine.has_torch:
        reason = "the emulation runs no PyTorch" if machine.emulated else "there is no PyTorch here"
        for part, name in (("PyTorch", "DDP under torch.profiler"),
                           ("GPU clock", "against torch.profiler's kernels"),
                           ("CUDA graphs", "replays of a captured AllReduce")):
            results.add(part, name, NOT_RUN, reason)
        return
    merged = results.run("PyTorch", "DDP under torch.profiler", lambda: ddp(machine, results), 40)
    if merged:
        results.run("GPU clock", "against torch.profiler's kernels",
                    lambda: kernel_times(results, merged))
    else:
        results.needs("DDP under torch.profiler", "GPU clock", "against torch.profiler's kernels")
    results.run("CUDA graphs", "replays of a captured AllReduce", lambda: graphs(machine, results),
                30)
