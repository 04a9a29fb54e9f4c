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


def add_counters(directory):
    """Counters of each operation's time, as the plugin writes them."""
    for number, path in enumerate(sorted(directory.glob("*.json"))):
        lines = []
        for line in path.read_text(encoding="utf-8").splitlines():
            lines.append(line)
            if '"cat":"op"' not in line or '"ph":"b"' not in line:
                continue
            event = json.loads(line.rstrip(","), parse_float=str)
            value = f"{len(lines) % 7 + number / 8:.3f}"
            lines.append(f'{{"ph":"C","pid":{event["pid"]},"tid":{event["pid"]},'
                         f'"ts":{event["ts"]},"name":"world busbw","args":{{"GB/s":{value}}}}},')
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def check_counters(merged):
    """A host's counter is at any time the sum of those of its ranks."""
    def changes(pids):
        found = []
        for pid in pids:
            last = 0
            for event in merged.by_pid[pid]:
                if event["ph"] == "C":
                    (unit, value), = event["args"].items()
                    expect((event["name"], unit) == ("world busbw", "GB/s"), event)
                    value = round(float(value) * 1000)
                    found.append((ns(event), value - last))
                    last = value
        sums, total = {}, 0
        for time, by in sorted(found):
            total += by
            sums[time] = total
        # Only where it changes.
        return [(time, value) for (time, value), before in
                zip(sums.items(), [0, *sums.values()]) if value != before]
    names = {event["pid"]: event["args"]["name"] for event in merged.events
             if event["name"] == "process_name"}
    hosts = [pid for pid in names if pid not in merged.process]
    expect(len(hosts) == len(merged.hosts), "hosts without a sum:", names)
    for pid in hosts:
        host = names[pid].split(":")[0]
        ranks = [rank for rank, process in merged.process.items() if process["host"] == host]
        expect(names[pid] == f"{host}: sum of {len(ranks)} processes", names[pid])
        expect(len(changes(ranks)) > 5 and changes([pid]) == changes(ranks), host, "adds up otherwise")
