# SPDX-License-Identifier: Apache-2.0
"""Inputs of the cases of `ringside hang`: jobs that are stuck in a known way."""

import json
import pickle

from summary_inputs import segments
from trace_writer import BASE_TIME_S, Number, Trace

SECOND_NS = 10**9
WORLD = {"comm": "0xba385c900b3c5b33", "name": "world"}
DATA = {"comm": "0xdada", "name": "data"}
ENDED_JOBS = ("absent_call", "other_call", "killed", "exited", "raised", "restarted")


def dump(rank, nranks, **options):
    """A dump of a rank that has done three collectives; each host has two ranks."""
    options.setdefault("dump", True)
    trace = Trace(rank, host=f"node{rank // 2}", **options).communicator(nranks=nranks, **WORLD)
    for seq in range(3):
        trace.operation("AllReduce", 65536, seq=seq, times_from="gpu")
    return trace


def stuck(trace, func="AllReduce", seq=3, *, state="started", times_from="gpu", **options):
    return trace.operation(func, options.pop("count", 65536), seq=seq, in_flight=True, state=state,
                           times_from=times_from, **options)


def texts(traces, seconds=31):
    """The dumps, all made so many seconds after the last call."""
    files = {}
    for i, trace in enumerate(traces):
        trace.time_ns += seconds * SECOND_NS
        files[f"traces/ringside.{i}.json"] = trace.text()
    return files


def transfer(trace, *, category="step", send=True, peer=0, channel=0, start_ns=None, **args):
    """A step or proxy operation in flight, of the trace's last operation."""
    trace.rows = getattr(trace, "rows", 0) + 1
    name = f"{'send' if send else 'recv'}{' steps' if category == 'step' else ''} channel {channel}"
    trace.events.append({
        "ph": "b", "cat": category, "id2": {"local": hex(0x5000 + trace.rows)}, "pid": trace.pid,
        "tid": trace.pid, "ts": Number(trace.time_ns if start_ns is None else start_ns),
        "name": name, "args": {"op": trace.operations, "context": 1, "peer": peer, **args,
                               "in_flight": True}})


def one_missing(nranks=8, missing=5, **options):
    traces = [dump(rank, nranks, **options) for rank in range(nranks)]
    for trace in traces:
        if trace.rank == missing:
            trace.time_ns += 1_000_000
        else:
            stuck(trace)
    return traces


def first_of_two_hosts():
    """The first collective is stuck, so nothing compares the hosts' clocks. Rank 1 has not joined."""
    traces = [Trace(rank, host=f"node{rank}", boot_id=f"b00t{rank}", dump=True)
              .communicator(nranks=2, **WORLD) for rank in range(2)]
    stuck(traces[0], seq=0)
    return texts(traces)


def lost_line():
    """Nothing is seen to be stuck, but a line of one dump is gone."""
    files = nothing_stuck()
    path = min(files)
    lines = files[path].splitlines(keepends=True)
    files[path] = "".join(line for line in lines if '"seq":1' not in line)
    assert len(files[path].splitlines()) == len(lines) - 1
    return files


def nothing_stuck():
    """One operation is under way, as in any job that runs."""
    traces = [dump(rank, 2) for rank in range(2)]
    return texts([stuck(trace) for trace in traces], seconds=0)


def deadlock():
    """Rank 0 calls world, then data; rank 1 the other way round. Neither kernel ends."""
    traces = []
    for rank in range(2):
        trace = dump(rank, 2).communicator(2, nranks=2, **DATA)
        order = (1, 2) if rank == 0 else (2, 1)
        stuck(trace, context=order[0], seq=3 if order[0] == 1 else 0)
        stuck(trace, context=order[1], seq=3 if order[1] == 1 else 0, state="enqueued",
              times_from="enqueue")
        traces.append(trace)
    return traces


def chain():
    """Rank 0 waits in data for rank 1, which waits in model for rank 2, which is in neither."""
    traces = []
    for rank in range(3):
        trace = dump(rank, 3)
        if rank < 2:
            trace.communicator(2, nranks=2, **DATA)
        if rank > 0:
            trace.communicator(3, comm="0x30de1", name="model", nranks=2, rank=rank - 1)
            trace.operation("AllGather", 1024, context=3, seq=0, times_from="gpu")
        if rank == 0:
            stuck(trace, context=2, seq=0)
        elif rank == 1:
            trace.time_ns += 5_000_000
            stuck(trace, context=3, seq=1, func="AllGather")
        traces.append(trace)
    return traces


