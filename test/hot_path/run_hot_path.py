#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs hot_path on every version of the interface and says what it found. With LISTENER also while that
tool is attached, which takes NVTX ranges and does nothing with them.

usage: run_hot_path.py HOT_PATH PLUGIN [LISTENER]
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


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    bad = False
    # A ring that holds all that is recorded, and one that is full for most of the time.
    for version, ring_bytes, tool in itertools.product(range(1, 8), ("128M", "64K"),
                                                       ["", *sys.argv[3:]]):
        with tempfile.TemporaryDirectory() as directory:
            # Its rings are left over, as of any process that does not end as others do.
            environment = dict(os.environ, RINGSIDE_DIR=directory, RINGSIDE_RING_DIR=directory,
                               RINGSIDE_EVENTS="all", RINGSIDE_RING_BYTES=ring_bytes,
                               NVTX_INJECTION64_PATH=tool)
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
