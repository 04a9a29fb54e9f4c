# SPDX-License-Identifier: Apache-2.0
"""The parts of check_merged.py: files, clocks, counters."""
import json
import subprocess
import sys


def expect(condition, *text):
    if not condition:
        sys.exit(" ".join(map(str, text)))


def run(*command, status=0):
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=100,
                          check=False)
    expect(done.returncode == status, command, "ended with", done.returncode, done.stderr)
    return done


def ns(event):
    """Exact: the text is digits, a point, three digits."""
    whole, part = event["ts"].split(".")
    return int(whole) * 1000 + int(part)


def read(path):
    """Events of a file; ts and dur stay text."""
    return json.loads(path.read_text(encoding="utf-8"), parse_float=str)


def operations(events):
    """The operations of a trace or of a merged file."""
    return {event["args"]["op"]: event for event in events
            if event["ph"] in "bX" and event["cat"] == "op" and "op" in event.get("args", {})}


def counter_changes(events):
    """The changes of each counter of a process, by name and unit: (time, by), in order."""
    found, last = {}, {}
    for event in events:
        if event["ph"] == "C":
            (unit, value), = event["args"].items()
            key, value = (event["name"], unit), round(float(value) * 1000)
            found.setdefault(key, []).append((ns(event), value - last.get(key, 0)))
            last[key] = value
    return found


def values_of(changes):
    """Time and value, only where it changes."""
    sums, total = {}, 0
    for time, by in sorted(changes):
        total += by
        sums[time] = total
    return [(time, value) for (time, value), before in
            zip(sums.items(), [0, *sums.values()]) if value != before]


def in_flight_of(events):
    """Bytes in flight, from the operations alone: from their calls to their ends. The values only:
    the times of args are those of the rank's own clock."""
    found = {}
    for event in operations(events).values():
        args = event["args"]
        if args["times_from"] in ("gpu", "proxy") and args["state"] == "completed" \
                and "bytes" in args and args["start_ns"] < args["end_ns"]:
            changes = found.setdefault(args["context"], [])
            changes.append((args["enqueue_start_ns"], 1000 * args["bytes"]))
            changes.append((max(args["end_ns"], args["enqueue_start_ns"]), -1000 * args["bytes"]))
    return sorted([value for _, value in values_of(changes)] for changes in found.values())


def check_counters(merged):
    """A rank's counters are its operations', and a host's are at any time the sums of its ranks'."""
    for rank in merged.process:
        changes = counter_changes(merged.by_pid[rank])
        found = sorted([value for _, value in values_of(by)]
                       for (name, unit), by in changes.items()
                       if name.endswith(" in flight") and unit == "bytes")
        wanted = in_flight_of(merged.by_pid[rank])
        expect(len(wanted) > 0 and found == wanted, rank, "has other bytes in flight:",
               found[:1], wanted[:1])
        busy = [by for (name, unit), by in changes.items()
                if name.endswith(" busbw") and unit == "GB/s"]
        expect(busy and all(max(value for _, value in values_of(by)) > 0 for by in busy),
               rank, "has no bandwidth")
    names = {event["pid"]: event["args"]["name"] for event in merged.events
             if event["name"] == "process_name"}
    hosts = [pid for pid in names if pid not in merged.process]
    expect(len(hosts) == len(merged.hosts), "hosts without a sum:", names)
    for pid in hosts:
        host = names[pid].split(":")[0]
        ranks = [rank for rank, process in merged.process.items() if process["host"] == host]
        expect(names[pid] == f"{host}: sum of {len(ranks)} processes", names[pid])
        sums = {}
        for rank in ranks:
            for key, changes in counter_changes(merged.by_pid[rank]).items():
                sums.setdefault(key, []).extend(changes)
        own = counter_changes(merged.by_pid[pid])
        expect({key: values_of(by) for key, by in own.items()} ==
               {key: values_of(by) for key, by in sums.items()}, host, "adds up otherwise")
