# SPDX-License-Identifier: Apache-2.0
"""annotate() around PyTorch's calls: each rank logs what it calls and from which line
(torch/asked.py), and the trace and the printed lines must say the same.
"""

import functools
import json
import pathlib
import pickle
import subprocess
import sys
import urllib.parse

import tests_torch
from harness import Skipped, check, print_facts
from tests_torch import (DDP_BYTES, OF_OBJECTS, SCENARIOS, flat, flight_recorder, line_of, nvtx_marks,
                         nvtx_variables, run, torch_variables)
from traces import Trace

# As the scenarios have them.
PARAMETERS = {f"{layer}.{kind}": count for layer, columns, rows in ((0, 16, 64), (2, 64, 64), (4, 64, 4))
              for kind, count in (("weight", columns * rows), ("bias", rows))}
TALKING_BYTES = 4 * 4321
PICKLED_BYTES = sum(len(pickle.dumps(each)) for each in ("from 1", 1))
PER_HOST, HOSTS = 2, 2  # of four ranks
NOT_ANNOTATED_BYTES = 4 * 1234

# The parameters that a call sends from and receives into.
INPUTS = {"all_gather": "tensor", "all_gather_into_tensor": "input_tensor", "scatter": "scatter_list",
          "reduce_scatter": "input_list", "reduce_scatter_tensor": "input",
          "all_to_all": "input_tensor_list", "all_to_all_single": "input", "recv": None, "irecv": None}
OUTPUTS = {"all_gather": "tensor_list", "all_gather_into_tensor": "output_tensor",
           "gather": "gather_list", "reduce_scatter": "output", "reduce_scatter_tensor": "output",
           "all_to_all": "output_tensor_list", "all_to_all_single": "output", "send": None,
           "isend": None}
ROOTED = ("broadcast", "reduce", "gather", "scatter", "broadcast_object_list")
OF_TWO = ("send", "recv", "isend", "irecv")


def parsed(text):
    """The text of a range, by docs/trace-format.md."""
    name, *fields = text.split(" ")
    found = {"call": name.removeprefix("torch.")}
    for field in fields:
        key, value = field.split("=")
        found[key] = urllib.parse.unquote(value)
    ranks = []
    for part in found.pop("ranks").split(","):
        first, _, rest = part.partition("-")
        last, _, stride = rest.partition("/")
        ranks += range(int(first), int(last or first) + 1, int(stride or 1))
    return {**found, "ranks": ranks}


def root_or_peer(asked):
    """Its global rank; PyTorch's own default is 0."""
    for name in ("src", "dst"):
        if name in asked:
            return asked[name]
        if f"group_{name}" in asked:
            return asked["ranks"][asked[f"group_{name}"]]
    return 0


def expected(asked):
    """Returns the members that the range of a call must have."""
    name = asked["call"]
    said = {"call": name, "group": asked["group"], "ranks": asked["ranks"], "source": asked["line"]}
    for key, parameters in (("in", INPUTS), ("out", OUTPUTS)):
        parameter = parameters.get(name, "tensor")
        if parameter in asked:
            said[key] = str(sum(flat(asked[parameter])))
    if name in ROOTED:
        said["root"] = str(root_or_peer(asked))
    if name in OF_TWO:
        said["peer"] = str(root_or_peer(asked))
    if asked.get("async_op") or name in ("isend", "irecv", "batch_isend_irecv"):
        said["async"] = "1"
    return said


def message(asked, rank):
    """Bytes that leave the rank, or come to it: seed 000's message size."""
    name, index = asked["call"], asked["ranks"].index(rank)
    if name == "barrier":
        return None
    if name in ("gather", "scatter"):
        return 3 * asked["tensor"]  # of four ranks
    if name == "all_to_all":
        return sum(asked["input_tensor_list"]) - asked["input_tensor_list"][index]
    if name == "all_to_all_single":
        shares = asked.get("input_split_sizes") or [1] * len(asked["ranks"])
        return asked["input"] * (sum(shares) - shares[index]) // sum(shares)
    if name.startswith("reduce_scatter"):
        return asked["output"]
    if name.startswith("all_gather"):
        return sum(flat(asked[OUTPUTS[name]]))
    return asked["tensor"]


