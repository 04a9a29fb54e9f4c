#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds the traces that tests are made of, those of test/diff/trace_writer.py and of
ringside_generate, against what the plugin writes in a replay: the same kinds of lines in the same
order, the same members in each kind, and times that stand to each other as the plugin's do.

What the plugin writes is not described here: it is read from its files.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "diff"))
from trace_writer import Trace  # noqa: E402  pylint: disable=wrong-import-position

# In the order in which the first of each must come: what a line refers to is before it.
HEADER = ["ringside_trace", "process_name", "process_sort_index", "ringside_clock",
          "ringside_window", "ringside start", "ringside_communicator", "thread_name"]
RECORDINGS = {"2.30.7-v6-mix-n2": 6, "2.30.7-v4-mix-n2": 4, "2.25.1-v2native-mix-n2": 2}
EVENTS = "coll,p2p,kernel,proxy,steps"


class Failure(Exception):
    pass


def require(condition, text):
    if not condition:
        raise Failure(text)


def events_of(text):
    return [json.loads(line.lstrip("[").rstrip(",")) for line in text.splitlines()
            if line not in ("]", "")]


def kind_of(event):
    """Returns the kind of a line: lines of one kind are alike in their members."""
    if event["ph"] == "M" or event.get("cat") == "mark":
        return event["name"]
    kind = f"{event.get('cat', 'counter')} {event['ph']}"
    return kind + " with args" if event["ph"] == "b" and "args" in event else kind


def members_of(event):
    return list(event) + [f"args.{key}" for key in event.get("args", {})
                          if event["ph"] != "C" and event["name"] != "ringside_end"]


def in_order_of(members, known):
    """Whether `members` come in the order in which the plugin writes them."""
    places = [known.index(member) for member in members if member in known]
    return places == sorted(places)


class Shape:
    """The shape of the plugin's lines."""

    def __init__(self):
        self.always = {}  # by kind: members that each line has
        self.orders = {}  # by kind: all orders of members
        self.tails = set()

    def add(self, events):
        for event in events:
            members = members_of(event)
            kind = kind_of(event)
            self.always[kind] = self.always.get(kind, set(members)) & set(members)
            self.orders.setdefault(kind, set()).add(tuple(members))
        self.tails.add(tuple(kind_of(event) for event in events[-3:]))

    def check(self, name, events):
        for number, event in enumerate(events, 1):
            kind, members = kind_of(event), members_of(event)
            require(kind in self.always, f"{name}:{number}: the plugin writes no line like {event}")
            absent = self.always[kind] - set(members) - OF_KERNEL
            require(not absent, f"{name}:{number}: {kind} without {sorted(absent)}")
            if event["ph"] == "b" and "args" in event and not event["args"].get("in_flight"):
                is_op = event["cat"] == "op"
                behind = {kind_of(e) for e in events[number:number + 1]}
                require(is_op or behind == {f"{event['cat']} e"},
                        f"{name}:{number}: behind a row's begin is {behind}, not its end")
            known = set().union(*self.orders[kind])
            added = set(members) - known - OPTIONAL - OF_KERNEL
            require(not added, f"{name}:{number}: {kind} with {sorted(added)}")
            require(all(in_order_of(members, order) for order in self.orders[kind]),
                    f"{name}:{number}: {kind} has its members in another order: {members}")
        require(tuple(kind_of(event) for event in events[-3:]) in self.tails,
                f"{name} ends with {[kind_of(event) for event in events[-3:]]}, not {self.tails}")


# No replay shows these: they depend on the job, the launcher or the GPU.
OPTIONAL = {"args.dump", "args.root", "args.peer", "args.in_flight", "args.seq",
            "args.launcher_rank", "args.launcher_rank_from",
            "args.by_thread"}  # of accounts in made traces; nothing reads it
# These depend on what the kernel of the machine says of its clock.
OF_KERNEL = {"args.synchronised", "args.estimated_error_ns", "args.maximum_error_ns"}


