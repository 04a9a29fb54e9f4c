# SPDX-License-Identifier: Apache-2.0
"""Times and bandwidth against what the program measures itself with CUDA events."""

import collections
import json
import statistics

from machine import bench
from results import FIGURE, PASS, require

RANKS = 2

# How far the two may lie apart. Events stand around the call on its stream, so that they hold the
# kernel and the gaps before and after it. The GPU's clock is placed on the host's by callbacks,
# which come late. On emulated GPUs the gaps are those of threads that share a core or two.
BANDWIDTH_SHARE = 0.20
BANDWIDTH_GAP_NS = 50_000
PLACE_NS = 200_000
EMULATED_SHARE = 0.75
EMULATED_GAP_NS = 5_000_000
EMULATED_PLACE_NS = 5_000_000

BUS_FACTORS = {"AllReduce": 2 * (RANKS - 1) / RANKS, "AllGather": (RANKS - 1) / RANKS,
               "ReduceScatter": (RANKS - 1) / RANKS, "Broadcast": 1,
               "AlltoAll": (RANKS - 1) / RANKS}
ROOTED = ("Broadcast", "Reduce", "Gather", "Scatter")
PER_RANK = ("AllGather", "ReduceScatter", "AlltoAll")


def measured_calls(job):
    """Returns each rank's calls in their order, by function and bytes, as CUDA events saw them."""
    of_rank = []
    for rank in range(RANKS):
        path = job.directory / f"times.{rank}.jsonl"
        by_size = collections.defaultdict(list)
        for line in path.read_text(encoding="utf-8").splitlines():
            call = json.loads(line)
            by_size[call["func"], call["bytes"]].append(call)
        of_rank.append(by_size)
    return of_rank


def operations_of(trace, function, size, count):
    """The operations of the measured calls: the last of that function and size."""
    own = sorted((one for one in trace.operations
                  if one["func"] == function and one["bytes"] == size), key=lambda one: one["seq"])
    require(len(own) >= count, f"rank {trace.rank}: {len(own)} {function} of {size} bytes")
    return own[-count:]


def time_by_events(of_ranks):
    """Nanoseconds from the last rank's begin to the last end, the median over the calls."""
    times = []
    for calls in zip(*of_ranks):
        begins = [call["latest_begin_ns"] for call in calls]
        ends = [begin + call["duration_ns"] for begin, call in zip(begins, calls)]
        times.append(max(ends) - max(begins))
    return statistics.median(times)


def check_bandwidth(machine, results, job, calls, source):
    """busbw of the summary next to that of the events, by function and size."""
    share = EMULATED_SHARE if machine.emulated else BANDWIDTH_SHARE
    gap_ns = EMULATED_GAP_NS if machine.emulated else BANDWIDTH_GAP_NS
    (communicator,) = job.report("summary")["communicators"]
    rows = {(row["function"], row["bytes"]): row for row in communicator["rows"]}
    failures = []
    for function, size in calls[0]:
        events_ns = time_by_events([of_rank[function, size] for of_rank in calls])
        moved = size * (RANKS if function in PER_RANK else 1) * BUS_FACTORS[function]
        by_events = f"CUDA events {moved / events_ns:.3f} GB/s ({events_ns / 1e3:.1f} us)"
        name = f"{function} {size}, times from {source}"
        row = rows.get((function, size))
        require(row, f"no row of {function}, {size} bytes")
        if row["busbw_gb_s"] is None:
            # A function with a root may have had data in buffers: only bounds are known then.
            least, most = row["busy_least"], row["busy_most"]
            # On emulated GPUs the processor may keep one rank waiting as long as an operation takes.
            may_be_open = function in ROOTED or machine.emulated
            require(source != "gpu" or (may_be_open and least and most),
                    f"no bandwidth of {function}, {size} bytes: {row}")
            bounds = (f"between {least['median_us']} and {most['median_us']} us" if least and most
                      else "no time")
            results.add("bandwidth", name, FIGURE, f"Ringside gives {bounds}; {by_events}")
            continue
        own_ns = row["time_median_us"] * 1e3
        detail = (f"{function}, {size} bytes a rank: Ringside {row['busbw_gb_s']:.3f} GB/s "
                  f"({own_ns / 1e3:.1f} us), {by_events}")
        if source == "gpu" and abs(own_ns - events_ns) > max(gap_ns, share * events_ns):
            failures.append(detail)
            continue
        # The network's part is less than the whole call, so this is a figure without a verdict.
        results.add("bandwidth", name, PASS if source == "gpu" else FIGURE, detail,
                    ringside_us=own_ns / 1e3, events_us=events_ns / 1e3)
    require(not failures, f"further apart than {share:.0%} and {gap_ns / 1e3:.0f} us: "
                          f"{'; '.join(failures)}")


