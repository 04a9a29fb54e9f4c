# SPDX-License-Identifier: Apache-2.0
"""Every list of events, with and without kernel channels, on NCCL's own kernels."""

import collections
import functools

from machine import bench
from parts_machine import identity
from results import FIGURE, PASS, require

WARMUP = 3  # of collectives_bench
FUNCTIONS = ("AllReduce", "AllGather", "ReduceScatter", "Broadcast", "AlltoAll")

# The list of events; the event types that NCCL always reports then; the sources of the times.
LISTS = (
    ("default", ("Coll", "P2p"), ("gpu", "proxy")),
    ("coll,p2p,kernel", ("Coll", "P2p", "KernelCh"), ("gpu",)),
    ("coll,p2p,proxy,steps", ("Coll", "P2p", "ProxyOp", "ProxyStep"), ("proxy",)),
    ("all", ("Coll", "P2p", "ProxyOp", "ProxyStep", "KernelCh"), ("gpu",)),
    ("coll,p2p,kernel,proxy,steps", ("Coll", "P2p", "ProxyOp", "ProxyStep", "KernelCh"), ("gpu",)),
    ("coll,p2p,proxy", ("Coll", "P2p", "ProxyOp"), ("proxy_queue", "proxy")),
    ("coll,p2p", ("Coll", "P2p"), ("enqueue",)),
    ("coll", ("Coll",), ("enqueue",)),
    ("p2p", ("P2p",), ("enqueue",)),
    ("coll,p2p,ctrl", ("Coll", "P2p", "ProxyCtrl"), ("enqueue",)),
    ("coll,p2p,net,ce,phase", ("Coll", "P2p"), ("gpu", "proxy")),
)


def expected_operations(ranks, iterations, sizes, functions, events):
    """How many operations of each function a rank has, with --record-all."""
    calls = WARMUP + iterations
    expected = collections.Counter()
    for function in functions:
        if function == "AlltoAll":
            expected.update({"Send": calls * sizes * ranks, "Recv": calls * sizes * ranks})
        else:
            expected[function] += calls * sizes
        expected["AllReduce"] += 2 * sizes  # what the program averages its times with
    if "coll" not in events and events not in (["default"], ["all"]):
        expected = {name: count for name, count in expected.items() if name in ("Send", "Recv")}
    if events == ["coll"]:
        expected = {name: count for name, count in expected.items() if name not in ("Send", "Recv")}
    return dict(expected)


def before_sends_to_self(trace):
    """A rank's sends to itself move nothing over a network, and disturb NCCL's counters of kernels:
    from there on the right answer may be to have no time from the GPU.
    """
    ordered = sorted(trace.operations, key=lambda one: one["enqueue_start_ns"])
    first = next((i for i, one in enumerate(ordered) if one["func"] in ("Send", "Recv")), None)
    return ordered[:first]


def check_list(machine, results, seen, events, types, sources):
    ranks, iterations, sizes = 2, 2, 2
    job = bench(machine, "events", "--iterations", iterations, "--min-bytes", 65536, "--max-bytes",
                262144, "--collectives", ",".join(FUNCTIONS), ranks=ranks, RINGSIDE_EVENTS=events)
    traces = job.wait().traces()
    expected = expected_operations(ranks, iterations, sizes, FUNCTIONS, events.split(","))
    records = collections.Counter()
    for trace in traces:
        counts = dict(collections.Counter(one["func"] for one in trace.operations))
        require(counts == expected, f"rank {trace.rank}: {counts} instead of {expected}")
        for name, account in trace.account["by_type"].items():
            records[name] += account.get("produced", 0)
        wrong = [(one["func"], one.get("seq"), one["times_from"])
                 for one in before_sends_to_self(trace) if one["times_from"] not in sources]
        require(not wrong, f"rank {trace.rank}: {len(wrong)} operations without times from "
                           f"{' or '.join(sources)}: {wrong[:4]}")
    silent = [name for name in types if not records[name]]
    require(not silent, f"NCCL reported no {', '.join(silent)}")
    seen.update(records)
    text = ", ".join(f"{name} {count}" for name, count in sorted(records.items()))
    results.add("events", events, PASS,
                f"{sum(expected.values())} operations a rank as called, lint clean, nothing lost, "
                f"the account adds up; callbacks: {text}")
    return traces


def every_list(machine, results):
    seen = collections.Counter()
    for events, types, sources in LISTS:
        traces = results.run("events", events, functools.partial(
            check_list, machine, results, seen, events, types, sources), least_s=12)
        if traces and events == "default":
            results.run("NVML", "GPU in the trace", lambda: identity(machine, results, traces))
        elif events == "default":
            results.needs("the job with default events", "NVML", "GPU in the trace")
    results.add("events", "types seen", FIGURE,
                ", ".join(f"{name} {count}" for name, count in sorted(seen.items())) or "none")
