# SPDX-License-Identifier: Apache-2.0
"""Inputs of the cases with ranges of the application, and with sampled traces."""

import json

from time_inputs import late
from trace_writer import Trace

THREAD = 7  # that calls NCCL


def mark(trace, number, name, start_ns, end_ns=None, *, is_range=True, tid=THREAD, source=None):
    args = {"mark": number, "name": name, "tid": tid, "start_ns": start_ns}
    if source is not None:
        args["source"] = source
    if is_range:
        args["range"] = True
    if end_ns is not None:
        args["end_ns"] = end_ns
    trace.meta("ringside_mark", args)


def tell_thread(trace):
    for event in trace.events:
        if event.get("cat") == "op" and "args" in event:
            event["args"]["tid"] = THREAD


def marked(unended=False):
    """Three steps of two phases on two ranks; an operation before the first, and one behind."""
    files = {}
    for rank in range(2):
        trace = Trace(rank).communicator()
        trace.operation("AllReduce", 1, seq=0)
        begin, number, seq = trace.time_ns - 100_000, 1, 0
        for step in range(3):
            start = trace.time_ns - 50_000
            trace.operation("AllGather", 4096, seq=step, datatype="bytes")
            middle = trace.time_ns - 50_000
            for _ in range(2):
                seq += 1
                trace.operation("AllReduce", 1 << 20, seq=seq, dur_us=100 + 10 * step)
            end = trace.time_ns - 60_000
            mark(trace, number + 1, "step", start, end)
            mark(trace, number + 2, "forward, \"a\"", start, middle)
            mark(trace, number + 3, "backward", middle, end)
            number += 3
        mark(trace, 1, "train", begin, None if unended else trace.time_ns)
        mark(trace, number + 1, "saved", trace.time_ns - 10_000, is_range=False, tid=9)
        trace.operation("Reduce", 1024, seq=0, root=0)
        tell_thread(trace)
        files[f"ringside.{rank}.json"] = trace.text()
    return files


def annotated():
    """Operations of torch.distributed's calls, each in its range, and of a range of the program."""
    files = {}
    for rank in range(2):
        trace = Trace(rank).communicator()
        calls = (("torch.all_reduce group=0 ranks=0-1 in=4 out=4", "train.py:17"),
                 ("torch.all_reduce group=0 ranks=0-1 in=4 out=4 async=1", "train.py:17"),
                 ("torch.all_reduce group=0 ranks=0-1 description=my%20group in=4 out=4 "
                  "module=layers.3.attn seq=7", "/home/me/train.py:17"),
                 ("torch.barrier group=0 ranks=0-1", None), ("torch of mine", "train.py:30"), None)
        base = trace.time_ns - 60_000
        for number, call in enumerate(calls, 1):
            begin = trace.time_ns - 50_000
            trace.operation("AllReduce", 1024, seq=number, dur_us=100)
            if call:
                mark(trace, number, call[0], begin, trace.time_ns - 60_000, source=call[1])
        mark(trace, 9, "train", base, trace.time_ns, source="train.py:1")
        tell_thread(trace)
        files[f"ringside.{rank}.json"] = trace.text()
    return files


def named():
    """Rank 2 of 3 comes late, and not to the last operation. NCCL knows the group as world; the calls
    of ranks 0 and 1 have its name."""
    files = {}
    for rank in range(3):
        trace = Trace(rank).communicator(nranks=3)
        begin = trace.time_ns - 10_000
        late(trace, rank)
        if rank < 2:
            trace.operation("AllReduce", 1 << 20, seq=40, times_from="gpu", state="started",
                            in_flight=True)
            mark(trace, 1, "torch.all_reduce group=7 ranks=0-2 description=mesh_tp", begin,
                 trace.time_ns)
        trace.time_ns += 60_000_000_000
        files[f"traces/ringside.{rank}.json"] = trace.text()
    return files


def named_alike():
    """Two groups that NCCL knows by one name; a rank is in both."""
    files = {}
    for rank in range(2):
        trace = Trace(rank)
        for context, group in ((1, "mesh_dp"), (2, "mesh_tp")):
            trace.communicator(context, comm=f"0xba385c900b3c5b3{context}")
            begin = trace.time_ns - 10_000
            trace.operation("AllReduce", 1 << 20, context=context, seq=0, times_from="gpu")
            mark(trace, context, f"torch.all_reduce group={context} ranks=0-1 description={group}",
                 begin, trace.time_ns - 900_000)
        files[f"ringside.{rank}.json"] = trace.text()
    return files


