#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Merged files of jobs whose clocks are known: all is there, on one clock, and what was added binds
as viewers want it.

usage: check_merged.py RINGSIDE_GENERATE RINGSIDE
"""
import collections
import json
import pathlib
import re
import sys
import tarfile
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "generate"))
# pylint: disable=wrong-import-position
import perfetto_file
from generated_job import own_ns, true_ns
from merged_parts import check_counters, expect, ns, operations, read, run

SMALL = ["--ranks-per-host", "2", "--iterations", "4"]
JOBS = [
    "--seed 1 --hosts 2 --offset-ms 5 --drift-ppm 40 --full --straggler 3:500",
    "--seed 2 --hosts 2 --offset-ms 900 --drift-ppm 50 --wander-us 30 --times proxy --straggler 1:800 --split 2",
    "--seed 3 --hosts 3 --offset-ms 3 --straggler 0:400:2 --mismatch size:1:0",
]
# Damaged, cut off, without clocks in common: what is written is a whole file all the same.
ODD_JOBS = [
    "--seed 9 --hang 0:1 --end killed --full",
    "--seed 11 --truncate 2 --lose 3 --full",
    "--seed 10 --drop 1:30 --full",
    "--seed 12 --start-late 1:2 --seq-from-window --no-hash",
    "--seed 13 --pattern AlltoAll:65536,RingShift:65536,Neighbour:4096 --steps --straggler 1:500",
    "--seed 3 --mismatch function:3:13",
]
ARROW = 1 << 63
FIRST_ROW = 10_000_000


class Merged:
    def __init__(self, path, sources=()):
        self.events = read(path)
        self.by_pid = collections.defaultdict(list)
        for event in self.events:
            self.by_pid[event["pid"]].append(event)
        traces = [event for event in self.events if event["name"] == "ringside_trace"]
        self.process = {event["pid"]: event["args"] for event in traces}
        expect(len(self.process) == len(traces), "two processes have one pid")
        self.sources = {}
        for source in sources:
            events = read(source)
            self.sources[events[0]["args"]["run_id"]] = events
        self.hosts = {event["args"]["host"]: event["args"] for event in self.events
                      if event["name"] == "ringside_merged_host"}

    def source(self, pid):
        return self.sources[self.process[pid]["run_id"]]


def check_head(merged):
    expect(merged.events[0]["name"] == "ringside_merged", "another first line")
    expect(merged.events[-1]["name"] == "ringside_merged_end", "another last line")
    expect(merged.events[-1]["args"]["lines_left_out"] == 0, "lines are left out")
    order = {}
    for event in merged.events:
        if event["name"] == "process_sort_index":
            expect(event["pid"] not in order, "two orders of one process")
            order[event["pid"]] = event["args"]["sort_index"]
        elif event["name"] == "process_name" and event["pid"] in merged.process:
            process = merged.process[event["pid"]]
            expect(event["args"]["name"].startswith(f"rank {process['launcher_rank']} ("
                                                    f"{process['host']}"), event)
    by_rank = sorted(merged.process, key=lambda pid: merged.process[pid]["launcher_rank"])
    expect(sorted(order, key=order.get)[:len(by_rank)] == by_rank, "ranks are not in order")


def slices_of(events):
    """(cat, id) to the events of an async slice."""
    found = collections.defaultdict(list)
    for event in events:
        if event["ph"] in "be":
            found[event["cat"], event["id2"]["local"]].append(event)
    return found


def check_content(merged):
    """Each line of each trace with its content: an async slice as one of a row, the others in their
    order."""
    def content(event):
        return {key: value for key, value in event.items()
                if key not in ("pid", "ts", "dur", "bind_id")}

    def is_added(event):
        return (event["name"] in ("process_name", "process_sort_index")
                or event["name"].startswith(("ringside_merged", "waiting for ", "release"))
                or (event["ph"] == "i" and event["cat"] == "mark")
                or event["tid"] >= FIRST_ROW or event["ph"] in "beC")

    def shown(cat, args):
        return cat, json.dumps(args, sort_keys=True)
    for pid in merged.process:
        source = merged.source(pid)
        expect([content(event) for event in source if not is_added(event)]
               == [content(event) for event in merged.by_pid[pid] if not is_added(event)],
               "process", pid, "has other lines")
        wanted = collections.Counter(shown(event["cat"], event["args"]) for event in source
                                     if event["ph"] == "b" and "args" in event)
        rows = collections.Counter(
            shown(event["cat"], event["args"]) for event in merged.by_pid[pid]
            if event["tid"] >= FIRST_ROW and event["ph"] == "X" and "for" not in event["args"]
            and not event["name"].startswith("release"))
        expect(wanted == rows, "process", pid, "has other slices")
        # Both ends are moved, by the same but for the drift of the clock.
        moved = operations(merged.by_pid[pid])
        for slices in slices_of(source).values():
            begin = next(event for event in slices if "args" in event)
            if begin["cat"] == "op" and len(slices) == 4:
                duration = ns(slices[2]) - ns(begin)
                dur = ns({"ts": moved[begin["args"]["op"]]["dur"]})
                expect(abs(dur - duration) <= 2 + duration // 1000, begin, "lasts", dur)


def check_names(merged):
    """A slice is named for what it is, its row for where: operations come before the network."""
    names = {(event["pid"], event["tid"]): event["args"]["name"] for event in merged.events
             if event["name"] == "thread_name"}
    order = {(event["pid"], event["tid"]): event["args"]["sort_index"] for event in merged.events
             if event["name"] == "thread_sort_index"}
    merged_operations = {pid: operations(events) for pid, events in merged.by_pid.items()}
    communicators = {pid: {event["args"]["context"]: event["args"]["name"] for event in events
                           if event["name"] == "ringside_communicator"}
                     for pid, events in merged.by_pid.items()}
    used = collections.Counter()
    last_of_operations, first_of_network = 0, 1 << 32
    for event in merged.events:
        row = event["pid"], event["tid"]
        if event["ph"] != "X" or row[1] < FIRST_ROW:
            continue
        used[row] += 1
        args = event["args"]
        if "func" in args and event["cat"] == "op":
            name = f"{args['func']} {size(args['bytes'])}"
            direction = {"Send": "to", "Recv": "from"}.get(args["func"])
            name += f" {direction} {args['peer']}" if direction else f" #{args['seq']}"
            expect(event["name"] == name, event["name"], "should be", name)
            communicator = communicators[event["pid"]][args["context"]]
            expect(names[row] == communicator, event, "is in the row", names[row])
            last_of_operations = max(last_of_operations, order[row])
        elif event["cat"] in ("proxy", "step"):
            word, link = ("send", "to") if names[row].startswith("to ") else ("receive", "from")
            expect(names[row].startswith(f"{link} rank {args['peer']}, "), event, "is in the row", names[row])
            name = f"{word} {size(args['bytes'])} {link} {args['peer']}"
            name += f", step {args['step']}" if event["cat"] == "step" else ""
            expect(event["name"] == name, event["name"], "should be", name)
            first_of_network = min(first_of_network, order[row])
        elif event["cat"] == "gpu":
            expect(names[row].startswith("GPU channel "), event, names[row])
            operation = merged_operations[event["pid"]][args["op"]]["args"]
            expect(event["name"] == operation["func"] + (f" #{operation['seq']}" if "seq" in operation
                                                         else ""), event, operation)
    expect(last_of_operations < first_of_network, "the network comes before the operations")
    expect(set(used) == {row for row in names if row[1] >= FIRST_ROW}, "rows without a slice")


def size(count):
    for unit in ("B", "KiB", "MiB"):
        if count < 1024:
            return f"{count:.0f} {unit}" if count == int(count) else f"{count:.1f} {unit}"
        count /= 1024
    return f"{count:g} GiB"


def check_clock(merged, truth):
    """Every operation is where the reference's clock would have seen it, but for the uncertainty."""
    hosts = {host["host"]: host for host in truth["hosts"]}
    reference = next(name for name, host in merged.hosts.items() if host["is_reference"])
    compared = 0
    for pid, process in merged.process.items():
        host = merged.hosts[process["host"]]
        allowed = host.get("most_uncertainty_ns", 0) + 2
        there = operations(merged.by_pid[pid])
        for number, event in operations(merged.source(pid)).items():
            seen = true_ns(truth, hosts[process["host"]], ns(event))
            expected = own_ns(truth, hosts[reference], seen)
            error = abs(ns(there[number]) - expected)
            expect(error <= allowed, "operation", number, "of", process, "is off by", error, "ns; said",
                   allowed)
            compared += 1
    expect(compared > 20, "nothing compared")


