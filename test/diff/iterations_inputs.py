# SPDX-License-Identifier: Apache-2.0
"""Inputs of the cases of `ringside iterations`: a training job, and jobs without iterations."""

from trace_writer import Trace

NRANKS = 4


class Job:
    """Calls of all ranks. Each has its own, and they take a millisecond."""

    def __init__(self):
        self.traces = [Trace(rank, host=f"node{rank // 2}") for rank in range(NRANKS)]
        self.seq = {}
        for trace in self.traces:
            trace.communicator(1, nranks=NRANKS)
            trace.communicator(2, nranks=2, rank=trace.rank // 2,
                               comm=f"0xda7a{trace.rank % 2}", name=f"data{trace.rank % 2}")

    def pause(self, milliseconds, rank=None):
        for trace in self.traces:
            if rank in (None, trace.rank):
                trace.time_ns += milliseconds * 1_000_000

    def call(self, func, count, context=1, **options):
        """All begin their next call when the last has come, as if a stream were synchronised."""
        key = (context, func)
        seq = self.seq[key] = self.seq.get(key, -1) + 1
        last = max(trace.time_ns for trace in self.traces)
        for trace in self.traces:
            waits_us = (last - trace.time_ns) / 1000
            trace.operation(func, count, context=context, seq=seq, times_from="gpu",
                            dur_us=waits_us + 300, **options)
            trace.time_ns = last + 1_000_000

    def step(self, late=None):
        self.pause(3)
        self.call("AllGather", 65536, datatype="bytes")
        self.call("AllReduce", 1 << 20)
        if late is not None:
            self.pause(20, rank=late)
        self.call("AllReduce", 1 << 20, context=2)
        self.call("ReduceScatter", 16384)

    def files(self):
        return {f"traces/ringside.mix.node{t.rank // 2}.{t.pid}.1.json": t.text()
                for t in self.traces}


def training():
    """Warm-up, 14 steps of which the sixth waits for rank 2, an evaluation after the eighth, a
    checkpoint's barrier within the eleventh, and a cut end."""
    job = Job()
    job.call("Broadcast", 1000, root=0)
    job.call("AllReduce", 1)
    for number in range(1, 15):
        job.step(late=2 if number == 6 else None)
        if number == 8:
            for _ in range(3):
                job.call("AllGather", 4096, datatype="bytes")
        if number == 10:
            job.pause(3)
            job.call("AllGather", 65536, datatype="bytes")
            job.call("AllReduce", 1 << 20)
            job.call("AllReduce", 1)
            job.call("AllReduce", 1 << 20, context=2)
            job.call("ReduceScatter", 16384)
    job.call("AllGather", 65536, datatype="bytes")
    return job.files()


def sweep():
    """A benchmark: sizes one after the other."""
    job = Job()
    for power in range(8, 14):
        for _ in range(5):
            job.call("AllReduce", 1 << power)
    return job.files()


def rotating():
    """The root of a Broadcast goes around, by one in each step."""
    job = Job()
    for number in range(20):
        job.pause(3)
        job.call("AllReduce", 1 << 20)
        job.call("ReduceScatter", 16384)
        job.call("Broadcast", 4096, root=number % NRANKS)
    return job.files()


def few():
    job = Job()
    job.step()
    job.step()
    return job.files()


def cases():
    train = training()
    return {
        "help-iterations": ("iterations --help", {}),
        "iterations": ("iterations --top 5 traces", train),
        "iterations-series-csv": ("iterations --series --format csv traces", train),
        "iterations-json": ("iterations --top 2 --format json traces", train),
        "iterations-markdown": ("iterations --top 2 --format markdown traces", train),
        "iterations-asked-for": ("iterations --period 8 --top 3 traces", train),
        "iterations-one-communicator": ("iterations --comm world --top 3 traces", train),
        "iterations-sweep": ("iterations traces", sweep()),
        "iterations-rotating-root": ("iterations --top 2 traces", rotating()),
        "iterations-few": ("iterations traces", few()),
        "iterations-nothing": ("iterations empty", {"empty/.keep": ""}),
    }
