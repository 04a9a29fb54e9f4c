#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Traces in the form of PyTorch's profiler, made of a job's operations, merged with the job's: on one
clock, and each kernel at its operation.

usage: check_kineto.py RINGSIDE_GENERATE RINGSIDE
"""
import collections
import gzip
import json
import os
import pathlib
import subprocess
import sys
import tempfile

from merged_parts import expect, ns, operations, read, run

JOB = ["--seed", "5", "--hosts", "2", "--ranks-per-host", "2", "--iterations", "6", "--offset-ms", "40",
       "--drift-ppm", "40", "--full", "--straggler", "3:500",
       "--pattern", "AllReduce:1048576,AllGather:65536,ReduceScatter:262144"]
COLLECTIVES = {"AllReduce": "allreduce", "AllGather": "_allgather_base",
               "ReduceScatter": "_reduce_scatter_base"}
BASE_UNIT_S = 7_889_238


class Kineto:
    """One rank's trace: CPU operations, what they launch, and the kernels of one stream."""

    def __init__(self, trace):
        self.first = trace[0]["args"]
        self.base_s = self.first["base_time_s"]
        self.pid = trace[0]["pid"]
        self.rank = int(self.first["launcher_rank"])
        self.events = [
            self.meta("process_name", self.pid, 0, {"name": "python"}),
            self.meta("process_labels", self.pid, 0, {"labels": "CPU"}),
            self.meta("process_name", 0, 0, {"name": "python"}),
            self.meta("process_labels", 0, 0, {"labels": "GPU 0"}),
            self.meta("thread_name", 0, 7, {"name": "stream 7 "}),
            {"ph": "X", "cat": "Trace", "ts": self.us(int(self.first["start_ns"])), "dur": 1,
             "pid": "Spans", "tid": "PyTorch Profiler", "name": "PyTorch Profiler (0)", "args": {"Op count": 0}}]
        self.kernels = {}  # operation by correlation
        self.others = 0

    @staticmethod
    def meta(name, pid, tid, args):
        return {"name": name, "ph": "M", "ts": 1.0, "pid": pid, "tid": tid, "args": args}

    def us(self, time_ns):
        """Since the base, as Kineto counts; our traces count from another multiple of the unit."""
        return (time_ns + self.base_s * 10**9 - self.base_ns()) / 1000

    def base_ns(self):
        return self.base_s * 10**9 - BASE_UNIT_S * 10**9

    def add(self, number, args, off_ns, is_other_size=False):
        func, start, end = args["func"], int(args["start_ns"]), int(args["end_ns"])
        correlation = 100 + len(self.events)
        elements = int(args["bytes"]) // 4 + is_other_size
        counts = (elements * 4, elements) if func == "ReduceScatter" else (elements, elements * 4)
        if func == "AllReduce":
            counts = (elements, elements)
        call_us = self.us(int(args["enqueue_start_ns"]))
        self.events += [
            {"ph": "X", "cat": "cpu_op", "name": "record_param_comms", "pid": self.pid,
             "tid": self.pid, "ts": call_us, "dur": 3.25, "args": {"External id": correlation}},
            {"ph": "s", "id": correlation, "pid": self.pid, "tid": self.pid, "ts": call_us,
             "cat": "ac2g", "name": "ac2g"},
            {"ph": "f", "id": correlation, "pid": 0, "tid": 7, "ts": self.us(start + off_ns),
             "cat": "ac2g", "name": "ac2g", "bp": "e"},
            {"ph": "X", "cat": "kernel",
             "name": f"ncclDevKernel_{func}{'_Sum_f32' if func != 'AllGather' else ''}_RING_LL"
                     "(ncclDevKernelArgsStorage<4096ul>)",
             "pid": 0, "tid": 7, "ts": self.us(start + off_ns), "dur": (end - start) / 1000,
             "args": {"device": 0, "stream": 7, "correlation": correlation,
                      "Collective name": COLLECTIVES[func], "dtype": "Float",
                      "In msg nelems": counts[0], "Out msg nelems": counts[1], "Group size": 4}}]
        if is_other_size:
            self.others += 1
        else:
            self.kernels[correlation] = number

    def document(self):
        self.events.append({"ph": "X", "cat": "kernel", "name": "gemm_f32", "pid": 0, "tid": 7,
                            "ts": self.us(int(self.first["start_ns"])), "dur": 2.5, "args": {}})
        return {"schemaVersion": 1, "deviceProperties": [{"id": 0, "name": "sample"}],
                "distributedInfo": {"backend": "nccl", "rank": self.rank, "world_size": 4},
                "baseTimeNanoseconds": self.base_ns(), "displayTimeUnit": "ms",
                "traceEvents": self.events, "traceName": "sample"}


def make_profiles(traces, profiles):
    made = {}
    profiles.mkdir()
    for path in sorted(traces.glob("*.json")):
        trace = read(path)
        kineto = Kineto(trace)
        for number, event in operations(trace).items():
            # The fit of a GPU's clock is off by some microseconds; each ninth kernel is of another size.
            kineto.add(number, event["args"], (number * 577) % 4000 - 2000, number % 9 == 4)
        made[kineto.rank] = kineto
        text = json.dumps(kineto.document(), indent=1)
        if kineto.rank == 1:
            (profiles / "rank1.pt.trace.json.gz").write_bytes(gzip.compress(text.encode()))
        else:
            (profiles / f"rank{kineto.rank}.pt.trace.json").write_text(text, encoding="utf-8")
    return made


