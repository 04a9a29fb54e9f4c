#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares a trace with the recording of NCCL's calls that it was made from: every call must be
accounted for, every event must have its line, every operation must say what NCCL said.

usage: check_replay.py RECORDING.jsonl.gz TRACE.json
"""
import collections
import json
import re
import sys

import expected

CATEGORIES = {"proxy": ["ProxyOp"], "step": ["ProxyStep"], "gpu": ["KernelCh"],
              "ctrl": ["ProxyCtrl"], "net": ["NetPlugin"], "phase": ["KernelPhase"],
              "ce": ["CeSync", "CeBatch"]}


def read_trace(path):
    """All events. A file of a process that did not close it is valid up to its last newline."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    if text.endswith("]\n") or text.endswith("]"):
        return json.loads(text)
    return json.loads(text[:text.rindex("\n")].rstrip(",") + "]")


class Trace:
    def __init__(self, path):
        self.events = read_trace(path)
        self.by_name = collections.defaultdict(list)
        for event in self.events:
            if event["ph"] == "M":
                self.by_name[event["name"]].append(event["args"])
        self.first = self.by_name["ringside_trace"][0]
        self.account = (self.by_name["ringside_account"] or [{"by_type": {}}])[-1]
        self.communicators = {}
        for args in self.by_name["ringside_communicator"]:
            self.communicators.setdefault(args["context"], {}).update(args)
        self.operations = {event["args"]["op"]: event["args"] for event in self.begins("op")
                           if "op" in event.get("args", {})}

    def begins(self, category):
        return [event for event in self.events
                if event.get("cat") == category and event["ph"] == "b"]

    def calls(self):
        """API calls: plain slices, and async ones where they did not end in order."""
        return [event for event in self.events
                if event.get("cat") == "api" and event["ph"] in "Xb"]


class Checker:
    def __init__(self):
        self.troubles = []

    def equal(self, what, found, wanted):
        if found != wanted:
            self.troubles.append(f"{what}: {found!r} in the trace, {wanted!r} expected")

    def true(self, what, condition):
        if not condition:
            self.troubles.append(what)

    def same_items(self, what, found, wanted):
        found, wanted = collections.Counter(found), collections.Counter(wanted)
        for item, times in (found - wanted).items():
            self.troubles.append(f"{what}: {times} x too many: {item}")
        for item, times in (wanted - found).items():
            self.troubles.append(f"{what}: {times} x missing: {item}")


def check_account(check, trace, recording, complete=True):
    """complete: all of the recording was replayed and the file was closed."""
    by_type = trace.account["by_type"]
    total = 0
    for name, numbers in by_type.items():
        produced = numbers.get("produced", 0)
        total += produced
        check.equal(f"account of {name}: sum of its parts",
                    sum(number for key, number in numbers.items() if key != "produced"), produced)
        for key, number in numbers.items():
            if key.startswith("dropped") or key in ("filtered", "sampled_out"):
                check.equal(f"account of {name}: {key}", number, 0)
            if complete and key in ("held", "in_rings"):
                check.equal(f"account of {name}: {key} at the end", number, 0)
    if not complete:
        return
    check.equal("callbacks produced", total,
                sum(recording.produced.values()) + recording.foreign_handles)
    starts = collections.Counter(event.type for event in recording.starts)
    for name in sorted(set(starts) | (set(by_type) - {"Unknown"})):
        numbers = by_type.get(name, {})
        check.equal(f"{name}: produced", numbers.get("produced", 0), recording.produced[name])
        check.equal(f"{name}: written", numbers.get("written", 0), starts[name])
    check.equal("last account says final", trace.account.get("final"), True)


def check_lines(check, trace, recording):
    starts = collections.Counter(event.type for event in recording.starts)
    for category, names in CATEGORIES.items():
        check.equal(f"lines of category {category}", len(trace.begins(category)),
                    sum(starts[name] for name in names))
    calls = collections.Counter(event["args"]["type"] for event in trace.calls())
    for name in expected.ENQUEUES:
        check.equal(f"API slices of type {name}", calls[name], starts[name])
    ids = [event["args"]["id"] for event in trace.calls()]
    check.equal("API slices with the same id", len(ids) - len(set(ids)), 0)


def identity(operation):
    datatype = operation.get("datatype")
    return (operation["kind"], operation["func"], operation.get("seq"), operation["count"],
            "ncclUint8" if datatype == "Unknown" else datatype, operation.get("bytes"),
            operation.get("root"), operation.get("peer"), operation.get("channels"),
            int(operation.get("user_tag", "0x0"), 16), operation.get("variant"))


