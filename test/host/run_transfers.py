#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plays a recording of all ranks to the plugin and adds up the bytes that the traces give for the network:
both ends of each transfer say the same, and all transfers of a collective together are what its algorithm
moves. Each rank of the recording must have been a host of its own."""
import argparse
import collections
import pathlib
import sys
import tempfile

import expected
from run_replay import Failure, Run, require

LINE_BYTES = 16  # of protocol LL, of which 8 are data


def moved(func, nranks, size):
    """Returns the bytes that all ranks together send, ring or tree, for so many bytes a rank."""
    return {"AllReduce": 2 * (nranks - 1) * size, "AllGather": nranks * (nranks - 1) * size,
            "ReduceScatter": nranks * (nranks - 1) * size, "Reduce": (nranks - 1) * size,
            "Broadcast": (nranks - 1) * size}[func]


class Transfers:
    def __init__(self, traces):
        self.sent = collections.Counter()  # by operation, source and destination
        self.received = collections.Counter()
        self.steps = collections.Counter()  # by operation
        self.messages = collections.defaultdict(list)  # by operation: func, proto, bytes of each
        self.ranks = collections.defaultdict(set)  # by communicator
        self.without_bytes = 0
        for trace in traces:
            self.add(trace)

    def add(self, trace):
        names, places = {}, collections.Counter()
        for number, args in sorted(trace.operations.items()):
            self.ranks[args["comm"]].add(args["rank"])
            if args["kind"] == "coll":
                names[number] = (args["comm"], args["func"], args["seq"])
            elif args["kind"] == "p2p":
                ends = (args["rank"], args["peer"])
                lane = (args["comm"], *(ends if args["func"] == "Send" else ends[::-1]))
                names[number] = (*lane, places[lane, args["func"]])
                places[lane, args["func"]] += 1
            else:
                continue
            self.messages[names[number]].append((args["func"], args.get("proto"), args["bytes"]))
        bytes_of_steps = collections.Counter()
        told_steps = collections.Counter()
        for event in trace.begins("step"):
            row = (event["args"].get("op"), event["name"].replace(" steps", ""),
                   event["args"]["peer"])
            if "bytes" in event["args"]:
                bytes_of_steps[row] += event["args"]["bytes"]
                told_steps[row] += 1
        for event in trace.begins("proxy"):
            args = event["args"]
            if "bytes" not in args:
                self.without_bytes += 1
                continue
            row = (args["op"], event["name"], args["peer"])
            if told_steps[row]:
                bytes_of_steps[row] -= args["bytes"]
            name, rank = names[args["op"]], trace.operations[args["op"]]["rank"]
            self.steps[name] += args["steps"]
            if "send channel" in event["name"]:
                self.sent[name, rank, args["peer"]] += args["bytes"]
            else:
                self.received[name, args["peer"], rank] += args["bytes"]
        wrong = {row: left for row, left in bytes_of_steps.items() if left}
        require(not wrong, f"steps and their proxy operations differ: {wrong}")

    def wanted(self, name):
        """Returns the possible sums of the operation's transfers. A graph's replays share one
        number, so that there can be several messages of a rank."""
        if len(name) == 4:  # of sends and receives NCCL does not tell the protocol
            sent = sum(size for func, _, size in self.messages[name] if func == "Send")
            return (sent, 2 * sent)
        nranks = len(self.ranks[name[0]])
        sent = 0
        for func, proto, size in self.messages[name]:
            require(proto in ("LL", "SIMPLE"), f"{name}: protocol {proto}")
            sent += moved(func, nranks, size) * (2 if proto == "LL" else 1)
        return (sent // nranks,)

    def check(self):
        require(self.without_bytes == 0, f"{self.without_bytes} proxy operations without bytes")
        require(self.sent, "no transfer at all")
        wrong = {key: (self.sent[key], self.received[key])
                 for key in self.sent.keys() | self.received.keys()
                 if self.sent[key] != self.received[key]}
        require(not wrong, f"{len(wrong)} of {len(self.sent)} transfers have two sizes: {wrong}")
        totals = collections.Counter()
        for (name, _, _), size in self.sent.items():
            totals[name] += size
        for name, total in totals.items():
            wanted = self.wanted(name)
            spare = LINE_BYTES * self.steps[name]  # lines are sent whole
            require(any(least <= total <= least + spare for least in wanted),
                    f"{name}: {total} bytes moved, {wanted} expected")
        return len(self.sent), len(totals)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("recording")
    for tool in ("--host", "--plugin", "--ringside"):
        parser.add_argument(tool)
    options = parser.parse_args()
    options.timing = False
    # The interface of the recording: the newest one has fields that old recordings do not fill.
    file = next(pathlib.Path(options.recording).glob("*.jsonl.gz"))
    options.abi = expected.Recording(file).abi
    with tempfile.TemporaryDirectory() as directory:
        run = Run(options, directory)
        try:
            run.host()
            run.lint()
            transfers, operations = Transfers(run.traces_by_pid().values()).check()
        except Failure as failure:
            print(f"FAIL: {failure}")
            return 1
    print(f"{transfers} transfers of {operations} operations: both ends agree, and so do the sums")
    return 0


if __name__ == "__main__":
    sys.exit(main())
