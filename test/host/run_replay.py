#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Replays a recording to the plugin and looks at what it wrote. One scenario a run:

replay   all of the recording, compared call by call
window   two windows of recording: only operations that began in one, and those whole
dump     a dump in the middle and one before the end, beside the trace
kill     SIGKILL in the middle: the trace up to then loads
deaths   the process dies at random moments, in each way: `ringside recover` and the trace have all
         that was recorded up to then
foreign  another process's proxy operations (PXN): written as foreign, joined to none of ours
fork     a child forked in the middle exits normally: no file of its own, none changed
v7       a recording of version 7 with what emulated GPUs do not have, made by make_v7.py
reload   all communicators destroyed, then new ones: one trace with all of them
"""
import argparse
import collections
import json
import os
import pathlib
import random
import shlex
import shutil
import subprocess
import sys
import tempfile

import check_replay
import expected

HERE = pathlib.Path(__file__).parent
# This command runs programs that were built for another machine.
EMULATOR = shlex.split(os.environ.get("RINGSIDE_TEST_EMULATOR", ""))


class Failure(Exception):
    pass


def require(condition, text):
    if not condition:
        raise Failure(text)


class Run:
    """One run of nccl_host, in a directory of its own."""

    def __init__(self, options, directory):
        self.options = options
        self.directory = pathlib.Path(directory)
        self.traces = self.directory / "traces"
        self.traces.mkdir()
        self.rings = self.directory / "rings"
        self.rings.mkdir()
        self.files = sorted(pathlib.Path(options.recording).glob("*.jsonl.gz"))
        require(self.files, f"no recording in {options.recording}")
        self.processes = []  # what nccl_host said, in order of the files
        self.said = []  # all lines of its standard output

    def host(self, *arguments, **variables):
        if self.options.timing:
            arguments = ("--timing", *arguments)
        environment = {key: value for key, value in os.environ.items()
                       if not key.startswith("RINGSIDE_")}
        # Callbacks come a hundred times faster than NCCL's; that rings overflow is another test's.
        environment.update(RINGSIDE_DIR=str(self.traces), RINGSIDE_EVENTS="all",
                           RINGSIDE_RING_DIR=str(self.rings), RINGSIDE_RING_BYTES=str(32 << 20))
        # With interface 7 kernel channels are recorded only so.
        environment.update(NCCL_ALLGATHERV_ENABLE="0", NCCL_COMM_SPLIT_SHARE_RESOURCES="0",
                           NCCL_COMM_SHRINK_SHARE_RESOURCES="0")
        environment.update(variables)
        command = [*EMULATOR, self.options.host, "--plugin", self.options.plugin, *arguments]
        if self.options.abi:
            command += ["--abi", str(self.options.abi)]
        # A file, not a pipe: what the plugin prints must not depend on how fast it is read.
        stdout = self.directory / "stdout"
        with stdout.open("w", encoding="utf-8") as out:
            done = subprocess.run([*command, *map(str, self.files)], env=environment, stdout=out,
                                  stderr=subprocess.PIPE, text=True, timeout=100, check=False)
        sys.stderr.write(done.stderr)
        self.stderr = done.stderr
        text = stdout.read_text(encoding="utf-8")
        require(done.returncode == 0, f"nccl_host returned {done.returncode}: {text}")
        self.said = [json.loads(line) for line in text.splitlines()]
        by_file = {line["recording"]: line for line in self.said if "recording" in line}
        self.processes = [by_file[str(file)] for file in self.files if str(file) in by_file]

    def trace_files(self):
        return sorted(self.traces.glob("*.json"))

    def traces_by_pid(self):
        traces = {}
        for file in self.trace_files():
            trace = check_replay.Trace(file)
            if not trace.first.get("dump"):
                require(trace.first["pid"] not in traces, f"two traces of {trace.first['pid']}")
                traces[trace.first["pid"]] = trace
        return traces

    def lint(self, closed=True):
        for file in self.trace_files():
            text = file.read_text(encoding="utf-8")
            require(not closed or text.rstrip().endswith("]"), f"{file.name} is not closed")
            require(file.stat().st_mode & 0o777 == 0o600, f"{file.name} is not private")
            if closed:
                json.loads(text)
        if self.options.ringside and os.path.exists(self.options.ringside):
            done = subprocess.run([*EMULATOR, self.options.ringside, "lint", str(self.traces)],
                                  capture_output=True, text=True, timeout=60, check=False)
            said = (done.stdout + done.stderr).splitlines()
            require(done.returncode == 0, "\n".join(["ringside lint:", *said[:20], *said[-1:]]))


def recordings_and_traces(run):
    traces = run.traces_by_pid()
    require(len(traces) == len(run.files), f"{len(traces)} traces of {len(run.files)} processes")
    for process, file in zip(run.processes, run.files):
        require(process["pid"] in traces, f"no trace of process {process['pid']}")
        yield expected.Recording(file), traces[process["pid"]]


def compare_all(run):
    require(not list(run.rings.iterdir()), f"rings are left: {list(run.rings.iterdir())}")
    troubles = []
    for recording, trace in recordings_and_traces(run):
        found = check_replay.compare(recording, trace)
        troubles += [f"pid {trace.first['pid']}: {line}" for line in found]
    require(not troubles, "\n".join(troubles[:40] + [f"{len(troubles)} troubles"]))


def replay(run):
    run.host()
    run.lint()
    compare_all(run)


def boundaries(recording, parts):
    """Numbers of calls after which no operation is half begun, spread over the recording."""
    top = "GroupApi" if recording.abi >= 5 else "Group"
    begins = [event.number - 1 for event in recording.of_type(top)]
    require(len(begins) >= parts, "the recording is too short for this")
    return [begins[len(begins) * part // parts] for part in range(1, parts)]


def window(run):
    run.files = run.files[:1]
    recording = expected.Recording(run.files[0])
    first, second, third = boundaries(recording, 4)
    run.host("--window", f"0:{first}", "--window", f"{second}:{third}", RINGSIDE_START="0")
    run.lint()
    _, trace = next(recordings_and_traces(run))

    def window_of(event):
        begin = event.number
        if event.parent is not None and event.parent.type in ("CollApi", "P2pApi"):
            begin = event.parent.number
        if begin <= first:
            return 1
        return 2 if second < begin <= third else None

    check = check_replay.Checker()
    wanted = [event for event in recording.operations() if window_of(event)]
    rows = check_replay.rows_by_operation(trace)
    check.same_items("operations with rows, by window",
                     [(args["window"],) + check_replay.identity(args) + rows[number]
                      for number, args in trace.operations.items()],
                     [(window_of(event),) + expected.identity(event) + expected.rows_of(event)
                      for event in wanted])
    require(not check.troubles, "\n".join(check.troubles[:20]))
    require(0 < len(wanted) < len(recording.operations()), "the windows show nothing")
    windows = collections.defaultdict(dict)
    for args in trace.by_name["ringside_window"]:
        windows[args["window"]].update(args)
    require(sorted(windows) == [1, 2], f"windows {sorted(windows)} instead of 1 and 2")
    require(all("end_ns" in args for args in windows.values()), "a window without an end")
    account = trace.account["by_type"]
    require(sum(numbers.get("filtered", 0) for numbers in account.values()) > 0,
            "nothing was filtered")
    for name, numbers in account.items():
        parts = sum(number for key, number in numbers.items() if key != "produced")
        require(parts == numbers["produced"], f"the account of {name} does not add up: {numbers}")


def windows_of(trace):
    """By number, the lines of a window in their order."""
    windows = collections.defaultdict(list)
    for args in trace.by_name["ringside_window"]:
        windows[args["window"]].append(args)
    return windows


def begin_of(event):
    """The number of the call with which NCCL begins to look at its mask for it."""
    while event.parent is not None:
        event = event.parent
    return event.number


def types(run):
    """Kernel channels asked for late, or no longer, while recording goes on."""
    run.files = run.files[:1]
    recording = expected.Recording(run.files[0])
    (middle,) = boundaries(recording, 2)
    without, with_kernels = "coll,p2p,proxy", "coll,p2p,proxy,kernel"
    for before, after in ((without, with_kernels), (with_kernels, without)):
        shutil.rmtree(run.traces)
        # NCCL reports event types that are asked for late for calls from then on, and those that
        # are dropped for calls before.
        late = after == with_kernels
        has_kernels = {id(event) for event in recording.operations()
                       if (begin_of(event) > middle) == late}
        pause = []
        if late:
            # The execution of one operation is seen so long after its enqueue that the plugin would
            # have finished an operation without kernel channels.
            waiting = next(
                event for event in recording.of_type("Coll") if begin_of(event) > middle
                and any(child.type == "KernelCh" for child in event.children))
            first = min(child.number for child in waiting.children if child.type == "KernelCh")
            pause = ["--sleep-at", f"{first - 1}:4"]
        run.host("--honour-mask", "--start-at", f"{middle}:{after}", "--status",
                 "--exit-without-finalize", "--pause", "6", *pause, RINGSIDE_EVENTS=before)
        run.lint()
        _, trace = next(recordings_and_traces(run))
        (lines,) = windows_of(trace).values()
        require(len(lines) == 2, f"lines of the only window: {lines}")
        require(("KernelCh" in lines[0]["events"]) != late, f"its first line: {lines[0]}")
        require(("KernelCh" in lines[1]["events"]) == late, f"its second line: {lines[1]}")
        require(lines[0]["start_ns"] == lines[1]["start_ns"] < lines[1]["changed_ns"], f"{lines}")
        check = check_replay.Checker()
        rows = check_replay.rows_by_operation(trace)
        check.same_items("operations with GPU rows",
                         [check_replay.identity(args) + (rows[number][0],)
                          for number, args in trace.operations.items()],
                         [expected.identity(event) +
                          (expected.rows_of(event)[0] if id(event) in has_kernels else (),)
                          for event in recording.operations()])
        # Stamps that were there in time may be refused all the same: the replay is too fast.
        timed = sum(args["times_from"] == "gpu" or "gpu_rejected" in args
                    for args in trace.operations.values())
        wanted = sum(bool(expected.rows_of(event)[0]) for event in recording.operations()
                     if id(event) in has_kernels)
        check.equal("operations with times from the GPU", timed, wanted)
        require(wanted > 5, "the recording has too few kernel channels for this")
        # Six seconds after the last call nothing waits any more.
        status = next(line for line in run.said if "operations" in line)
        check.equal("operations that are finished", status["operations"], len(trace.operations))
        require(not check.troubles, f"{before} to {after}: " + "\n".join(check.troubles[:20]))


def mask(run):
    """Somebody else changes NCCL's mask, on one rank or on all, and later writes what it was."""
    calls = [expected.Recording(file) for file in run.files]
    for process in ("1", "-1"):
        for value in ("0", "2"):  # nothing; Coll alone
            mask_changes(run, calls, process, value)


