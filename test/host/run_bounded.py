#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plays a recording many times in one process whose trace is bounded, watches the bound while it
runs, and compares what is left with the recording.

scenarios: rotate    the newest segments on disk
           compress  the same, compressed
           flight    the newest segments in memory, with a dump in the middle and one at the end
          killed    both, ended by SIGKILL: `ringside recover` adds what was not in a segment yet
"""
import argparse
import gzip
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import check_replay
import expected

BOUND_BYTES = 4 << 20


class Failure(Exception):
    pass


def require(condition, text):
    if not condition:
        raise Failure(text)


def sizes_seen(directory):
    """Returns the room of each file: its size, and the room that is taken ahead of it."""
    sizes = {}
    # The flight recorder's segments are in a directory of the process, beside its rings.
    for path in [*directory.glob("ringside.*.json*"), *directory.glob("*/ringside.*.json*")]:
        try:
            found = path.lstat()
        except FileNotFoundError:
            continue  # deleted meanwhile
        # A file system gives space by the page.
        sizes[path] = max(found.st_size, found.st_blocks * 512 - 4096)
    return sizes


def bytes_at_a_moment(directory):
    """Returns the room of the files at one moment of a run, or none if no moment can be had.

    Looking takes time, in which one file may be deleted and another grow. A file takes its whole
    room ahead, and gives the rest back when it ends: it never takes the same twice with
    something else between, so what two looks in a row see alike was so from one to the other.
    """
    before = sizes_seen(directory)
    for _ in range(20):
        now = sizes_seen(directory)
        if now == before:
            return sum(now.values())
        before = now
    return None


class Bounded:
    def __init__(self, options, directory):
        self.options = options
        self.traces = pathlib.Path(directory) / "traces"
        self.rings = pathlib.Path(directory) / "rings"
        for made in (self.traces, self.rings):
            made.mkdir()
        self.file = sorted(pathlib.Path(options.recording).glob("*.jsonl.gz"))[0]
        self.recording = expected.Recording(self.file)
        self.repeat = options.repeat or (25_000 if options.long else 60)
        self.most_bytes = 0
        self.samples = 0
        self.status = {}
        self.notes = ""

    def host(self, watched, *arguments, **variables):
        environment = {key: value for key, value in os.environ.items()
                       if not key.startswith("RINGSIDE_")}
        environment.update(RINGSIDE_DIR=str(self.traces), RINGSIDE_RING_DIR=str(self.rings),
                           RINGSIDE_EVENTS="coll,p2p" if self.options.long else "all",
                           RINGSIDE_RING_BYTES="4M" if self.options.long else "32M", **variables)
        command = [self.options.host, "--plugin", self.options.plugin, "--repeat",
                   str(self.repeat), "--status", *arguments, str(self.file)]
        limit_s = time.monotonic() + (1500 if self.options.long else 90)
        with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True) as process:
            while process.poll() is None:
                seen = bytes_at_a_moment(watched)
                if seen is not None:
                    self.most_bytes = max(self.most_bytes, seen)
                    self.samples += 1
                if time.monotonic() > limit_s:
                    process.kill()
                    raise Failure("nccl_host takes too long")
                time.sleep(0.002)
            said = [json.loads(line) for line in process.stdout.read().splitlines()]
        require(process.returncode == 0, f"nccl_host returned {process.returncode}: {said}")
        self.most_bytes = max(self.most_bytes, sum(sizes_seen(watched).values()))
        self.status = next((line for line in said if "callbacks" in line), {})
        require(self.samples > 5, "the run was too short to watch it")
        require(self.most_bytes <= BOUND_BYTES,
                f"{self.most_bytes} bytes at once, more than {BOUND_BYTES}")
        require(self.most_bytes > BOUND_BYTES // 2, "the bound was never near")

    def ringside(self, *arguments):
        done = subprocess.run([self.options.ringside, *arguments], capture_output=True, text=True,
                              timeout=100, check=False)
        require(done.returncode in (0, 4), f"ringside {arguments}: "
                + "\n".join((done.stdout + done.stderr).splitlines()[:20]))
        self.notes = done.stderr
        return done.stdout

    def check_kept(self, traces, complete, in_flight=False, may_be_lost=None):
        """Several files of one process, in order: what the last account says must be in them.

        in_flight: lines in flight are the last word on their events.
        may_be_lost: a reason for which callbacks may be counted as dropped.
        """
        account = traces[-1].account["by_type"]
        check = check_replay.Checker()
        for name, counts in account.items():
            check.equal(f"account of {name}",
                        sum(n for key, n in counts.items() if key != "produced"),
                        counts["produced"])
            for key in counts:
                # A long replay without pauses is faster than the drain on a busy machine; what it
                # loses is counted, and must add up like all else.
                check.true(f"{name}: {key}",
                           self.options.long or key == may_be_lost
                           or not key.startswith("dropped"))
            if complete:
                check.equal(f"{name}: produced", counts["produced"],
                            self.recording.produced[name] * self.repeat)
                check.equal(f"{name}: held", counts.get("held", 0) + counts.get("in_rings", 0), 0)
        check.true("nothing was rotated",
                   sum(counts.get("rotated", 0) for counts in account.values()) > 0)
        for category, names in check_replay.CATEGORIES.items():
            if complete or category == "proxy":
                lines = sum(in_flight or not event["args"].get("in_flight") for trace in traces
                            for event in trace.begins(category))
                check.equal(f"lines of {category}", lines,
                            sum(account.get(name, {}).get("written", 0) for name in names))
        operations = {}
        for trace in traces:
            for number, args in trace.operations.items():
                check.true(f"operation {number} twice", number not in operations)
                operations[number] = args
        if complete:
            inits = len(self.recording.communicators)
            last = inits * (self.repeat - 1)
            newest = [args for args in operations.values() if args["context"] > last]
            check.same_items("operations of the last repetition",
                             [check_replay.identity(args) for args in newest],
                             [expected.identity(event) for event in self.recording.operations()])
        require(not check.troubles, "\n".join(check.troubles[:20]))
        return account, operations

    def report(self, account, operations):
        produced = sum(counts["produced"] for counts in account.values())
        rotated = sum(counts.get("rotated", 0) for counts in account.values())
        print(f"{self.repeat} repetitions, {self.status['operations']} operations, {produced} "
              f"callbacks, {self.status['bytes_written']} bytes written; at most {self.most_bytes} "
              f"bytes at once in {self.samples} samples (bound {BOUND_BYTES}); left: "
              f"{len(operations)} operations, {rotated} callbacks rotated, {self.status['dropped']} "
              "dropped")

    def trace(self, path):
        if path.name.endswith(".gz"):
            plain = self.rings / path.name.removesuffix(".gz")
            plain.write_bytes(gzip.decompress(path.read_bytes()))
            path = plain
        return check_replay.Trace(path)

    def check_files(self, ending):
        paths = sorted(self.traces.iterdir())
        require(len(paths) > 1, f"{len(paths)} files")
        for path in paths:
            require(path.name.endswith(ending), f"{path.name} does not end in {ending}")
            require(path.stat().st_mode & 0o777 == 0o600, f"{path.name} is not private")
        traces = []
        for path in paths:
            traces.append(self.trace(path))
        numbers = [trace.first["segment"] for trace in traces]
        require(numbers == list(range(numbers[0], numbers[0] + len(numbers))) and numbers[0] > 1,
                f"segments {numbers}")
        account, operations = self.check_kept(traces, complete=True)
        self.ringside("lint", "--closed", str(self.traces))
        summary = json.loads(self.ringside("summary", "--format", "json", str(self.traces)))
        require(len(summary["inputs"]["files"]) == 1, "not one trace")
        require(summary["inputs"]["operations"] == len(operations), "operations of the summary")
        require(summary["completeness"]["callbacks_rotated"] == self.status_rotated(account),
                "rotated callbacks of the summary")
        self.report(account, operations)

    @staticmethod
    def status_rotated(account):
        return sum(counts.get("rotated", 0) for counts in account.values())


def rotate(run):
    run.host(run.traces, RINGSIDE_MAX_BYTES=str(BOUND_BYTES))
    run.check_files(".json")


def compress(run):
    run.repeat *= 4
    run.host(run.traces, RINGSIDE_MAX_BYTES=str(BOUND_BYTES), RINGSIDE_COMPRESS="1")
    run.check_files(".json.gz")


def flight(run):
    calls = len(run.recording.calls)
    dumps = run.rings.parent / "dumps"
    dumps.mkdir()
    middle, end = dumps / "middle.json", dumps / "end.json"
    half = run.repeat // 2 * calls + calls // 2
    run.host(run.rings, "--dump-at", f"{half}:{middle}", "--dump-at",
             f"{calls * run.repeat}:{end}", RINGSIDE_FLIGHT_BYTES=str(BOUND_BYTES))
    require(not list(run.traces.iterdir()), "something was written to RINGSIDE_DIR")
    require(not list(run.rings.iterdir()), "something is left in RINGSIDE_RING_DIR")
    require(run.status["flight_recorder"] == 1 and run.status["trace_path"] == "", "status")
    run.ringside("lint", str(dumps))
    for path in (middle, end):
        trace = check_replay.Trace(path)
        require(trace.first["dump"] and trace.first["segment"] > 1, "not a dump of newer segments")
        account, operations = run.check_kept([trace], complete=False)
        contexts = len(run.recording.communicators) * (run.repeat // 2 if path == middle
                                                       else run.repeat - 1)
        newest = [args for args in operations.values() if args["context"] > contexts]
        wanted = run.recording.operations()
        require(newest, f"{path.name}: nothing of the newest repetition")
        require(path == middle or len(newest) == len(wanted),
                f"{len(newest)} operations of the last repetition, not {len(wanted)}")
    run.report(account, operations)


def killed(run):
    calls = len(run.recording.calls)
    repeat = run.repeat
    for how, compress, times in (("MAX", "0", 1), ("MAX", "1", 4), ("FLIGHT", "0", 1)):
        run.repeat = repeat * times
        for directory in (run.traces, run.rings):
            shutil.rmtree(directory)
            directory.mkdir()
        after = calls * (run.repeat - 1) - calls // 3
        # With pauses, in which the drain gives the rings of threads that have ended to new ones.
        run.host(run.traces if how == "MAX" else run.rings, "--pause", "0.02", "--kill-after",
                 str(after), RINGSIDE_COMPRESS=compress,
                 **{f"RINGSIDE_{how}_BYTES": str(BOUND_BYTES)})
        # As if it had died between deleting its oldest segment and saying so.
        min(run.traces.iterdir() if how == "MAX" else run.rings.glob("*/ringside.*.json")).unlink()
        said = run.ringside("recover", str(run.rings))
        require(not list(run.rings.iterdir()), f"recover leaves {list(run.rings.iterdir())}")
        traces = [run.trace(path) for path in sorted(run.traces.iterdir())]
        # The threads of each repetition are new. If the drain is late all the same, they have more
        # rings than have room as files: the records in the others are lost, and counted.
        has_all = "had no room for their records" not in run.notes
        account, operations = run.check_kept(traces, complete=False, in_flight=True,
                                             may_be_lost=None if has_all else "dropped_kill")
        run.ringside("lint", "--closed", str(run.traces))
        cold = sum(call["cb"] in ("init", "finalize") for call in run.recording.calls)
        limited = expected.Recording(run.file, limit=after % calls)
        wanted = (calls - cold) * (after // calls) + sum(limited.produced.values())
        require(sum(counts["produced"] for counts in account.values()) == wanted,
                f"{account}, not {wanted} callbacks")
        last = len(run.recording.communicators) * (after // calls)
        newest = [args for args in operations.values() if args["context"] > last]
        require(not has_all or len(newest) == len(limited.operations()),
                f"{len(newest)} operations of the last repetition, not "
                f"{len(limited.operations())}: {said}")
        print(said, end="")


SCENARIOS = {function.__name__: function for function in (rotate, compress, flight, killed)}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--host", required=True, help="nccl_host")
    parser.add_argument("--plugin", required=True)
    parser.add_argument("--ringside", required=True)
    parser.add_argument("--scenario", choices=SCENARIOS, default="rotate")
    parser.add_argument("--repeat", type=int, help="how often the recording is played")
    parser.add_argument("--long", action="store_true",
                        help="a week's run in small: millions of operations, some minutes")
    parser.add_argument("recording", help="a folder of test/data/transcripts")
    options = parser.parse_args()
    directory = tempfile.mkdtemp(prefix="ringside-bounded-")
    try:
        SCENARIOS[options.scenario](Bounded(options, directory))
    except (Failure, KeyError, ValueError, subprocess.TimeoutExpired) as failure:
        print(f"{options.scenario}: {type(failure).__name__} {failure}\nfiles are in {directory}")
        return 1
    shutil.rmtree(directory)
    return 0


if __name__ == "__main__":
    sys.exit(main())