def function_mismatch():
    traces = [dump(rank, 4) for rank in range(4)]
    for trace in traces:
        if trace.rank == 3:
            stuck(trace, "AllGather", seq=0, datatype="bytes")
        else:
            stuck(trace)
    return traces


def bytes_mismatch():
    return [stuck(dump(rank, 4), count=65536 if rank < 3 else 131072) for rank in range(4)]


def credit():
    """All have joined; rank 2 gives rank 1 no credit."""
    traces = [stuck(dump(rank, 3), times_from="proxy") for rank in range(3)]
    for trace in traces:
        after, before = (trace.rank + 1) % 3, (trace.rank - 1) % 3
        if trace.rank == 1:
            transfer(trace, peer=after, gpu_wait_ns=2000, peer_wait_ns=30 * SECOND_NS)
            transfer(trace, peer=after, gpu_wait_ns=2000, peer_wait_ns=30 * SECOND_NS)
        else:
            transfer(trace, peer=after, gpu_wait_ns=30 * SECOND_NS)
        transfer(trace, send=False, peer=before, transfer_ns=30 * SECOND_NS)
    return traces


def no_steps(**options):
    traces = [stuck(dump(rank, 2, **options), times_from="proxy_queue") for rank in range(2)]
    for trace in traces:
        transfer(trace, category="proxy", peer=1 - trace.rank)
    return traces


def only_enqueues():
    """Nothing of the fourth call is seen to run, and rank 2 has called nothing for 31 seconds."""
    traces = [dump(rank, 4) for rank in range(4)]
    for trace in traces:
        if trace.rank == 2:
            trace.time_ns += 1_000_000
        else:
            trace.operation("AllReduce", 65536, seq=3, times_from="enqueue")
    return traces


def calls_only(rank, times_s, *, until_s, dump=True):
    """A rank of a job on one host without kernel channels, which called at these times."""
    trace = Trace(rank, dump=dump).communicator(nranks=2, **WORLD)
    begin_ns = trace.time_ns
    for seq, time_s in enumerate(times_s):
        trace.time_ns = begin_ns + int(time_s * SECOND_NS)
        trace.operation("AllReduce", 65536, seq=seq, times_from="enqueue")
    trace.time_ns = begin_ns + int(until_s * SECOND_NS)
    return trace


def calls_ahead():
    """The job goes on: rank 1 calls every two seconds, and rank 0 may run three calls ahead."""
    steps = [2 * step for step in range(10)]
    return {f"traces/ringside.{trace.rank}.json": trace.text()
            for trace in (calls_only(0, [0, 0.1, 0.2, *steps], until_s=19.5),
                          calls_only(1, steps, until_s=19.5))}


def calls_end(recovered=False, until_s=3):
    """All ranks have made the same calls, and end at that time: by themselves or not."""
    return {f"traces/ringside.{rank}.json":
            calls_only(rank, range(3), until_s=until_s, dump=False).text(recovered=recovered)
            for rank in range(2)}


def calls_rare():
    """Rank 1 has not called for 20 s what rank 0 has; it was silent for 30 s before."""
    return {f"traces/ringside.{trace.rank}.json": trace.text()
            for trace in (calls_only(0, [0, 1, 31, 32], until_s=52),
                          calls_only(1, [0, 1, 31], until_s=52))}


def ends_seen():
    """`ringside run` saw rank 1 exit with 1, and rank 0 end by SIGTERM two seconds later."""
    traces = [dump(rank, 2, dump=False) for rank in range(2)]
    last_ns = BASE_TIME_S * SECOND_NS + max(trace.time_ns for trace in traces)
    ends = [{"boot_id": "b00t", "pid": trace.pid, "ended_realtime_ns": last_ns + after_ns,
             "wait_status": status}
            for trace, after_ns, status in ((traces[1], 0, 1 << 8), (traces[0], 2 * SECOND_NS, 15))]
    return {**{f"traces/ringside.{trace.rank}.json": trace.text() for trace in traces},
            "traces/ringside-ends-1.jsonl": "".join(json.dumps(end) + "\n" for end in ends)}


def disk_full():
    """Both processes exited while the disk was full; rank 1 had no room for its end."""
    traces = [dump(rank, 2, dump=False) for rank in range(2)]
    traces[0].account = {"Coll": {"produced": 500, "written": 2, "merged": 2,
                                  "dropped_write": 496}}
    return {f"traces/ringside.{trace.rank}.json": trace.text(closed=trace.rank == 0)
            for trace in traces}