def check_places(machine, results, traces, calls):
    """No kernel runs outside of the events around its call, by the host's clock."""
    tolerance_ns = EMULATED_PLACE_NS if machine.emulated else PLACE_NS
    outside, gaps, anchors = [], [], []
    for trace, of_rank in zip(traces, calls):
        for (function, size), own in of_rank.items():
            for call, operation in zip(own, operations_of(trace, function, size, len(own))):
                require(operation["times_from"] == "gpu", f"rank {trace.rank}: {operation}")
                start = operation["start_ns"] - trace.clock_offset_ns
                end = operation["end_ns"] - trace.clock_offset_ns
                latest_end = call["latest_begin_ns"] + call["duration_ns"]
                outside.append(max(0, call["earliest_begin_ns"] - start, end - latest_end))
                gaps.append(call["duration_ns"] - (end - start))
                anchors.append(call["latest_begin_ns"] - call["earliest_begin_ns"])
    outside.sort()
    p99 = outside[min(len(outside) - 1, len(outside) * 99 // 100)]
    fits = [line["args"] for trace in traces for line in trace.lines
            if line["name"] == "ringside_gpu_clock"]
    whose = "an emulated clock, which is the host's" if machine.emulated else "the GPU's clock"
    detail = (f"{whose}: {len(outside)} kernels lie outside of the events around them by "
              f"{statistics.median(outside) / 1e3:.1f} us (median), {p99 / 1e3:.1f} us (p99), "
              f"{outside[-1] / 1e3:.1f} us (most); the events are placed within "
              f"{statistics.median(anchors) / 1e3:.1f} us; drift "
              f"{', '.join(str(fit['drift_ppb']) for fit in fits[-2:])} ppb")
    require(p99 <= tolerance_ns, f"more than {tolerance_ns / 1e3:.0f} us: {detail}")
    results.add("GPU clock", "kernels between CUDA events", PASS, detail, p99_us=p99 / 1e3)
    # A kernel is no longer than the time between the events before and after it.
    least = min(gaps)
    detail = (f"events around a call take {statistics.median(gaps) / 1e3:.1f} us longer than its "
              f"kernel (median), at least {least / 1e3:.1f} us")
    require(least >= -tolerance_ns / 10, f"a kernel takes longer than its call: {detail}")
    results.add("GPU clock", "durations", PASS, detail)


def measured_job(machine, name, events, functions):
    """Recorded from its first call on, and with CUDA events around the measured ones."""
    job = bench(machine, name, "--iterations", 10 if machine.emulated else 20, "--min-bytes", 65536,
                "--max-bytes", 1 << (20 if machine.emulated else 24), "--collectives",
                functions, "--times", "times", ranks=RANKS, limit_s=90,
                RINGSIDE_EVENTS=events).wait()
    return job, job.traces(), measured_calls(job)


def with_kernel_channels(machine, results):
    # No AlltoAll: a rank's sends to itself disturb NCCL's counters of kernels.
    found = results.run("times", "kernel channels", lambda: measured_job(
        machine, "times-gpu", "coll,p2p,kernel,proxy",
        "AllReduce,AllGather,ReduceScatter,Broadcast"), 20)
    if not found:
        results.needs("the job with kernel channels", "GPU clock", "kernels between CUDA events",
                      "durations")
        results.needs("the job with kernel channels", "bandwidth", "times from gpu")
        return
    job, traces, calls = found
    machine.keep(job, "times-gpu")
    results.run("GPU clock", "kernels between CUDA events",
                lambda: check_places(machine, results, traces, calls))
    results.run("bandwidth", "times from gpu",
                lambda: check_bandwidth(machine, results, job, calls, "gpu"))


def with_network_times(machine, results):
    found = results.run("times", "network", lambda: measured_job(
        machine, "times-network", "coll,p2p,proxy,steps",
        "AllReduce,AllGather,ReduceScatter,Broadcast,AlltoAll"), 20)
    if not found:
        results.needs("the job with network times", "bandwidth", "times from the network")
        return
    job, _, calls = found
    results.run("bandwidth", "times from the network",
                lambda: check_bandwidth(machine, results, job, calls, "proxy"))