def sent(said):
    """Returns the operations of NCCL that a range's call is."""
    functions = {"send": "Send", "isend": "Send", "recv": "Recv", "irecv": "Recv",
                 "all_reduce": "AllReduce"}
    return functions[said["call"]], int(said.get("in", said.get("out")))


def called_by_the_program(calls):
    """In a batch its parts are, too."""
    return [call for call in calls if call["within"] in (None, "batch_isend_irecv")]


def ranges_of(trace):
    """The ranges of calls, in their order."""
    ranges = [mark for _, mark in sorted(trace.marks.items()) if mark["name"].startswith("torch.")]
    said = [{**parsed(mark["name"]), "source": mark["source"], "mark": mark} for mark in ranges]
    check(all("error" not in each and each["source"] for each in said), f"not described: {said}")
    return said


def range_around(ranges, operation):
    """The innermost range that an operation was called in."""
    at_ns = operation["enqueue_start_ns"]
    around = [each for each in ranges if each["mark"]["tid"] == operation["tid"]
              and each["mark"]["start_ns"] <= at_ns < each["mark"]["end_ns"]]
    return around[-1] if around else None


def compare(trace, calls):
    """Each call has its range, which says what the rank asked; the others have none."""
    ranges = ranges_of(trace)
    of_calls = [each for each in ranges
                if each["call"] != "coalescing_manager" and "functional" not in each["call"]]
    check(len(of_calls) == len(calls), f"rank {trace.rank}: {len(of_calls)} ranges for {len(calls)} "
          f"calls: {[each['call'] for each in of_calls]} of {[each['call'] for each in calls]}")
    for said, asked in zip(of_calls, calls):
        wanted = expected(asked)
        got = {key: value for key, value in said.items()
               if key not in ("mark", "description", "batch", "part", "parts", "seq")}
        check(got == wanted, f"rank {trace.rank}: {asked} is {got} in the trace instead of {wanted}")
    return ranges


# The Flight Recorder has its entries by the names that PyTorch has in C++.
IN_CPP = {"all_gather_into_tensor": "_all_gather_base", "barrier": "all_reduce_barrier",
          "reduce_scatter_tensor": "_reduce_scatter_base", "functional.all_reduce": "all_reduce"}


def check_numbers(rank, ranges, dump):
    """A range has the number that the Flight Recorder gives the call, which has the line, too."""
    entries = {(entry["process_group"][0], entry["collective_seq_id"]): entry
               for entry in dump["entries"]
               # legacy gives a batch of sends the number of the collective before it
               if not entry["is_p2p"] and entry["profiling_name"] != "nccl:coalesced"}
    numbered = [each for each in ranges if "seq" in each]
    for each in numbered:
        entry = entries.get((each["group"], int(each["seq"])))
        check(entry, f"rank {rank}: the Flight Recorder has no number of {each}")
        name = entry["profiling_name"].partition(":")[2].replace("_", "").lower()
        names = {call.replace("_", "") for call in (each["call"], IN_CPP.get(each["call"], ""))}
        # legacy has all_to_all for both of that name, and ALLGATHER_coalesced
        check(any(call and (name.startswith(call) or call.startswith(name)) for call in names),
              f"rank {rank}: {each} is {entry}")
        lines = [f"{frame['filename']}:{frame['line']}" for frame in entry["frames"]]
        check(each["source"] in lines, f"rank {rank}: {each} is called by {lines}")
    return len(numbered)


def check_nvtx(setup, rank, said, calls):
    """Every call is one mark; the leaders' have what they print. (skip has that it comes before.)"""
    of_calls = [mark for mark in said if mark["name"] != "coalescing_manager"
                and "functional" not in mark["name"]]
    check([(mark["name"], mark["source_line"]) for mark in of_calls]
          == [(asked["call"], asked["line"]) for asked in calls], f"rank {rank}: NVTX has {said}")
    missing = [line for line in printed_by(setup, rank) if line not in said]
    check(not missing, f"rank {rank}: printed, and not in NVTX: {missing}")
    return len(said)


def printed_by(setup, rank):
    lines = (setup.directory / f"rank{rank}.log").read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines if line.startswith('{"name"')]


def leads(asked, rank):
    if asked["call"] in OF_TWO:
        return True
    return rank == (root_or_peer(asked) if asked["call"] in ROOTED else asked["ranks"][0])