def check_rows(merged):
    """Slices of a row nest, and what was added lies in an operation. Returns how many waits there
    are."""
    waits = 0
    rows = collections.defaultdict(list)
    for event in merged.events:
        if event["ph"] == "X" and event["tid"] >= FIRST_ROW:
            begin = ns(event)
            rows[event["pid"], event["tid"]].append((begin, -begin - ns({"ts": event["dur"]}), event))
    for row, slices in rows.items():
        open_slices = []
        for begin, negative_end, event in sorted(slices, key=lambda one: one[:2]):
            while open_slices and open_slices[-1][0] <= begin:
                open_slices.pop()
            expect(not open_slices or -negative_end <= open_slices[-1][0], row, "overlaps", event)
            is_wait = event["name"].startswith("waiting for rank ")
            if is_wait or event["name"].startswith("release"):
                expect(open_slices and "op" in open_slices[0][1]["args"], event, "is in no operation")
            waits += is_wait
            open_slices.append((-negative_end, event))
    return waits


def check_flows(merged):
    """Returns how many arrows there are between ranks."""
    begins, ends = {}, collections.defaultdict(list)
    for event in merged.events:
        if "bind_id" not in event:
            continue
        if event.get("flow_out"):
            expect(event["bind_id"] not in begins, event, "begins a flow again")
            begins[event["bind_id"]] = event
        else:
            ends[event["bind_id"]].append(event)
    expect(begins.keys() == ends.keys(), "flows lack an end:", begins.keys() ^ ends.keys())
    arrows = 0
    for bind_id, begin in begins.items():
        is_arrow = bool(int(bind_id, 16) & ARROW)
        expect(is_arrow == (begin["name"] == "releases"), begin, "has the bind_id of another kind")
        arrows += is_arrow
        expect(is_arrow or len(ends[bind_id]) == 1, begin, "leads to several")
        for end in ends[bind_id]:
            expect((end["pid"] != begin["pid"]) == is_arrow, begin, "leads to", end)
            expect(not is_arrow or ns(end) > ns(begin), begin, "leads back in time to", end)
    return arrows


