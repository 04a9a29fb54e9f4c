# SPDX-License-Identifier: Apache-2.0
"""Steps of DDP, FSDP, TP and PP under PyTorch's profiler with the rows of the GPUs, joined with the traces.

The emulated CUPTI gives the profiler kernels, copies and synchronisation with the times at which
the emulated GPUs did them. What rank 1 and rank 2 are late for is known (torch/steps.py).
"""

import collections
import functools
import json
import pathlib

from harness import check, print_facts
from tests_torch import run

SCRIPT = pathlib.Path(__file__).parent.parent / "torch" / "steps.py"
LATE_NS = 500_000_000
RANKS = 4
STEPS = {"ddp": ("ProfilerStep#2", "ProfilerStep#3"),
         "fsdp": ("ProfilerStep#0", "ProfilerStep#1", "ProfilerStep#2")}
SLOW = 1
# In each of eight steps the blocks reduce five times and the loss once (TP), or four microbatches pass three
# borders in both directions (PP).
COUNTS = {"tp": {("AllReduce", 8192): 40, ("AllReduce", 4): 8}, "pp": {("SendRecv", 2048): 192}}
# How the first call is found that the profiler has: by the clock, where the same calls repeat.
PROOFS = {"ddp": "clock", "fsdp": "from_start"}
LAUNCHES = ("cudaLaunchKernel", "cuLaunchKernelEx", "cudaMemcpyAsync", "cudaMemsetAsync")
WORK = ("kernel", "gpu_memcpy", "gpu_memset")


def line_of(function):
    """The profiler names the first line of a function."""
    text = SCRIPT.read_text(encoding="utf-8").splitlines()
    number = next(n for n, line in enumerate(text, 1) if f"def {function}(" in line)
    return f"{SCRIPT.name}:{number} in {function}"


def check_profile(rank, events):
    """What CUPTI told is consistent: work begins after its launch, one after the other on a stream."""
    of = collections.defaultdict(list)
    for event in events:
        if event["ph"] == "X":
            of[event.get("cat")].append(event)
    launches = {call["args"]["correlation"]: call for call in of["cuda_runtime"] + of["cuda_driver"]
                if call["name"] in LAUNCHES}
    operators = {event["args"]["External id"] for event in of["cpu_op"]}
    streams = collections.defaultdict(list)
    for work in (event for cat in WORK for event in of[cat]):
        launch = launches.get(work["args"]["correlation"])
        check(launch and launch["ts"] <= work["ts"],
              f"rank {rank}: {work} was launched by {launch}")
        check(work["args"].get("External id") in operators or "spin_kernel" in work["name"],
              f"rank {rank}: {work} is of no operator")
        streams[work["args"]["stream"]].append((work["ts"], work["ts"] + work["dur"]))
    for stream, times in streams.items():
        times.sort()
        # The profiler rounds to nanoseconds, and what it scales to them.
        check(all(one[1] <= other[0] + 0.002 for one, other in zip(times, times[1:])),
              f"rank {rank}: work on stream {stream} overlaps")
    check(len(streams) > 1 and len(of["kernel"]) > 100 and of["cuda_sync"] and of["cuda_driver"],
          f"rank {rank}: {[(cat, len(rows)) for cat, rows in of.items()]}")
    return [event for event in of["kernel"] if event["name"].startswith("ncclDevKernel_")]


def tables(setup, command, *arguments):
    return json.loads(setup.run_analyzer(command, *arguments, "--kineto", setup.directory / "profiles",
                                         "--format", "json"))["tables"]