def send_without_receive():
    traces = [dump(rank, 2) for rank in range(2)]
    traces[0].operation("Send", 4096, kind="p2p", peer=1, times_from="proxy_queue",
                        state="started", in_flight=True, algo=None, proto=None)
    traces[1].time_ns += 1_000_000
    return traces


def with_drops(traces):
    for trace in traces:
        trace.account = {"KernelCh": {"produced": 5, "written": 2, "merged": 2,
                                      "dropped_ring_full": 1}}
    return traces


def without(files, name):
    return {path: text for path, text in files.items() if name not in path}


def killed():
    """Rank 1 was killed, and its trace not recovered: nothing in flight is in it."""
    traces = [stuck(dump(0, 3)), dump(1, 3, dump=False), stuck(dump(2, 3))]
    files = texts([traces[0], traces[2]])
    return {**files, "traces/ringside.killed.json": traces[1].text(closed=False)}


def killed_within():
    """Rank 1 was killed in an operation that all had joined."""
    traces = no_steps(dump=False)
    traces[0].time_ns += 30 * SECOND_NS
    return {f"traces/ringside.{trace.rank}.json": trace.text(recovered=trace.rank == 1)
            for trace in traces}


def stopped_within():
    """The same, but the ranks' rings were copied while they live: rank 1 was stopped by then."""
    traces = no_steps(dump=False)
    traces[0].time_ns += 30 * SECOND_NS
    return {f"traces/ringside.{trace.rank}.json":
            trace.text(recovered=True, silent_ns=[20_000_000, 29_990_000_000][trace.rank])
            for trace in traces}


def totals_behind():
    """Dumps of PyTorch's Flight Recorder: of two exchanges that are scheduled, rank 3 takes two elements less than it
    is given in the second."""
    def call(rank, number, taken):
        return {"frames": [{"name": "step", "filename": "train.py", "line": 10}], "record_id": number - 1, "pg_id": 0,
                "process_group": ("0", "default_pg"), "collective_seq_id": number, "p2p_seq_id": 0, "op_id": number,
                "profiling_name": "nccl:all_to_all", "time_created_ns": 1_790_857_026_000_000_000 + number * 1_000_000 + rank * 1_017,
                "input_sizes": [[8]], "input_dtypes": ["Float"], "output_sizes": [[taken]], "output_dtypes": ["Float"],
                "state": "scheduled", "time_discovered_started_ns": None, "time_discovered_completed_ns": None,
                "retired": False, "timeout_ms": 600_000, "is_p2p": False}

    return {f"dumps/nccl_trace_rank_{rank}": pickle.dumps(
        {"version": "2.10", "nccl_version": "2.28.9", "entries": [call(rank, 1, 8), call(rank, 2, 6 if rank == 3 else 8)],
         "pg_config": {"0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1, 2, 3]"}}, "pg_status": {}}, protocol=2)
        for rank in range(4)}


def all_called(finished, watched=None, started=(-1, -1)):
    """Dumps of PyTorch's Flight Recorder without TORCH_NCCL_ENABLE_TIMING: three all-reduces, of which so many are
    completed; what the watchdog has seen to end, and on each rank to begin."""
    def call(rank, number):
        return {"frames": [{"name": "step", "filename": "train.py", "line": 10}], "record_id": number - 1, "pg_id": 0,
                "process_group": ("0", "default_pg"), "collective_seq_id": number, "p2p_seq_id": 0, "op_id": number,
                "profiling_name": "nccl:all_reduce", "time_created_ns": (BASE_TIME_S + number) * SECOND_NS + rank,
                "input_sizes": [[8]], "input_dtypes": ["Float"], "output_sizes": [[8]], "output_dtypes": ["Float"],
                "state": "completed" if number <= finished else "scheduled",
                "time_discovered_started_ns": None, "time_discovered_completed_ns": None,
                "retired": number <= finished, "timeout_ms": 600_000, "is_p2p": False}

    def status(rank):
        return {} if watched is None else {"0": {"last_enqueued_collective": 3, "last_started_collective": started[rank],
                                                 "last_completed_collective": watched}}

    return {f"dumps/nccl_trace_rank_{rank}": pickle.dumps(
        {"version": "2.10", "nccl_version": "2.28.9", "entries": [call(rank, number) for number in (1, 2, 3)],
         "pg_config": {"0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1]"}}, "pg_status": status(rank)}, protocol=2)
        for rank in range(2)}