def check_perfetto(ringside, directory, merged, *options):
    """Perfetto's own format shows what the JSON shows."""
    path = directory / "merged.pftrace"
    run(ringside, "merge", directory / "traces", "-o", path, "--format", "perfetto", *options)
    difference = perfetto_file.compare(merged, path)
    expect(not difference, "perfetto:", difference)
    names = [event["args"]["name"] for event in read(merged) if event["name"] == "process_name"]
    expect(perfetto_file.order(path) == names, "ranks are not in order")
    expect(path.stat().st_size < merged.stat().st_size / 2, "it is not small")
    path.unlink()


def collide(directory):
    """Gives the processes of the second host the pids of the first."""
    for path in directory.glob("*.host1.*.json"):
        text = path.read_text(encoding="utf-8")
        pid = json.loads(text.partition("\n")[0][1:-1])["pid"]
        path.write_text(text.replace(f'"pid":{pid},', f'"pid":{pid - 2},'), encoding="utf-8")


def check_job(generate, ringside, options, directory):
    run(generate, directory / "traces", *SMALL, *options.split())
    collide(directory / "traces")
    path = directory / "merged.json"
    run(ringside, "merge", directory / "traces", "-o", path)
    run(ringside, "lint", "--closed", path)
    check_perfetto(ringside, directory, path)
    truth = json.loads((directory / "traces/truth.txt").read_text(encoding="utf-8"))
    merged = Merged(path, (directory / "traces").glob("*.json"))
    check_head(merged)
    check_counters(merged)
    check_content(merged)
    check_names(merged)
    check_clock(merged, truth)
    expect(check_rows(merged) > 0, "nobody waits")
    arrows = check_flows(merged)
    # The network moves nothing before the last has come: its times do not tell who was late.
    tells_who = "proxy" not in options
    expect(arrows > 0 or not tells_who, "no arrows")
    straggler = next(fault["rank"] for fault in truth["faults"] if fault["kind"] == "straggler")
    marks = [event["name"] for event in merged.events if event["ph"] == "i"]
    released_by = collections.Counter(event["name"] for event in merged.events
                                      if event["name"].startswith("released by "))
    expect(not tells_who or released_by.most_common(1)[0][0].startswith(f"released by rank {straggler}"),
           "who released the others:", released_by)
    expect(("mismatch" in options) == any("size mismatch" in name for name in marks), marks)
    return path