def check_printed(setup, rank, calls):
    """One rank of each call prints it, and both ends of a send do."""
    wanted = [asked for asked in calls if leads(asked, rank)]
    lines = [line for line in printed_by(setup, rank)
             if line["name"] != "coalescing_manager" and "functional" not in line["name"]]
    check([(line["name"], line["source_line"]) for line in lines]
          == [(asked["call"], asked["line"]) for asked in wanted],
          f"rank {rank} printed {lines}, and led {wanted}")
    for line, asked in zip(lines, wanted):
        name = asked["call"]
        said = (line["rank"], line["group_ranks"], line.get("root_rank", line.get("peer_rank")))
        check(said == (rank, asked["ranks"], root_or_peer(asked) if name in ROOTED + OF_TWO else None),
              f"{line} of {asked}")
        check(line["device"] == rank % PER_HOST and line["gpu_serial"] and line["vm_id"] == "a-vm"
              and line["timestamp"] > 1.6e9, f"{line}")
        if name not in (*OF_OBJECTS, "batch_isend_irecv"):
            check(line.get("message_size") == message(asked, rank), f"{line} of {asked}")
        if name == "batch_isend_irecv":
            check(line["batch_size"] == len(asked["p2p_op_list"]), f"{line} of {asked}")
        if name == "broadcast_object_list":
            check(line["message_size"] == PICKLED_BYTES, f"{line} has no size of pickled objects")
    return len(lines)


def annotated(setup, implementation):
    """Every call has its range with the line that called it, and its operations are in that."""
    nvtx = nvtx_variables(setup)
    job = run(setup, implementation, "annotated", ranks=4, VM_ID="a-vm", **nvtx)
    dumps, marks = flight_recorder(setup, "fr_asked"), nvtx_marks(setup)
    of_collectives, of_others = set(), {""}
    for trace in job.traces():
        calls = called_by_the_program(job.calls(trace.rank))
        check(calls[-1]["tensor"] == NOT_ANNOTATED_BYTES, f"{calls[-1]}")
        ranges = compare(trace, calls[:-1])
        without = [o for o in trace.operations if range_around(ranges, o) is None]
        check([o["bytes"] for o in without] == [NOT_ANNOTATED_BYTES],
              f"rank {trace.rank}: operations in no range: {without}")
        by_range = {}
        for operation in trace.operations:
            if operation not in without:
                by_range.setdefault(range_around(ranges, operation)["mark"]["mark"],
                                    []).append(operation)
        for each in ranges:
            operations = by_range.get(each["mark"]["mark"], ())
            callers = of_others if any(o["func"] in ("Send", "Recv") for o in operations) else \
                of_collectives
            callers |= {f"{each['source']} torch.{each['call']}"} if operations else set()
            held = {(o["func"], o["bytes"]) for o in by_range.get(each["mark"]["mark"], ())}
            name = each["call"]
            if name == "functional.all_reduce":
                check(held == {("AllReduce", 396)}, f"{each}: {held}")
                check(each["source"] == line_of("# functional"), f"{each}")
            elif name in ("send", "recv"):
                check(held == {sent(each)}, f"{each}: {held}")
            elif name in ("coalescing_manager", "batch_isend_irecv"):
                # PyTorch calls NCCL in the parts, or at the end for all of them.
                parts = [part for part in ranges if part.get("batch") == each["batch"]]
                held = {(o["func"], o["bytes"]) for part in parts
                        for o in by_range.get(part["mark"]["mark"], ())}
                check(held == {sent(part) for part in parts if "part" in part}, f"{each}: {held}")
            elif "part" not in each:
                check(held, f"{each} holds no operation")
        batches = [(each["call"], each["batch"], each.get("part")) for each in ranges
                   if "batch" in each]
        check(batches == [("batch_isend_irecv", "1", None), ("isend", "1", "1"),
                          ("irecv", "1", "2"), ("isend", "1", "3"), ("irecv", "1", "4"),
                          ("coalescing_manager", "2", None)] +
              [("all_reduce", "2", str(part)) for part in (1, 2, 3)], f"{batches}")
        descriptions = {each["group"]: each.get("description") for each in ranges}
        check(list(descriptions.values()) == ["default_pg", ("my evens", "my odds")[trace.rank % 2]],
              f"{descriptions}")
        count = check_printed(setup, trace.rank, calls[:-1])
        numbered = check_numbers(trace.rank, ranges, dumps[trace.rank])
        check(numbered > 20, f"only {numbered} ranges have PyTorch's number")
        in_nvtx = (check_nvtx(setup, trace.rank, marks[trace.rank], calls[:-1]) if nvtx else
                   "not built")
        print_facts(rank=trace.rank, ranges=len(ranges), operations=len(trace.operations),
                    printed=count, numbered=numbered, nvtx=in_nvtx)
    summary = json.loads(setup.run_analyzer("summary", "--group-by", "range", "--format", "json",
                                            setup.directory / "traces"))
    # The part of a batch is within the batch.
    said = {row["range"].rpartition(" / ")[2]
            for each in summary["communicators"] for row in each["rows"]}
    check(of_collectives <= said <= of_collectives | of_others and len(of_collectives) > 15,
          f"summary says {said} instead of {of_collectives} and some of {of_others}")
    shown = ", shown to NVTX" if nvtx else ""
    says = [f"Ringside: calls of torch.distributed are marked{shown} and printed (GPU_SERIAL "
            in (setup.directory / f"rank{rank}.log").read_text(encoding="utf-8") for rank in range(4)]
    check(says == [True, False, False, False], f"which ranks say what is on: {says}")


