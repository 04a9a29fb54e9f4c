# SPDX-License-Identifier: Apache-2.0
"""Writes small traces by docs/trace-format.md, independent of the analyzer. Lines, their order and
their members are those of the plugin: host-shape holds them against what it writes."""

import json

BASE_TIME_S = 1_790_857_026  # a multiple of 7,889,238
SIZES = {"ncclInt8": 1, "ncclFloat16": 2, "ncclFloat32": 4, "ncclFloat64": 8, "bytes": 1,
         "Unknown": 1}


def microseconds(time_ns):
    return f"{time_ns // 1000}.{time_ns % 1000:03d}"


class Number(float):
    """A time that is written with exactly three decimals."""

    def __new__(cls, time_ns):
        number = super().__new__(cls, time_ns / 1000)
        number.time_ns = time_ns
        return number

    def __repr__(self):
        return microseconds(self.time_ns)


def encode(event):
    """JSON without spaces; Number keeps its decimals."""
    def text(value):
        if isinstance(value, Number):
            return repr(value)
        if isinstance(value, dict):
            return "{" + ",".join(f"{json.dumps(k)}:{text(v)}" for k, v in value.items()) + "}"
        if isinstance(value, list):
            return "[" + ",".join(map(text, value)) + "]"
        return json.dumps(value)
    return text(event)


