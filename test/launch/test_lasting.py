# SPDX-License-Identifier: Apache-2.0
"""`ringside run` whose command has processes that outlive it: ringside waits for them, and its summary
has all that they recorded."""
import os
import pathlib
import pty
import re
import signal
import struct
import subprocess
import tempfile
import time

from place import require

# A worker that goes on for a second or two after SIGTERM, as one does that saves a checkpoint. Each of
# its two threads makes so many operations, however busy the machine is.
OPERATIONS = 1500
PAUSE_US = 1000


def worker(operations):
    return (f'(trap "" TERM; exec "$HOST" "$NCCL_PROFILER_PLUGIN" 6 way_out exit {operations} '
            f'{PAUSE_US} >out 2>err)')


WORKER = worker(OPERATIONS)
# A worker that records and then waits until it is killed.
ENDLESS = '(trap "" TERM; exec "$HOST" "$NCCL_PROFILER_PLUGIN" 6 way_out sleep 400 100 >out 2>err)'
ENDLESS_OPERATIONS = 800

# test/guarantees/caller.h: rows of thread id, 17 counts begun, 17 counts returned, longest time.
ROWS, TYPES, COLL = 64, 17, 1
ROW = 2 + 2 * TYPES


def wait_until(holds, what):
    deadline = time.monotonic() + 60
    while not holds():
        require(time.monotonic() < deadline, f"not within a minute: {what}")
        time.sleep(0.02)


def begin(place, code, *options, prefix=(), stderr=None, **variables):
    """Starts ringside as the leader of a session, with a shell as its command, and waits until a
    worker records. Standard error is a file: a pipe stays open as long as a worker lives."""
    out = place.work / "out"
    out.unlink(missing_ok=True)
    said = tempfile.TemporaryFile("w+", encoding="utf-8")
    process = subprocess.Popen(
        [*prefix, str(place.options.ringside), "run", *options, "--", "sh", "-c", code],
        cwd=place.work, env=place.environment(HOST=place.options.host, **variables),
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=stderr or said,
        start_new_session=True)
    process.said = said
    wait_until(lambda: out.exists() and out.read_text("utf-8") == "recording\n", "a worker records")
    return process


def end(process, status):
    """Returns its output at its end."""
    process.wait(timeout=90)
    process.said.seek(0)
    err = process.said.read()
    require(process.returncode == status, f"ended with {process.returncode}, not {status}: {err}")
    return err


def rings(place):
    return sorted(os.listdir(place.rings))


def kill_workers(place):
    """Kills whoever has rings, and removes what that leaves."""
    for name in rings(place):
        os.kill(int(name.split(".")[3]), signal.SIGKILL)

    def is_removed():
        subprocess.run([str(place.options.ringside), "recover", str(place.rings)], check=False,
                       capture_output=True, timeout=60)
        return not rings(place)
    wait_until(is_removed, "the rings are recovered")


def returned(place):
    """The collectives that the workers' threads have called, by the file that they count in: each is a
    start and a stop."""
    data = (place.root / "counts").read_bytes()
    numbers = struct.unpack(f"{ROW * ROWS}Q", data)
    return sum(numbers[row * ROW + 1 + TYPES + COLL] for row in range(ROWS)) // 2


def operations_in(err):
    found = re.search(r"^Read: 1 trace, .* (\d+) operations", err, re.MULTILINE)
    require(found, f"no summary of one trace: {err}")
    return int(found.group(1))


def whole(place, err, operations):
    """All operations of the one worker are in the summary, and its rings are gone."""
    require(operations_in(err) == operations, f"not {operations} operations: {err}")
    require("Not closed" not in err, err)
    require(rings(place) == [], f"left: {rings(place)}: {err}")


def dying(place):
    """The command ends at once by SIGTERM, its worker a second or two later."""
    process = begin(place, f"{WORKER} & wait")
    process.send_signal(signal.SIGTERM)
    whole(place, end(process, 128 + signal.SIGTERM), 2 * OPERATIONS)
    # timeout signals ringside, and then the process group that ringside is in. The worker takes longer.
    process = begin(place, f"{worker(6000)} & wait", prefix=("timeout", "-s", "TERM", "4"))
    whole(place, end(process, 124), 2 * 6000)
    # Nobody signals: the command leaves its worker behind.
    begun = f"until ls -d '{place.rings}'/ringside.* > /dev/null 2>&1; do sleep 0.05; done"
    process = begin(place, f"{WORKER} & {begun}; exit 4", "--events", "coll")
    whole(place, end(process, 4), 2 * OPERATIONS)