def mask_changes(run, recordings, process, value):
    shutil.rmtree(run.traces)
    gone, back = boundaries(recordings[1], 3)
    changed = [1] if process == "1" else list(range(len(run.files)))
    run.host("--honour-mask", "--mask-process", process, "--sleep-at", f"{gone}:0.5", "--mask-at",
             f"{gone}:{value}", "--sleep-at", f"{back}:1.5", "--mask-at", f"{back}:back",
             "--sleep-at", f"{back + 1}:1.5", RINGSIDE_EVENTS="coll,p2p,proxy")
    run.lint()
    by_process = [trace for _, trace in recordings_and_traces(run)]
    for number, trace in enumerate(by_process):
        windows = windows_of(trace)
        if number not in changed:
            require(list(windows) == [1] and len(windows[1]) == 1, f"{dict(windows)}")
            continue
        first, last = windows[1][-1], windows[max(windows)][-1]
        require(first.get("mask_changed") is True, f"the first window's end says: {first}")
        require("end_ns" not in last and max(windows) == (2 if value == "0" else 3), f"{windows}")
        require(all(lines[-1].get("mask_changed") for at, lines in windows.items()
                    if at != max(windows)), f"{dict(windows)}")
        require(last["events"] == windows[1][0]["events"], f"the events of the last window: {last}")
        if value != "0":
            require("P2p" not in windows[2][0]["events"] and "Coll" in windows[2][0]["events"],
                    f"the events of the narrower window: {windows[2]}")
        # It ended at a look at the right mask, not when the change was found.
        calls_in = [args["enqueue_start_ns"] for args in trace.operations.values()
                    if args["window"] == 1]
        require(calls_in and len(trace.operations) < len(recordings[number].operations()),
                "the change of the mask shows nothing")
        require(first["end_ns"] <= windows[2][0]["start_ns"], f"{dict(windows)}")
        require(any(args["window"] == max(windows) for args in trace.operations.values()),
                "nothing is recorded once the mask is right again")
    told = [line for line in run.stderr.splitlines() if "activation mask" in line]
    require(len(told) == 2 * len(changed), f"lines on standard error: {told}")
    if run.options.ringside and os.path.exists(run.options.ringside):
        done = subprocess.run([*EMULATOR, run.options.ringside, "summary", "--format", "json",
                               "--fail-on", "missing", str(run.traces)], capture_output=True,
                              text=True, timeout=60, check=False)
        # What one rank alone has not recorded cannot be judged.
        is_on_all = len(changed) == len(recordings)
        require(done.returncode == (0 if is_on_all else 4), f"summary: {done.stdout[-3000:]}{done.stderr}")