class Trace:
    """One process. Events are added as they come; `text()` closes the file."""

    def __init__(self, rank, *, host="node0", abi=6, nccl="2.29.7", run=None, dump=False, job="mix",
                 start_ns=1_000_000, windows=1, segment=None, after=0, boot_id="b00t"):
        self.rank = rank
        self.pid = 100 + rank
        self.events = []
        self.operations = self.after = after  # of the segments before
        self.time_ns = start_ns + 1_000_000
        self.abi = abi
        self.dump = dump
        self.tids = set()  # of the threads that have a name
        self.account = {"Coll": {"produced": 4, "written": 2, "merged": 2}}
        self.given_up = {}
        run_id = f"0x{0xabc0 + rank if run is None else run:016x}"
        args = {"format_version": 1, "plugin_version": "0.1.0", "run_id": run_id}
        if dump:
            args["dump"] = True
        args.update({
            "segment": segment or 1, "segment_start_ns": start_ns,
            "job": job, "host": host, "boot_id": boot_id, "pid": self.pid, "launcher_rank": rank,
            "launcher_rank_from": "RANK", "base_time_s": BASE_TIME_S, "start_ns": start_ns,
            "nccl_version": nccl, "abi": abi, "clock": "tsc",
            "events": ["Coll", "P2p", "ProxyOp"] if windows else [],
            "config": {"RINGSIDE_START": "1" if windows else "0"}, "environment": {}})
        self.meta("ringside_trace", args)
        self.meta("process_name", {"name": f"rank {rank} on {host}"})
        self.meta("process_sort_index", {"sort_index": rank})
        self.clock(start_ns)
        for window in range(windows):
            self.window(window + 1, start_ns + window, is_told_again=segment not in (None, 1))

    def window(self, number, start_ns, is_told_again=False):
        self.meta("ringside_window", {"window": number, "start_ns": start_ns, "events": ["Coll"]})
        if not is_told_again:
            self.events.append({"ph": "i", "cat": "mark", "s": "p", "pid": self.pid,
                                "tid": self.pid, "ts": Number(start_ns), "name": "ringside start",
                                "args": {}})

    def meta(self, name, args, tid=None):
        self.events.append({"ph": "M", "name": name, "pid": self.pid, "tid": tid or self.pid,
                            "ts": 0, "args": args})

    def clock(self, time_ns, **step):
        self.meta("ringside_clock", {
            "ts_ns": time_ns, "realtime_ns": hex(BASE_TIME_S * 1_000_000_000 + time_ns),
            "monotonic_ns": hex(time_ns), "uncertainty_ns": 50, **step})

    def call(self, tid, event):
        """A line of a thread's row, which has its name before the first."""
        if tid not in self.tids:
            self.tids.add(tid)
            self.meta("thread_name", {"name": "trainer"}, tid)
        self.events.append(event)

    def communicator(self, context=1, *, comm="0xba385c900b3c5b33", name="world", nranks=2,
                     rank=None):
        rank = self.rank if rank is None else rank
        args = {"context": context, "comm": comm, "name": name, "rank": rank, "nranks": nranks,
                "nnodes": 1, "created_ns": self.time_ns - 500_000 + 1000 * context}
        self.contexts = getattr(self, "contexts", {})
        self.contexts[context] = {"comm": comm, "rank": rank, "nranks": nranks}
        self.meta("ringside_communicator", {k: v for k, v in args.items() if v is not None})
        return self

    def operation(self, func, count, *, context=1, seq=None, datatype="ncclFloat32", dur_us=100.0,
                  times_from="proxy", state=None, kind="coll", algo="RING", proto="SIMPLE",
                  root=None, peer=None, in_flight=False, window=1, early_us=0, group=None,
                  graph=False):
        """An operation: its API slice, the two async slices and the arrow between them."""
        self.operations += 1
        op = self.operations
        begin = self.time_ns
        self.time_ns += 1_000_000
        state = state or ("enqueued" if times_from == "enqueue" else "completed")
        start = begin + 5_000 + int(early_us * 1000)
        end = start + int(dur_us * 1000)
        args = {"op": op, "context": context, **self.contexts[context], "kind": kind, "func": func,
                "seq": seq, "count": count, "datatype": datatype,
                "bytes": count * SIZES[datatype] if datatype in SIZES else None,
                "root": root, "peer": peer, "algo": algo, "proto": proto, "channels": 2, "group": group,
                "graph": True if graph else None,
                "in_flight": True if in_flight else None, "window": window, "tid": 7,
                "enqueue_start_ns": begin, "enqueue_end_ns": begin + 3_000}
        if state != "enqueued":
            args["start_ns"] = start
        if state == "completed":
            args["end_ns"] = end
        args.update({"times_from": times_from, "state": state})
        args = {k: v for k, v in args.items() if v is not None}
        shown = (start, end) if state != "enqueued" else (begin, begin + 3_000)
        bind = f"0x{0x7f3a000000000000 + self.pid * 65536 + op:016x}"
        self.call(7, {"ph": "X", "cat": "api", "pid": self.pid, "tid": 7, "ts": Number(begin),
                      "dur": Number(3_000), "name": func, "bind_id": bind, "flow_out": True,
                      "args": {"type": "Coll", "id": op, "context": context, "op": op}})
        slice_ = {"cat": "op", "id2": {"local": hex(op)}, "pid": self.pid, "tid": self.pid}
        outer = min(begin, shown[0])
        self.events += [
            {"ph": "b", **slice_, "ts": Number(outer), "name": "world"},
            {"ph": "b", **slice_, "ts": Number(shown[0]), "name": func, "bind_id": bind,
             "flow_in": True, "args": args}]
        if not in_flight:
            self.events += [{"ph": "e", **slice_, "ts": Number(shown[1]), "name": func},
                            {"ph": "e", **slice_, "ts": Number(shown[1]), "name": "world"}]
        return self

    def text(self, closed=True, torn="", next_segment=None, recovered=False, silent_ns=None,
             lost=None):
        """The file; not closed, it may end in a line that was cut off. lost: of marks and ranges."""
        if closed:
            self.clock(self.time_ns)
        account = {"ts_ns": self.time_ns, "final": closed and not self.dump and next_segment is None,
                   "by_type": self.account}
        if self.given_up:
            account["given_up"] = self.given_up
        self.meta("ringside_account", account | {"by_thread": []})
        if not closed:
            return "[" + "".join(encode(e) + ",\n" for e in self.events) + torn
        end = {"ts_ns": self.time_ns, "operations": self.operations - self.after}
        if next_segment is not None:
            end["next_segment"] = next_segment
        if recovered:
            end["recovered"] = True
        if silent_ns is not None:
            end["silent_ns"] = silent_ns
        self.meta("ringside_end", end | (lost or {}))
        return "[" + ",\n".join(map(encode, self.events)) + "\n]\n"
