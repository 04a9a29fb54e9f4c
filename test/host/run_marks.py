#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plays a recording while the application marks: ranges before NCCL is up and around calls, and a moment;
checks the lines of the trace and what the analyzer makes of them."""
import argparse
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile

import expected
from run_replay import Failure, Run, boundaries, require


def marks_of(trace):
    found = {}
    for line in trace.read_text(encoding="utf-8").splitlines():
        event = json.loads(line.strip("[,") or "null") if line != "]" else None
        if event and event["name"] == "ringside_mark":
            found[event["args"]["mark"]] = event["args"]
    return found


def slices_of(trace):
    events = json.loads(trace.read_text(encoding="utf-8"))
    return [event for event in events if event.get("cat") == "mark" and event["ph"] == "X"]


def analyse(run, *arguments):
    done = subprocess.run([run.options.ringside, *arguments, str(run.traces)], capture_output=True,
                          text=True, timeout=100, check=False)
    require(done.returncode in (0, 4), f"{arguments}: {done.returncode} {done.stderr}")
    return done.stdout


def operations_in(summary):
    return sum(row["count"] for communicator in summary["communicators"]
               for row in communicator["rows"])


def check(run):
    recording = expected.Recording(run.files[0])
    calls = len(recording.calls)
    # Actions are done on the thread of the next call: that of the application, at these.
    first, second, third = boundaries(recording, 4)
    dump = run.directory / "dump.json"
    run.files = run.files[:1]
    # The whole job, two steps within it, a moment.
    run.host("--range-at", f"0:{calls}:job", "--range-at", f"{first}:{second}:step \"1\"",
             "--range-at", f"{second}:{third}:step 2", "--mark-at", f"{second}:half way",
             "--dump-at", f"{second}:{dump}")
    run.lint()
    trace = run.trace_files()[0]
    marks = {mark["name"]: mark for mark in marks_of(trace).values()}
    require(set(marks) == {"job", 'step "1"', "step 2", "half way"}, f"marks are {sorted(marks)}")
    require(all(("end_ns" in mark) == mark.get("range", False) for mark in marks.values()),
            "a range has not ended, or a moment has")
    require(marks["job"]["source"] == "application.cc:1", "the source line is not told")
    require("source" not in marks["half way"], "a source line that nobody gave")
    slices = slices_of(trace)
    require(len(slices) == 3, f"{len(slices)} ranges are slices")
    require(marks["job"]["start_ns"] < marks['step "1"']["start_ns"] < marks["half way"]["start_ns"]
            < marks['step "1"']["end_ns"] < marks["step 2"]["start_ns"], "marks are not in order")
    open_ones = [mark["name"] for mark in marks_of(dump).values() if "end_ns" not in mark]
    require(open_ones == ["job", 'step "1"'], f"open in the dump are {open_ones}")
    in_flight = [piece for piece in slices_of(dump) if piece["args"].get("in_flight")]
    require(len(in_flight) == 2, "the dump does not show open ranges as slices")

    everything = json.loads(analyse(run, "summary", "--format", "json"))
    by_range = json.loads(analyse(run, "summary", "--group-by", "range", "--format", "json"))
    counts = {}
    for communicator in by_range["communicators"]:
        for row in communicator["rows"]:
            counts[row["range"]] = counts.get(row["range"], 0) + row["count"]
    require(sum(counts.values()) == operations_in(everything), "rows by range lack operations")
    require(set(counts) >= {'job / step "1"', "job / step 2"}, f"ranges of rows are {counts}")
    for name in ('step "1"', "step 2"):
        part = json.loads(analyse(run, "summary", "--format", "json", "--from", f"mark:{name}",
                                  "--to", f"mark:{name}"))
        require(operations_in(part) == counts[f"job / {name}"],
                f"{operations_in(part)} operations from and to {name}, "
                f"{counts[f'job / {name}']} in it")
    lines = analyse(run, "summary", "--group-by", "range", "--format", "csv").splitlines()
    require(lines[0].endswith(",range") and any("job / step 2" in line for line in lines[1:]),
            "CSV has no range")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--host", required=True)
    parser.add_argument("--plugin", required=True)
    parser.add_argument("--ringside", required=True)
    parser.add_argument("recording")
    options = parser.parse_args()
    options.timing = True
    options.abi = int(pathlib.Path(options.recording).name.split("-")[1][1])
    directory = tempfile.mkdtemp(prefix="ringside-marks-")
    try:
        check(Run(options, directory))
    except Failure as failure:
        print(f"{failure}\nfiles are in {directory}")
        return 1
    shutil.rmtree(directory)
    return 0


if __name__ == "__main__":
    sys.exit(main())