def profiled():
    """Thirty operations that are alike, three in each step: PyTorch's profiler saw four steps."""
    files = {}
    events = [{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 100, "tid": THREAD, "ts": 8000,
               "dur": 100}]
    for rank in range(2):
        trace = Trace(rank).communicator()
        for i in range(30):
            if rank == 0 and i in (6, 9, 12, 15):
                events.append({"ph": "X", "cat": "user_annotation", "name": f"ProfilerStep#{i // 3}",
                               "pid": 100, "tid": THREAD, "ts": trace.time_ns / 1000 - 10, "dur": 2900})
            trace.operation("AllReduce", 1 << 20, seq=i)
        files[f"traces/ringside.{rank}.json"] = trace.text()
    profile = {"schemaVersion": 1, "baseTimeNanoseconds": 1_790_857_026_000_000_000,
               "distributedInfo": {"rank": 0, "world_size": 2}, "traceEvents": events}
    return {**files, "profile.json": json.dumps(profile)}


def tagged():
    """Operations that the application gave user tags: two have 42, one has 7, and three none."""
    files = {}
    for name, text in annotated().items():
        for seq, tag in ((1, "0x2a"), (2, "0x2a"), (3, "0x7")):
            before = f'"seq":{seq},'
            text = text.replace(before, f'{before}"user_tag":"{tag}",')
        files[name] = text
    return files


def sampled(has_windows=False):
    """1 of 4 collectives of two ranks, or of ten seconds of every minute; one is in flight."""
    files = {}
    for rank in range(2):
        trace = Trace(rank)
        trace.events[0]["args"]["sampling"] = {
            "coll_of": 4, "p2p_of": 1, "window_ns": 10_000_000_000 if has_windows else 0,
            "period_ns": 60_000_000_000 if has_windows else 0, "min_bytes": 4096}
        trace.communicator()
        for seq in (1, 7, 10):
            trace.operation("AllReduce", 1 << 20, seq=seq)
        trace.operation("Broadcast", 4096, kind="api", root=0, times_from="enqueue")
        if rank == 1:
            trace.operation("AllReduce", 1 << 20, seq=11, state="started", in_flight=True)
        for event in trace.events:
            if event.get("cat") == "op" and event.get("args", {}).get("kind") == "coll":
                event["args"]["sample_of"] = 4
                if event["args"]["seq"] == 11:
                    event["args"]["sampled_out"] = True
        trace.account["Coll"] = {"produced": 24, "written": 3 + rank, "merged": 3,
                                 "sampled_out": 18 - rank}
        files[f"ringside.{rank}.json"] = trace.text()
    return files


def cases():
    return {
        "summary-by-range": ("summary --group-by range .", marked()),
        "summary-by-range-open": ("summary --group-by range .", marked(unended=True)),
        "summary-by-range-csv": ("summary --group-by range --format csv .", marked()),
        "summary-by-range-json": ("summary --group-by range --format json .", marked()),
        "summary-by-range-called": ("summary --group-by range .", annotated()),
        "summary-by-range-called-csv": ("summary --group-by range --format csv .", annotated()),
        "summary-by-range-called-json": ("summary --group-by range --format json .", annotated()),
        "summary-by-caller": ("summary --by caller .", annotated()),
        "summary-by-caller-csv": ("summary --by caller --format csv .", annotated()),
        "summary-by-caller-json": ("summary --by caller --format json .", annotated()),
        "summary-by-user-tag": ("summary --by user-tag --no-findings .", tagged()),
        "summary-user-tag": ("summary --user-tag 42 --format csv .", tagged()),
        "usage-user-tag": ("summary --user-tag mine .", {}),
        "summary-from-range": ("summary --from mark:step#2 --to mark:step#2 .", marked()),
        "summary-from-mark": ("summary --from mark:saved .", marked()),
        "summary-from-no-mark": ("summary --from mark:nowhere .", marked()),
        "summary-from-no-number": ("summary --to mark:step#4 .", marked()),
        "usage-from": ("summary --from soon .", {}),
        "summary-sampled": ("summary .", sampled()),
        "summary-sampled-windows": ("summary .", sampled(has_windows=True)),
        "summary-sampled-csv": ("summary --format csv .", sampled()),
        "summary-sampled-json": ("summary --format json .", sampled()),
        "match-sampled": ("match .", sampled()),
        "iterations-profiled": ("iterations --kineto profile.json traces", profiled()),
        "hang-group-name": ("hang traces", named()),
        "summary-group-name": ("summary --comm mesh_tp ../hang-group-name/traces", {}),
        "stragglers-group-name": ("stragglers --format json ../hang-group-name/traces", {}),
        "merge-group-names-alike": ("merge -o - .", named_alike()),
        "merge-group-name": ("merge -o - --top-slowest 2 ../hang-group-name/traces", {}),
    }
