#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Decodes what `ringside export --chakra` writes with code that protoc makes of the published schema, and holds it
against values that are known by construction; replays the graphs of all ranks. Exit status 77: pip cannot fetch
protoc.

usage: check_chakra.py RINGSIDE_GENERATE RINGSIDE DECODER_DIRECTORY
"""
import json
import os
import pathlib
import shlex
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "diff")]

import chakra_replay
import chakra_schema
from chakra_schema import attributes
from kineto_inputs import Rank
from trace_writer import BASE_TIME_S, Trace

EMULATOR = shlex.split(os.environ.get("RINGSIDE_TEST_EMULATOR", ""))
GENERATE, RINGSIDE, DECODER = (pathlib.Path(word).resolve() for word in sys.argv[1:])


def run(*command, status=0):
    result = subprocess.run([*EMULATOR, *map(str, command)], capture_output=True, timeout=60, check=False)
    assert result.returncode == status, (command, result)
    return result.stderr.decode()


def export(place, *words):
    """Metadata and nodes by rank, of the protobuf; the JSON says the same."""
    ranks, metadata = {}, {}
    run(RINGSIDE, "export", "--chakra", place / "et", *words)
    run(RINGSIDE, "export", "--chakra", place / "json", "--chakra-format", "json", *words)
    for path in (place / "et").iterdir():
        rank = int(path.name.split(".")[1])
        metadata[rank], ranks[rank] = chakra_schema.read_trace(path.read_bytes())
        check_json(place / "json" / f"{path.stem}.json", metadata[rank], ranks[rank])
    for nodes in ranks.values():
        check_graph(nodes)
    return metadata, ranks


def check_json(path, metadata, nodes):
    document = json.loads(path.read_text(encoding="utf-8"))
    assert document["version"] == metadata.version == "1.0.0"
    assert document["attrs"] == attributes(metadata)[0]
    assert [one["Id"] for one in document["workload_graph"]] == list(nodes)
    for one in document["workload_graph"]:
        node = nodes[one["Id"]]
        values, _ = attributes(node)
        assert (one["Name"], one["NodeType"], one["start_time_micros"], one["runtime"]) == (
            node.name, node.type, node.start_time_micros, node.duration_micros)
        assert (one["ctrlDeps"], one["data_deps"]) == (list(node.ctrl_deps), list(node.data_deps))
        known = {"Id", "Name", "NodeType", "start_time_micros", "runtime", "ctrlDeps", "data_deps", "attrs",
                 "inputs", "outputs"}
        assert {key: value for key, value in one.items() if key not in known} | one["attrs"] == values
        for tensors in ("inputs", "outputs"):
            texts = getattr(node, tensors)
            assert one.get(tensors, {"values": "", "shapes": "", "types": ""}) == {
                "values": texts.values, "shapes": texts.shapes, "types": texts.types}


def check_graph(nodes):
    """What a node depends on is there, and no node depends on itself, directly or not."""
    state = {}
    for start in nodes:
        stack = [(start, iter(nodes[start].data_deps))]
        if start in state:
            continue
        state[start] = "open"
        while stack:
            number, rest = stack[-1]
            before = next(rest, None)
            if before is None:
                state[number] = "done"
                stack.pop()
            else:
                assert before in nodes and state.get(before) != "open", (number, before)
                if before not in state:
                    state[before] = "open"
                    stack.append((before, iter(nodes[before].data_deps)))
    for node in nodes.values():
        assert all(one in nodes for one in node.ctrl_deps), node
        assert "is_cpu_op" in attributes(node)[0], node


# Fields that Chakra's feeder reads, and no other.
READ_AS = {"is_cpu_op": "bool_val", "comm_type": "int64_val", "comm_size": "int64_val", "comm_src": "int32_val",
           "comm_dst": "int32_val", "comm_tag": "int32_val", "pg_name": "string_val", "stream": "int64_val"}

# Function: the collective's type, and what each of 4 ranks gives and gets in units of its message; None: rank 1,
# which is the root, differs.
FUNCTIONS = {
    "AllReduce": ("ALL_REDUCE", 1, 1, 1), "Reduce": ("REDUCE", 1, None, 1), "AllGather": ("ALL_GATHER", 1, 4, 1),
    "Gather": ("GATHER", 1, None, 1), "Scatter": ("SCATTER", None, 1, 4), "Broadcast": ("BROADCAST", None, 1, 1),
    "AlltoAll": ("ALL_TO_ALL", 4, 4, 4), "ReduceScatter": ("REDUCE_SCATTER", 4, 1, 4)}


def check_functions(place):
    """Every function, of known size and times: rank 2 comes 30 us late to each."""
    import chakra_pb2
    late_us, took_us = 30, 100
    traces = place / "traces"
    traces.mkdir()
    names = [*FUNCTIONS, "AllGatherV"]
    for rank in range(4):
        trace = Trace(rank).communicator(nranks=4)
        for i, function in enumerate(names):
            is_late = rank == 2
            trace.operation(function, 1000 + i, seq=1, root=1 if function in FUNCTIONS and None in FUNCTIONS[function]
                            else None, early_us=late_us if is_late else 0,
                            dur_us=took_us if is_late else took_us + late_us, times_from="gpu")
        (traces / f"ringside.mix.node0.{trace.pid}.1.json").write_text(trace.text(), encoding="utf-8")
    metadata, ranks = export(place, traces)
    assert sorted(ranks) == [0, 1, 2, 3]
    for rank, nodes in ranks.items():
        assert attributes(metadata[rank])[0]["rank"] == rank
        groups = [node for node in nodes.values() if node.type == chakra_pb2.METADATA_NODE]
        listed = json.loads(groups[0].inputs.values[2:-2])
        assert listed == [{"pg_name": "0", "pg_desc": "world", "backend_config": "cuda:nccl", "pg_size": 4,
                           "ranks": [0, 1, 2, 3]}], listed
        collectives = [node for node in nodes.values() if node.type == chakra_pb2.COMM_COLL_NODE]
        assert [node.name for node in collectives] == names
        for i, node in enumerate(collectives):
            values, fields = attributes(node)
            assert all(fields[key] == READ_AS[key] for key in fields if key in READ_AS), fields
            size = 4 * (1000 + i)
            assert (values["function"], values["count"], values["datatype"], values["seq"]) == (
                node.name, 1000 + i, "float32", 1)
            assert not values["is_cpu_op"] and values["pg_name"] == "0" and values["comm_rank"] == rank
            start_ns = BASE_TIME_S * 10**9 + 2_000_000 + 1_000_000 * i + 5_000 + 1000 * late_us * (rank == 2)
            assert values["start_ns"] == start_ns and node.start_time_micros == start_ns // 1000
            if node.name == "AllGatherV":
                assert "comm_type" not in values and "bytes_in" not in values and values["comm_size"] == size
                assert values["wait_ns"] == 1000 * late_us * (rank != 2)
                continue
            kind, given, got, all_of_it = FUNCTIONS[node.name]
            assert values["comm_type"] == chakra_pb2.CollectiveCommType.Value(kind)
            special = {"Reduce": 1, "Gather": 4, "Scatter": 4, "Broadcast": 1}.get(node.name)
            assert values["bytes_in"] == size * (given if given is not None else special * (rank == 1)), values
            assert values["bytes_out"] == size * (got if got is not None else special * (rank == 1)), values
            assert values["comm_size"] == size * all_of_it
            assert ("root" in values) == (special is not None) and values.get("root", 1) == 1
            waits = {"Broadcast": False, "Scatter": False, "Reduce": rank == 1, "Gather": rank == 1}.get(
                node.name, True) and rank != 2
            wall_us = took_us + late_us * (rank != 2)
            assert values["wall_ns"] == 1000 * wall_us
            assert values["wait_ns"] == 1000 * late_us * waits, (rank, values)
            assert values["duration_ns"] == values["wall_ns"] - values["wait_ns"]
            assert values["wait_least_ns"] <= values["wait_ns"] <= values["wait_most_ns"]
            assert node.duration_micros == wall_us - late_us * waits
    check_replay(ranks, names and 1_000_000 * (len(names) - 1) / 1000 + took_us + late_us)
    return sum(map(len, ranks.values()))


def check_replay(ranks, recorded_us):
    """Without a deadlock, whatever waits for whom; and in the recorded time within 1 %."""
    chakra_replay.replay(ranks, is_strict=True)
    ends = chakra_replay.replay(ranks)
    replayed_us = max(ends.values())
    assert abs(replayed_us - recorded_us) <= recorded_us * 0.02, (replayed_us, recorded_us)
    return replayed_us


def recorded_us_of(traces):
    """From the first start to the last end, by the traces themselves: their clocks are right."""
    starts, ends = [], []
    for path in traces.glob("*.json"):
        for event in json.loads(path.read_text(encoding="utf-8")):
            if event["ph"] == "b" and event.get("cat") == "op" and "start_ns" in event.get("args", {}):
                starts.append(event["args"]["start_ns"])
                ends.append(event["args"]["end_ns"])
    return (max(ends) - min(starts)) / 1000


def check_generated(place, *words):
    """A job of 4 ranks: each send has its receive, and the replay takes as long as the job."""
    traces = place / "traces"
    run(GENERATE, traces, "--hosts", 2, "--ranks-per-host", 2, "--split", 2, "--iterations", 12, "--offset-ms", 0,
        "--drift-ppm", 0, "--wander-us", 0, "--straggler", "3:400", *words)
    _, ranks = export(place, "--no-align", traces)
    recorded_us = recorded_us_of(traces)
    replayed_us = check_replay(ranks, recorded_us)
    print(f"{' '.join(map(str, words))}: recorded {recorded_us:.0f} us, replayed {replayed_us} us")
    sizes = {}
    for rank, nodes in ranks.items():
        for node in nodes.values():
            if node.type in (5, 6):
                values, _ = attributes(node)
                key = values["comm_src"], values["comm_dst"], values["comm_tag"]
                sizes.setdefault(key, {})[node.type] = values["bytes_in" if node.type == 5 else "bytes_out"]
    assert all(len(both) == 2 and both[5] == both[6] for both in sizes.values()), sizes
    return len(sizes)


def make_step(place, has_times):
    """A step of two ranks, with all that ties CPU, GPU and network together. Rank 1 computes 60 us longer. Times are
    microseconds; `has_times`: the traces have the times of the execution, else only the profiles have."""
    for rank in range(2):
        late = 60 * rank
        trace = Trace(rank).communicator()
        trace.operation("AllReduce", 1000, seq=0, early_us=late, dur_us=160 - late,
                        times_from="gpu" if has_times else "enqueue", state="completed")
        (place / "traces").mkdir(exist_ok=True)
        (place / "traces" / f"ringside.mix.node0.{trace.pid}.1.json").write_text(trace.text(), encoding="utf-8")
        profile = Rank(rank)
        profile.thread = 7  # that of the trace's calls
        profile.operator("aten::mm", 1900, 60, 1)
        profile.launch("gemm", 1910, 1930, 60 + late, 7, 1)
        profile.operator("c10d::allreduce_", 1980, 60, 2)
        profile.operator("record_param_comms", 1985, 50, 3)
        record = profile.call("cudaEventRecord", 1988, 1)
        wait = profile.call("cudaStreamWaitEvent", 1990, 1)
        profile.sync("Stream Wait Event", wait, stream=20, wait_on_stream=7, wait_on_cuda_event_record_corr_id=record)
        launch = profile.call("cudaLaunchKernelExC", 2003, 4, 3)
        profile.work("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
                     2005 + late, 160 - late, 20, launch, 3)
        profile.operator("aten::relu", 2050, 20, 4)
        record = profile.call("cudaEventRecord", 2051, 1)
        wait = profile.call("cudaStreamWaitEvent", 2052, 1)
        profile.sync("Stream Wait Event", wait, stream=7, wait_on_stream=20, wait_on_cuda_event_record_corr_id=record)
        profile.launch("relu", 2055, 2170, 40, 7, 4)
        profile.operator("aten::item", 2080, 220, 5)
        sync = profile.call("cudaDeviceSynchronize", 2090, 130, 6)
        profile.sync("Context Sync", sync)
        profile.operator("aten::empty", 2310, 10, 7)
        profile.thread = 8
        profile.operator("MmBackward0", 2330, 30, 8)
        for event in profile.events:
            event["pid"] = trace.pid if event["pid"] == 1000 + rank else event["pid"]
            if event["cat"] == "cpu_op" and event["name"] != "aten::relu":
                event["args"]["Record function id"] = 100 + event["args"]["External id"]
        (place / "profiles").mkdir(exist_ok=True)
        (place / "et").mkdir(exist_ok=True)
        profile.write(place / "profiles" / f"profile.{rank}.json")
        (place / "et" / f"et_{rank}.json").write_text(json.dumps(execution_trace(trace.pid)), encoding="utf-8")


TENSOR = [4, 5, 0, 64, 4, "cuda:0"]


def execution_trace(pid):
    """As PyTorch's ExecutionTraceObserver writes it. aten::relu is linked by its External id, as that of older
    releases; the name of rf_id 105 is another than the profile's."""
    nodes = [(2, "[pytorch|profiler|execution_trace|thread]", 0, 7), (3, "aten::mm", 101, 0), (4, "aten::relu", 4, 0),
             (5, "aten::other", 105, 0), (6, "c10d::allreduce_", 102, 0)]
    return {"schema": "1.1.1-chakra.0.0.4", "pid": pid, "time": "2026-11-25 09:00:00", "start_ts": 1, "nodes": [
        {"id": number, "name": name, "ctrl_deps": 1,
         "inputs": {"values": [TENSOR, 2.5], "shapes": [[8, 8], []], "types": ["Tensor(float)", "Double"]},
         "outputs": {"values": [TENSOR], "shapes": [[8, 8]], "types": ["Tensor(float)"]},
         "attrs": [{"name": "rf_id", "type": "uint64", "value": record_function},
                   {"name": "fw_parent", "type": "uint64", "value": 0}, {"name": "seq_id", "type": "int64", "value": -1},
                   {"name": "scope", "type": "uint64", "value": scope}, {"name": "tid", "type": "uint64", "value": 1},
                   {"name": "op_schema", "type": "string", "value": f"{name}(Tensor self) -> Tensor"}]}
        for number, name, record_function, scope in nodes], "finish_ts": 2}


