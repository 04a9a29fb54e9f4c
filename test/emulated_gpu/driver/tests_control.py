# SPDX-License-Identifier: Apache-2.0
"""The C API, called by programs that run on emulated GPUs."""

import collections

import expectations
import traces
from harness import Job, Skipped, check, print_facts


def window_times(calls):
    """For each window: when it surely had begun, and when it may have begun and ended."""
    controls = {(c["window"], c["control"]): c for c in calls if "control" in c}
    for number in sorted({window for window, _ in controls}):
        yield number, controls[number, "start"], controls[number, "stop"], controls[number, "dump"]


def check_windows(trace, calls, windows):
    """Calls within a window are recorded, calls outside of all windows are not.

    A call during which a window began or ended may be either.
    """
    collectives = [c for c in expectations.expected_calls(calls) if "peer" not in c]
    recorded = {(o["func"], o["seq"]): o for o in trace.operations if "seq" in o}
    inside = outside = 0
    for call in collectives:
        key = call["func"], call["seq"]
        within = [n for n, start, stop, _ in windows
                  if start["end_ns"] < call["begin_ns"] and call["end_ns"] < stop["begin_ns"]]
        apart = all(call["end_ns"] < start["begin_ns"] or stop["end_ns"] < call["begin_ns"]
                    for _, start, stop, _ in windows)
        if within:
            inside += 1
            check(key in recorded, f"{trace.path.name}: {key} of window {within[0]} is missing")
            check(recorded[key]["window"] == within[0],
                  f"{trace.path.name}: {key} is in window {recorded[key]['window']}, "
                  f"not {within[0]}")
            # The second window asks for no proxies, so that it sees enqueues only.
            check(recorded[key]["state"] == ("completed" if within[0] == 1 else "enqueued"),
                  f"{trace.path.name}: {key} is {recorded[key]['state']}")
        elif apart:
            outside += 1
            check(key not in recorded, f"{trace.path.name}: {key} was called outside all windows")
    check(inside > 8 and outside > 8, f"only {inside} calls inside and {outside} outside")
    return inside, outside


def windows(setup):
    """Started, dumped and stopped twice from another thread while collectives run."""
    job = Job(setup, "--scenario", "windows", ranks=2, RINGSIDE_START="0").wait()
    for trace in job.traces():
        calls = job.calls(trace.rank)
        controls = list(window_times(calls))
        check(len(controls) == 2, f"rank {trace.rank} logged {len(controls)} windows")
        check(all(c["result"] == 0 for c in calls if "control" in c),
              f"rank {trace.rank}: {[c for c in calls if c.get('result')]}")
        inside, outside = check_windows(trace, calls, controls)
        for number, start, _, dump in controls:
            check_dump(setup, trace, calls, number, start, dump)
        print_facts(rank=trace.rank, inside=inside, outside=outside)
    job.summary()


def check_dump(setup, trace, calls, number, start, dump):
    """A dump is complete, and has what was called in its window before it was asked for."""
    path = setup.directory / f"dump-{number}-{trace.rank}.json"
    setup.run_analyzer("lint", path)
    dumped = traces.Trace(path)
    check(dumped.closed and dumped.process.get("dump"), f"{path.name} is not a closed dump")
    check(dumped.process["run_id"] == trace.process["run_id"], f"{path.name}: another run_id")
    found = {(o["func"], o["seq"]) for o in dumped.operations if "seq" in o}
    missing = [(c["func"], c["seq"]) for c in expectations.expected_calls(calls)
               if "peer" not in c and start["end_ns"] < c["begin_ns"]
               and c["end_ns"] < dump["begin_ns"] and (c["func"], c["seq"]) not in found]
    check(not missing, f"{path.name} misses {missing[:10]}")


def bench(setup, collectives, **variables):
    """examples/gpu: it starts and stops around the measured calls, so the trace has only those."""
    iterations, sizes = 5, 3
    job = Job(setup, ranks=2, command=[
        setup.bench_program, "--ranks", "2", "--min-bytes", "65536", "--max-bytes", "1048576",
        "--iterations", str(iterations), "--collectives", ",".join(collectives),
        "--dump", str(setup.directory / "dump")], **variables).wait()
    expected = collections.Counter({"AllReduce": 1})  # before the first measurement
    for collective in collectives:
        # An all-to-all of two ranks is two sends and two receives.
        for function in ("Send", "Recv") if collective == "AlltoAll" else (collective,):
            expected[function] += iterations * sizes * (2 if collective == "AlltoAll" else 1)
    for trace in job.traces():
        counts = collections.Counter(o["func"] for o in trace.operations)
        check(counts == expected, f"{trace.path.name}: {dict(counts)} instead of {dict(expected)}")
        setup.run_analyzer("lint", setup.directory / f"dump.{trace.rank}.json")
    print(setup.run_analyzer("summary", setup.directory / "traces"))
    print(job.log())


def bench_kernel(setup):
    """With kernel channels. Not with AlltoAll: see docs/troubleshooting.md, NCCL would hang."""
    if setup.interface >= 7:
        raise Skipped("the bench calls NCCL before it starts recording: there are no kernel channels")
    bench(setup, ["AllReduce", "AllGather", "ReduceScatter", "Broadcast"],
          NCCL_ALLGATHERV_ENABLE="0", RINGSIDE_EVENTS="coll,p2p,kernel,proxy")


def bench_default(setup):
    """With the default events."""
    bench(setup, ["AllReduce", "AllGather", "ReduceScatter", "Broadcast", "AlltoAll"])


TESTS = {"nccl-windows": windows, "nccl-bench": bench_default, "nccl-bench-kernel": bench_kernel}