def crosses(asked, rank):
    """By the hosts of the scenario, which ranks go to in turn."""
    others = ([root_or_peer(asked)] if asked["call"] in OF_TWO else
              [part["peer"] for part in asked["p2p_op_list"]] if "p2p_op_list" in asked else
              asked["ranks"])
    return any(other % HOSTS != rank % HOSTS for other in others)


def crossing(setup, implementation):
    """By default what crosses nodes is marked, and nothing is printed."""
    job = run(setup, implementation, "crossing", ranks=4, launcher=["--in-turn"])
    for trace in job.traces():
        calls = called_by_the_program(job.calls(trace.rank))
        wanted = [asked for asked in calls if crosses(asked, trace.rank)]
        ranges = compare(trace, wanted)
        check(0 < len(wanted) < len(calls), f"{len(wanted)} of {len(calls)} calls cross nodes")
        kinds = [{call["call"] for call in calls if crosses(call, trace.rank) == is_crossing}
                 for is_crossing in (True, False)]
        check(kinds[0] & kinds[1] >= {"all_reduce", "all_to_all_single", "send", "recv", "isend",
                                      "irecv"}, f"both within nodes and across them: {kinds}")
        check(not printed_by(setup, trace.rank), "something is printed")
        left_out = [o for o in trace.operations if range_around(ranges, o) is None]
        check(left_out, "all operations are in ranges")
        print_facts(rank=trace.rank, calls=len(calls), crossing=len(wanted))


def training(setup, implementation):
    """With hooks every call of DDP and FSDP has its range, and DDP's reducer the line of backward()."""
    job = tests_torch.training(setup, implementation)
    for trace in job.traces():
        ranges = ranges_of(trace)
        without = [o for o in trace.operations if range_around(ranges, o) is None]
        check(not without, f"rank {trace.rank}: operations in no range: {without}")
        reduced = [o for o in trace.operations
                   if range_around(ranges, o)["call"] == "ProcessGroup.allreduce"]
        check(sum(o["bytes"] for o in reduced) == DDP_BYTES, f"rank {trace.rank}: DDP's are {reduced}")
        lines = {range_around(ranges, o)["source"] for o in reduced}
        check(lines == {line_of("# of each step")}, f"rank {trace.rank}: DDP is called at {lines}")
        facts = check_parts(trace, ranges)
        print_facts(rank=trace.rank, operations=len(trace.operations), of_ddp=len(reduced), **facts)
    summary = json.loads(setup.run_analyzer("summary", "--by", "caller", "--format", "json",
                                            setup.directory / "traces"))
    said = {row["called_by"].partition(" (")[2].rstrip(")")
            for each in summary["communicators"] for row in each["rows"] if row["called_by"]}
    wanted = {part_of(range_around(ranges, operation)) for operation in trace.operations}
    check(said == wanted and {"talks", "FSDP unit 0"} < wanted,
          f"summary tells of {said} instead of {wanted}")


def part_of(said):
    """The part of the model, as the analyzer has it."""
    if "unit" in said:
        return f"FSDP unit {said['unit']}"
    if "bucket" not in said:
        return said.get("module", "")
    first, *others = said["parameters"].split(",")
    more = f" and {len(others)} more" if others else ""
    return f"DDP bucket {said['bucket']}: {first}{more}"


