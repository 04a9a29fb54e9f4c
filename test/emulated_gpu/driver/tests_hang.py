# SPDX-License-Identifier: Apache-2.0
"""The hang watch: ranks that wait for one that is stuck say so by themselves, and write dumps."""

import json
import os
import re
import signal
import subprocess
import time

import traces
from harness import Job, check, print_facts

LIMIT_S = 2
RANKS = 3
LINE = re.compile(r"ringside\[(\d+)\] warning: stalled: rank (\d) of 3 in communicator world "
                  r"\(0x[0-9a-f]{16}\): (\w+ (?:#\d+|.* peer \d+)).*?, \d+ bytes, in flight for ([0-9.]+) s "
                  r"\(limit 2 s\)(?:;.*)?; dump: (.*)")


def watched_job(setup, *options):
    return Job(setup, "--scenario", "train", *options, ranks=RANKS, timeout=60,
               RINGSIDE_HANG_SECONDS=str(LIMIT_S), RINGSIDE_LOG=str(setup.directory / "messages"),
               RINGSIDE_ON_HANG='echo "$RINGSIDE_HANG_PID $RINGSIDE_HANG_DUMP" >> commands')


def lines_of(setup):
    path = setup.directory / "messages"
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    return [LINE.search(line) or line for line in text.splitlines() if "stalled:" in line]


def pids_by_rank(setup):
    found = (traces.Trace(path) for path in (setup.directory / "traces").glob("*.json")
             if ".dump" not in path.name)
    return {trace.rank: trace.process["pid"] for trace in found}


def check_watch(job, others, has_stopped=False):
    """All other ranks tell, once, of the same operation, and write a dump each. A rank that was
    stopped may have written later operations of that function already."""
    setup = job.setup
    while len(lines_of(setup)) < len(others):
        check(job.process.poll() is None and time.monotonic() < job.deadline,
              f"lines: {lines_of(setup)}\n{job.log()[-2000:]}")
        time.sleep(0.1)
    time.sleep(LIMIT_S + 1.5)  # long enough for a second line of each
    lines = lines_of(setup)
    check(all(isinstance(line, re.Match) for line in lines), f"lines: {lines}")
    check(sorted(int(line[2]) for line in lines) == others,
          f"not one line of each rank that waits: {[line[0] for line in lines]}")
    for line in lines:
        check(LIMIT_S <= float(line[4]) <= LIMIT_S + 1.5, f"not in time: {line[0]}")
        print(line[0])
    dumps = sorted(line[5] for line in lines)
    check(dumps == sorted(map(str, (setup.directory / "traces").glob("*.dump*.json"))),
          f"dumps: {dumps}")
    setup.run_analyzer("lint", "--closed", *dumps)
    commands = (setup.directory / "commands").read_text(encoding="utf-8").splitlines()
    check(sorted(commands) == sorted(f"{line[1]} {line[5]}" for line in lines),
          f"commands: {commands}")
    said = setup.run_analyzer("hang", setup.directory / "traces", expected=(1,))
    # `hang` names the pair of a send and a receive, and cannot count them on the side that waits.
    reasons = ["trace is not closed"]
    if has_stopped or any("peer" in line[3] for line in lines):
        reasons.append("records are not complete")
    check((lines[0][3] in said or "peer" in lines[0][3]) and
          any(f"Not known: rank 1: its {reason}" in said for reason in reasons),
          f"of the dumps alone `hang` says: {said}")
    return lines


def hang_with_rings(setup):
    """Returns the output of `hang` for the dumps, and all processes' rings, read from outside."""
    copies = setup.directory / "copies"
    copies.mkdir()
    setup.run_analyzer("recover", "--running", "--output", copies, setup.rings)
    said = setup.run_analyzer("hang", copies, setup.directory / "traces", expected=(1,))
    print(said.splitlines()[0])
    return said


PY_SPY = r"""#!/bin/sh
test "$1 $2 $3 $4" = 'dump --json --nonblocking --pid' || exit 1
cat << 'END'
[{"thread_name": "MainThread", "frames": [
  {"name": "load_batch", "filename": "/job/train.py", "line": 12},
  {"name": "<module>", "filename": "/job/train.py", "line": 21}]}]
END
"""


