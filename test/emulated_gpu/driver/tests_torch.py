# SPDX-License-Identifier: Apache-2.0
"""PyTorch's CUDA wheel, unchanged, with its process groups of NCCL on emulated GPUs.

The traces are held against what each rank asked of torch.distributed (torch/asked.py).
"""

import collections
import functools
import json
import pathlib
import pickle
import re
import sys

from expectations import check_account
from harness import Job, check, print_facts
from told import OF_OBJECTS, check_told
from traces import Trace

SCENARIOS = pathlib.Path(__file__).parent.parent / "torch" / "scenarios.py"
PACKAGE = pathlib.Path(__file__).resolve().parents[3] / "python"
LAUNCHER = pathlib.Path(__file__).parent.parent / "torch" / "launch.py"


def skip_reason(package):
    """Why PyTorch cannot be run; None if it can."""
    if not package:
        return "no PyTorch: run test/emulated_gpu/get_torch.sh, then cmake again"
    tag = sys.implementation.cache_tag
    if not list(pathlib.Path(package, "torch").glob(f"_C.{tag}-*.so")):
        return f"the PyTorch in {package} is not for {sys.executable} ({tag})"
    return None


def torch_variables(setup):
    """Returns the variables that a process needs to import PyTorch."""
    libraries = [setup.torch_stubs, pathlib.Path(setup.ranks_program).parent.parent / "lib"]
    return {"LD_LIBRARY_PATH": ":".join(map(str, libraries)),
            "PYTHONPATH": f"{setup.torch}:{PACKAGE}",
            # The first test leaves the compiled modules to the others, and importing is most of it.
            "PYTHONDONTWRITEBYTECODE": ""}


