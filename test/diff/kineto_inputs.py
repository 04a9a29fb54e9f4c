#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes traces in the form of PyTorch's profiler: kineto_waits, of ranks whose threads wait for their GPU in
every way, so that what each call waited for is known; kineto_cycles, of a rank that was profiled twice; and kineto_forms,
of which each file is there compressed, too.

usage: kineto_inputs.py DIRECTORY, which is test/data
"""
import gzip
import json
import pathlib
import sys

BASE_NS = 1_790_857_026_000_000_000


class Rank:
    """Times are microseconds since a base; `thread` is the one that the next calls are of."""

    def __init__(self, rank):
        self.rank, self.thread, self.events, self.correlation = rank, 1000 + rank, [], 100

    def add(self, category, name, start, duration, pid, tid, **arguments):
        self.events.append({"ph": "X", "cat": category, "name": name, "pid": pid, "tid": tid, "ts": start,
                            "dur": duration, "args": {key.replace("_id", " id") if key == "External_id" else key:
                                                      value for key, value in arguments.items()}})

    def operator(self, name, start, duration, external_id, category="cpu_op"):
        self.add(category, name, start, duration, 1000 + self.rank, self.thread, External_id=external_id)

    def call(self, name, start, duration, external_id=None):
        self.correlation += 1
        more = {} if external_id is None else {"External_id": external_id}
        self.add("cuda_runtime", name, start, duration, 1000 + self.rank, self.thread, cbid=1,
                 correlation=self.correlation, **more)
        return self.correlation

    def work(self, category, name, start, duration, stream, correlation, external_id=None):
        more = {} if external_id is None else {"External_id": external_id}
        self.add(category, name, start, duration, 0, stream, device=0, context=1, stream=stream,
                 correlation=correlation, **more)

    def launch(self, kernel, at, start, duration, stream, external_id):
        self.work("kernel", kernel, start, duration, stream, self.call("cudaLaunchKernel", at, 3, external_id),
                  external_id)

    def sync(self, name, correlation, **arguments):
        self.add("cuda_sync", name, 0.5, 1, 0, arguments.get("stream", -1), cuda_sync_kind=name, device=0,
                 context=1, correlation=correlation, **arguments)

    def write(self, path, **more):
        document = {"schemaVersion": 1, "distributedInfo": {"backend": "nccl", "rank": self.rank, "world_size": 3},
                    "baseTimeNanoseconds": BASE_NS, "traceEvents": self.events, "traceName": path.name, **more}
        text = json.dumps(document, indent=1)
        if path.suffix == ".gz":
            path.write_bytes(gzip.compress(text.encode(), 9, mtime=0))
        else:
            path.write_text(text, encoding="utf-8")


def steps(rank, has_syncs):
    """Two steps; in each the thread waits six times."""
    for step in range(2):
        at, ids = 2000.0 * step, 100 * step
        rank.operator(f"ProfilerStep#{step + 5}", at + 5, 1900, ids + 1, "user_annotation")
        # A kernel on each of two streams, and the thread waits for the first: 70 us of 80.
        rank.operator("aten::mm", at + 10, 20, ids + 2)
        rank.launch("void gemm_kernel<float, 128>(float*)", at + 12, at + 30, 150.25, 7, ids + 2)
        rank.operator("c10d::allreduce_", at + 40, 30, ids + 3)
        rank.launch("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", at + 50, at + 60,
                    440, 20, ids + 3)
        # Another launch on stream 7, so that it is the one the thread used last.
        rank.operator("aten::relu", at + 80, 12, ids + 4)
        rank.launch("void relu_kernel(float*)", at + 82, at + 180.25, 9.75, 7, ids + 4)
        rank.operator("aten::item", at + 100, 105, ids + 5)
        of = rank.call("cudaStreamSynchronize", at + 110, 90, ids + 5)
        if has_syncs:
            rank.sync("Stream Sync", of, stream=7)
        rank.operator("aten::sigmoid", at + 210, 5, ids + 6)
        # An event that was recorded behind the AllReduce, and before another one on its stream.
        rank.operator("record", at + 220, 4, ids + 7)
        record = rank.call("cudaEventRecord", at + 221, 2, ids + 7)
        rank.launch("ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)", at + 230, at + 700, 100, 20,
                    ids + 7)
        of = rank.call("cudaEventSynchronize", at + 300, 205, ids + 8)
        if has_syncs:
            rank.sync("Event Sync", of, stream=4294967295, wait_on_stream=20, wait_on_cuda_event_id=1,
                      wait_on_cuda_event_record_corr_id=record)
        # A copy to pageable memory: its call waits for it. It has the External id of its operator.
        rank.operator("aten::copy_", at + 520, 60, ids + 9)
        of = rank.call("cudaMemcpyAsync", at + 530, 40, ids + 9)
        rank.work("gpu_memcpy", "Memcpy DtoH (Device -> Pageable)", at + 540, 28, 7, of, ids + 9)
        # Copies that nobody waits for.
        of = rank.call("cudaMemcpyAsync", at + 590, 5, ids + 10)
        rank.work("gpu_memcpy", "Memcpy HtoD (Pinned -> Device)", at + 597, 30, 7, of, ids + 10)
        # All streams; the AllGather is over last. Nothing has an External id.
        of = rank.call("cudaDeviceSynchronize", at + 650, 155)
        if has_syncs:
            rank.sync("Context Sync", of, stream=4294967295)
        rank.operator("aten::empty", at + 820, 4, ids + 11)
        # Again, with one, when nothing is left to wait for.
        of = rank.call("cudaDeviceSynchronize", at + 850, 3, ids + 12)
        if has_syncs:
            rank.sync("Context Sync", of, stream=4294967295)
        # A thread that has launched nothing; its last operator comes before.
        own, rank.thread = rank.thread, 7000
        rank.operator("autograd::engine", at + 860, 5, ids + 13)
        of = rank.call("cudaStreamSynchronize", at + 870, 2, ids + 13)
        if has_syncs:
            rank.sync("Stream Sync", of, stream=20)
        rank.thread = own


def write_waits(directory):
    recorded = Rank(0)
    steps(recorded, True)
    recorded.write(directory / "rank0.json.gz")
    inferred = Rank(1)
    steps(inferred, False)
    inferred.events += [7, {"ph": "X", "cat": "cpu_op", "name": "no time", "pid": 1001, "tid": 1001}]
    inferred.write(directory / "rank1.json")
    no_gpu = Rank(2)
    no_gpu.operator("aten::add", 10, 5, 1)
    no_gpu.write(directory / "rank2.json")


def cycle(rank, numbers):
    """In each step the thread waits 10 us longer than in the one before."""
    profile = Rank(rank)
    for step in numbers:
        at = 1000.0 * step
        profile.operator(f"ProfilerStep#{step}", at + 5, 900, 10 * step + 1, "user_annotation")
        profile.operator("aten::mm", at + 10, 20, 10 * step + 2)
        profile.launch("gemm_kernel", at + 12, at + 30, 80 + 10 * step, 7, 10 * step + 2)
        profile.operator("aten::item", at + 90, 200, 10 * step + 3)
        profile.call("cudaStreamSynchronize", at + 100, 15 + 10 * step, 10 * step + 3)
        profile.operator("aten::add", at + 300, 20, 10 * step + 4)
    return profile


def write_cycles(directory):
    """Rank 0 has a profile of two steps, a copy of that, and one of two later steps; rank 1 has one of all four."""
    for rank, name, numbers in ((0, "rank0.1.json", (0, 1)), (0, "rank0.1_copy.json", (0, 1)),
                                (0, "rank0.2.json", (4, 5)), (1, "rank1.json", (0, 1, 4, 5))):
        cycle(rank, numbers).write(directory / name)


def write_forms(directory):
    """Both forms of each file: they differ for rank 0. That of rank 1 is padded with zeros."""
    for rank, numbers in ((0, (4, 5)), (1, (0, 1))):
        cycle(rank, (0, 1)).write(directory / f"rank{rank}.json")
        cycle(rank, numbers).write(directory / f"rank{rank}.json.gz")
    with (directory / "rank1.json.gz").open("ab") as padded:
        padded.write(bytes(1000))


def main():
    for name, write in (("kineto_waits", write_waits), ("kineto_cycles", write_cycles),
                        ("kineto_forms", write_forms)):
        directory = pathlib.Path(sys.argv[1]) / name
        directory.mkdir(parents=True, exist_ok=True)
        write(directory)


if __name__ == "__main__":
    main()
