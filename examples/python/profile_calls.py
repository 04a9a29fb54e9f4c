#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Ringside from a Python program, through the package nccl_ringside (python/ of this project).

    export NCCL_PROFILER_PLUGIN=/path/to/libnccl-profiler-ringside.so RINGSIDE_START=0
    python3 profile_calls.py DUMP_FILE
"""

import sys

import nccl_ringside


def main():
    if len(sys.argv) != 2:
        sys.exit(f"usage: {sys.argv[0]} DUMP_FILE")
    if not nccl_ringside.available():
        sys.exit(nccl_ringside.status().reason)
    with nccl_ringside.profile("coll,p2p"), nccl_ringside.named_range("step"):
        nccl_ringside.mark("the work with NCCL would be here")
        recording = nccl_ringside.status().started
    nccl_ringside.dump(sys.argv[1])
    print(f"recorded: {recording}, windows: {nccl_ringside.status().windows}, dump: {sys.argv[1]}")


if __name__ == "__main__":
    main()