def check_parts(trace, ranges):
    """The parts of the model that call: a module in forward(), DDP's buckets, FSDP's units."""
    layers = {f"{layer}.{kind}" for layer in (0, 2, 4) for kind in ("weight", "bias")}
    buckets = [each for each in ranges if "bucket" in each]
    steps = []  # DDP knows one bucket in the first step, and two later
    for each in buckets:
        check(each["source"] == line_of("# of each step"), f"{each}")
        names = {name.removeprefix("body.") for name in each["parameters"].split(",")}
        size = sum(4 * PARAMETERS[name] for name in names)
        check(each["call"] == "all_reduce" and int(each["in"]) == size, f"{each} is not of {size} bytes")
        if each["bucket"] == "0":
            steps.append(set())
        check(not steps[-1] & names, f"{names} are in two buckets of {buckets}")
        steps[-1] |= names
    check(steps == [layers] * 3, f"rank {trace.rank}: the buckets of the steps have {steps}")
    talking = [each for each in ranges if each.get("module") == "talks"]
    check([(each["call"], each["in"]) for each in talking] == [("all_reduce", str(TALKING_BYTES))] * 3,
          f"rank {trace.rank}: the module calls {talking}")
    units = {}
    for each in ranges:
        if "unit" in each:
            units.setdefault(each["unit"], set()).add((each["call"], each["in"], each["out"]))
    expected_units = {}
    for unit in ("0", "2", "4"):
        size = 4 * sum(PARAMETERS[f"{unit}.{kind}"] for kind in ("weight", "bias"))
        expected_units[unit] = {("all_gather_single", str(size // 2), str(size)),
                                ("reduce_scatter_single", str(size), str(size // 2))}
    check(units == expected_units, f"rank {trace.rank}: FSDP's units call {units}")
    return {"buckets": len(buckets), "units": len(units)}


def alone(setup):
    """torch/alone.py: one process, without NCCL and without the plugin."""
    done = subprocess.run([sys.executable, str(SCENARIOS.with_name("alone.py"))], text=True,
                          env=setup.environment(torch_variables(setup)), check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=250)
    check(done.returncode == 0 and done.stdout.endswith("ok\n"), done.stdout[-5000:])
    check("are not marked." in done.stdout, f"it does not say that nothing is on: {done.stdout}")


def trainers(setup):
    """torch/trainers.py: the callbacks, and a Profiler beside PyTorch's, record the steps of the
    schedule, of trainings with the real packages."""
    packages = pathlib.Path(setup.torch).resolve().parent / f"trainers-{sys.implementation.cache_tag}"
    if not packages.is_dir():
        raise Skipped("no Lightning and transformers: test/emulated_gpu/get_torch.sh fetches them")
    for name in ("loop", "lightning", "transformers"):
        setup.start_anew(name)
        variables = torch_variables(setup)
        variables["PYTHONPATH"] += f":{packages}"
        variables.update(NCCL_PROFILER_PLUGIN=setup.plugin, HF_HUB_OFFLINE="1",
                         CUDA_VISIBLE_DEVICES="")
        done = subprocess.run([sys.executable, str(SCENARIOS.with_name("trainers.py")), name],
                              env=setup.environment(variables), cwd=setup.directory, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=250,
                              check=False)
        check(done.returncode == 0 and done.stdout.endswith("ok\n"), f"{name}: {done.stdout[-5000:]}")
        (path,) = (setup.directory / "traces").glob("*.json")
        trace = Trace(path)
        # A step calls for as many floats as its number, from 1.
        sizes = [operation["bytes"] for operation in trace.operations]
        check(sizes == [4 * 3, 4 * 4], f"{name}: recorded {sizes} instead of steps 2 and 3, from 0")
        marks = [mark["name"] for _, mark in sorted(trace.marks.items()) if "range" not in mark]
        check(marks == ["ProfilerStep#2", "ProfilerStep#3"], f"{name}: marks {marks}")


TESTS = {"torch-alone": alone, "torch-trainers": trainers}
TESTS |= {f"torch-{name}-{implementation}":
         functools.partial(scenario, implementation=implementation)
         for name, scenario in (("annotated", annotated), ("crossing", crossing),
                                ("training", training))
         for implementation in ("nccl2", "legacy")}