def check(merged, made):
    events = read(merged)
    ranks = {event["pid"]: int(event["args"]["launcher_rank"]) for event in events
             if event["name"] == "ringside_trace"}
    names = {event["pid"]: event["args"]["name"] for event in events
             if event["name"] == "process_name"}
    ends = collections.defaultdict(list)
    for event in events:
        if event.get("cat") == "op" and event["name"] == "kernel":
            ends[event["bind_id"]].append(event)
    in_merged = {}
    for pid, rank in ranks.items():
        for number, event in operations([e for e in events if e["pid"] == pid]).items():
            in_merged[rank, number] = event
    found = collections.Counter()
    for event in events:
        if event.get("cat") != "kernel":
            continue
        name = names[event["pid"]]
        expect(name.endswith(" PyTorch: GPU 0"), name)
        rank = int(name.split()[1])
        number = event["args"].get("ringside_op")
        if "correlation" not in event["args"]:
            expect(number is None, "linked what is not NCCL's", event)
            continue
        expect(number == made[rank].kernels.get(event["args"]["correlation"]), "linked to another", event)
        found[rank] += number is not None
        if number is None:
            continue
        there = in_merged[rank, number]
        expect(abs(ns(there) - ns(event)) < 2_200, "is on another clock:", event, there)
        (end,) = ends[event["bind_id"]]
        expect(event["flow_out"] and ranks[end["pid"]] == rank, event, end)
        expect(end["tid"] == there["tid"] and ns(end) >= ns(event), event, end)
        expect(event["args"]["ringside_bytes"] == there["args"]["bytes"], event)
    expect(found == {rank: len(kineto.kernels) for rank, kineto in made.items()}, found)
    flows = collections.defaultdict(set)
    for event in events:
        if event["ph"] in "sf" and event.get("cat") == "ac2g":
            flows[event["id"]].add(names[event["pid"]].split(" PyTorch")[0])
    expect(all(isinstance(bind, int) for bind in flows), "viewers take integers only")
    expect(flows and all(len(of) == 1 for of in flows.values()), "flows of several traces meet")
    expect(any(name.endswith("PyTorch: CPU") for name in names.values()), names)


def check_pipe(ringside, traces, profiles, merged):
    """What is read more than once cannot be a pipe: nothing waits for who would write into it."""
    pipe = profiles / "rank2.pt.trace.json"
    text = pipe.read_text(encoding="utf-8")
    pipe.unlink()
    os.mkfifo(pipe)
    of_et = ("--et", pipe)
    for command, ending, more in (("merge", ("-o", merged, "--force"), ()),
                                  ("export", ("--chakra", merged.parent / "et"), of_et)):
        done = run(ringside, command, traces, "--kineto", profiles, *ending, *more, status=4)
        expect(done.stderr.count(f"error: {pipe}: can be read only once") == (2 if more else 1), done.stderr)
    # Others read it once.
    with subprocess.Popen([ringside, "overlap", traces, "--kineto", profiles], stdout=subprocess.DEVNULL,
                          stderr=subprocess.PIPE, text=True) as reading:
        pipe.write_text(text, encoding="utf-8")
        said = reading.communicate(timeout=100)[1]
    expect(reading.returncode == 0 and "profiler, 4 traces" in said, said)
    pipe.unlink()
    pipe.write_text(text, encoding="utf-8")


def main():
    generate, ringside = (pathlib.Path(name).resolve() for name in sys.argv[1:3])
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        traces, profiles, merged = (directory / part for part in ("traces", "profiles", "all.json"))
        run(generate, traces, *JOB)
        made = make_profiles(traces, profiles)
        done = run(ringside, "merge", traces, "--kineto", profiles, "-o", merged)
        kernels = sum(len(kineto.kernels) for kineto in made.values())
        others = sum(kineto.others for kineto in made.values())
        expect(kernels > 50 and others > 5, "too small a job")
        expect(f"{kernels} of {kernels + others} NCCL kernels" in done.stderr, done.stderr)
        run(ringside, "lint", "--closed", merged)
        check(merged, made)
        run(ringside, "merge", traces, "--kineto", profiles, "-o", merged, "--force", "--top-slowest", "2")
        run(ringside, "lint", "--closed", merged)

        check_pipe(ringside, traces, profiles, merged)
        (profiles / "rank0.pt.trace.json").write_text('{"traceEvents": [{"ph"', encoding="utf-8")
        (profiles / "rank2.pt.trace.json").write_text("[]", encoding="utf-8")
        (profiles / "rank3.pt.trace.json").write_text(
            '{"distributedInfo":{"rank":77},"traceEvents":[{},7,{"ph":"X","ts":-1}]}', encoding="utf-8")
        done = run(ringside, "merge", traces, "--kineto", profiles, "-o", merged, "--force", status=4)
        for wanted in ("rank0.pt.trace.json", "not a JSON object", "of rank 77", "1 trace of PyTorch"):
            expect(wanted in done.stderr, wanted, "is not in", done.stderr)
        run(ringside, "merge", traces, "--kineto", directory / "none", "-o", merged, "--force", status=3)
        run(ringside, "merge", traces, "--kineto", profiles, "-o", directory / "x.tar", "--format",
            "bundle", status=2)
    print("ok")


if __name__ == "__main__":
    main()
