# SPDX-License-Identifier: Apache-2.0
"""Jobs that have as much shared memory as a container has."""

import ctypes
import os
import sys

from harness import Job, check, print_facts
from tests_faults import recovered
from tests_live import Operator

RANKS = 8
MIB = 1 << 20


def mount(place, mebibytes):
    """A file system in memory that nobody sees but this test and its processes."""
    libc = ctypes.CDLL(None, use_errno=True)
    clone_newns, ms_rec, ms_private = 0x20000, 0x4000, 0x40000
    done = libc.unshare(clone_newns) == 0 and \
        libc.mount(None, b"/", None, ms_rec | ms_private, None) == 0 and \
        libc.mount(b"none", str(place).encode(), b"tmpfs", 0, f"size={mebibytes}m".encode()) == 0
    if not done:
        print(f"skipped: no mount here ({os.strerror(ctypes.get_errno())})")
        sys.exit(77)


def used_mib(place):
    space = os.statvfs(place)
    return (space.f_blocks - space.f_bfree) * space.f_frsize / MIB


def line_at_load(job):
    """Returns the line of each process about its rings, which comes once."""
    lines = [line for line in job.nccl_log().splitlines() if "profiler interface v" in line]
    check(len(lines) == job.ranks, f"{len(lines)} lines at load: {lines}")
    return lines


def small(setup):
    """Eight ranks share 64 MiB for their rings; one is killed."""
    mount(setup.rings, 64)
    # Within a node, as in a container with all GPUs, NCCL's network has no steps, of which here, with
    # eight ranks on a few cores, half a second has more than a journal of one MiB holds.
    job = Job(setup, "--scenario", "train", "--iterations", "40", "--kill-rank", "3",
              "--kill-at", "170", ranks=RANKS, timeout=150, RINGSIDE_EVENTS="coll,p2p")
    operator = Operator(setup, job)
    operator.wait_for(lambda processes: len(processes) == RANKS and
                      all(p["operations"] > 0 for p in processes), "eight that answer")
    used = used_mib(setup.rings)
    check(used <= RANKS * 2.1, f"{used} MiB of 64 are taken")
    job.wait()
    for line in line_at_load(job):
        check("a journal of 1024 KiB and rings of 256 KiB" in line, line)
    recovered(job, (3,))
    job.summary()
    print_facts(used_mib=round(used, 2))


def tiny(setup):
    """Eight ranks have 16 MiB: no rings there, and everything else."""
    mount(setup.rings, 16)
    job = Job(setup, "--scenario", "train", "--iterations", "8", ranks=RANKS, timeout=150)
    operator = Operator(setup, job)
    operator.wait_for(lambda processes: len(processes) == RANKS, "eight that answer")
    check(used_mib(setup.rings) < 0.2, f"{used_mib(setup.rings)} MiB are taken")
    job.wait()
    for line in line_at_load(job):
        check("has 16 MiB free, and 24 are needed" in line and "control socket in" in line, line)
    check(not list(setup.rings.iterdir()), "something is left")
    for trace in job.traces():
        check(trace.closed and not trace.account_errors() and not trace.dropped(), trace.path.name)
    job.summary()


def with_nccl(setup):
    """Docker's 64 MiB for NCCL's own shared memory, of which 2.29 takes 33, and for the rings. 2.32
    itself needs 66."""
    mount("/dev/shm", 64 if setup.interface < 7 else 97)
    job = Job(setup, "--scenario", "train", "--iterations", "100", ranks=1, timeout=60,
              RINGSIDE_RING_DIR="/dev/shm").wait()
    (line,) = line_at_load(job)
    check("rings /dev/shm/ringside." in line and "a journal of 1024 KiB" in line, line)
    (trace,) = job.traces()
    check(trace.closed and not trace.account_errors() and not trace.dropped(), trace.path.name)
    left = [name for name in os.listdir("/dev/shm") if name.startswith("ringside")]
    check(not left, f"left: {left}")


TESTS = {"nccl-small-shm": small, "nccl-tiny-shm": tiny, "nccl-container-shm": with_nccl}
