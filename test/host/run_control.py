#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The control socket and `ringside ctl`, with processes that replay a recording.

scenarios: windows   opened and closed while it runs, and found in the traces; dump and mark
           life      before NCCL is up, while communicators come and go, after the last one
           requests  what is no request, too long, slow, too many at once
           dead      a process that was killed, while a child of it lives on
           users     another user's process (root only)
           jobs      several jobs at once; processes without a socket
           disk      a dump that does not fit
           hosts     the same over several hosts, some of which do not answer
           shared    a host that two jobs share
           stuck     `hang` of processes that run, the webhook of `watch`, `run --watch`
           top       rates while it runs, what is in flight when it stands still, on a terminal
"""
import argparse
import json
import os
import re
import pathlib
import resource
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

import control_hosts
import control_stuck
import control_top
import run_hang
from control_case import Case, Failure, ask, connect, require, wait_for

NOBODY = 65534
PLACES = 32  # of the control socket
STATUS = {"version": 1, "verb": "status"}


def states(case):
    return [process["state"] for process in case.ctl("status")[0]]


def wait_until_stopped(case):
    wait_for(lambda: states(case) == ["stopped", "stopped"], "both stopped")


def windows(case):
    case.start_host(RINGSIDE_START="0")
    case.wait_for_sockets(2)
    wait_for(lambda: [process["communicators"] for process in case.ctl("status")[0]] == [1, 1],
             "a communicator each")
    require(states(case) == ["stopped", "stopped"], f"not stopped: {states(case)}")
    begun = case.ctl("start", "--operations", "15")[0]
    require([process["windows"] for process in begun] == [1, 1], f"no window: {begun}")
    wait_until_stopped(case)
    begun = case.ctl("start", "--seconds", "0.8", "--events", "coll")[0]
    require(all(0 <= process["left_ns"] <= 800_000_000 for process in begun), f"no bound: {begun}")
    wait_until_stopped(case)
    at_ns = time.time_ns() + 1_500_000_000
    ordered = case.ctl("start", "--at", "+1.5")[0]
    require([process["windows"] for process in ordered] == [2, 2], f"begun too early: {ordered}")
    ordered = case.ctl("stop", "--at", "+2.5")[0]
    require(all(process["stop_at_realtime_ns"] > process["start_at_realtime_ns"]
                for process in ordered), f"not both ordered: {ordered}")
    wait_for(lambda: states(case) == ["recording", "recording"], "both started")
    case.ctl("mark", 'half "time"')
    wait_until_stopped(case)
    # A second start replaces the first, with its bounds.
    case.ctl("start", "--seconds", "600")
    replaced = case.ctl("start", "--at", "+500", "--operations", "7")[0]
    require(all(process["left_ns"] is None and process["start_operations"] == 7
                for process in replaced), f"not replaced: {replaced}")
    ended = case.ctl("stop")[0]
    require(all(process["start_at_realtime_ns"] is None and process["state"] == "stopped"
                for process in ended), f"something is still ordered: {ended}")
    dumps = case.place / "dumps"
    made = case.ctl("dump", "--output", dumps)[0]  # which makes the directory
    made += case.ctl("dump")[0]
    require(sorted(process["dump_path"] for process in made) ==
            sorted(map(str, [*dumps.glob("*.json"), *case.traces.glob("*.dump1.json")])) and
            len(made) == 4, f"dumps: {made}")
    case.run("lint", "--closed", dumps)
    case.end()
    for trace in case.windows():
        require(sorted(trace.windows) == [1, 2, 3, 4], f"windows: {trace.windows}")
        require(len(trace.operations[1]) >= 15, f"operations: {trace.operations}")
        require(0.75 <= trace.length_s(2) <= 20, f"window 2 took {trace.length_s(2)} s")
        require(not {"Send", "Recv"} & set(trace.operations.get(2, [])), f"{trace.operations}")
        late_ns = trace.start_realtime_ns(3) - at_ns
        require(-50_000_000 <= late_ns <= 700_000_000, f"window 3 is late by {late_ns} ns")
        require(0.5 <= trace.length_s(3) <= 3, f"window 3 took {trace.length_s(3)} s")
        require(trace.marks.count('half "time"') == 1, f"marks: {trace.marks}")
        print({number: len(of) for number, of in trace.operations.items()}, f"{late_ns} ns late")


def duration(case):
    """A window that ends by itself, without an order, and another by hand."""
    case.start_host(RINGSIDE_RECORD_SECONDS="0.7")
    case.wait_for_sockets(2)
    wait_until_stopped(case)
    case.ctl("start")
    require(all(process["left_ns"] is None for process in case.ctl("status")[0]),
            "a window by hand has a bound")
    before = [process["operations"] for process in case.ctl("status")[0]]
    wait_for(lambda: all(process["operations"] > count for process, count in
                         zip(case.ctl("status")[0], before)), "operations in the window by hand")
    case.end()
    for trace in case.windows():
        require(sorted(trace.windows) == [1, 2], f"windows: {trace.windows}")
        require(0.65 <= trace.length_s(1) <= 3, f"window 1 took {trace.length_s(1)} s")
        require(trace.operations.get(2), f"{trace.operations}")


def life(case):
    """One process: its first four seconds are before NCCL is up; after each time that it has played
    all there are three in which no communicator is left."""
    file = sorted(pathlib.Path(case.options.recording).glob("*.jsonl.gz"))[0]
    early = case.place / "early.json"
    process = case.start_host("--dump-at", f"0:{early}", "--sleep-at", "0:4", "--pause", "3",
                              recording=file, RINGSIDE_START="0")
    case.wait_for_sockets(1)
    waiting = case.ctl("start", "--operations", "5")[0]
    require([one["state"] for one in waiting] == ["waiting"], f"before NCCL: {waiting}")
    case.ctl("stop")
    require(states(case) == ["stopped"], "a start before NCCL cannot be taken back")
    case.ctl("mark", "early")
    case.ctl("dump")
    case.ctl("start")
    done = 0
    while process.poll() is None and done < 15:
        case.ctl("stop")
        case.ctl("dump", "--output", case.place / f"dump{done}.json")
        case.ctl("start")
        done += 1

    def is_between():
        (status,) = case.ctl("status")[0]
        return status["communicators"] == 0 and status["windows"] > 0

    wait_for(is_between, "the communicators to be gone", 60)
    late = case.ctl("dump")[0]
    stopped = case.ctl("stop")[0]
    require(stopped[0]["state"] == "stopped", f"after the last communicator: {stopped}")
    started = case.ctl("start")[0]
    require(started[0]["windows"] == stopped[0]["windows"] + 1, f"no new window: {started}")
    case.run("lint", "--closed", case.place, late[0]["dump_path"])
    case.end()
    case.windows()


def requests(case):
    case.start_host()
    case.wait_for_sockets(2)
    path = case.sockets()[0]
    require(os.stat(path).st_mode & 0o777 == 0o600, f"mode {os.stat(path).st_mode:o}")
    for text, error in ((b"\n", "request"), (b"{}\n", "version"), (b"{\"version\":1}\n", "verb"),
                        (b"[1]\n", "request"), (b"\xff\xfe{}\n", "request"),
                        ({"version": 2, "verb": "status"}, "version"),
                        ({"version": 1, "verb": "quit"}, "verb"),
                        ({**STATUS, "colour": 1}, "argument"),
                        ({"version": 1, "verb": "dump", "path": "relative"}, "argument"),
                        ({"version": 1, "verb": "dump", "path": "/nowhere/x.json"}, "io"),
                        ({"version": 1, "verb": "dump", "path": str(case.messages)}, "exists"),
                        ({"version": 1, "verb": "mark"}, "argument"),
                        ({"version": 1, "verb": "stop", "operations": 1}, "argument"),
                        ({"version": 1, "verb": "start", "at_realtime_ns": 1}, "argument"),
                        ({"version": 1, "verb": "start", "at_realtime_ns": 1 << 62}, "argument"),
                        ({"version": 1, "verb": "start", "operations": 0}, "argument"),
                        ({"version": 1, "verb": "start", "operations": "7"}, "argument"),
                        ({"version": 1, "verb": "start", "seconds": 1e300}, "argument"),
                        ({"version": 1, "verb": "start", "events": "coll,colour"}, "argument"),
                        (b"x" * 20000, "too_long")):
        case.messages.touch()
        said = ask(path, text)
        require(said.get("ok") is False and said.get("error") == error and said.get("message"),
                f"{text!r}: {said}")
    with connect(path) as connection:  # in pieces, two at once, and half closed
        for piece in (b'{"version":1,', b'"verb":"status"}\n{"version":1,"verb"', b':"status"}\n'):
            connection.sendall(piece)
            time.sleep(0.05)
        connection.shutdown(socket.SHUT_WR)
        text = b""
        while text.count(b"\n") < 2:
            got = connection.recv(65536)
            require(got, f"not two answers: {text}")
            text += got
    for _ in range(30):  # who goes away while he is served
        with connect(path) as connection:
            connection.sendall(b'{"version":1,"verb":"dump"}\n')
    for _ in range(2):  # then the socket has seen that they are gone
        ask(path, STATUS)
    # Those who stand still give way to others, and the oldest goes first.
    halves = []
    for _ in range(3 * PLACES):
        halves.append(connect(path))
        halves[-1].sendall(b"{")
        if len(halves) % 8 == 0:
            served = ask(path, STATUS)["ok"]
            require(served and all(map(is_open, halves[-8:])),
                    f"behind {len(halves)} that stand still: {served}, once they had gone")
    require(not any(map(is_open, halves[:2 * PLACES - 1])), "not the oldest have gone")
    require(len(case.ctl("status")[0]) == 2, "not both answer")
    for half in halves:
        half.close()
    case.end()


def is_open(connection):
    readable, _, _ = select.select([connection], [], [], 0)
    return not readable


def dead(case):
    script = (f"plugin.ringside_dump({str(case.place / 'x.json').encode()!r})\n"
              "child = os.fork()\n"
              "if child == 0:\n  time.sleep(20)\n  os._exit(0)\n"
              "print('ready', flush=True)\ninput()")
    process = case.start_python(script)
    case.wait_for_sockets(1)
    require(len(case.ctl("status")[0]) == 1, "the parent does not answer")
    process.kill()  # not its group: the child lives on
    process.wait()
    begin = time.monotonic()
    _, said = case.ctl("status", status=3)
    require("has died" in said and f"ringside recover {case.rings}" in said, said)
    one, said = case.ctl("start", "--pid", process.pid, status=1)
    require("has died" in said and one[0]["ok"] is False and "recover" in one[0]["error"], said)
    require(time.monotonic() - begin < 5, "the child of the fork holds the socket")
    # The choice of --job and --dir, and what would be done.
    case.run("recover", "--job", "another", case.rings, status=3)
    case.run("recover", "--dir", case.place / "elsewhere", case.rings, status=3)
    before = sorted(case.rings.iterdir())
    planned = case.run("recover", "--dry-run", "--dir", case.traces, case.rings)[0]
    require(re.search(rf": {re.escape(str(case.traces))}/ringside[^/]*; rings would be removed",
                      planned), planned)
    require(sorted(case.rings.iterdir()) == before, "a dry run changes something")
    copies = case.place / "copies" / "new"
    case.run("recover", "--keep", "--output", copies, case.rings)
    require(copies.is_dir() and sorted(case.rings.iterdir()) == before, "copies change something")
    case.run("recover", "--dir", case.traces, case.rings)
    require(not list(case.rings.iterdir()), "recover leaves something")
    _, said = case.ctl("status", status=3)
    require("no running process was found" in said, said)


def users(case):
    if os.getuid() != 0:
        print("not root: not tested with another user")
        return
    case.start_host()
    case.wait_for_sockets(2)
    for path in (*case.place.parents, case.place, case.rings):
        if path.is_relative_to(case.options.directory):
            path.chmod(0o755)
    mine = case.options.ringside
    case.options.ringside = str(case.place / "ringside-of-nobody")
    shutil.copy(mine, case.options.ringside)
    pid = case.ctl("status")[0][0]["pid"]
    _, said = case.run("ctl", "status", status=3, user=NOBODY)
    require("no running process was found" in said, said)
    _, said = case.run("ctl", "stop", "--pid", pid, status=1, user=NOBODY)
    require("another user's" in said, said)
    for path in case.rings.iterdir():  # even if somebody opens the doors
        path.chmod(0o755)
        (path / "control").chmod(0o666)
    _, said = case.run("ctl", "stop", "--pid", pid, status=1, user=NOBODY)
    require("this process is another user's" in said, said)
    require(states(case) == ["recording", "recording"], "another user has stopped it")
    case.end()
    case.options.ringside = mine


def jobs(case):
    case.start_host(RINGSIDE_JOB="one")
    case.start_host(RINGSIDE_JOB="two")
    case.wait_for_sockets(4)
    for arguments in ((), ("--dir", "traces")):
        _, said = case.run("ctl", "stop", *arguments, status=2)
        require("several jobs write into this directory" in said and "of job two" in said, said)
        shown, said = case.run("ctl", "status", *arguments)
        require([line.split()[0] for line in shown.splitlines()] == ["job"] + ["one"] * 2 + ["two"] * 2 and
                not said, f"{shown}{said}")
    require(len(case.ctl("stop", "--job", "two")[0]) == 2, "--job")
    require([(one["job"], one["state"]) for one in case.ctl("status", "--all")[0]] ==
            [("one", "recording")] * 2 + [("two", "stopped")] * 2, f"{case.ctl('status', '--all')}")
    pids = [one["pid"] for one in case.ctl("status", "--all")[0]][:2]
    os.kill(pids[0], signal.SIGSTOP)  # says nothing, and is of a job that is meant
    begun, said = case.ctl("start", "--job", "one", "--timeout", "3", status=1)
    require([one["ok"] for one in begun] == [True, False] and "has not answered in time" in said,
            f"{begun} {said}")
    begun, said = case.ctl("status", "--job", "two", "--timeout", "3")
    require(len(begun) == 2 and not said, f"job one is none of its business: {begun} {said}")
    os.kill(pids[0], signal.SIGCONT)
    require([one["pid"] for one in case.ctl("status", "--pid", pids[0], "--pid", pids[1])[0]] ==
            pids, "--pid")
    _, said = case.run("ctl", "status", "--dir", case.place, status=3)
    require("no running process that was chosen was found" in said, said)
    case.start_host(RINGSIDE_DIR=str(case.place / "elsewhere"), RINGSIDE_JOB="one")
    case.wait_for_sockets(6)
    _, said = case.run("ctl", "stop", status=2)
    require("there are several jobs" in said and "elsewhere" in said, said)
    require(len(case.ctl("status")[0]) == 6, "status of all jobs")
    require(len(case.ctl("status", "--dir", "elsewhere/")[0]) == 2, "--dir")
    (case.place / "file").touch()
    _, said = case.run("ctl", "dump", "--dir", "elsewhere", "--output", "file", status=2)
    require("is no directory" in said, said)
    case.run("ctl", "start", "--at", "2001-01-01T00:00:00Z", "--all", status=2)
    case.end()
    case.until.unlink()
    case.start_host(RINGSIDE_CONTROL="off")
    wait_for(lambda: len(list(case.rings.glob("*/ring.0000"))) == 2, "rings")
    _, said = case.run("ctl", "status", status=3)
    require(said.count("has no control socket: RINGSIDE_CONTROL=off") == 2, said)
    case.kill()
    # A process that is killed takes a moment to die.
    wait_for(lambda: "2 processes have died" in case.run("ctl", "status", status=3)[1], "two dead")
    case.run("recover", case.rings)
    case.start_host(RINGSIDE_RING_DIR="none")
    wait_for(lambda: len(list(case.sockets_without_rings.glob("*/control"))) == 2, "two sockets")
    for ring_directory in ("none", str(case.rings)):
        _, said = case.run("ctl", "status", variables={"RINGSIDE_RING_DIR": ring_directory})
        require(not said, said)
    case.kill()
    wait_for(lambda: "2 processes have died" in case.run("ctl", "status", status=3)[1], "two dead")
    case.run("recover", case.sockets_without_rings)
    require(not list(case.sockets_without_rings.iterdir()), "a socket's directory is left")
    _, said = case.run("ctl", "status", "--ring-dir", "/nowhere", status=3)
    require("/nowhere: No such file or directory" in said, said)


def disk(case):
    case.start_host()
    case.wait_for_sockets(2)
    wait_for(lambda: all(one["operations"] > 20 for one in case.ctl("status")[0]), "operations")
    pids = [one["pid"] for one in case.ctl("stop")[0]]
    before = resource.prlimit(pids[0], resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))
    made, said = case.ctl("dump", status=1)
    require([one["ok"] for one in made] == [False, True] and "File too large" in said,
            f"{made} {said}")
    resource.prlimit(pids[0], resource.RLIMIT_FSIZE, before)
    require(all(one["ok"] for one in case.ctl("start")[0]), "it is not served any more")
    case.end()
    case.run("summary", *(path for path in case.traces.glob("*.json") if ".dump" not in path.name))


SCENARIOS = {"windows": windows, "duration": duration, "life": life, "requests": requests,
             "dead": dead, "users": users,
             "jobs": jobs, "disk": disk, "hosts": control_hosts.hosts, "shared": control_hosts.shared, "stuck": control_stuck.stuck,
             "top": control_top.top}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--host", required=True, help="nccl_host")
    parser.add_argument("--plugin", required=True)
    parser.add_argument("--ringside", required=True)
    parser.add_argument("--scenario", choices=SCENARIOS, required=True)
    parser.add_argument("recording", help="a folder of test/data/transcripts")
    options = parser.parse_args()
    options.python = sys.executable
    options.directory = tempfile.mkdtemp(prefix="ringside-control-")
    case = Case(options, options.directory, options.scenario)
    try:
        SCENARIOS[options.scenario](case)
    except (Failure, run_hang.Failure, KeyError, ValueError, OSError, subprocess.TimeoutExpired) as failure:
        print(f"{type(failure).__name__} {failure}\nfiles are in {options.directory}")
        return 1
    finally:
        case.kill()
    shutil.rmtree(options.directory)
    return 0


if __name__ == "__main__":
    sys.exit(main())