def rows_by_operation(trace):
    """operation: GPU channels, proxy operations, number of steps; as expected.rows_of has them."""
    gpu, proxies = collections.defaultdict(list), collections.defaultdict(list)
    steps = collections.Counter()
    for event in trace.begins("gpu"):
        channel = int(re.search(r"GPU channel (\d+)", event["name"]).group(1))
        gpu[event["args"].get("op")].append(channel)
    for event in trace.begins("proxy"):
        args = event["args"]
        direction, channel = re.search(r"(send|recv) channel (\d+)", event["name"]).groups()
        proxies[args.get("op")].append(
            (direction, int(channel), args["peer"], args["steps"], args["chunk_bytes"]))
    for event in trace.begins("step"):
        steps[event["args"].get("op")] += 1
    return {number: (tuple(sorted(gpu[number])), tuple(sorted(proxies[number])), steps[number])
            for number in trace.operations}


def check_operations(check, trace, recording):
    wanted = recording.operations()
    kinds = collections.Counter(operation["kind"] for operation in trace.operations.values())
    check.equal("operations", len(trace.operations), len(wanted))
    check.equal("operations of kind api", kinds["api"],
                sum(1 for event in wanted if event.type in ("CollApi", "P2pApi")))
    check.same_items("operations (kind, func, seq, count, datatype, bytes, root, peer, channels, "
                     "user tag, variant)",
                     [identity(operation) for operation in trace.operations.values()],
                     [expected.identity(event) for event in wanted])
    rows = rows_by_operation(trace)
    check.same_items("operations with rows (GPU channels, proxy operations, steps)",
                     [identity(args) + rows[number] for number, args in trace.operations.items()],
                     [expected.identity(event) + expected.rows_of(event) for event in wanted])


def check_states(check, trace, recording):
    """Times and states, by what cannot be told apart: a multiset again."""
    for state in ("completed", "enqueued"):
        want = collections.Counter(expected.identity(event) for event in recording.operations()
                                   if expected.final_state(event) == state)
        have = collections.Counter(identity(args) for args in trace.operations.values()
                                   if args["state"] == state)
        for item, times in (want - have).items():
            check.true(f"{times} x not {state} in the trace: {item}", False)
    for number, args in trace.operations.items():
        check.true(f"operation {number}: times_from {args['times_from']}, state {args['state']}",
                   (args["times_from"] == "enqueue") == ("start_ns" not in args)
                   and args["state"] in ("completed", "started", "enqueued"))
        check.true(f"operation {number} ends before it starts",
                   args.get("end_ns", 0) >= args.get("start_ns", 0)
                   or "end_ns" not in args)
        check.true(f"operation {number}: its enqueue ends before it starts",
                   args.get("enqueue_end_ns", args["enqueue_start_ns"])
                   >= args["enqueue_start_ns"])


def check_communicators(check, trace, recording):
    check.equal("communicators", sorted(trace.communicators),
                list(range(1, len(recording.communicators) + 1)))
    if recording.abi >= 4:
        check.same_items(
            "communicators (comm, name, rank, nranks, nnodes)",
            [(int(args["comm"], 16),)
             + tuple(args.get(key) for key in ("name", "rank", "nranks", "nnodes"))
             for args in trace.communicators.values()],
            [(int(init.get("commId", init.get("commHash")), 16), init["commName"],
              init["rank"], init["nranks"], init["nNodes"]) for init in recording.communicators])
    for args in trace.operations.values():
        known = trace.communicators.get(args["context"])
        if known is None:  # NCCL passed no context of ours
            check.equal(f"context of operation {args['op']}", args["context"], 0)
            continue
        for key in ("comm", "rank", "nranks"):
            if key in args:
                check.equal(f"operation {args['op']}: {key}", args[key], known.get(key))
    check.equal("finalized communicators",
                sum("finalized_ns" in args for args in trace.communicators.values()),
                recording.finalized)


def check_from_start(check, trace):
    """If recording was on when the first communicator was created, the window is older."""
    if not trace.first["events"]:
        return
    starts = [args["start_ns"] for args in trace.by_name["ringside_window"] if args["window"] == 1]
    check.true("window 1 is in the trace", starts)
    for context, args in trace.communicators.items():
        check.true(f"communicator {context} was created at {args['created_ns']}, before window 1 "
                   f"began at {starts}", all(start <= args["created_ns"] for start in starts))


def check_end(check, trace):
    ends = trace.by_name["ringside_end"]
    check.equal("ringside_end lines", len(ends), 1)
    if ends:
        check.equal("ringside_end: operations", ends[0]["operations"], len(trace.operations))


def compare(recording, trace):
    """All troubles of a complete replay, as lines."""
    check = Checker()
    check.equal("abi", trace.first["abi"], recording.abi)
    check_account(check, trace, recording)
    check_lines(check, trace, recording)
    check_operations(check, trace, recording)
    check_states(check, trace, recording)
    check_communicators(check, trace, recording)
    check_from_start(check, trace)
    check_end(check, trace)
    return check.troubles


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    recording, trace = expected.Recording(sys.argv[1]), Trace(sys.argv[2])
    troubles = compare(recording, trace)
    for trouble in troubles[:40]:
        print(trouble)
    print(f"{len(recording.calls)} calls, {len(trace.operations)} operations, "
          f"{len(troubles)} troubles")
    return 1 if troubles else 0


if __name__ == "__main__":
    sys.exit(main())