def hang_with_stacks(setup, rank, others):
    """`hang` of the running job says in its second sentence where the rank at fault is, and then where
    one is that waits: here as a py-spy of ours has it, which this machine may lack."""
    tools = setup.directory / "tools"
    tools.mkdir()
    (tools / "py-spy").write_text(PY_SPY, encoding="utf-8")
    (tools / "py-spy").chmod(0o755)
    path = os.environ["PATH"]
    os.environ["PATH"] = f"{tools}:{path}"
    try:
        said = setup.run_analyzer("hang", "--ring-dir", setup.rings, expected=(1,)).splitlines()
    finally:
        os.environ["PATH"] = path
    where = re.compile(r"Rank (\d) \(process \d+\)(, which waits,)? was in all 5 samples in load_batch \(train.py:12\) < "
                       r"<module> \(train.py:21\) \(by py-spy; it used \d+ % of a processor\)\.")
    found = [where.fullmatch(line) for line in said[1:3]]
    check(all(found), f"no stacks: {said[:5]}")
    check(int(found[0][1]) == rank and int(found[1][1]) in others and
          [bool(one[2]) for one in found] == [False, True], f"of other ranks: {said[:5]}")


SLOW_PY_SPY = """#!/bin/sh
echo > {began}
while :; do sleep 0.1; done
"""


def watch_while_sampling(setup):
    """`watch` says that a process has died while it takes stacks, and ends then when it is asked to: here
    a py-spy never comes to an end."""
    tools, began = setup.directory / "slow-tools", setup.directory / "began"
    tools.mkdir()
    (tools / "py-spy").write_text(SLOW_PY_SPY.format(began=began), encoding="utf-8")
    (tools / "py-spy").chmod(0o755)
    found = setup.directory / "findings"
    command = [setup.analyzer, "watch", "--all", "--ring-dir", setup.rings, "--hang-seconds", "1", "--interval",
               "0.2", "--format", "json", "--output", found, "--last-look"]

    def findings():
        text = found.read_text(encoding="utf-8") if found.exists() else ""
        return [json.loads(line) for line in text.splitlines()]

    def has(kind):
        return any(one["finding"] == kind for one in findings())

    with subprocess.Popen(command, env={**os.environ, "PATH": f"{tools}:{os.environ['PATH']}"},
                          stdout=subprocess.DEVNULL) as watch:
        try:
            wait_for(lambda: began.exists() and has("verdict"), "the watch takes no stacks")
            os.kill(pids_by_rank(setup)[2], signal.SIGKILL)
            wait_for(lambda: has("died"), "the watch does not say who has died")
            watch.send_signal(signal.SIGTERM)
            check(watch.wait(60) == 1, "it has found nothing")
        finally:
            watch.kill()
    check(not any(one["source"] == "stack" for finding in findings() for one in finding["evidence"]),
          f"the stacks have not been waited for: {findings()}")


def wait_for(condition, trouble):
    deadline = time.monotonic() + 100
    while not condition():
        check(time.monotonic() < deadline, trouble)
        time.sleep(0.1)


def stuck(setup):
    """A rank never joins a collective; its process lives, and has nothing to tell."""
    job = watched_job(setup, "--iterations", "40", "--stuck-rank", "1", "--stuck-at", "30")
    lines = check_watch(job, [0, 2])
    said = hang_with_rings(setup)
    hang_with_stacks(setup, 1, (0, 2))
    watch_while_sampling(setup)
    job.kill()
    check({line[3] for line in lines} == {"AllGather #5"}, "another operation")
    check(re.search(r"Rank 1 \(.*\) has not joined AllGather #5 of communicator world; "
                    r"2 ranks have waited", said), f"rank 1 is stuck, found: {said}")


def stopped(setup):
    """A rank is stopped by SIGSTOP wherever it is, the drain thread too; its rings are read."""
    job = watched_job(setup, "--iterations", "100000")
    while len(job.calls(0)) < 100:
        check(job.process.poll() is None and time.monotonic() < job.deadline, "the job is too slow")
        time.sleep(0.05)
    pid = pids_by_rank(setup)[1]
    os.kill(pid, signal.SIGSTOP)
    check_watch(job, [0, 2], has_stopped=True)
    said = hang_with_rings(setup)
    job.kill()
    found = re.search(r"The process of rank 1 \(.*\) lives, but had given no sign of life for ([0-9.]+) s ",
                      said.splitlines()[0])
    check(found and float(found[1]) >= 3, f"rank 1 is stopped, found: {said}")
    print_facts(stopped=pid)


TESTS = {"nccl-hang-watch": stuck, "nccl-hang-watch-stopped": stopped}