def dump(run):
    run.files = run.files[:1]
    recording = expected.Recording(run.files[0])
    middle = boundaries(recording, 2)[0]
    end = len(recording.calls)
    dumps = [run.traces / "middle.json", run.traces / "end.json"]
    run.host("--dump-at", f"{middle}:{dumps[0]}", "--dump-at", f"{end}:{dumps[1]}")
    run.lint()
    compare_all(run)
    run_ids = {check_replay.Trace(file).first["run_id"] for file in run.trace_files()}
    require(len(run_ids) == 1, f"run ids {run_ids}")
    half, whole = (check_replay.Trace(file) for file in dumps)
    for trace in (half, whole):
        require(trace.first.get("dump") is True, "a dump that does not say so")
        check = check_replay.Checker()
        check_replay.check_account(check, trace, recording, complete=False)
        check_replay.check_end(check, trace)
        require(not check.troubles, "\n".join(check.troubles))
    begun = [event for event in recording.of_type(*expected.OPERATIONS) if event.number <= middle]
    seen = [args for args in half.operations.values() if args["kind"] != "api"]
    require(len(seen) == len(begun), f"{len(seen)} operations in the first dump, not {len(begun)}")
    wanted = len(recording.operations())
    require(len(whole.operations) == wanted,
            f"{len(whole.operations)} operations in the last dump, not {wanted}")


