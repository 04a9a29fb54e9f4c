#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Genuine traces of PyTorch's profiler and of Ringside, of the same runs (test/data/profiled): every call of
torch.distributed that the profiler saw is joined, and with the right operation. Ringside pairs them by the
order of calls; this holds each pair against the times: a collective is called while the profiler's call of that
number is under way, on the thread of that call, and on no other.

usage: check_profiled.py RINGSIDE PROFILED_DIRECTORY
"""
import collections
import csv
import gzip
import json
import pathlib
import shutil
import sys
import tempfile

from merged_parts import expect, run

# By run: calls that the profiler saw of all ranks.
CALLS = {"legacy-2-ddp": 18, "legacy-2-fsdp": 72, "legacy-2-profile_all": 50,
         "legacy-2-ddp-dumped": 36, "legacy-4-ddp-gpu": 24, "nccl2-2-ddp": 18, "nccl2-2-fsdp": 72, "nccl2-2-profile_all": 48}


def profiled(path):
    """Rank; its calls by group and number."""
    document = json.loads(gzip.decompress(path.read_bytes()))
    base_ns, calls = document["baseTimeNanoseconds"], collections.defaultdict(list)
    total = 0
    for event in document["traceEvents"]:
        args = event.get("args", {})
        if event["name"] != "record_param_comms" or args["Collective name"] == "wait" or args["Group size"] == 1:
            continue
        total += 1
        start = base_ns + round(event["ts"] * 1000)
        if args["Collective name"] not in ("send", "recv", "batch_op_issue"):
            calls[args["Process Group Name"], args["Seq"]].append(
                (start, start + round(event["dur"] * 1000), args["Collective name"]))
    names = {group["pg_desc"]: group["pg_name"] for group in document["distributedInfo"]["pg_config"]}
    return document["distributedInfo"]["rank"], names, calls, total


def table(directory, name):
    with open(directory / f"{name}.csv", encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def check(ringside, directory, work):
    document = json.loads(run(ringside, "calls", "--kineto", directory, "--format", "json", directory).stdout)
    rows = document["tables"]["profiler"]["rows"]
    expect(sum(row["calls"] for row in rows) == CALLS[directory.name], rows)
    expect(not any(row["not_joined"] for row in rows), directory.name, rows)
    expect(all(row["within"] == row["compared"] for row in rows), directory.name, rows)
    expect(all(row["least_offset_ns"] <= 0 <= row["most_offset_ns"] for row in rows if row["compared"]), rows)
    run(ringside, "export", "--csv", work, "--kineto", directory, directory)
    ranks = {row["id"]: int(row["rank"]) for row in table(work, "memberships")}
    found = collections.defaultdict(list)
    for call in table(work, "calls"):
        if call["torch_seq"]:
            found[ranks[call["membership_id"]], call["process_group"], int(call["torch_seq"])].append(call)
    checked = 0
    for path in (path for path in sorted(directory.iterdir()) if not path.name.startswith("ringside.")):
        rank, names, calls, total = profiled(path)
        expect(total == sum(row["calls"] for row in rows if row["rank"] == rank), "other calls", rows, total)
        for description, group in names.items():
            numbers = {seq for name, seq in calls if name == group}
            expect(numbers == {seq for of, name, seq in found if (of, name) == (rank, description)},
                   directory.name, rank, description)
            for seq in numbers:
                for call in found[rank, description, seq]:
                    at = int(call["enqueue_start_ns"] or 0)
                    expect(not at or any(start <= at <= end for start, end, _ in calls[group, seq]),
                           directory.name, rank, description, seq, call, calls[group, seq])
                    checked += bool(at)
    return rows, checked


def check_dumps(ringside, directory, work):
    """A dump that the handler of PyTorch's profiler wrote is beside the trace of the same run: one directory, as
    the documents have it. Each command says what it says without the dumps."""
    alone = work / "alone"
    alone.mkdir()
    dumps = list(directory.glob("ringside.vm_*"))
    for path in set(directory.iterdir()) - set(dumps):
        shutil.copy(path, alone)
    expect(len(dumps) == 2, dumps)
    for command in ("critical-path", "overlap", "iterations", "stragglers", "summary", "calls"):
        both, trace = (json.loads(run(ringside, command, "--format", "json", "--kineto", of, of)
                                  .stdout.replace(str(of), "traces")) for of in (directory, alone))
        for part in ("sentences", "findings", "tables", "communicators"):
            expect(both.get(part) == trace.get(part), command, part, both.get(part), trace.get(part))
    for of, name in ((directory, "both"), (alone, "trace")):
        said = run(ringside, "merge", of, "--kineto", of, "-o", work / name).stderr
        expect("2 traces of PyTorch's profiler" in said and "not a Ringside trace" not in said, said)
    expect((work / "both").read_bytes() == (work / "trace").read_bytes(), "merged files differ")


def main():
    ringside, data = (pathlib.Path(name).resolve() for name in sys.argv[1:3])
    proofs = collections.Counter()
    for directory in sorted(data.iterdir()):
        with tempfile.TemporaryDirectory() as work:
            rows, checked = check(ringside, directory, pathlib.Path(work) / "csv")
            if directory.name.endswith("-dumped"):
                check_dumps(ringside, directory, pathlib.Path(work))
        expect(checked > 15, directory.name, checked)
        sums = collections.Counter()
        for row in rows:
            sums.update({key: row[key] for key in ("calls", "from_start", "only_place", "clock", "not_joined",
                                                   "operations", "compared", "within")})
        proofs.update(sums)
        print(f"{directory.name:22}", *(f"{key} {value}" for key, value in sums.items()), f"checked {checked}")
    print("all", dict(proofs))


if __name__ == "__main__":
    main()