def cases():
    missing = texts(one_missing())
    return {
        "help-hang": ("hang --help", {}),
        "hang-missing-rank": ("hang traces", missing),
        "hang-missing-rank-json": ("hang --format json traces", missing),
        "hang-missing-rank-csv": ("hang --format csv --table ranks traces", missing),
        "hang-missing-rank-markdown": ("hang --format markdown --top 3 traces", missing),
        "hang-missing-rank-no-align": ("hang --no-align traces", missing),
        "hang-clocks-not-compared": ("hang traces", first_of_two_hosts()),
        "hang-no-trace": ("hang traces", without(texts(one_missing()), ".5.")),
        "hang-not-closed": ("hang traces", killed()),
        "hang-process-ended": ("hang traces", texts(one_missing(4, 1, dump=False))),
        "hang-deadlock": ("hang traces", texts(deadlock())),
        "hang-chain": ("hang traces", texts(chain())),
        "hang-function-mismatch": ("hang traces", texts(function_mismatch())),
        "hang-bytes-mismatch": ("hang traces", texts(bytes_mismatch())),
        "hang-credit": ("hang traces", texts(credit())),
        "hang-no-steps": ("hang traces", texts(no_steps())),
        "hang-killed-within": ("hang --min-age 0 traces", killed_within()),
        "hang-stopped-within": ("hang --min-age 0 traces", stopped_within()),
        "hang-totals-behind": ("hang dumps", totals_behind()),
        "hang-all-called": ("hang dumps", all_called(2)),
        "hang-all-called-watched": ("hang dumps", all_called(2, watched=3)),
        "hang-all-called-started": ("hang dumps", all_called(2, watched=2, started=(3, 3))),
        "hang-all-called-started-one": ("hang dumps", all_called(2, watched=2, started=(3, 2))),
        "hang-send": ("hang traces", texts(send_without_receive())),
        "summary-findings-send": ("summary ../hang-send/traces", {}),
        "summary-findings-stuck": ("summary ../hang-missing-rank/traces", {}),
        "summary-findings-markdown": ("summary --format markdown ../hang-missing-rank/traces", {}),
        "summary-findings-json": ("summary --format json ../hang-missing-rank/traces", {}),
        "summary-findings-killed": ("summary ../hang-killed-within/traces", {}),
        "summary-findings-not-closed": ("summary ../hang-not-closed/traces", {}),
        "summary-findings-part": ("summary --comm data --func AllReduce ../hang-chain/traces", {}),
        "summary-no-findings": ("summary --no-findings ../hang-missing-rank/traces", {}),
        "hang-drops": ("hang traces", texts(with_drops(one_missing(4, 2)))),
        "hang-only-enqueues": ("hang traces", texts(only_enqueues())),
        "summary-ends-seen": ("summary traces", ends_seen()),
        "summary-disk-full": ("summary traces", disk_full()),
        "hang-calls-ahead": ("hang traces", calls_ahead()),
        "hang-calls-end": ("hang traces", calls_end()),
        "hang-calls-quiet": ("hang traces", calls_end(recovered=True, until_s=43)),
        "summary-calls-quiet": ("summary ../hang-calls-quiet/traces", {}),
        "hang-calls-rare": ("hang traces", calls_rare()),
        **{f"{command}-ended-{job}".replace("_", "-"):
           (f"{command} ../../../data/ended_jobs/{job}", {})
           for command in ("hang", "summary") for job in ENDED_JOBS},
        "hang-one-communicator": ("hang --comm data traces", texts(chain())),
        "hang-other-communicator": ("hang --comm 0x30de1 traces", texts(chain())),
        "hang-no-such-communicator": ("hang --comm nothing traces", texts(chain())),
        "hang-one-host": ("hang --host node0 traces", missing),
        "hang-no-such-rank": ("hang --rank 77 traces", missing),
        "usage-hang-func": ("hang --func AllReduce traces", {}),
        "hang-nothing": ("hang traces", nothing_stuck()),
        "hang-nothing-min-age": ("hang --min-age 60 traces", missing),
        "hang-lost-line": ("hang traces", lost_line()),
        "hang-segment-missing": ("hang traces", without(segments(0) | segments(1), "101.1.s000004")),
        "hang-no-input": ("hang nowhere", {}),
    }
