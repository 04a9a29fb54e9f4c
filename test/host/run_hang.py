#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The hang watch: a recording is replayed and stands still for a while, in the middle of an operation.
The plugin must tell of that operation in time, with a dump, and of nothing else; where it is off,
where nothing stands still, and where only enqueues are recorded, it must tell of nothing. It must
also tell while every thread but its own is stopped.
"""
import argparse
import ctypes
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import expected

LIMIT_S = 0.5
SLEEP_S = 2.5
LINE = re.compile(r"stalled: rank \d+ (?:of 2 )?in communicator .*0x[0-9a-f]{16}\)?: (\w+ #\d+), "
                  r"(\d+) bytes, in flight for ([0-9.]+) s \(limit 0.5 s\)(?:;.*)?; dump: (.*)")


PTRACE_INTERRUPT, PTRACE_SEIZE = 0x4207, 0x4206
WAIT_ALL = 0x40000000  # __WALL: threads, too
OUR_THREAD = "ringside"


class Failure(Exception):
    pass


def require(condition, text):
    if not condition:
        raise Failure(text)


def open_operations(recording):
    """In flight at the end of what was recorded: something below has not stopped."""
    return [event for event in recording.of_type(*expected.OPERATIONS)
            if not event.stopped or any(below.type in ("ProxyOp", "KernelCh") and not below.stopped
                                        for below in event.descendants())]


def middle_of_an_operation(file):
    """A number of calls after which one collective is in flight, and its call has returned."""
    proxies = expected.Recording(file).of_type("ProxyOp")
    for proxy in proxies[len(proxies) // 3:]:
        limited = expected.Recording(file, limit=proxy.number)
        found = open_operations(limited)
        if len(found) == 1 and found[0].type == "Coll" and found[0].stopped:
            return proxy.number, found[0]
    raise Failure("no such moment in the recording")


def stop_all_but_ours(group):
    """Stops every thread of the process by ptrace, until this one ends, but for the drain thread.
    How many; 0 where that is not allowed."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    stopped = 0
    for task in pathlib.Path(f"/proc/{group}/task").iterdir():
        if (task / "comm").read_text(encoding="utf-8").strip() == OUR_THREAD:
            continue
        thread = int(task.name)
        if libc.ptrace(PTRACE_SEIZE, thread, None, None) != 0:
            return 0
        libc.ptrace(PTRACE_INTERRUPT, thread, None, None)
        stopped += 1
    return stopped


class Case:
    def __init__(self, options, directory, name):
        self.options = options
        self.place = pathlib.Path(directory) / name
        self.traces = self.place / "traces"
        self.rings = self.place / "rings"
        self.traces.mkdir(parents=True)
        self.rings.mkdir()
        self.messages = self.place / "messages"

    def command(self, file, *arguments):
        abi = file.parent.name.split("-")[1][1]  # as the recording's
        return [self.options.host, "--plugin", self.options.plugin, "--abi", abi, *arguments,
                str(file)]

    def environment(self, **variables):
        environment = {key: value for key, value in os.environ.items()
                       if not key.startswith("RINGSIDE_")}
        environment.update(RINGSIDE_DIR=str(self.traces), RINGSIDE_RING_DIR=str(self.rings),
                           RINGSIDE_RING_BYTES="32M", RINGSIDE_LOG=str(self.messages),
                           RINGSIDE_EVENTS="all", RINGSIDE_HANG_SECONDS=str(LIMIT_S),
                           RINGSIDE_ON_HANG="echo ran >> commands")
        environment.update(variables)
        return environment

    def host(self, file, *arguments, **variables):
        done = subprocess.run(self.command(file, *arguments), env=self.environment(**variables),
                              cwd=self.place, capture_output=True, text=True, timeout=60,
                              check=False)
        require(done.returncode == 0, f"nccl_host returned {done.returncode}: {done.stdout}"
                                      f"{done.stderr}")
        self.ringside("lint", "--closed", self.traces)

    def ringside(self, *arguments, status=0):
        done = subprocess.run([self.options.ringside, *map(str, arguments)], capture_output=True,
                              text=True, timeout=60, check=False)
        require(done.returncode == status, f"ringside {arguments} returned {done.returncode}:\n"
                                           f"{done.stdout}{done.stderr}")
        return done.stdout

    def said(self):
        text = self.messages.read_text(encoding="utf-8") if self.messages.exists() else ""
        return [line for line in text.splitlines() if "stalled:" in line]

    def dumps(self):
        return sorted(self.traces.glob("*.dump*"))