def check_relations(name, events):
    """Checks relations that hold in every trace of a process that recorded from its load on."""
    kinds = [kind_of(event) for event in events]
    first = {kind: kinds.index(kind) for kind in HEADER if kind in kinds}
    require(list(first.values()) == sorted(first.values()),
            f"{name}: the header is in the order {sorted(first, key=first.get)}")
    window = next(e["args"] for e in events if kind_of(e) == "ringside_window")
    start_ns = events[0]["args"]["start_ns"]
    require(start_ns <= window["start_ns"], f"{name}: window 1 begins before the plugin is loaded")
    contexts, tids, operations, calls = set(), set(), 0, {}
    for number, event in enumerate(events, 1):
        kind, args = kind_of(event), event.get("args", {})
        where = f"{name}:{number}"
        if kind == "ringside_communicator":
            require(window["start_ns"] <= args["created_ns"],
                    f"{where}: context {args['context']} is created before window 1 begins")
            contexts.add(args["context"])
        elif kind == "thread_name":
            tids.add(event["tid"])
        elif event.get("cat") == "api" and event["ph"] == "X":
            require(event["tid"] in tids, f"{where}: a call of a thread without a name")
            calls[event.get("bind_id")] = number
        elif kind == "op b with args":
            operations += 1
            require(args["context"] in contexts, f"{where}: before its communicator")
            require(event["bind_id"] in calls if "bind_id" in event and event["bind_id"] in
                    {e.get("bind_id") for e in events if e.get("cat") == "api" and e["ph"] == "X"}
                    else True, f"{where}: before its enqueue")
            require(args["enqueue_start_ns"] >= window["start_ns"], f"{where}: before its window")
    end = events[-1]["args"]
    require(end["operations"] == operations, f"{name}: {end['operations']} of {operations}")
    account = next(e["args"] for e in reversed(events) if kind_of(e) == "ringside_account")
    require(account["final"] is (not events[0]["args"].get("dump", False)),
            f"{name}: final is {account['final']}")
    require(account["ts_ns"] <= end["ts_ns"], f"{name}: the account is later than the end")


def replay(options, directory, name, abi):
    traces = directory / name
    traces.mkdir()
    (directory / "rings").mkdir(exist_ok=True)
    environment = {key: value for key, value in os.environ.items()
                   if not key.startswith("RINGSIDE_")}
    environment.update(RINGSIDE_DIR=str(traces), RINGSIDE_EVENTS=EVENTS, RANK="0",
                       RINGSIDE_RING_DIR=str(directory / "rings"))
    subprocess.run([options.host, "--plugin", options.plugin, "--abi", str(abi), "--honour-mask",
                    "--timing", "--speed", "20",
                    pathlib.Path(options.transcripts) / name / "rank0.jsonl.gz"],
                   env=environment, check=True, capture_output=True, timeout=100)
    (file,) = traces.glob("*.json")
    return events_of(file.read_text(encoding="utf-8"))


def written():
    """Makes lines with the functions that make golden inputs."""
    plain = Trace(0).communicator()
    plain.operation("AllReduce", 1024, seq=0).operation("Broadcast", 64, seq=0, root=1)
    plain.operation("Send", 8, kind="p2p", peer=1, algo=None, proto=None)
    plain.operation("AllReduce", 8, seq=1, times_from="gpu")
    plain.communicator(2, comm="0x12", name="pair").operation("AllReduce", 8, context=2, seq=0)
    dump = Trace(1, dump=True).communicator()
    dump.operation("AllReduce", 1024, seq=0, state="started", in_flight=True)
    return {"trace_writer": plain.text(), "trace_writer, a dump": dump.text()}


def generated(options, directory):
    for number, arguments in enumerate(("--seed 1", "--seed 2 --full", "--seed 4 --steps", "--seed 3 --end dump")):
        out = directory / f"generated{number}"
        subprocess.run([options.generate, *arguments.split(), "--iterations", "3", str(out)],
                       check=True, capture_output=True, timeout=60)
        for file in sorted(out.glob("*.json")):
            yield f"ringside_generate {arguments}: {file.name}", file.read_text(encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--host", required=True, help="nccl_host")
    parser.add_argument("--plugin", required=True)
    parser.add_argument("--generate", required=True, help="ringside_generate")
    parser.add_argument("transcripts")
    options = parser.parse_args()
    try:
        with tempfile.TemporaryDirectory(prefix="ringside-shape-") as temporary:
            directory = pathlib.Path(temporary)
            shape = Shape()
            for name, abi in RECORDINGS.items():
                events = replay(options, directory, name, abi)
                check_relations(name, events)
                shape.add(events)
            others = {**written(), **dict(generated(options, directory))}
            for name, text in others.items():
                events = events_of(text)
                shape.check(name, events)
                check_relations(name, events)
    except Failure as failure:
        print(failure)
        return 1
    print(f"{len(others)} traces are like the plugin's")
    return 0


if __name__ == "__main__":
    sys.exit(main())