def kill(run):
    run.files = run.files[:1]
    recording = expected.Recording(run.files[0])
    after = len(recording.calls) * 4 // 5
    # At the recorded pace, so that the drain thread gets to work and operations are seen to end.
    run.host("--timing", "--kill-after", str(after))
    run.lint(closed=False)
    files = run.trace_files()
    require(len(files) == 1, f"{len(files)} traces")
    require(not files[0].read_text(encoding="utf-8").rstrip().endswith("]"), "the file is closed")
    trace = check_replay.Trace(files[0])
    require(trace.operations, "no operation in the trace")
    known = collections.Counter(expected.identity(event) for event in recording.operations())
    seen = collections.Counter(check_replay.identity(args) for args in trace.operations.values())
    require(not seen - known, f"operations that NCCL never had: {seen - known}")


def death(run, how, after, timing, journal_bytes):
    """One death, and what can be recovered of it."""
    shutil.rmtree(run.traces)
    run.traces.mkdir()
    run.host(*(["--timing"] if timing else []), "--death", how, "--kill-after", str(after),
             RINGSIDE_JOURNAL_BYTES=journal_bytes,
             # A process that ends by _exit does not wait for its threads.
             TSAN_OPTIONS=os.environ.get("TSAN_OPTIONS", "") + " report_thread_leaks=0")
    rings = run.rings
    require(len(list(rings.iterdir())) == 1, f"left over: {list(rings.iterdir())}")
    done = subprocess.run([*EMULATOR, run.options.ringside, "recover", str(rings)], capture_output=True,
                          text=True, timeout=60, check=False)
    require(done.returncode == 0 and not done.stderr, f"recover: {done.stdout}{done.stderr}")
    require(not list(rings.iterdir()), f"recover leaves {list(rings.iterdir())}")
    run.lint()
    (trace,) = run.traces_by_pid().values()
    recording = expected.Recording(run.files[0], limit=after)
    check = check_replay.Checker()
    check_replay.check_account(check, trace, recording)
    check.equal("operations", collections.Counter(check_replay.identity(args) for args in
                                                  trace.operations.values()),
                collections.Counter(expected.identity(event)
                                    for event in recording.operations()))
    check_replay.check_from_start(check, trace)
    require(not check.troubles, "\n".join(check.troubles[:20]) + "\n" + done.stdout)
    return done.stdout


def left_rings(run):
    """What a process that died has left is said by the first process of a host alone."""
    run.host("--death", "kill", "--kill-after", "20")
    for rank, times in (("0", 1), ("3", 0)):
        run.host(LOCAL_RANK=rank)
        said = run.stderr.count(f"{run.rings} holds the rings of 1 processes that have died")
        require(said == times, f"of local rank {rank}: {run.stderr}")
    shutil.rmtree(run.rings)
    run.rings.mkdir()