def check_profiled(place):
    """Genuine runs of PyTorch's DDP, FSDP and all collectives, with the operators of the CPU; one with GPUs."""
    for run_of in sorted((HERE.parent / "data" / "profiled").iterdir()):
        (place / run_of.name).mkdir()
        _, ranks = export(place / run_of.name, "--kineto", run_of, "--", run_of)
        starts, ends = [], []
        for nodes in ranks.values():
            for node in nodes.values():
                values = attributes(node)[0]
                near = set(node.data_deps).union(*(nodes[one].data_deps for one in node.data_deps
                                                   if nodes[one].name == "gap"))
                named = [*values.get("sync_dep", ()), *([values["inter_thread_dep"]] if "inter_thread_dep" in values else ())]
                assert near.issuperset(named), (node.name, named, node.data_deps)
                if node.name not in ("gap", "join", "lead", "## process_group:init ##"):
                    starts.append(node.start_time_micros)
                    ends.append(node.start_time_micros + attributes(node)[0].get("wall_ns", 0) / 1000)
        recorded_us = max(ends) - min(starts)
        replayed_us = check_replay(ranks, recorded_us)
        print(f"{run_of.name}: {sum(map(len, ranks.values()))} nodes, recorded {recorded_us:.0f} us, "
              f"replayed {replayed_us} us")


