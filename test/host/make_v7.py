#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Adds to a recording of version 7 what emulated GPUs do not have: variants and phases of symmetric
kernels, and a copy-engine collective at the end.

usage: make_v7.py FROM.jsonl.gz TO.jsonl.gz
"""
import gzip
import json
import sys

PHASES = ("initial_sync", "compute", "final_sync")


class Maker:
    def __init__(self, lines):
        self.lines = lines
        self.made = []
        self.kernels = {}  # handle: its start
        self.ranks = {line["ctx"]: line["rank"] for line in lines if line["cb"] == "init"}
        self.next_handle = 1 + max(line["h"] or 0 for line in lines if "h" in line)

    def add(self, line, **keys):
        """At the same time as line, on its thread; returns the new event's handle. Sorting keeps
        the order of equal times."""
        new = {"t": line["t"], "tid": line["tid"], "ctx": line["ctx"], **keys}
        if keys["cb"] == "startEvent":
            new.update(h=self.next_handle, eHandleBefore="0x0")
            new.setdefault("rank", 0)
            self.next_handle += 1
        self.made.append(new)
        return new.get("h")

    def whole_event(self, line, **keys):
        handle = self.add(line, cb="startEvent", **keys)
        self.add(line, cb="stopEvent", h=handle, type=keys["type"])
        return handle

    def phases(self, line):
        """When the kernel has stopped, all its phases are told, one after the other."""
        begin = self.kernels[line["h"]]
        stamps = [begin["pTimer"] + (line["pTimer"] - begin["pTimer"]) * i // len(PHASES)
                  for i in range(len(PHASES) + 1)]
        for number, name in enumerate(PHASES):
            handle = self.add(line, cb="startEvent", type="KernelPhase", parent=line["h"],
                              channelId=begin["channelId"], phaseId=number, phaseName=name,
                              pTimer=stamps[number])
            self.add(line, cb="recordEventState", h=handle, type="KernelPhase", state=31,
                     argsNull=0, pTimer=stamps[number + 1])
            self.add(line, cb="stopEvent", h=handle, type="KernelPhase")

    def copy_engine(self, line):
        call = {"func": "AlltoAll", "count": 4096, "datatype": "ncclFloat32", "root": 0,
                "stream": "0x55da8471e880", "userTag": "0xbeef"}
        group = self.add(line, cb="startEvent", type="GroupApi", parent=None, graphCaptured=0,
                         groupDepth=1)
        api = self.whole_event(line, type="CollApi", parent=group, graphCaptured=0, **call)
        coll = self.add(line, cb="startEvent", type="CeColl", parent=api, seqNumber=0,
                        sendBuff="0x10000", recvBuff="0x20000", syncStrategy="MC",
                        rank=self.ranks[line["ctx"]], intraBatchSync=0, batchSize=2, numBatches=1, ceSeqNum=1, **call)
        self.whole_event(line, type="CeSync", parent=coll, isComplete=0, nRanks=2)
        self.whole_event(line, type="CeBatch", parent=coll, numOps=2, totalBytes=32768,
                         useIntraSync=0)
        self.add(line, cb="stopEvent", h=coll, type="CeColl")
        self.add(line, cb="stopEvent", h=group, type="GroupApi")

    def run(self):
        last = max(i for i, line in enumerate(self.lines) if line["cb"] == "finalize")
        for i, line in enumerate(self.lines):
            if i == last:
                self.copy_engine(line)
            self.made.append(line)
            if line["cb"] == "recordEventState" and line["type"] == "KernelCh":
                self.phases(line)
            if line["cb"] != "startEvent":
                continue
            if line["type"] == "Coll":
                line.update(kernelVariant="RING_LL_f32", isSymColl=0)
            elif line["type"] == "KernelCh":
                self.kernels[line["h"]] = line
        return self.made


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    with gzip.open(sys.argv[1], "rt", encoding="utf-8") as file:
        lines = sorted((json.loads(line) for line in file), key=lambda line: line["t"])
    with gzip.open(sys.argv[2], "wt", encoding="utf-8") as file:
        for line in Maker(lines).run():
            file.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main()
