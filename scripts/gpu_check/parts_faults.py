# SPDX-License-Identifier: Apache-2.0
"""A rank that is late, one that is stuck, one that is killed."""

import collections
import functools
import json
import os
import re
import signal
import time

from machine import bench
from results import PASS, require

RANKS = 3
HANG_SECONDS = 2


def late(machine, results):
    """`stragglers` names the late rank, and no other."""
    job = bench(machine, "late", "--collectives", "AllReduce", "--min-bytes", 65536, "--max-bytes",
                65536, "--iterations", 30, "--late-rank", 2, "--late-us", 20000, ranks=RANKS).wait()
    job.traces()
    found = [one["text"] for one in job.report("stragglers", expected=(1,))["findings"]
             if one["kind"] == "straggler"]
    require(len(found) == 1 and found[0].startswith("Rank 2 "), f"rank 2 is late, found: {found}")
    results.add("faults", "late rank", PASS, found[0])


def stalled(job):
    path = job.directory / "ringside.log"
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    return re.findall(r"stalled: rank (\d+) of \d+ in communicator .*", text)


def hang(machine, results):
    """The hang watch names the ranks that wait, and `hang` names the one that they wait for."""
    job = bench(machine, "hang", "--collectives", "AllReduce,AllGather", "--min-bytes", 65536,
                "--max-bytes", 65536, "--iterations", 30, "--stuck-rank", 1, "--stuck-at", 40,
                ranks=RANKS, RINGSIDE_HANG_SECONDS=str(HANG_SECONDS))
    job.until(lambda: len(set(stalled(job))) == RANKS - 1, "line of the hang watch of each rank")
    time.sleep(0.5)  # for dumps to be complete
    dumps = sorted((job.directory / "traces").glob("*.dump*.json"))
    job.kill()
    machine.analyzer("lint", "--closed", *dumps)
    require(len(dumps) == RANKS - 1 and sorted(stalled(job)) == ["0", "2"],
            f"stalled: {stalled(job)}, {len(dumps)} dumps")
    job.recover()
    job.traces()
    machine.keep(job, "hang")
    said = " ".join(job.report("hang", expected=(1,))["sentences"])
    expected = r"Rank 1 \(.*?\) has not joined AllGather #\d+ of communicator world"
    require(re.search(expected, said), f"rank 1 is stuck, found: {said}")
    results.add("faults", "stuck rank", PASS, said)


def killed(machine, results):
    """After SIGKILL to one rank, and then to all, `recover` gives every call that had ended."""
    job = bench(machine, "kill", "--collectives", "AllReduce", "--min-bytes", 65536, "--max-bytes",
                1 << 22, "--iterations", 10 if machine.emulated else 40, "--late-rank", 0,
                "--late-us", 20000, "--times", "times", ranks=RANKS)
    path = job.directory / "times.1.jsonl"
    job.until(lambda: path.exists() and path.stat().st_size > 0, "measured calls of rank 1")
    pid = job.process_of(1)
    require(pid, "the trace does not say which process rank 1 is")
    os.kill(pid, signal.SIGKILL)
    time.sleep(2)  # the others wait for it, or fail
    job.kill()
    calls = collections.Counter((call["func"], call["bytes"]) for call in
                                map(json.loads, path.read_text(encoding="utf-8").splitlines()))
    job.recover()
    left = list((job.directory / "rings").iterdir())
    require(not left, f"rings are left: {left}")
    trace = {one.rank: one for one in job.traces()}[1]
    there = collections.Counter((one["func"], one["bytes"]) for one in trace.operations)
    require(calls and not calls - there, f"called and not recovered: {calls - there}")
    require(trace.account and not trace.account_errors(), f"account: {trace.account_errors()}")
    results.add("faults", "killed rank", PASS,
                f"{sum(there.values())} operations of rank 1, among them all {sum(calls.values())} "
                f"that it had measured; nothing left in the directory of rings")


def every_fault(machine, results):
    for name, function in (("late rank", late), ("stuck rank", hang), ("killed rank", killed)):
        results.run("faults", name, functools.partial(function, machine, results), least_s=15)
