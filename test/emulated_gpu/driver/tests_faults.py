# SPDX-License-Identifier: Apache-2.0
"""Jobs that end badly, or do what plugins dislike, still leave traces that can be read."""

import collections
import json
import math
import os
import resource
import time

import expectations
from harness import Job, check, print_facts

# An operation is written half a second after its last event, since NCCL does not say which is the
# last. An operation that was called longer ago than this must be in the trace of a killed process.
WRITTEN_AFTER_NS = 1_000_000_000


def operations_reach(trace, calls, before_ns):
    """All operations that were called before that moment are in the trace."""
    due = collections.Counter((c["func"], c["bytes"]) for c in expectations.expected_calls(calls)
                              if c["end_ns"] < before_ns)
    there = collections.Counter((o["func"], o["bytes"]) for o in trace.operations)
    check(due, f"rank {trace.rank} made no calls in time: the test tests nothing")
    check(not due - there, f"{trace.path.name}: written {sum(there.values())} operations, but not "
                           f"{expectations.describe(due - there)}")
    print_facts(rank=trace.rank, due=sum(due.values()), written=sum(there.values()))


def recovered(job, killed):
    """After `ringside recover`, everything that the ranks called is in their traces."""
    before = {trace.rank: len(trace.operations) for trace in job.traces()}
    job.recover()
    for trace in job.traces():
        check(trace.closed, f"{trace.path.name} is not closed")
        operations_reach(trace, job.calls(trace.rank), math.inf)
        check(not trace.account_errors(), f"{trace.path.name}: account {trace.account_errors()}")
        check(not trace.dropped(), f"{trace.path.name}: dropped {trace.dropped()}")
        if trace.rank in killed:
            check(len(trace.operations) > before[trace.rank],
                  f"rank {trace.rank} had nothing to recover: the test tests nothing")
        print_facts(rank=trace.rank, before=before[trace.rank], recovered=len(trace.operations))


def kill_one(setup):
    """SIGKILL to one rank; NCCL makes the others fail."""
    job = Job(setup, "--scenario", "train", "--iterations", "400", "--kill-rank", "1",
              "--kill-at", "900", ranks=3, timeout=40).wait()
    for trace in job.traces():
        check(trace.closed == (trace.rank != 1), f"{trace.path.name}: closed {trace.closed}")
        calls = job.calls(trace.rank)
        operations_reach(trace, calls, max(c["end_ns"] for c in expectations.expected_calls(calls)) - WRITTEN_AFTER_NS)
    recovered(job, (1,))
    job.summary()


def look_while_running(job):
    """Rings of processes that live are left alone, unless one asks for a copy."""
    setup = job.setup
    rings = sorted(setup.rings.rglob("*"))
    setup.run_analyzer("recover", setup.rings)
    copies = setup.directory / "copies"
    copies.mkdir()
    print(setup.run_analyzer("recover", "--running", "--output", copies, setup.rings), end="")
    setup.run_analyzer("lint", copies)
    check(len(list(copies.glob("*.recovered.json"))) == job.ranks, "a copy is missing")
    check(sorted(setup.rings.rglob("*")) == rings, "rings of a running process were changed")
    check(job.process.poll() is None, "the job is over: the test tests nothing")


def kill_all(setup):
    """SIGKILL to all processes at once."""
    # A journal so small that it has to make room for new records several times.
    job = Job(setup, "--scenario", "train", "--iterations", "10000", ranks=2, timeout=60,
              RINGSIDE_JOURNAL_BYTES="12M")
    written = []
    while len(written) < 2 or min(written) < 200:
        out = setup.run_analyzer("ctl", "status", "--ring-dir", setup.rings, "--format", "json", "--timeout", "60",
                                 expected=(0, 3))
        written = [process["operations"] for process in json.loads(out)["processes"]] if out else []
        check(job.process.poll() is None and time.monotonic() < job.deadline, "the job is too slow")
    look_while_running(job)
    job.kill()
    # They are written in the order of their ends, which is nearly that of their calls.
    for trace in job.traces():
        check(not trace.closed, f"{trace.path.name} is closed")
        calls = job.calls(trace.rank)
        operations_reach(trace, calls, expectations.expected_calls(calls)[100]["end_ns"])
    recovered(job, (0, 1))
    job.summary()


def complete(job):
    found = job.traces()
    for trace in found:
        check(trace.closed, f"{trace.path.name} is not closed")
        expectations.compare(trace, expectations.expected_calls(job.calls(trace.rank)))
        expectations.check_account(trace)
    job.summary()


def no_finalize(setup):
    """A program that exits without destroying its communicators."""
    complete(Job(setup, "--scenario", "train", "--no-finalize", ranks=2).wait())


def threads_fork(setup):
    """Two threads with a communicator each, and children that exit while the job goes on."""
    complete(Job(setup, "--scenario", "train", "--threads", "--fork", ranks=2).wait())


def threads_share_process(setup):
    """Two ranks in one process: one trace, with both."""
    job = Job(setup, "--scenario", "train", "--ranks-per-process", "2", ranks=2).wait()
    (trace,) = job.traces(expected_files=1)
    calls = [call for rank in range(2) for call in expectations.expected_calls(job.calls(rank))]
    expectations.compare(trace, calls)
    expectations.check_account(trace)
    check({c["rank"] for c in trace.communicators.values()} == {0, 1}, "not both ranks are there")


def no_directory(setup):
    """Traces that cannot be written: a warning, and the job goes on."""
    blocker = setup.directory / "blocker"
    blocker.write_text("a file, not a directory")
    job = Job(setup, "--scenario", "train", ranks=2,
              RINGSIDE_DIR=str(blocker / "traces")).wait()
    check("blocker" in job.log() + job.nccl_log(), "nothing was said about the directory")


def signals(setup):
    """No signal of the plugin's own calls ends a rank, none waits for a reader of its standard error, and
    exit() in a handler that interrupts the C API ends it."""
    # NCCL's own files are smaller than this, the journal is not.
    setup.start_anew("file-limit")
    job = Job(setup, "--scenario", "train", limits=[(resource.RLIMIT_FSIZE, 80_000_000)],
              RINGSIDE_JOURNAL_BYTES="128M").wait()
    check("File too large" in job.nccl_log(), "the limit is above the journal's size: the test tests nothing")
    complete(job)
    for is_full in (False, True):
        setup.start_anew("full-pipe" if is_full else "closed-pipe")
        reader, writer = os.pipe()
        if is_full:
            os.set_blocking(writer, False)
            try:
                while True:
                    os.write(writer, bytes(4096))
            except BlockingIOError:
                os.set_blocking(writer, True)
        else:
            os.close(reader)
        job = Job(setup, "--scenario", "train", errors=writer, RINGSIDE_EVENTS="nonsense")
        os.close(writer)
        complete(job.wait())
        if is_full:
            os.close(reader)
    if setup.in_lock:
        setup.start_anew("handler")
        complete(Job(setup, "--scenario", "train", "--exit-in-handler", LD_PRELOAD=setup.in_lock).wait())


TESTS = {
    "nccl-kill-one": kill_one,
    "nccl-kill-all": kill_all,
    "nccl-no-finalize": no_finalize,
    "nccl-threads-fork": threads_fork,
    "nccl-shared-process": threads_share_process,
    "nccl-no-directory": no_directory,
    "nccl-signals": signals,
}