def check_parts(ringside, directory, whole):
    """Parts are lines of the whole, but for what says so."""
    def line_of(text):  # rows may be others where less overlaps
        return re.sub('"tid":1[0-9]{7}', '"tid":0', text)
    all_lines = whole.read_text(encoding="utf-8").splitlines()
    lines = set(map(line_of, all_lines))
    for options in (["--top-slowest", "3"], ["--around", "world:AllReduce:2", "--margin", "0"],
                    ["--func", "AllReduce", "--from", "0.001"], ["--no-steps"], ["--no-arrows"]):
        path = directory / "part.json"
        run(ringside, "merge", directory / "traces", "-o", path, "--force", *options)
        run(ringside, "lint", "--closed", path)
        part = path.read_text(encoding="utf-8").splitlines()
        expect(len(part) < len(all_lines), options, "leaves nothing out")
        for line in part:
            known = line_of(line) in lines or '"ringside_merged' in line or \
                '"ph":"i"' in line or '"bind_id":"0x8' in line or '"thread_sort_index"' in line
            expect(known, options, "has a line that the whole has not:", line)
        events = json.loads("\n".join(part), parse_float=str)
        if options[0] == "--top-slowest":
            found = {(event["args"]["comm"], event["args"]["func"], event["args"].get("seq"))
                     for event in events if "func" in event.get("args", {}) and event["cat"] == "op"}
            expect(0 < len(found) <= 3, found)
        expect(options[0] != "--no-steps" or all(event.get("cat") != "step" for event in events),
               "steps are left")
        expect(options[0] != "--no-arrows" or all("bind_id" not in event or not
                                                       int(event["bind_id"], 16) & ARROW
                                                       for event in events), "arrows are left")