def killed(place):
    """A worker that outlives the command is killed a second later."""
    for variables in ({}, {"RINGSIDE_FLIGHT_BYTES": "8M"}):
        before = returned(place) if (place.root / "counts").exists() else 0
        process = begin(
            place, f"{ENDLESS} & worker=$!; trap '(sleep 1; kill -9 $worker) & exit 5' TERM; wait",
            **variables)
        wait_until(lambda: returned(place) - before == ENDLESS_OPERATIONS, "all calls were made")
        process.send_signal(signal.SIGTERM)
        err = end(process, 5)
        require(re.search(r"recovered \(\d+ in flight\).*; rings removed\n", err), err)
        whole(place, err, ENDLESS_OPERATIONS)


def endless(place):
    """A worker that does not end is waited for as long as was asked, or until a signal comes."""
    process = begin(place, f"{ENDLESS} & wait", "--wait", "1.5")
    wait_until(lambda: returned(place) == ENDLESS_OPERATIONS, "all calls were made")
    process.send_signal(signal.SIGTERM)
    err = end(process, 143)
    (name,) = rings(place)
    require(f"1 process of the job still runs ({name.split('.')[3]})" in err, err)
    require("Not closed" in err and operations_in(err) <= ENDLESS_OPERATIONS, err)
    kill_workers(place)

    for code in (f"{ENDLESS} & wait", f'trap "" TERM; {ENDLESS}'):
        process = begin(place, code, "--wait", "3600")
        process.send_signal(signal.SIGTERM)
        process.send_signal(signal.SIGTERM)  # so close to the first one it does not count
        time.sleep(1.2)
        require(process.poll() is None, f"{code}: one signal has ended it")
        err = end_by_signals(process)
        require("a signal has ended the waiting" in err and "Read:" not in err, err)
        require(len(rings(place)) == 1, f"{code}: {rings(place)}")
        kill_workers(place)


def end_by_signals(process):
    """Sends SIGTERM until it ends: on a busy machine it may have seen the last one a moment ago."""
    for _ in range(20):
        process.send_signal(signal.SIGTERM)
        try:
            process.wait(timeout=1.5)
            break
        except subprocess.TimeoutExpired:
            pass
    return end(process, 143)


def others(place):
    """Another job of the same name, in the same directory or not, is not waited for, nor touched."""
    for options in ((), ("--dir", "shared")):
        other = begin(place, f"{ENDLESS} & wait", *options)
        (theirs,) = rings(place)
        process = begin(place, f"{WORKER} & wait", *options, "--wait", "3600")
        process.send_signal(signal.SIGTERM)
        err = end(process, 143)
        require(theirs not in err and f"{2 * OPERATIONS}" in err, err)
        require(rings(place) == [theirs], f"{rings(place)}, not {theirs}: {err}")
        other.send_signal(signal.SIGKILL)
        other.wait(timeout=60)
        kill_workers(place)

    # It dies meanwhile, and has no trace by which it could be known: a flight recorder.
    flight = {"RINGSIDE_FLIGHT_BYTES": "8M"}
    process = begin(place, f"{WORKER} & wait", **flight)
    other = begin(place, f"{ENDLESS} & wait", **flight)
    (theirs,) = [name for name in rings(place) if other_of(place, name, other)]
    os.kill(int(theirs.split(".")[3]), signal.SIGKILL)
    other.send_signal(signal.SIGKILL)
    other.wait(timeout=60)
    process.send_signal(signal.SIGTERM)
    err = end(process, 143)
    require(rings(place) == [theirs] and theirs not in err, f"{rings(place)}, not {theirs}: {err}")


def other_of(place, name, run):
    """Whether the process with these rings was started by this run of ringside."""
    pid = name.split(".")[3]
    session = pathlib.Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[3]
    return int(session) == run.pid


def progress(place):
    """On a terminal a line says for whom ringside waits; at the end it is gone."""
    master, terminal = pty.openpty()
    process = begin(place, f"{WORKER} & wait", "--no-summary", stderr=terminal)
    os.close(terminal)
    process.send_signal(signal.SIGTERM)
    said = b""
    while True:
        try:
            said += os.read(master, 4096)
        except OSError:
            break
    os.close(master)
    require(process.wait(timeout=60) == 143, f"{process.returncode}: {said}")
    lines = re.findall(rb"\r\x1b\[K(ringside run: waiting for [^\r]*)", said)
    require(lines and all(re.fullmatch(
        rb"ringside run: waiting for 1 process of the job to end, \d+ s at most", line)
        for line in lines), f"{lines} in {said}")
    require(b"\r\x1b[Kringside run: signal 15 ended the command" in said, f"{said}")


CASES = {"outlive-dying": dying, "outlive-killed": killed, "outlive-endless": endless, "outlive-others": others,
         "outlive-progress": progress}