def check_step(place, has_times):
    """What a profile adds: operators, kernels, and the dependencies between both and NCCL."""
    make_step(place, has_times)
    metadata, ranks = export(place / "out", "--kineto", place / "profiles", "--et", place / "et", "--", place / "traces")
    for rank, nodes in ranks.items():
        late = 60 * rank
        own = {node.name: node for node in nodes.values() if node.name not in ("gap", "join")}
        values = {name: attributes(node)[0] for name, node in own.items()}

        def before(name):
            """The names of what a node depends on; gaps are seen through."""
            found, left = set(), list(own[name].data_deps)
            while left:
                node = nodes[left.pop()]
                if node.name == "gap":
                    left += node.data_deps
                else:
                    found.add(node.name)
            return found

        def control(name):
            return [nodes[one].name for one in own[name].ctrl_deps]

        assert not any("nccl" in name for name in own), own.keys()
        assert values["AllReduce"]["kernel"].startswith("ncclDevKernel_AllReduce") and values["AllReduce"]["stream"] == 20
        assert before("AllReduce") == {"record_param_comms", "gemm"} and control("AllReduce") == ["record_param_comms"]
        assert before("relu") == {"aten::relu", "gemm", "AllReduce"} and control("relu") == ["aten::relu"]
        assert control("record_param_comms") == ["c10d::allreduce_"] and not control("c10d::allreduce_")
        assert before("gemm") == {"aten::mm"}
        assert {nodes[one].name for one in values["aten::empty"]["sync_dep"]} == {"relu", "AllReduce"}
        assert before("aten::empty") == {"aten::item", "relu", "AllReduce"}
        assert "sync_dep" not in values["aten::item"]
        assert nodes[values["MmBackward0"]["inter_thread_dep"]].name == "aten::empty"
        assert before("MmBackward0") == {"aten::empty"}
        assert (values["gemm"]["stream"], values["gemm"]["correlation"], values["gemm"]["work"]) == (7, 101, "kernel")
        assert (own["gemm"].duration_micros, own["relu"].duration_micros) == (60 + late, 40)
        # Until it launches; and net of 120 us in which it waited for relu.
        assert (own["aten::mm"].duration_micros, own["aten::item"].duration_micros) == (10, 100)
        assert values["aten::mm"]["thread"] == 7 and values["aten::mm"]["external_id"] == 1
        assert attributes(metadata[rank])[0]["schema"] == "1.1.1-chakra.0.0.4"
        assert {name: value["et_id"] for name, value in values.items() if "et_id" in value} == {
            "aten::mm": 3, "aten::relu": 4, "c10d::allreduce_": 6}
        assert values["aten::mm"]["rf_id"] == 101 and values["aten::mm"]["seq_id"] == -1
        assert values["aten::mm"]["op_schema"] == "aten::mm(Tensor self) -> Tensor" and values["aten::mm"]["tid"] == 1
        assert json.loads(own["aten::mm"].inputs.values) == [TENSOR, 2.5]
        assert json.loads(own["aten::mm"].inputs.shapes) == [[8, 8], []]
        assert json.loads(own["aten::mm"].outputs.types) == ["Tensor(float)"]
        assert values["AllReduce"]["wall_ns"] == 1000 * (160 - late)
        assert values["AllReduce"]["times_from"] == ("gpu" if has_times else "kineto")
        if has_times:
            assert values["AllReduce"]["wait_ns"] == 60_000 * (rank == 0) and own["AllReduce"].duration_micros == 100
        for node in nodes.values():
            if node.name not in ("gap", "join", "lead", "## process_group:init ##"):
                assert (attributes(node)[1].get("stream", "int64_val")) == "int64_val"
    recorded_us = 2360 - 1900
    if has_times:
        assert check_replay(ranks, recorded_us) == recorded_us
    return sum(map(len, ranks.values()))