def check_overview(ringside, directory):
    """A row for each rank and communicator, with all operations, and with what the ranks wait for."""
    path = directory / "part.json"
    run(ringside, "merge", directory / "traces", "-o", path, "--force", "--overview")
    run(ringside, "lint", "--closed", path)
    check_perfetto(ringside, directory, path, "--overview")
    rows = collections.defaultdict(list)
    for event in read(path):
        if event["ph"] == "X":
            rows[event["pid"], event["tid"]].append(event)
    expect(len(rows) == 4, "other rows than of four ranks:", rows.keys())
    for row, slices in rows.items():
        ends = 0
        for event in slices:
            expect(ns(event) >= ends, row, "overlaps", event)
            ends = ns(event) + ns({"ts": event["dur"]})
            expect(0 <= float(event["args"]["busy_percent"]) <= 100, event)
            expect(0 <= float(event["args"]["waiting_percent"]) <= 100, event)
        count = sum(event["args"]["operations"] for event in slices)
        of_rank = [operations(read(trace)) for trace in (directory / "traces").glob("*.json")]
        expect(count in {len(found) for found in of_rank}, count, "operations in", row)
    # Rank 3 is late by much more than what the others are: each of them waits for it, and it for nobody.
    waits = [{event["name"] for event in slices} - {"communication"} for slices in rows.values()]
    expect(sorted(map(len, waits)) == [0, 1, 1, 1] and
           set().union(*waits) == {"waiting, mostly for rank 3"}, waits)


def check_overview_in_flight(generate, ringside, directory):
    """An operation that never ends is in the overview to the end, on each rank that called it."""
    run(generate, *"--seed 9 --hosts 1 --ranks-per-host 4 --iterations 4 --hang 0:1".split(),
        directory / "traces")
    run(ringside, "merge", directory / "traces", "-o", directory / "small.json", "--overview")
    last = {}
    for event in read(directory / "small.json"):
        if event["ph"] == "X":
            last[event["pid"]] = event["name"]
    in_flight = collections.Counter(name.endswith(" in flight to the end")
                                    for name in last.values())
    expect(in_flight[True] == 3, "three ranks wait for one that did not call:", last)


def check_bundle(ringside, directory, truth):
    """The traces are untouched, and the offsets are those of the true clocks."""
    path = directory / "all.tar"
    run(ringside, "merge", directory / "traces", "-o", path, "--format", "bundle")
    before = path.read_bytes()
    with tarfile.open(path, "r:") as bundle:
        names = bundle.getnames()
        files = {name: bundle.extractfile(name).read() for name in names}
    text = files.pop(names[0])
    expect(text.startswith(b'{"perfetto_manifest"'), "Perfetto does not know the manifest")
    entries = json.loads(text)["perfetto_manifest"]["files"]
    expect([entry["path"] for entry in entries] == names[1:], "other files than the manifest's")
    hosts = {host["host"]: host for host in truth["hosts"]}
    first = hosts[entries[0]["machine"]["name"]]
    for entry in entries:
        expect(files[entry["path"]] == (directory / "traces" / entry["path"]).read_bytes(),
               entry["path"], "is another")
        offset = entry.get("clocks", {"offset_ns": 0})["offset_ns"]
        host = hosts[entry["machine"]["name"]]
        at = true_ns(truth, host, truth["job_start_ns"])
        exact = own_ns(truth, first, at) - truth["job_start_ns"]
        # The job is short: 100 ppm of drift between two clocks are a few microseconds.
        expect(abs(offset - exact) < 20_000, entry, "should be", exact)
    run(ringside, "merge", directory / "traces", "-o", path, "--format", "bundle", "--force")
    expect(path.read_bytes() == before, "another bundle of the same traces")
    run(ringside, "merge", directory / "traces", "-o", path, "--format", "bundle", "--force",
        "--no-steps", status=2)
    path.unlink()


def check_odd_job(generate, ringside, options, directory):
    run(generate, directory / "traces", *SMALL, "--hosts", "2", *options.split())
    for part in ([], ["--top-slowest", "2"], ["--no-align"]):
        path = directory / "merged.json"
        run(ringside, "merge", directory / "traces", "-o", path, "--force", *part)
        run(ringside, "lint", "--closed", path)
        check_perfetto(ringside, directory, path, *part)
        if "--no-align" not in part:
            continue
        merged = Merged(path)
        hosts_of_arrow = collections.defaultdict(set)
        for event in merged.events:
            if int(event.get("bind_id", "0"), 16) & ARROW:
                hosts_of_arrow[event["bind_id"]].add(merged.process[event["pid"]]["host"])
        expect(all(len(hosts) == 1 for hosts in hosts_of_arrow.values()),
               "arrows between clocks that are not known")