def steps(setup, implementation, wrapped):
    profiles, traces = setup.directory / "profiles", setup.directory / "traces"
    profiles.mkdir()
    run(setup, implementation, f"steps_{wrapped}", ranks=RANKS, EMUGPU_KERNEL_US="100").traces()
    kernels, calls = 0, 0
    for rank in range(RANKS):
        path = profiles / f"rank{rank}.json"
        events = json.loads(path.read_text(encoding="utf-8"))["traceEvents"]
        kernels += len(check_profile(rank, events))
        calls += sum(event["name"] == "record_param_comms" and event["args"]["Collective name"] != "wait"
                     for event in events if event.get("cat") == "cpu_op")

    # Every call and every kernel is joined, each kernel by its launch.
    joined = tables(setup, "calls", traces, "--top", "0")
    profiler = joined["profiler"]["rows"]
    check(sum(row["calls"] for row in profiler) == calls and calls >= RANKS * 6 and
          all(row[PROOFS[wrapped]] == row["within"] == row["compared"] == row["calls"]
              for row in profiler), f"{calls} calls, joined: {profiler}")
    pairs = joined["kernels"]["rows"]
    check(len(pairs) == kernels and {row["proof"] for row in pairs} == {"launch"},
          f"{kernels} kernels, joined: {pairs}")

    # The path shows what the ranks were late for, down to the function.
    path = tables(setup, "critical-path", traces)
    spent = {(row["kind"], row["name"], row["line"]): row["spent_ns"] for row in path["work"]["rows"]}
    for key in (("no operator", None, line_of("load")),
                ("kernels", "at::cuda::spin_kernel", line_of("forward"))):
        check(0.6 * LATE_NS < spent.get(key, 0) < 2 * LATE_NS,
              f"the path has {spent.get(key)} ns of {key}: {spent}")
    waits = {(row["waits_for"], row["was_in"], row["line"]) for row in path["waits"]["rows"]
             if row["waited_ns"] > LATE_NS / 3}
    for wanted in ((2, "no operator", line_of("load")),
                   (1, "at::cuda::spin_kernel", line_of("forward"))):
        check(wanted in waits, f"nobody waits for {wanted}: {waits}")
    steps_of_path = [row["step"] for row in path["steps"]["rows"]]
    check(steps_of_path == list(STEPS[wrapped]), f"steps of the path: {steps_of_path}")

    # loss.item() waits for its copy, in each step of each rank.
    waited = collections.Counter(
        (row["rank"], row["range"]) for row in
        tables(setup, "dependencies", "--all", "--top", "0")["dependencies"]["rows"]
        if row["call"] == "cudaStreamSynchronize" and row["launched_by"] == "aten::_local_scalar_dense"
        and row["kernel"].startswith("Memcpy DtoH") and row["known_by"] == "recorded")
    check(waited == {(rank, step): 1 for rank in range(RANKS) for step in STEPS[wrapped]},
          f"dependencies: {waited}")
    setup.run_analyzer("overlap", traces, "--kineto", profiles)
    print_facts(calls=calls, kernels=kernels, **{f"{kind} at {line}": ns for (kind, _, line), ns in
                                                 spent.items() if ns > LATE_NS / 2})


def slow(setup, implementation, wrapped):
    """One rank's blocks take longer in each step, which the plugin's traces and PyTorch's profiles alone say."""
    profiles, traces = setup.directory / "profiles", setup.directory / "traces"
    profiles.mkdir()
    run(setup, implementation, f"steps_{wrapped}", ranks=RANKS, EMUGPU_KERNEL_US="100",
        RINGSIDE_EVENTS="coll,p2p,kernel,proxy,steps").traces()
    said = {}
    for path in (traces, profiles):
        answer = json.loads(setup.run_analyzer("stragglers", path, "--format", "json", expected=(1,)))["tables"]
        [row] = answer["slow"]["rows"]
        check(row["who"].startswith(f"rank {SLOW} "), f"{path.name}: {row}")
        said[path.name] = row["cost_percent"]
    summary = json.loads(setup.run_analyzer("summary", profiles, "--format", "json"))
    counts = {(row["function"], row["bytes"]): row["count"]
              for communicator in summary["communicators"] for row in communicator["rows"]}
    check(counts == COUNTS[wrapped], f"operations in the profiles: {counts}")
    print_facts(**said)


TESTS = {f"torch-steps-{wrapped}": functools.partial(slow, implementation=implementation, wrapped=wrapped)
         for wrapped, implementation in (("tp", "nccl2"), ("pp", "legacy"))}
TESTS |= {f"torch-steps-{wrapped}": functools.partial(steps, implementation=implementation, wrapped=wrapped)
         for wrapped, implementation in (("ddp", "legacy"), ("fsdp", "nccl2"))}