def check_files(place):
    """What is there is replaced with --force only, and what else is in the directory stays; an execution trace that
    is cut off is told, and what it has until there is used; an interrupted command leaves nothing."""
    make_step(place, True)
    words = ["export", "--chakra", place / "out", "--kineto", place / "profiles", "--et", place / "et"]
    cut = place / "et" / "et_0.json"
    cut.write_text(cut.read_text(encoding="utf-8")[:-400], encoding="utf-8")
    (place / "out").mkdir()
    said = run(RINGSIDE, *words, "--", place / "traces", status=4)
    assert f"error: {cut}: cut off" in said and f"{cut}: 2 of 7 operators" in said, said
    assert "note: 2 of 2 traces of PyTorch's profiler are in them" in said, said
    (place / "out" / "mine").write_text("", encoding="utf-8")
    first = (place / "out" / "chakra.1.et").read_bytes()
    (place / "out" / "chakra.1.et").write_text("", encoding="utf-8")
    assert "is there already" in run(RINGSIDE, *words, "--", place / "traces", status=2)
    for older in ("chakra.7.et", "chakra.0.json", "run2.0.et"):
        (place / "out" / older).write_text("", encoding="utf-8")
    run(RINGSIDE, *words, "--force", "--", place / "traces", status=4)
    assert (place / "out" / "chakra.1.et").read_bytes() == first
    assert sorted(path.name for path in (place / "out").iterdir()) == ["chakra.0.et", "chakra.1.et", "mine"]
    check_second_profile(place)
    # Nobody can make a directory there, root neither.
    assert "cannot write /proc/x" in run(RINGSIDE, "export", "--chakra", "/proc/x", "--", place / "traces", status=2)
    # A file may not be as large as a trace is: nothing is left.
    limited = subprocess.run(["bash", "-c", 'ulimit -f 1; exec "$@"', "bash", *EMULATOR, str(RINGSIDE), "export",
                              "--chakra", str(place / "small"), str(place / "traces"), "--kineto",
                              str(place / "profiles")], capture_output=True, timeout=60, check=False)
    assert limited.returncode == 70 and b"File too large" in limited.stderr, limited
    assert sorted(path.name for path in place.iterdir()) == ["et", "out", "profiles", "traces"]


