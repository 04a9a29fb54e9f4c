#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plays a recording while a tool that takes NVTX is attached (test/nvtx), and compares the ranges that
arrive with the trace and the recording. One scenario a run:

ranges  a range for each group, operation and call, begun on its thread, ended once, its payload equal to
        the trace; without RINGSIDE_MARKERS, since a tool is attached. Then the same with the user's own
        names for GPU and host, and with a tool that knows no payload schemas
nodes   cross_node: ranges of operations that may leave the node, and of no others
none    nothing arrives: off; no tool; a tool that cannot be loaded. A message names what is missing
"""
import argparse
import collections
import json
import pathlib
import shutil
import sys
import tempfile

import expected
from run_replay import Failure, Run, recordings_and_traces, require

RANGED = expected.OPERATIONS + ("Group", "GroupApi", "CollApi", "P2pApi")
IN_BYTES = ("AllGather", "Broadcast")


class Ranges:
    """The ranges that the tool of one process has seen."""

    def __init__(self, path):
        lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        self.by_what = collections.defaultdict(list)
        for line in lines:
            self.by_what[line["what"]].append(line)
        self.starts = self.by_what["start"]
        self.payloads = [start["payload"] for start in self.starts]

    def check_whole(self, schemas=True):
        """One domain, one schema; each range of it begins and then ends, once."""
        require([line["name"] for line in self.by_what["domain"]] == ["Ringside"], "no domain")
        require(len(self.by_what["schema"]) == (1 if schemas else 0), "not one schema")
        begun = collections.Counter(start["range"] for start in self.starts)
        ended = collections.Counter(end["range"] for end in self.by_what["end"])
        require(max(begun.values(), default=1) == 1, "a range has begun twice")
        require(begun == ended, f"{len(begun - ended)} ranges have not ended, "
                                f"{len(ended - begun)} have ended more than once")

    def categories(self):
        return {line["category"]: line["name"] for line in self.by_what["category"]}


class Case(Run):
    """A run with a directory for what the tool sees."""

    def __init__(self, options, directory):
        super().__init__(options, directory)
        self.seen = self.directory / "seen"

    def attach(self, **variables):
        for directory in (self.traces, self.seen):
            shutil.rmtree(directory, ignore_errors=True)
            directory.mkdir()
        self.log = self.directory / "log"
        self.log.unlink(missing_ok=True)
        self.host(**{"NVTX_INJECTION64_PATH": self.options.listener,
                     "NVTX_LISTENER_DIR": str(self.seen), "RINGSIDE_LOG": str(self.log),
                     **variables})

    def messages(self):
        return self.log.read_text(encoding="utf-8") if self.log.exists() else ""

    def ranges(self):
        """recording, trace and ranges of each process."""
        for recording, trace in recordings_and_traces(self):
            yield recording, trace, Ranges(self.seen / f"nvtx.{trace.first['pid']}.jsonl")


def title(args):
    """Returns the name of a range, by its event in the trace."""
    if args["type"] in ("GroupApi", "Group"):
        return {"GroupApi": "ncclGroup", "Group": "group"}[args["type"]]
    return ("nccl" if args["type"] in ("CollApi", "P2pApi") else "") + args["func"]


def payload_of(event, trace, names):
    """The payload of a range, from the trace alone. Every field is here."""
    args = event["args"]
    communicator = trace.communicators.get(args["context"], {})
    payload = dict(id=args["id"], context=args["context"], type=args["type"], func="", datatype="",
                   algo="", proto="", message_bytes=-1, count=-1, seq=-1, peer=-1, root=-1,
                   comm=int(communicator.get("comm", "0"), 16),
                   comm_name=communicator.get("name", ""), rank=communicator.get("rank", -1),
                   nranks=communicator.get("nranks", -1), nnodes=communicator.get("nnodes", -1),
                   device=communicator.get("gpu", {}).get("index", -1), **names)
    if trace.first["abi"] < 4 and args["type"] == "Group":
        payload.update(comm=0, comm_name="", rank=-1)  # only operations tell, in the trace later
    if args["type"] in ("CollApi", "P2pApi"):
        payload.update(func=args["func"], datatype=args["datatype"], count=args["count"],
                       root=args.get("root", -1))
        payload["message_bytes"] = args["count"] * size_of(args["datatype"])
    elif args["type"] in expected.OPERATIONS:
        operation = trace.operations[args["op"]]
        payload.update({name: operation.get(name, -1) for name in ("seq", "peer", "root", "rank")})
        payload.update(func=operation["func"], message_bytes=operation["bytes"],
                       count=operation["count"], datatype=operation["datatype"],
                       algo=operation.get("algo", ""), proto=operation.get("proto", ""),
                       comm=int(operation.get("comm", "0"), 16))
        if operation["kind"] == "coll" and operation["func"] in IN_BYTES:
            # As executed; the trace has the count of the call, where there is one.
            payload.update(datatype="bytes", count=operation["bytes"])
    return payload


def size_of(datatype):
    return expected.SIZES[expected.datatype_name(datatype)]


def slices(trace):
    return [event for event in trace.calls() if event["args"]["type"] in RANGED]


def compare(trace, ranges, wanted, names):
    """Each of the wanted slices of the trace has one range that says the same, and no other has."""
    by_id = collections.defaultdict(list)
    for start in ranges.starts:
        by_id[start["payload"]["id"]].append(start)
    require(sorted(by_id) == sorted(event["args"]["id"] for event in wanted),
            f"{len(by_id)} events have ranges, {len(wanted)} should")
    categories = ranges.categories()
    for event in wanted:
        starts = by_id[event["args"]["id"]]
        require(len(starts) == 1, f"{len(starts)} ranges of {event}")
        start, expect = starts[0], payload_of(event, trace, names)
        require(start["payload"] == expect,
                "\n".join([f"range of {event['args']}:"] +
                          [f"  {name}: {start['payload'].get(name)!r}, not {value!r}"
                           for name, value in expect.items()
                           if start["payload"].get(name) != value]))
        require(start["tid"] == event["tid"], f"thread {start['tid']}, not {event['tid']}")
        if event["args"]["type"] in expected.OPERATIONS:
            named = dict(event["args"], func=expect["func"])
        else:
            named = event["args"]
        require(start["message"] == title(named), f"a range of {named} is {start['message']}")
        require(categories[start["category"]] == event["args"]["type"],
                f"category {start['category']} of {event['args']}")


def ranges(case):
    host = None
    for names in ({}, {"gpu_serial": "serial \"7\"", "vm_id": "vm-9"}):
        case.attach(**{name.upper(): value for name, value in names.items()})
        total = 0
        for recording, trace, seen in case.ranges():
            host = trace.first["host"]
            seen.check_whole()
            compare(trace, seen, slices(trace), {"gpu_serial": "", "vm_id": host, **names})
            # The expectation is from NCCL's calls alone, without a look at the trace.
            found = collections.Counter(payload["type"] for payload in seen.payloads)
            wanted = collections.Counter(event.type for event in recording.of_type(*RANGED))
            require(found == wanted, f"{dict(found)} ranges, NCCL told of {dict(wanted)}")
            total += len(seen.starts)
        require(total > 0, "this recording has nothing that has a range")
        require("NVTX" not in case.messages(), case.messages())
    case.attach(NVTX_LISTENER_SCHEMAS="0")
    for _, trace, seen in case.ranges():
        seen.check_whole(schemas=False)
        wanted = [payload_of(event, trace, {})["message_bytes"] for event in slices(trace)]
        found = collections.Counter(seen.payloads)
        require(found == collections.Counter(size if size >= 0 else None for size in wanted),
                "without schemas the payload is not the bytes")


def nodes(case):
    case.attach(RINGSIDE_MARKERS="cross_node")
    kept, left = 0, 0
    for _, trace, seen in case.ranges():
        def leaves(event):
            communicator = trace.communicators.get(event["args"]["context"], {})
            operation = trace.operations.get(event["args"].get("op"), {})
            to_itself = event["args"]["type"] == "P2p" and operation["peer"] == operation["rank"]
            return communicator.get("nnodes", 2) > 1 and not to_itself
        seen.check_whole()
        wanted = [event for event in slices(trace) if leaves(event)]
        compare(trace, seen, wanted, {"gpu_serial": "", "vm_id": trace.first["host"]})
        kept, left = kept + len(wanted), left + len(slices(trace)) - len(wanted)
    require(left > 0, "this recording has nothing that stays within a node")
    print(f"{kept} ranges, {left} left out")


def none(case):
    case.attach(RINGSIDE_MARKERS="off")
    require(not list(case.seen.iterdir()), "the tool was loaded, though markers are off")
    require(all("recording" in line for line in case.said), f"standard output has {case.said}")
    require("RINGSIDE_MARKERS" not in case.messages(), case.messages())
    said = "RINGSIDE_MARKERS=all: no tool that takes NVTX is attached"
    for tool in ("", str(case.directory / "missing.so")):
        case.attach(RINGSIDE_MARKERS="all", NVTX_INJECTION64_PATH=tool)
        require(case.messages().count(said) == len(case.files), case.messages())
        require(not list(case.seen.iterdir()), "a tool was loaded")
        case.attach(NVTX_INJECTION64_PATH=tool)
        require("RINGSIDE_MARKERS" not in case.messages(), case.messages())
        require(len(list(recordings_and_traces(case))) == len(case.files), "no traces")


SCENARIOS = {function.__name__: function for function in (ranges, nodes, none)}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--host", required=True, help="nccl_host")
    parser.add_argument("--plugin", required=True)
    parser.add_argument("--listener", required=True, help="the tool that takes NVTX")
    parser.add_argument("--scenario", choices=SCENARIOS, default="ranges")
    parser.add_argument("recording", help="a folder of test/data/transcripts")
    options = parser.parse_args()
    options.timing = False
    options.ringside = None
    options.abi = int(pathlib.Path(options.recording).name.split("-")[1][1])
    directory = tempfile.mkdtemp(prefix="ringside-markers-")
    try:
        SCENARIOS[options.scenario](Case(options, directory))
    except (Failure, KeyError, ValueError, OSError) as failure:
        print(f"{options.scenario} {options.recording}: {type(failure).__name__} {failure}\n"
              f"files are in {directory}")
        return 1
    shutil.rmtree(directory)
    return 0


if __name__ == "__main__":
    sys.exit(main())