def check_errors(ringside, directory, merged):
    traces = directory / "traces"
    before = merged.read_bytes()
    done = run(ringside, "merge", traces, "-o", merged, status=2)
    expect("exists" in done.stderr and merged.read_bytes() == before, "replaced without --force")
    run(ringside, "merge", traces, "-o", directory / "none/x.json", status=2)
    trace = next(traces.glob("*.json"))
    run(ringside, "merge", traces, "-o", trace, "--force", status=2)
    run(ringside, "merge", directory / "nowhere", "-o", directory / "x.json", status=3)
    run(ringside, "merge", traces, "-o", directory / "x.json", "--around", "a:b:1", status=3)
    expect("merged file" in run(ringside, "summary", merged, status=3).stderr, "summary takes it")
    expect({path.name for path in directory.iterdir()} == {"traces", merged.name, "part.json"},
           "something was left behind")
    run(ringside, "merge", traces, "-o", merged, "--force")
    expect(merged.read_bytes() == before, "another file of the same traces")
    link = directory / "link.json"
    link.symlink_to(merged.name)
    merged.write_bytes(b"")
    run(ringside, "merge", traces, "-o", link, "--force")
    expect(link.is_symlink() and merged.read_bytes() == before, "the link is replaced, not its file")
    link.unlink()
    lines = trace.read_bytes().splitlines(keepends=True)
    trace.write_bytes(b"".join([*lines[:9], b'{"ph":"i","pid":\n', b"\0\xff\n", *lines[9:]]))
    run(ringside, "merge", traces, "-o", merged, "--force", status=4)
    expect(read(merged)[-1]["args"]["lines_left_out"] == 2, "damaged lines are not counted")
    run(ringside, "lint", merged)


def check_without_ends(generate, ringside, directory):
    """Operations whose end lines are not there share a row: each has told when it ended."""
    run(generate, directory / "traces", "--operations-only", "--hosts", "1", "--ranks-per-host", "2",
        "--iterations", "300", "--pattern", "AllReduce:1048576")
    run(ringside, "merge", directory / "traces", "-o", directory / "merged.json")
    events = Merged(directory / "merged.json").events
    rows = {(one["pid"], one["tid"]) for one in events if one["name"] == "thread_name" and one["tid"] > 10_000_000}
    slices = [one for one in events if one["ph"] == "X" and "op" in one.get("args", {})]
    expect(len(rows) == 2 and len(slices) == 600, f"{len(slices)} operations in {len(rows)} rows")
    for one in slices:
        taken_us = (one["args"]["end_ns"] - one["args"]["start_ns"]) / 1000
        expect(abs(float(one["dur"]) - taken_us) < 0.002, f"{one} takes another time than it tells")


def main():
    generate, ringside = (pathlib.Path(name).resolve() for name in sys.argv[1:3])
    for number, options in enumerate(JOBS):
        with tempfile.TemporaryDirectory() as name:
            directory = pathlib.Path(name)
            merged = check_job(generate, ringside, options, directory)
            if number == 0:
                check_parts(ringside, directory, merged)
                truth = json.loads((directory / "traces/truth.txt").read_text(encoding="utf-8"))
                check_overview(ringside, directory)
                check_bundle(ringside, directory, truth)
                check_errors(ringside, directory, merged)
        print(f"{options}: ok")
    with tempfile.TemporaryDirectory() as name:
        check_without_ends(generate, ringside, pathlib.Path(name))
    with tempfile.TemporaryDirectory() as name:
        check_overview_in_flight(generate, ringside, pathlib.Path(name))
    for options in ODD_JOBS:
        with tempfile.TemporaryDirectory() as name:
            check_odd_job(generate, ringside, options, pathlib.Path(name))
        print(f"{options}: ok")


if __name__ == "__main__":
    main()