def check_second_profile(place):
    """A rank's second profile, half a second later, is not in its trace, and the command says so."""
    profiles = place / "profiles"
    second = json.loads((profiles / "profile.0.json").read_text(encoding="utf-8"))
    second["baseTimeNanoseconds"] += 500_000_000
    (profiles / "profile.0.next.json").write_text(json.dumps(second), encoding="utf-8")
    said = run(RINGSIDE, "export", "--chakra", place / "out", "--force", "--kineto", profiles, "--", place / "traces",
               status=4)
    assert f"error: {profiles}/profile.0.next.json: left out, since {profiles}/profile.0.json" in said, said
    assert "note: 2 of 3 traces of PyTorch's profiler are in them" in said, said
    (profiles / "profile.0.next.json").unlink()


PATTERN = ("AllReduce:1048576,AllGather:65536:split,AlltoAll:4096,AlltoAllv:4096:orthogonal,Broadcast:4096,"
           "RingShift:65536,Neighbour:8192,Reduce:4096,Gather:512,Scatter:512,ReduceScatter:4096")


def main():
    if chakra_schema.make_decoder(DECODER) is None:
        return 77
    with tempfile.TemporaryDirectory() as place:
        place = pathlib.Path(place)
        for name in ("functions", "gpu", "proxy"):
            (place / name).mkdir()
        nodes = check_functions(place / "functions")
        pairs = check_generated(place / "gpu", "--pattern", PATTERN, "--times", "gpu")
        assert pairs > 100, pairs
        check_generated(place / "proxy", "--pattern", PATTERN, "--times", "proxy")
        (place / "profiled").mkdir()
        check_profiled(place / "profiled")
        for has_times in (True, False):
            (place / f"step{has_times}").mkdir()
            check_step(place / f"step{has_times}", has_times)
        (place / "files").mkdir()
        check_files(place / "files")
        print(f"{nodes} nodes of every function, {pairs} sends with their receives")
    return 0


if __name__ == "__main__":
    sys.exit(main())
