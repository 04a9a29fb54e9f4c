# SPDX-License-Identifier: Apache-2.0
"""The expected trace of a recording of NCCL's calls. Written without a look at nccl_host."""
import collections
import gzip
import json

CALLS = ("init", "startEvent", "stopEvent", "recordEventState", "finalize")
OPERATIONS = ("Coll", "P2p", "CeColl")
ENQUEUES = ("GroupApi", "CollApi", "P2pApi", "KernelLaunch", "Group") + OPERATIONS

# NCCL's enums, which version 1 of the interface passes.
FUNCTIONS = ("Broadcast", "Reduce", "AllGather", "ReduceScatter", "AllReduce", "SendRecv", "Send",
             "Recv")
DATATYPES = ("ncclInt8", "ncclUint8", "ncclInt32", "ncclUint32", "ncclInt64", "ncclUint64",
             "ncclFloat16", "ncclFloat32", "ncclFloat64", "ncclBfloat16")
SIZES = {"ncclInt8": 1, "ncclUint8": 1, "bytes": 1, "ncclFloat8e4m3": 1, "ncclFloat8e5m2": 1,
         "ncclFloat16": 2, "ncclBfloat16": 2, "ncclInt32": 4, "ncclUint32": 4, "ncclFloat32": 4,
         "ncclInt64": 8, "ncclUint64": 8, "ncclFloat64": 8}


def datatype_name(value):
    """NCCL has no name for ncclUint8 and says Unknown."""
    name = DATATYPES[value] if isinstance(value, int) else value
    return "ncclUint8" if name == "Unknown" else name


def function_name(value):
    return FUNCTIONS[value] if isinstance(value, int) else value


class Event:
    """A start, and what else the recording says of it."""

    def __init__(self, call, number):
        self.call = call
        self.number = number  # of the call, from 1
        self.type = call["type"]
        self.stopped = False
        self.parent = None
        self.children = []

    def descendants(self):
        for child in self.children:
            yield child
            yield from child.descendants()


class Recording:
    def __init__(self, path, limit=None):
        """limit: as if the process had died after so many calls."""
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            self.lines = sorted((json.loads(line) for line in lines), key=lambda line: line["t"])
        self.abi = next(line["abi"] for line in self.lines if line["cb"] == "dlopen")
        self.calls = [line for line in self.lines if line["cb"] in CALLS][:limit]
        self.starts = []
        self.communicators = []  # init's calls, in order
        self.finalized = 0
        self.produced = collections.Counter()
        self.merged_at_most = collections.Counter()
        self.foreign_handles = 0
        self._read()

    def _read(self):
        known, contexts, number = {}, {}, 0
        for line in self.lines:
            if line["cb"] == "dlopen":
                known, contexts = {}, {}  # the recording plugin numbers from 1 again
            if line["cb"] not in CALLS:
                continue
            if number == len(self.calls):
                break
            number += 1
            if line["cb"] == "init":
                self.communicators.append(line)
                if line.get("ctx"):
                    contexts[line["ctx"]] = line
            elif line["cb"] == "finalize":
                self.finalized += 1 if line["ctx"] else 0
            elif line["cb"] == "startEvent":
                event = Event(line, number)
                event.communicator = contexts.get(line["ctx"])
                event.parent = known.get(line["parent"])
                if event.parent is not None:
                    event.parent.children.append(event)
                if line["h"]:
                    known[line["h"]] = event
                self.starts.append(event)
                self.produced[event.type] += 1
            elif line.get("h_foreign"):
                self.foreign_handles += 1
            else:
                self.produced[line["type"]] += 1
                self.merged_at_most[line["type"]] += 1
                if line["cb"] == "stopEvent":
                    known[line["h"]].stopped = True

    def of_type(self, *types):
        return [event for event in self.starts if event.type in types]

    def operations(self):
        """Returns the operations that the trace must have: the executed ones, and calls that never
        showed an execution (graph capture only promises one)."""
        executed = self.of_type(*OPERATIONS)
        calls = [event for event in self.of_type("CollApi", "P2pApi")
                 if not event.call["graphCaptured"]
                 and not any(child.type in OPERATIONS for child in event.children)]
        return executed + calls


def message(event):
    """func, count, datatype and bytes, as the trace format defines them."""
    func = function_name(event.call["func"])
    source = event
    if event.parent is not None and event.parent.type in ("CollApi", "P2pApi"):
        source = event.parent
    count, datatype = source.call["count"], datatype_name(source.call["datatype"])
    if source.type == "Coll" and func in ("AllGather", "Broadcast"):
        datatype = "bytes"
    return func, count, datatype, count * SIZES[datatype]


def identity(event):
    """Returns the args that an operation in the trace must have, as far as the recording tells."""
    func, count, datatype, size = message(event)
    kind = {"Coll": "coll", "P2p": "p2p", "CeColl": "ce"}.get(event.type, "api")
    rooted = func in ("Broadcast", "Reduce")
    # 0: the adapter for version 4 does not know it.
    channels = event.call.get("nChannels", event.call.get("nMaxChannels")) or None
    return (kind, func, event.call.get("seqNumber"), count, datatype, size,
            event.call.get("root") if rooted else None, event.call.get("peer"), channels,
            int(event.call.get("userTag", "0x0"), 16), event.call.get("kernelVariant"))


def rows_of(event):
    """Returns the events below an operation: GPU channels, proxy operations, number of steps."""
    below = list(event.descendants())
    gpu = tuple(sorted(row.call["channelId"] for row in below if row.type == "KernelCh"))
    proxies = tuple(sorted(("send" if row.call["isSend"] else "recv", row.call["channelId"],
                            row.call["peer"], row.call["nSteps"], row.call["chunkSize"])
                           for row in below if row.type == "ProxyOp"))
    return gpu, proxies, sum(1 for row in below if row.type == "ProxyStep")


def final_state(event):
    """completed or enqueued where the recording leaves no doubt, else None. Steps do not count:
    some are never stopped up to NCCL 2.26."""
    below = [row for row in event.descendants() if row.type in ("ProxyOp", "KernelCh")]
    if not below:
        return "enqueued"
    return "completed" if all(row.stopped for row in below) else None