def start(setup, implementation, scenario, ranks=2, hosts=2, launcher=(), timeout=200, plugin=None,
          **variables):
    """Starts the ranks of a scenario of torch/scenarios.py, by torch/launch.py with these options, or
    by another program.
    """
    if not launcher or launcher[0].startswith("-"):
        launcher = (sys.executable, str(LAUNCHER), "--ranks", str(ranks), *launcher)
    return Job(setup, "--ranks-per-host", str(ranks // hosts), ranks=ranks, timeout=timeout, plugin=plugin,
               command=(*launcher, scenario, str(setup.directory)),
               **torch_variables(setup),
               TORCH_DIST_USE_NCCL2="1" if implementation == "nccl2" else "0",
               OMP_NUM_THREADS="1", TORCH_FR_BUFFER_SIZE="2000",
               TORCH_FR_DUMP_TEMP_FILE=str(setup.directory / "fr_rank_"),
               TORCH_NCCL_DUMP_ON_TIMEOUT="1", TORCH_FR_WAIT_TIMEOUT_DUMP_MILSEC="1000",
               TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC="5", **variables)


def run(setup, implementation, scenario, ranks=2, expected=(0,), **variables):
    return start(setup, implementation, scenario, ranks, **variables).wait(expected)


def nvtx_variables(setup):
    """Variables that load the tool that writes what comes by NVTX; none if it is not built."""
    return {"NVTX_INJECTION64_PATH": setup.nvtx_listener, "NVTX_LISTENER_DIR": str(setup.directory),
            "RINGSIDE_MARKERS": "off"} if setup.nvtx_listener else {}


def nvtx_marks(setup):
    """The marks of annotate() that the tool has got, by rank."""
    found = collections.defaultdict(list)
    for path in setup.directory.glob("nvtx.*.jsonl"):
        for line in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
            if line["what"] == "mark" and line["message"].startswith('{"name"'):
                mark = json.loads(line["message"])
                found[mark["rank"]].append(mark)
    return found


def flat(value):
    """Sizes as a list, whatever lists they are in."""
    return [each for part in value for each in flat(part)] if isinstance(value, list) else [value]


def nccl_calls(asked, implementation):
    """Returns the calls of NCCL for one of torch.distributed: (function, bytes, peer or root) each.

    Peers and roots are ranks of the group, as NCCL counts them.
    """
    name, ranks = asked["call"], asked["ranks"]

    def member(*names):
        of_group = next((asked["group_" + n] for n in names if "group_" + n in asked), None)
        return of_group if of_group is not None else ranks.index(asked[next(
            n for n in names if n in asked)])
    if name in ("all_reduce", "broadcast", "reduce"):
        who = {"all_reduce": None, "broadcast": "src", "reduce": "dst"}[name]
        return [({"all_reduce": "AllReduce"}.get(name, name.capitalize()), asked["tensor"],
                 who and member(who))]
    if name in ("all_gather_into_tensor", "all_gather_single"):
        return [("AllGather", asked["input_tensor"], None)]
    if name in ("reduce_scatter_tensor", "reduce_scatter_single"):
        return [("ReduceScatter", asked["output"], None)]
    if name == "barrier":
        return [("AllReduce", 4, None)]  # of one float
    if name == "all_gather":
        sizes = asked["tensor_list"]
        if implementation == "legacy" and len(set(sizes)) == 1:
            return [("AllGather", asked["tensor"], None)]
        return [("Broadcast", size, root) for root, size in enumerate(sizes)]
    if name == "all_to_all_single":
        def parts(function, tensor, splits):
            shares = asked.get(splits) or [1] * len(ranks)
            return [(function, asked[tensor] * share // sum(shares), peer)
                    for peer, share in enumerate(shares)]
        return (parts("Send", "input", "input_split_sizes") +
                parts("Recv", "output", "output_split_sizes"))
    if name == "batch_isend_irecv":
        return [("Send" if part["call"] == "isend" else "Recv", part["bytes"],
                 ranks.index(part["peer"])) for part in asked["p2p_op_list"]]
    return [(name.capitalize(), asked["tensor"], member("dst" if name == "send" else "src"))]


def line_of(comment):
    """The line of the scenarios that ends so."""
    text = SCENARIOS.read_text(encoding="utf-8").splitlines()
    return f"{SCENARIOS}:{next(n for n, line in enumerate(text, 1) if line.endswith(comment))}"


def calls_to_nccl(calls):
    """The calls that go to NCCL as they are: what those of objects call is in the log itself.

    NCCL tells profilers nothing of groups of one rank.
    """
    return [call for call in calls if len(call["ranks"]) > 1 and call["call"] not in OF_OBJECTS
            and call["within"] in (None, *OF_OBJECTS)]


def recorded_by_group(trace):
    """By PyTorch's name of the group: legacy gives NCCL its description and a colon before that."""
    recorded = collections.defaultdict(list)
    for operation in sorted(trace.operations, key=lambda o: o["enqueue_start_ns"]):
        recorded[trace.communicator_name(operation).rpartition(":")[2]].append(operation)
    return recorded


def compare(trace, calls, implementation):
    """Each call is in the trace, in the order of the calls of its group, and nothing else is.

    Returns the calls, each with its operations.
    """
    recorded, compared = recorded_by_group(trace), []
    for call in calls_to_nccl(calls):
        wanted = nccl_calls(call, implementation)
        parts, rest = (recorded[call["group"]][:len(wanted)], recorded[call["group"]][len(wanted):])
        recorded[call["group"]] = rest
        found = [(o["func"], o["bytes"], o.get("peer", o.get("root"))) for o in parts]
        check(sorted(map(str, found)) == sorted(map(str, wanted)),
              f"rank {trace.rank}: {call} is {found} in the trace instead of {wanted}")
        # Broadcasts may be there as calls only, and then have no group.
        groups = {part["group"] for part in parts if part["kind"] != "api"}
        check(len(groups) <= 1, f"rank {trace.rank}: {call} is in NCCL's groups {groups}")
        compared.append((call, parts))
    left = {group: parts for group, parts in recorded.items() if parts}
    check(not left, f"rank {trace.rank}: in the trace but not called: {left}")
    print_facts(rank=trace.rank, **collections.Counter(call["call"] for call, _ in compared))
    return compared


def flight_recorder(setup, prefix):
    """The dumps there are, by rank. (Pickled by the process that this test has started.)"""
    return {int(path.name.rpartition("_")[2]): pickle.loads(path.read_bytes())
            for path in sorted(setup.directory.glob(f"{prefix}_[0-9]"))}


def all_calls(setup, implementation):
    """Every kind of call, in groups of four and of two ranks.

    compare() has every collective of groups of more than one rank with its bytes and its group, a
    broadcast from NCCL's API call where there is no more of it, batches of sends as one group of
    NCCL's, and all_gather of several sizes, all_to_all_single with splits, objects and barriers by
    what NCCL gets. check_told() has what the analyzer says that the user called: function and line,
    the process group's description and PyTorch's sequence number, all_to_all_single as one
    operation, and coalesced calls as one with parts.
    """
    job = run(setup, implementation, "calls", ranks=4)
    dumps, compared = flight_recorder(setup, "fr_asked"), {}
    for trace in job.traces():
        check_account(trace)
        calls = compared[trace.rank] = compare(trace, job.calls(trace.rank), implementation)
        kinds = {call["call"] for call, _ in calls}
        check(len(kinds) >= 12 and len(calls) > 30, f"only {len(calls)} calls of {kinds}")
        check({name for name, group in dumps[trace.rank]["pg_config"].items()
               if len(group["ranks"].split(",")) > 1} == set(recorded_by_group(trace)),
              f"rank {trace.rank}: groups {list(recorded_by_group(trace))}")
    setup.run_analyzer("summary", "--fail-on", "mismatch,missing", setup.directory / "traces")
    check_told(setup, compared, dumps, line_of("# coalesced"), implementation)


# The gradients of all parameters of the scenario's model, in three steps.
DDP_BYTES = 3 * 4 * sum(rows * columns + rows for columns, rows in ((16, 64), (64, 64), (64, 4)))


def training(setup, implementation):
    """DDP and FSDP. DDP's reducer and full_tensor() call from C++: the log has what FSDP called.

    What DDP reduces is known: the gradients of all parameters, once a step.
    """
    job = run(setup, implementation, "training")
    for trace in job.traces():
        check_account(trace)
        asked = collections.Counter(nccl_calls(call, implementation)[0][:2]
                                    for call in calls_to_nccl(job.calls(trace.rank)))
        found = collections.Counter((o["func"], o["bytes"]) for o in trace.operations)
        check(len(asked) >= 6 and not asked - found,
              f"rank {trace.rank}: FSDP asked {asked}, in the trace is {found}")
        rest = collections.Counter()
        for (function, size), count in (found - asked).items():
            rest[function] += size * count
        check(rest["AllReduce"] == DDP_BYTES and "ReduceScatter" not in rest,
              f"rank {trace.rank}: DDP reduces {DDP_BYTES} bytes, beside FSDP's calls are {rest}")
        print_facts(rank=trace.rank, fsdp_calls=sum(asked.values()))
    return job


# By the schedule of the scenario, of eight steps with two all_reduces each.
RECORDED_STEPS = (2, 3, 6, 7)
# Two clocks that are each brought to CLOCK_REALTIME in their own way differ so much on a busy
# machine.
CLOCKS_DIFFER_US = 10_000


def profiled(setup, implementation):
    """attach() and trace_handler(): the steps that PyTorch's profiler records, in files that pair."""
    run(setup, implementation, "profiled")
    both, merged = setup.directory / "both", setup.directory / "all.json"
    setup.run_analyzer("merge", both, "--kineto", both, "-o", merged)
    lines = json.loads(merged.read_text(encoding="utf-8"))
    rows = {line["pid"]: line["args"]["name"] for line in lines if line["name"] == "process_name"}
    sizes = [4 * 256 * (2 * step + part) for step in RECORDED_STEPS for part in (1, 2)]
    for path in sorted(both.glob("ringside.*.json")):
        setup.run_analyzer("lint", path)
        trace = Trace(path)
        process = path.stem.partition(".")[2]
        windows = sorted(each.name for each in both.glob(f"{process}.*.pt.trace.json"))
        check(windows == [f"{process}.{step}.pt.trace.json" for step in (4, 8)],
              f"rank {trace.rank}: PyTorch's files are {windows}")
        of_kineto = [line for line in lines if line["ph"] == "X"
                     and rows.get(line["pid"]) == f"rank {trace.rank} PyTorch: CPU"]
        # Written beside the call by whichever implementation: its size, and when it began and ended.
        calls = sorted((line for line in of_kineto if line["name"] == "record_param_comms"
                        and line["args"]["In msg nelems"]), key=lambda line: line["ts"])
        enqueued = sorted(trace.operations, key=lambda operation: operation["enqueue_start_ns"])
        check([o["bytes"] for o in enqueued] == sizes ==
              [4 * call["args"]["In msg nelems"] for call in calls],
              f"rank {trace.rank}: recorded {[o['bytes'] for o in enqueued]} instead of {sizes}, "
              f"and PyTorch {[call['args'] for call in calls]}")
        for operation, call in zip(enqueued, calls):
            after_us = operation["enqueue_start_ns"] / 1000 - call["ts"]
            check(-CLOCKS_DIFFER_US < after_us < call["dur"] + CLOCKS_DIFFER_US,
                  f"rank {trace.rank}: {operation} begins {after_us} us after {call}")
        steps = {name: sum(line["name"] == f"ProfilerStep#{step}" and line["ph"] == "X"
                           for line in lines if line["pid"] in pids)
                 for step in range(9)
                 for name, pids in ((f"{step}", {trace.process["pid"]}),
                                    (f"{step} of PyTorch", {line["pid"] for line in of_kineto}))}
        check(steps == {f"{step}{of}": int(step in RECORDED_STEPS)
                        for step in range(9) for of in ("", " of PyTorch")},
              f"rank {trace.rank}: ranges of steps {steps}")
        print_facts(rank=trace.rank, operations=len(enqueued), events_of_pytorch=len(of_kineto))


def mismatch(setup, implementation):
    """`match` names the call whose sizes differ, with the bytes that each rank asked for."""
    job = run(setup, implementation, "mismatch", expected=(0, 1)).recover_what_is_left()
    asked = [[c["tensor"] for c in job.calls(rank)] for rank in range(2)]
    at = next(i for i, sizes in enumerate(zip(*asked)) if len(set(sizes)) > 1)
    said = setup.run_analyzer("match", setup.directory / "traces", expected=(1,))
    sizes = [f"{tensor // 1024} KiB" for tensor in (asked[0][at], asked[1][at])]
    expected = rf"Rank 0 gave AllReduce #{at} of \S.* {sizes[0]}; rank 1 gave {sizes[1]}\n"
    check(re.search(expected, said), f"match does not say {expected!r}: {said}")
    for rank, dump in flight_recorder(setup, "fr_asked").items():
        check(len(dump["entries"]) == len(asked[rank]), f"rank {rank}: {dump['entries']}")


def skip(setup, implementation):
    """`hang` names the call that a rank left out, beside the dumps of PyTorch's watchdogs."""
    nvtx = nvtx_variables(setup)
    job = run(setup, implementation, "skip", expected=(1,), **nvtx).recover_what_is_left()
    asked = [job.calls(rank) for rank in range(2)]
    check(len(asked[0]) == len(asked[1]) + 1, f"nothing was left out: {asked}")
    said = setup.run_analyzer("hang", setup.directory / "traces", expected=(1,))
    check(f"has not joined AllReduce #{len(asked[1])} " in said and "Rank 1 " in said,
          f"rank 1 left out AllReduce #{len(asked[1])}: {said}")
    dumps = flight_recorder(setup, "fr_rank")
    check(sorted(dumps) == ([0, 1] if implementation == "legacy" else [0]),
          f"dumps of ranks {sorted(dumps)}")
    for rank, dump in dumps.items():
        check(len(dump["entries"]) == len(asked[rank]), f"rank {rank}: {dump['entries']}")
    printed = [line for line in (setup.directory / "rank0.log").read_text().splitlines()
               if line.startswith('{"name"')]
    check(len(printed) == len(asked[0]) and json.loads(printed[-1])["message_size"] == 400,
          f"the call that hangs is not printed: {printed}")
    if nvtx:
        marks = {rank: [mark["message_size"] for mark in marks]
                 for rank, marks in nvtx_marks(setup).items()}
        check(marks == {rank: [each["tensor"] for each in calls] for rank, calls in enumerate(asked)},
              f"the call that hangs is not in NVTX: {marks}")
    # One hang, both records: record_hangs() has dumped where PyTorch has.
    records = {Trace(path).rank: path for path in (setup.directory / "traces").glob("*.torch*.json")}
    check(sorted(records) == sorted(dumps), f"Ringside's dumps are {records}")
    setup.run_analyzer("lint", "--closed", *records.values())
    in_flight = [o["seq"] for o in Trace(records[0]).operations if o.get("in_flight")]
    check(in_flight == [len(asked[1])], f"rank 0's dump has {in_flight} in flight")


def stalled(setup, implementation):
    """Ringside's hang watch is first, and asks PyTorch for its record: both are there."""
    job = run(setup, implementation, "stalled", RINGSIDE_HANG_SECONDS="2")
    asked = [job.calls(rank) for rank in range(2)]
    ours = [path for path in (setup.directory / "traces").glob("*.dump1.json") if Trace(path).rank == 0]
    check(len(ours) == 1 and not list((setup.directory / "traces").glob("*.torch*.json")),
          f"Ringside's dumps: {sorted((setup.directory / 'traces').iterdir())}")
    dumps = flight_recorder(setup, "fr_rank")
    last = dumps[0]["entries"][-1]
    check(len(dumps[0]["entries"]) == len(asked[0]) and last["state"] != "completed",
          f"PyTorch's record is {dumps[0]['entries']}")
    said = setup.run_analyzer("hang", ours[0], setup.directory / "fr_rank_0", expected=(0, 1))
    check("AllReduce" in said, f"of both records hang says {said}")


def torchrun(setup):
    """The command of a user of PyTorch: `ringside run -- torchrun ...`."""
    traces = setup.directory / "traces"
    launcher = (setup.analyzer, "run", "--dir", str(traces), "--plugin", setup.plugin, "--",
                sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", str(SCENARIOS))
    job = run(setup, "nccl2", "clean", hosts=1, launcher=launcher, plugin="none")
    for trace in job.traces():
        check_account(trace)
        compare(trace, job.calls(trace.rank), "nccl2")
    # Whether a rank is late depends on what else runs here.
    for told in ("Read: 2 traces, 2 ranks on 1 host ", "Files: all closed, ", "run: 2 trace files in "):
        check(told in job.log(), f"ringside run says not {told!r}, but {job.log()[-2000:]}")


TESTS = {"torch-torchrun": torchrun}
TESTS |= {f"torch-{name}-{implementation}":
         functools.partial(scenario, implementation=implementation)
         for name, scenario in (("calls", all_calls), ("training", training), ("profiled", profiled),
                                ("mismatch", mismatch), ("skip", skip), ("stalled", stalled))
         for implementation in ("nccl2", "legacy")}
