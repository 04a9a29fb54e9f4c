# SPDX-License-Identifier: Apache-2.0
"""`ringside top` beside processes that run; a scenario of run_control.py."""
import json
import os
import pathlib
import pty
import signal
import subprocess
import sys
import time

import expected
import run_hang
from control_case import Failure, require, wait_for


def top(case):
    file = sorted(pathlib.Path(case.options.recording).glob("*.jsonl.gz"))[0]
    after, operation = run_hang.middle_of_an_operation(file)
    case.start_host("--sleep-at", f"{after}:8", recording=file, RINGSIDE_EVENTS="all")

    def rows(*arguments):
        def answer():  # a busy machine may not let the process answer in time
            try:
                return case.run("top", "--once", "--format", "json", *arguments)
            except Failure:
                return None
        return json.loads(wait_for(answer, "an answer")[0])["rows"]

    case.wait_for_sockets(1)
    wait_for(lambda: [row.get("oldest_func") for row in rows("--interval", "0.3")] ==
             [expected.message(operation)[0]], "the operation that stands still")
    # Operations that ended before are counted when they are finished, up to some seconds later.
    one = wait_for(lambda: next((row for row in rows("--interval", "0.5")
                                 if row["operations_per_s"] == 0), None), "no more operations to end")
    print(one)
    require(one["oldest_seq"] == operation.call["seqNumber"] and one["in_flight_operations"] == 1 and
            one["in_flight_bytes"] > 0 and one["oldest_age_ns"] > 500_000_000, f"in flight: {one}")
    require(one["quiet_s"] >= 0.4, f"nothing is called: {one}")
    require(one["busbw_bytes_per_s"] is None, f"while it stands still: {one}")
    require(one["rank"] == operation.communicator["rank"] and one["dropped"] == 0, f"{one}")
    wait_for(lambda: any(row.get("operations_per_s") for row in rows("--interval", "0.3")),
             "it to go on")
    # The recording has pauses: until there is a second in which operations have run.
    for _ in range(20):
        begin = case.ctl("status")[0][0]["operations"]
        row = max(rows("--interval", "1"), key=lambda row: row.get("operations_per_s") or 0)
        end = case.ctl("status")[0][0]["operations"]
        done = (row.get("operations_per_s") or 0) * row.get("interval_s", 0)
        require(done <= end - begin + 0.01, f"{done} operations of {end - begin}: {row}")
        if row.get("busbw_bytes_per_s"):
            break
    require(done >= 0.99 and row["message_bytes_per_s"] > 0, f"no rates: {row}")
    print(row)
    said, _ = case.run("top", "--once", "--interval", "0.3")
    require(said.splitlines()[1].split()[:5] == ["rank", "oldest", "which", "in", "flight"], said)
    for end in (lambda process, ours: process.send_signal(signal.SIGINT), lambda _, ours: os.write(ours, b"q")):
        on_a_terminal(case, end)
    case.ctl("stop")
    wait_for(lambda: all(row.get("operations_per_s") is None for row in rows("--interval", "0.3")),
             "no rates where nothing is recorded")
    case.run("top", "--once", "--pid", 1, status=1)
    case.run("top", "--once", "--dir", "/nowhere", status=3)
    case.end()
    case.until.unlink()
    between_two_looks(case)


def between_two_looks(case):
    """A process that replied at the first look has died before the second: `--once` says so."""
    for interval_s in (2, 6, 18):  # a busy machine may not have begun to look after half of it
        case.start_host()
        case.wait_for_sockets(1)
        process = subprocess.Popen(
            [case.options.ringside, "top", "--once", "--interval", str(interval_s)],
            env=case.environment(), cwd=case.place, text=True, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE)
        time.sleep(interval_s / 2)
        case.kill()
        _, said = process.communicate(timeout=60)
        require(process.returncode == 3 and "no running process was found" in said,
                f"{process.returncode}: {said}")
        if "died" in said:
            return
    require(False, said)


def on_a_terminal(case, end):
    # A terminal of its own, in whose foreground `top` is.
    take_terminal = ("import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); "
                     "os.execv(sys.argv[1], sys.argv[1:])")
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-c", take_terminal, case.options.ringside, "top", "--interval", "0.2"],
        stdin=theirs, stdout=theirs, env=case.environment(), cwd=case.place,
        stderr=subprocess.DEVNULL, start_new_session=True)
    os.close(theirs)
    shown = b""
    while shown.count(b"\x1b[H\x1b[J") < 3:
        shown += os.read(ours, 65536)
    end(process, ours)
    require(process.wait(10) == 0, f"Ctrl-C or q: {process.returncode}")
    try:
        while part := os.read(ours, 65536):
            shown += part
    except OSError:
        pass  # so a terminal ends whose other side is closed
    os.close(ours)
    require(shown.startswith(b"\x1b[?1049h") and shown.endswith(b"\x1b[?25h\x1b[?1049l"),
            f"the screen is not restored: {shown}")
