#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Traces of PyTorch's profiler of any size beside traces of ringside_generate, to measure with.

    ringside_generate DIR/traces --operations-only --hosts 1 --ranks-per-host 64 \\
        --pattern AllReduce:1048576 --iterations 300 --compute-us 20000
    make_large_profiles.py DIR/traces DIR/profiles [--operators N] [--iterations-per-step M] [--compress]

One iteration of the job has one AllReduce, and before it N operators that launch a kernel, each of
two others within it, and of three functions of Python: 2.3 kB for an operator. Steps are of M
iterations and end in a wait for the stream. All ranks do the same as the first. --compress writes .json.gz.
"""

import argparse
import gzip
import json
import pathlib

PID = "7777777"  # in the text of the first rank's events; the others' differ in it only
EVENT = """  {
    "ph": "X", "cat": "%s", "name": "%s", "pid": %s, "tid": %s,
    "ts": %.3f, "dur": %.3f,
    "args": {
      %s
    }
  },
"""
ARROW = """  {
    "ph": "%s", "id": %d, "pid": %s, "tid": %s, "ts": %.3f,
    "cat": "ac2g", "name": "ac2g"%s
  },
"""
KERNEL = ('"External id": %d, "queued": 0, "device": 0, "context": 1, "stream": %d, "correlation": %d, '
          '"registers per thread": 32, "shared memory": 0, "blocks per SM": 0.24, "warps per SM": 0.96, '
          '"grid": [32, 1, 1], "block": [128, 1, 1], "est. achieved occupancy %%": 2, "graph id": 0, '
          '"graph node id": 0, "priority": 0, "channel": 9, "channel_type": 1')
NAME = ("void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float>, "
        "std::array<char*, 3ul> >(int, at::native::CUDAFunctor_add<float>, std::array<char*, 3ul>)")


def operations(path):
    for line in path.read_text(encoding="utf-8").splitlines():
        if '"cat":"op"' in line and '"ph":"b"' in line:
            yield json.loads(line.rstrip(","))["args"]


class Body:
    def __init__(self, tid):
        self.parts, self.tid, self.id, self.correlation = [], tid, 0, 0

    def event(self, category, name, start_us, us, arguments, pid=PID, tid=None):
        self.parts.append(EVENT % (category, name, pid, tid or self.tid, start_us, us, arguments))

    def operator(self, name, start_us, us, more=""):
        self.id += 1
        self.event("cpu_op", name, start_us, us, f'"External id": {self.id}, "Record function id": {self.id}, '
                                                 f'"Sequence number": {self.id}, "Ev Idx": {self.id}{more}')

    def launch(self, call, category, call_us, kernel, stream, start_us, us):
        self.correlation += 1
        self.event(category, call, call_us, 4, f'"External id": {self.id}, "cbid": 211, '
                                               f'"correlation": {self.correlation}')
        self.parts.append(ARROW % ("s", self.correlation, PID, self.tid, call_us, ""))
        self.event("kernel", kernel, start_us, us, KERNEL % (self.id, stream, self.correlation), 0, stream)
        self.parts.append(ARROW % ("f", self.correlation, 0, stream, start_us, ', "bp": "e"'))

    def iteration(self, operation, begin_us, operators):
        called_us = operation["enqueue_start_ns"] / 1000
        each_us = (called_us - 40 - begin_us) / operators
        for number in range(operators):
            at_us = begin_us + number * each_us
            for depth, function in enumerate(("forward", "_call_impl", "linear")):
                self.event("python_function", f"model.py({10 * depth + number % 7}): {function}",
                           at_us + depth, each_us - 2 * depth - 2,
                           f'"Python parent id": {self.id}, "Python id": {self.id + depth}, "Ev Idx": {self.id}')
            self.operator("aten::linear", at_us + 4, each_us - 12)
            self.operator("aten::addmm", at_us + 5, each_us - 14)
            self.operator("aten::add_", at_us + 6, each_us - 16)
            self.launch("cudaLaunchKernel", "cuda_runtime", at_us + 7, NAME, 7, at_us + 16, each_us - 8)
        self.operator("record_param_comms", called_us - 10, 60,
                      f', "Collective name": "allreduce", "Seq": {operation["seq"] + 1}, "dtype": "Float", '
                      f'"In msg nelems": {operation["count"]}, "Out msg nelems": {operation["count"]}, '
                      f'"Group size": {operation["nranks"]}, "Process Group Name": "world", '
                      '"Process Group Description": "world"')
        self.launch("cuLaunchKernelEx", "cuda_driver", called_us + 2, "ncclDevKernel_AllReduce_Sum_f32_RING_LL()",
                    20, operation["start_ns"] / 1000, (operation["end_ns"] - operation["start_ns"]) / 1000)
        return max(called_us + 60, operation["end_ns"] / 1000)


def make_body(path, operators, per_step):
    first = list(operations(path))
    body = Body(first[0].get("tid", json.loads(path.open(encoding="utf-8").readline()[1:].rstrip(",\n"))["tid"]))
    at_us = first[0]["enqueue_start_ns"] / 1000 - 15_000
    step_us = at_us
    for number, operation in enumerate(first):
        end_us = body.iteration(operation, at_us, operators)
        at_us = operation["enqueue_start_ns"] / 1000 + 60
        if (number + 1) % per_step == 0:
            body.correlation += 1
            body.operator("aten::item", at_us, end_us - at_us + 5)
            body.event("cuda_runtime", "cudaStreamSynchronize", at_us + 1, end_us - at_us + 3,
                       f'"External id": {body.id}, "cbid": 131, "correlation": {body.correlation}')
            body.event("cuda_sync", "Stream Sync", at_us + 1, end_us - at_us + 3, '"stream": 20, "correlation": '
                       f'{body.correlation}, "device": 0, "context": 1', 0, 20)
            at_us = end_us + 6
            body.event("user_annotation", f"ProfilerStep#{number // per_step}", step_us, at_us - step_us,
                       f'"External id": {body.id}')
            step_us = at_us
    return "".join(body.parts).rstrip(",\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("traces", type=pathlib.Path)
    parser.add_argument("profiles", type=pathlib.Path)
    parser.add_argument("--operators", type=int, default=90)
    parser.add_argument("--iterations-per-step", type=int, default=10)
    parser.add_argument("--compress", action="store_true")
    arguments = parser.parse_args()
    arguments.profiles.mkdir(parents=True)
    heads = {}
    for path in arguments.traces.glob("*.json"):
        head = json.loads(path.open(encoding="utf-8").readline()[1:].rstrip(",\n"))
        heads[head["args"]["launcher_rank"]] = (path, head)
    body = make_body(heads[0][0], arguments.operators, arguments.iterations_per_step)
    for rank, (_, head) in sorted(heads.items()):
        group = {"pg_name": "world", "pg_desc": "world", "pg_size": len(heads), "ranks": list(range(len(heads)))}
        about = {"backend": "nccl", "rank": rank, "world_size": len(heads), "pg_config": [group]}
        path = arguments.profiles / f"rank{rank}.json"
        with (gzip.open(f"{path}.gz", "wt", compresslevel=1, encoding="utf-8") if arguments.compress
              else path.open("w", encoding="utf-8")) as file:
            file.write(f'{{\n  "schemaVersion": 1, "distributedInfo": {json.dumps(about)},\n  '
                       f'"baseTimeNanoseconds": {head["args"]["base_time_s"]}000000000,\n  "traceEvents": [\n')
            file.write(body.replace(f'"pid": {PID}', f'"pid": {head["pid"]}'))
            file.write("\n  ]\n}\n")


if __name__ == "__main__":
    main()