def deaths(run):
    require(run.options.ringside, "--ringside is needed")
    run.files = run.files[:1]
    left_rings(run)
    calls = len(expected.Recording(run.files[0]).calls)
    chance = random.Random(run.options.seed)
    for number in range(run.options.repeat):
        how = ("kill", "abort", "segfault", "_exit")[number % 4]
        after, timing = chance.randrange(20, calls), chance.random() < 0.5
        # All records at once, as without the recorded pauses, have no room in a small one if the
        # drain thread comes late.
        journal_bytes = chance.choice(("1M", "32M")) if timing else "32M"
        try:
            death(run, how, after, timing, journal_bytes)
        except Failure as failure:
            raise Failure(f"death {number} ({how} after {after} of {calls} calls, timing {timing}, "
                          f"journal {journal_bytes}, seed {run.options.seed}): {failure}") from None
    print(f"{run.options.repeat} deaths: every record was recovered")


def foreign(run):
    run.host("--foreign")
    run.lint()
    for recording, trace in recordings_and_traces(run):
        check = check_replay.Checker()
        check_replay.check_account(check, trace, recording)
        check_replay.check_lines(check, trace, recording)
        third = recording.of_type("ProxyOp")[2::3]
        rows = [event["args"] for event in trace.begins("proxy") if event["args"].get("foreign")]
        check.equal("foreign proxy operations", len(rows), len(third))
        for args in rows:
            check.true(f"a foreign proxy operation that is joined to ours: {args}",
                       "op" not in args)
            check.equal("foreign_pid", args.get("foreign_pid"), trace.first["pid"] + 1)
            check.equal("foreign_context", int(args.get("foreign_context", "0"), 16),
                        0x7abcdef01230)
            check.equal("foreign_parent", int(args.get("foreign_parent", "0"), 16),
                        0x7abcdef04560)
        steps = [event for event in trace.begins("step") if "op" not in event["args"]]
        check.equal("steps without an operation", len(steps),
                    sum(child.type == "ProxyStep" for event in third for child in event.children))
        ours = [event for event in recording.of_type("ProxyOp") if event not in third]
        check.equal("proxy operations of ours",
                    sum("op" in event["args"] for event in trace.begins("proxy")), len(ours))
        require(not check.troubles, "\n".join(check.troubles[:20]))


def fork(run):
    calls = len(expected.Recording(run.files[0]).calls)
    run.host("--fork-at", str(calls // 3), "--fork-at", str(calls - 1))
    run.lint()
    require(len(run.trace_files()) == len(run.files), "a child of the fork wrote a file")
    compare_all(run)


def reload(run):
    run.host("--status")
    run.lint()
    compare_all(run)
    for recording, trace in recordings_and_traces(run):
        require(len(recording.communicators) > 1, "this recording does not initialise again")
        contexts = {args["context"] for args in trace.operations.values()}
        require(len(contexts) > 1, f"operations of contexts {contexts} only")


def v7(run):
    folder = run.directory / "2.32.3-v7-made"
    folder.mkdir()
    for file in run.files:
        subprocess.run([sys.executable, HERE / "make_v7.py", file, folder / file.name], check=True)
    run.files = sorted(folder.glob("*.jsonl.gz"))
    run.host()
    run.lint()
    compare_all(run)
    for _, trace in recordings_and_traces(run):
        require(trace.first["nccl_version"] == "2.32.3", "the version of NCCL is not asked for")


SCENARIOS = {function.__name__: function
             for function in (replay, window, types, mask, dump, kill, deaths, foreign, fork, reload, v7)}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--host", required=True, help="nccl_host")
    parser.add_argument("--plugin", required=True)
    parser.add_argument("--ringside", help="for ringside lint; left out if it does not exist")
    parser.add_argument("--abi", type=int, help="default: as the recording")
    parser.add_argument("--scenario", choices=SCENARIOS, default="replay")
    parser.add_argument("--timing", action="store_true", help="at the recorded pace")
    parser.add_argument("--repeat", type=int, default=12, help="deaths: how many")
    parser.add_argument("--seed", type=int, default=1, help="deaths: of the random moments")
    parser.add_argument("--keep", action="store_true", help="keep the files and say where")
    parser.add_argument("recording", help="a folder of test/data/transcripts")
    options = parser.parse_args()
    if options.abi is None:
        options.abi = int(pathlib.Path(options.recording).name.split("-")[1][1])
    directory = tempfile.mkdtemp(prefix="ringside-replay-")
    try:
        SCENARIOS[options.scenario](Run(options, directory))
    except (Failure, KeyError, ValueError, subprocess.TimeoutExpired) as failure:
        print(f"{options.scenario} {options.recording}: {type(failure).__name__} {failure}\n"
              f"files are in {directory}")
        return 1
    if options.keep:
        print(f"files are in {directory}")
    else:
        shutil.rmtree(directory)
    return 0


if __name__ == "__main__":
    sys.exit(main())
