# SPDX-License-Identifier: Apache-2.0
"""Inputs of the cases of `ringside network`: rings of ranks whose transfers have known times."""

from trace_writer import Number, Trace

CHUNK_BYTES = 1 << 20
STEPS = 24


def row(trace, category, name, start_ns, end_ns, args):
    trace.rows = getattr(trace, "rows", 0) + 1
    event = {"cat": category, "id2": {"local": hex(0x5000 + trace.rows)}, "pid": trace.pid,
             "tid": trace.pid, "name": name}
    trace.events += [
        {"ph": "b", **event, "ts": Number(start_ns),
         "args": {"op": trace.operations, "context": 1, **args}},
        {"ph": "e", **event, "ts": Number(end_ns)}]


def ring(rank, nranks=4, *, channels=2, steps=True, proxies=True, slow=None, states=True):
    """One AllReduce. Sends run at 10 GB/s, a little more on higher channels; `slow` is the rank
    and channel whose sends take three times as long."""
    trace = Trace(rank, host=f"node{rank}").communicator(nranks=nranks)
    begin = trace.time_ns
    trace.operation("AllReduce", 1 << 20, seq=0, dur_us=9000)
    for channel in range(channels):
        at = begin
        for i in range(STEPS):
            transfer = 100_000 - 1000 * channel + i % 3 * 100
            transfer *= 3 if slow == (rank, channel) else 1
            parts = {"gpu_wait_ns": 20_000, "peer_wait_ns": 5_000, "transfer_ns": transfer}
            for send in (True, False):
                if not steps:
                    continue
                peer = (rank + (1 if send else -1)) % nranks
                own = parts if send else {"gpu_wait_ns": 3_000, "transfer_ns": 2 * transfer,
                                          "flush_ns": 1_000}
                args = {"step": i, "peer": peer, "bytes": CHUNK_BYTES, **(own if states else {})}
                row(trace, "step", f"{'send' if send else 'recv'} steps channel {channel}",
                    at, at + 25_000 + transfer, args)
            at += 25_000 + transfer
        for send in (True, False):
            if proxies:
                peer = (rank + (1 if send else -1)) % nranks
                row(trace, "proxy", f"{'send' if send else 'recv'} channel {channel}", begin, at,
                    {"peer": peer, "steps": STEPS, "bytes": STEPS * CHUNK_BYTES})
    return trace


def job(nranks=4, **options):
    return {f"traces/ringside.mix.node{rank}.{100 + rank}.1.json":
            ring(rank, nranks, **options).text() for rank in range(nranks)}


def cases():
    slow = job(slow=(2, 1))
    return {
        "help-network": ("network --help", {}),
        "network-even": ("network traces", job()),
        "network-slow-channel": ("network traces", slow),
        "network-slow-channel-json": ("network --format json --top 2 traces", slow),
        "network-matrix-csv": ("network --format csv --table matrix traces", slow),
        "network-markdown": ("network --format markdown --top 3 traces", slow),
        "network-many-ranks": ("network --top 5 traces", job(18, channels=1, slow=(7, 0))),
        "network-no-siblings": ("network traces", job(2, channels=1, slow=(1, 0))),
        "network-no-states": ("network traces", job(2, states=False)),
        "network-no-steps": ("network traces", job(2, steps=False)),
        "network-one-rank": ("network --rank 2 traces", slow),
        "network-chosen": ("network --comm world --func AllReduce --min-bytes 4mb traces", slow),
        "network-none-chosen": ("network --func AllGather traces", slow),
        "network-nothing": ("network traces", job(2, steps=False, proxies=False)),
        "network-no-input": ("network nowhere", {}),
    }