def check_stall(case, operation):
    func, _, _, _ = expected.message(operation)
    wanted = f"{func} #{operation.call['seqNumber']}"
    lines = case.said()
    require(len(lines) == 1, f"not one line: {lines}")
    line = LINE.search(lines[0])
    require(line and line[1] == wanted, f"not of {wanted}: {lines[0]}")
    require(LIMIT_S <= float(line[3]) <= LIMIT_S + 1.5, f"not in time: {lines[0]}")
    require([pathlib.Path(line[4])] == case.dumps(), f"{lines[0]}: dumps {case.dumps()}")
    # The command runs after the line is written.
    commands = case.place / "commands"
    deadline = time.monotonic() + 60
    while not commands.exists() or commands.read_text(encoding="utf-8") != "ran\n":
        require(time.monotonic() < deadline, "the command has not run")
        time.sleep(0.05)
    report = case.ringside("hang", "--min-age", "0.3", *case.dumps(), status=1)
    require(wanted in report.splitlines()[0], f"`hang` does not name {wanted}: {report}")
    print(lines[0], report.splitlines()[0], sep="\n")


def end(process, child):
    """A parent learns nothing of a traced process before the tracer has, of each of its threads."""
    os.kill(child, signal.SIGKILL)
    try:
        while True:
            os.waitpid(-1, WAIT_ALL)
    except ChildProcessError:
        process.wait()


def check_with_threads_stopped(case, file, after):
    """The application stands still in the middle of an operation, all of its threads stopped."""
    limit_s = 3
    process = subprocess.Popen(case.command(file, "--sleep-at", f"{after}:60"), cwd=case.place,
                               env=case.environment(RINGSIDE_HANG_SECONDS=str(limit_s)),
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 30
    while not (begun := list(case.traces.glob("*.json"))):
        require(time.monotonic() < deadline, "no trace is begun")
        time.sleep(0.02)
    child = int(begun[0].name.split(".")[-3])  # ringside.<job>.<host>.<pid>.<start>.json
    try:
        time.sleep(limit_s / 2)  # it sleeps by now
        stopped = stop_all_but_ours(child)
        if stopped == 0:
            print("ptrace is not allowed here: not tested with stopped threads")
            return
        while not case.dumps():
            require(time.monotonic() < deadline, "nothing is told while threads are stopped")
            time.sleep(0.02)
        states = [(task / "stat").read_text(encoding="utf-8").rsplit(") ", 1)[1][0]
                  for task in pathlib.Path(f"/proc/{child}/task").iterdir()]
        require(states.count("t") == stopped, f"threads are {states}, not {stopped} stopped")
        require(len(case.said()) == 1, f"lines: {case.said()}")
        print(f"{stopped} threads stopped: {case.said()[0]}")
    finally:
        end(process, child)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--host", required=True, help="nccl_host")
    parser.add_argument("--plugin", required=True)
    parser.add_argument("--ringside", required=True)
    parser.add_argument("recording", help="a folder of test/data/transcripts")
    options = parser.parse_args()
    directory = tempfile.mkdtemp(prefix="ringside-hang-")
    file = sorted(pathlib.Path(options.recording).glob("*.jsonl.gz"))[0]
    try:
        after, operation = middle_of_an_operation(file)
        sleep = ("--sleep-at", f"{after}:{SLEEP_S}")
        case = Case(options, directory, "stall")
        case.host(file, *sleep)
        check_stall(case, operation)
        case = Case(options, directory, "flight")
        case.host(file, *sleep, RINGSIDE_FLIGHT_BYTES="32M")
        check_stall(case, operation)
        require(sorted(case.traces.iterdir()) == case.dumps(), "a flight recorder wrote more")
        check_with_threads_stopped(Case(options, directory, "stopped"), file, after)
        for name, arguments, variables in (
                ("off", sleep, {"RINGSIDE_HANG_SECONDS": "0"}), ("no-stall", ("--timing",), {}),
                ("enqueues", sleep, {"RINGSIDE_EVENTS": "coll,p2p"})):
            case = Case(options, directory, name)
            case.host(file, *arguments, **variables)
            found = [*case.said(), *case.dumps(), *case.place.glob("commands")]
            require(not found, f"{name}: {found}")
    except (Failure, KeyError, ValueError, subprocess.TimeoutExpired) as failure:
        print(f"{type(failure).__name__} {failure}\nfiles are in {directory}")
        return 1
    shutil.rmtree(directory)
    return 0


if __name__ == "__main__":
    sys.exit(main())
