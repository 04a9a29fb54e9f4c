#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Merges genuine files of PyTorch's profiler (test/data/kineto, see make_kineto.py) with a job
of as many ranks: every event is there, at its time, in a row that has a name.

usage: check_real_kineto.py RINGSIDE_GENERATE RINGSIDE KINETO_DIRECTORY
"""
import collections
import gzip
import json
import pathlib
import re
import sys
import tempfile

from merged_parts import expect, ns, read, run


def signature(event):
    return event["ph"], event["name"], json.dumps(event.get("args"), sort_keys=True)


def check(merged, profiles):
    events = read(merged)
    base_ns = next(e for e in events if e["name"] == "ringside_trace")["args"]["base_time_s"] * 10**9
    foreign = {e["pid"] for e in events if e["name"] == "ringside_merged_foreign"}
    names = {e["pid"]: e["args"]["name"] for e in events
             if e["name"] == "process_name" and e["pid"] in foreign}
    expect(foreign == set(names), "a row without a name")
    names = {pid: text for pid, text in names.items() if text != "critical path"}
    foreign = set(names)
    expect(sorted(names.values()) == [f"rank {rank} PyTorch: {part}" for rank in range(len(profiles))
                                      for part in ("CPU", "Spans", "Traces")], sorted(names.values()))
    for rank, profile in enumerate(profiles):
        theirs = collections.Counter()
        for event in profile["traceEvents"]:
            if event["ph"] != "M":
                time_ns = profile["baseTimeNanoseconds"] + round(float(event["ts"]) * 1000) - base_ns
                theirs[signature(event), time_ns] += 1
        ours = collections.Counter((signature(e), ns(e)) for e in events
                                   if names.get(e["pid"], "").startswith(f"rank {rank} ") and e["ph"] != "M")
        # A double has half a nanosecond at such times.
        near = sum(any((what, at_ns + off) in ours for off in (-1, 0, 1)) for what, at_ns in theirs)
        expect(near == len(theirs) and sum(ours.values()) == sum(theirs.values()) > 80,
               f"rank {rank}: {near} of {len(theirs)} found, {sum(ours.values())} written")
    threads = [e["args"]["name"] for e in events if e["name"] == "thread_name" and e["pid"] in foreign]
    expect(all(threads) and any("gloo" in name for name in threads), threads)


def make_ours(data, traces, directory):
    """Copies of the profiles, with the pids of the made processes, and in their time."""
    directory.mkdir()
    processes = {process["launcher_rank"]: process for process in (
        json.loads(path.read_text(encoding="utf-8").splitlines()[0].lstrip("[").rstrip(","))["args"]
        for path in traces.glob("ringside.*.json"))}
    for path in data.glob("*.json.gz"):
        profile = json.loads(gzip.decompress(path.read_bytes()), parse_float=str)
        process = processes[profile["distributedInfo"]["rank"]]
        own = next(event["pid"] for event in profile["traceEvents"] if event.get("cat") == "cpu_op")
        first_ns = min(round(float(event["ts"]) * 1000) for event in profile["traceEvents"] if "ts" in event)
        begin_ns = process["base_time_s"] * 10**9 + process["start_ns"]
        text = gzip.decompress(path.read_bytes()).decode()
        text = re.sub(rf'"pid": ?{own}\b', f'"pid": {process["pid"]}', text)
        text = re.sub(r'"baseTimeNanoseconds": ?\d+', f'"baseTimeNanoseconds": {begin_ns - first_ns}', text)
        (directory / path.name).write_bytes(gzip.compress(text.encode()))


def main():
    generate, ringside, data = (pathlib.Path(name).resolve() for name in sys.argv[1:4])
    ranks = len(list(data.glob("*.json.gz")))
    with tempfile.TemporaryDirectory() as name:
        traces, merged = pathlib.Path(name) / "traces", pathlib.Path(name) / "all.json"
        # One host, whose clock is right: nothing is moved.
        run(generate, traces, "--hosts", "1", "--ranks-per-host", str(ranks), "--iterations", "3",
            "--offset-ms", "0", "--drift-ppm", "0", "--full")
        make_ours(data, traces, pathlib.Path(name) / "profiles")
        data = pathlib.Path(name) / "profiles"
        profiles = [json.loads(gzip.decompress(path.read_bytes()), parse_float=str)
                    for path in sorted(data.glob("*.json.gz"))]
        done = run(ringside, "merge", traces, "--kineto", data, "-o", merged)
        expect(f"{len(profiles)} traces of PyTorch's profiler" in done.stderr, done.stderr)
        run(ringside, "lint", "--closed", merged)
        check(merged, profiles)
    print("ok")


if __name__ == "__main__":
    main()
