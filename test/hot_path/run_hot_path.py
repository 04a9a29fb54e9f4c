#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs hot_path on every version of the interface and says what it found. With LISTENER also while that
tool is attached, which takes NVTX ranges and does nothing with them. OFFENDER is a plugin that
makes each forbidden call once: hot_path must find each offence.

usage: run_hot_path.py HOT_PATH PLUGIN OFFENDER [LISTENER]
"""
import itertools
import os
import signal
import subprocess
import sys
import tempfile


def verdict(status):
    if status == -signal.SIGSYS:
        return "a callback made a system call"
    if status < 0:
        return f"killed by {signal.Signals(-status).name}"
    if status == 1:
        return "failed"
    found = [what for bit, what in ((2, "an allocation"), (4, "a lock")) if status & bit]
    return "callbacks made " + " and ".join(found) if found else "clean"


def finds_offences():
    found_all = True
    for offence, wanted in (("none", "clean"), ("allocation", "callbacks made an allocation"),
                            ("lock", "callbacks made a lock"), ("call", "a callback made a system call")):
        run = subprocess.run([sys.argv[1], sys.argv[3], "6"], env=dict(os.environ, OFFENCE=offence),
                             timeout=60, check=False)
        if run.returncode == 77:
            return True
        found = verdict(run.returncode)
        print(f"offence {offence}: {found}")
        found_all = found_all and found == wanted
    return found_all


def main():
    if len(sys.argv) not in (4, 5):
        sys.exit(__doc__)
    bad = not finds_offences()
    # A ring that holds all that is recorded, and one that is full for most of the time.
    for version, ring_bytes, tool in itertools.product(range(1, 8), ("128M", "64K"),
                                                       ["", *sys.argv[4:]]):
        with tempfile.TemporaryDirectory() as directory:
            # Its rings are left over, as of any process that does not end as others do.
            environment = dict(os.environ, RINGSIDE_DIR=directory, RINGSIDE_RING_DIR=directory,
                               RINGSIDE_EVENTS="all", RINGSIDE_RING_BYTES=ring_bytes,
                               NVTX_INJECTION64_PATH=tool)
            # With interface 7 kernel channels are recorded only so.
            environment.update(NCCL_ALLGATHERV_ENABLE="0", NCCL_COMM_SPLIT_SHARE_RESOURCES="0",
                               NCCL_COMM_SHRINK_SHARE_RESOURCES="0")
            run = subprocess.run([sys.argv[1], sys.argv[2], str(version)], env=environment,
                                 timeout=60, check=False)
        if run.returncode == 77:
            return 77
        attached = ", a tool attached" if tool else ""
        print(f"v{version}, rings of {ring_bytes}{attached}: {verdict(run.returncode)}")
        bad = bad or run.returncode != 0
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
