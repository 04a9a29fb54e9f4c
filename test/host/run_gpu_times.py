#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plays a recording with kernel channels to the plugin at its own pace. NCCL 2.30 gave some operations the
stamps of kernels that ran long before them. In the recordings a kernel's own stamp is at most 0.11 ms before
its enqueue, and another's at least 0.84 ms: none of the first kind may be rejected for it, and none of the
second be used."""
import argparse
import collections
import pathlib
import re
import sys
import tempfile

import expected
from run_replay import Failure, Run, recordings_and_traces, require

BETWEEN_NS = 300_000
# A replay that was held up makes up for it, and brings calls closer to each other than they were.
# This cannot be told apart from the error of the GPU clock fit.
TOLERANCE_NS = 1_100_000


def recorded_channels(recording):
    """By operation and channel: whether the recorded stamp can be of the operation's own kernel."""
    dlopen = next(line for line in recording.lines if line["cb"] == "dlopen")
    realtime_ns = dlopen["realtime_ns"] - dlopen["t"]
    places, found = collections.Counter(), {}
    for event in recording.of_type("Coll", "P2p"):
        call = event.call
        lane = (call["ctx"], call["func"], call.get("peer"))
        for row in event.children:
            if row.type == "KernelCh":
                started_ns = int(row.call["pTimer"]) - realtime_ns
                found[(*lane, places[lane]), row.call["channelId"]] = \
                    started_ns >= call["t"] - BETWEEN_NS
        places[lane] += 1
    return found


def traced_channels(trace):
    """By operation and channel: why its stamp was rejected, None if it was used; and how long before
    the enqueue it is."""
    places, names, found = collections.Counter(), {}, {}
    for number, args in sorted(trace.operations.items()):
        if args["kind"] != "api":
            lane = (args["context"], args["func"], args.get("peer"))
            names[number] = (*lane, places[lane])
            places[lane] += 1
    for event in trace.begins("gpu"):
        channel = int(re.search(r"GPU channel (\d+)", event["name"]).group(1))
        args = event["args"]
        early_ns = trace.operations[args["op"]]["enqueue_start_ns"] - int(event["ts"] * 1000)
        found[names[args["op"]], channel] = (args.get("rejected"), early_ns)
    return found


def check(recording, trace):
    recorded, traced = recorded_channels(recording), traced_channels(trace)
    require(recorded.keys() == traced.keys(), "the channels are not those of the recording")
    others = [key for key, is_own in recorded.items() if not is_own]
    require(others, "the recording has no stamp of another kernel")
    used = [key for key in others if traced[key][0] is None and traced[key][1] > TOLERANCE_NS]
    require(not used, f"{len(used)} of {len(others)} stamps of other kernels are used: {used}")
    lost = {key: traced[key] for key, is_own in recorded.items()
            if is_own and "launch" in (traced[key][0] or "")}
    require(not lost, f"stamps that can be true are rejected: {lost}")
    return len(others), len(recorded)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("recording")
    for tool in ("--host", "--plugin", "--ringside"):
        parser.add_argument(tool)
    options = parser.parse_args()
    options.timing = True
    file = next(pathlib.Path(options.recording).glob("*.jsonl.gz"))
    options.abi = expected.Recording(file).abi
    with tempfile.TemporaryDirectory() as directory:
        run = Run(options, directory)
        try:
            run.host()
            run.lint()
            for recording, trace in recordings_and_traces(run):
                others, all_stamps = check(recording, trace)
                print(f"{others} of {all_stamps} stamps are of other kernels, and rejected")
        except Failure as failure:
            print(f"FAIL: {failure}")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
