#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs one test of the plugin with NCCL on emulated GPUs; CTest calls this (see tests.cmake).

Exit status 0: passed, 1: failed, 77: skipped. Everything a test leaves is in WORK/TEST.
"""

import argparse
import sys

import harness
import tests_analysis
import tests_annotate
import tests_control
import tests_faults
import tests_hang
import tests_launch
import tests_left_out
import tests_live
import tests_markers
import tests_operations
import tests_sampling
import tests_shared_memory
import tests_stacks
import tests_steps
import tests_topology
import tests_torch

OF_TORCH = {**tests_torch.TESTS, **tests_annotate.TESTS, **tests_steps.TESTS}
TESTS = {**tests_operations.TESTS, **tests_control.TESTS, **tests_faults.TESTS,
         **tests_analysis.TESTS, **tests_hang.TESTS, **tests_launch.TESTS,
         **tests_left_out.TESTS, **tests_live.TESTS, **tests_markers.TESTS,
         **tests_sampling.TESTS, **tests_shared_memory.TESTS, **tests_stacks.TESTS,
         **tests_topology.TESTS,
         **OF_TORCH}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranks-program", help="nccl_ranks")
    parser.add_argument("--bench-program", help="collectives_bench, built with the emulation")
    parser.add_argument("--nccl-folder", help="the directory of another NCCL than Debian's")
    parser.add_argument("--plugin", help="libnccl-profiler-ringside.so, or a variant of it")
    parser.add_argument("--analyzer", help="ringside")
    parser.add_argument("--in-lock", help="a library that interrupts a thread that holds a mutex (test/guarantees)")
    parser.add_argument("--nvtx-listener", help="a tool that takes NVTX (test/nvtx)")
    parser.add_argument("--torch", help="the directory that has PyTorch")
    parser.add_argument("--torch-stubs", help="stand-ins for NVIDIA's libraries")
    parser.add_argument("--work", help="the directory to make the test's directory in")
    parser.add_argument("--skip", metavar="REASON", help="say why the test cannot run, and end")
    parser.add_argument("--long", action="store_true", help="20 random kills instead of 3")
    parser.add_argument("--seed", type=int, default=1, help="of what is left to chance (1)")
    parser.add_argument("test", choices=TESTS)
    arguments = parser.parse_args()
    if arguments.test in OF_TORCH and not arguments.skip:
        arguments.skip = tests_torch.skip_reason(arguments.torch)
    if arguments.skip:
        print(f"skipped: {arguments.skip}")
        return 77
    setup = harness.Setup(arguments)
    try:
        TESTS[arguments.test](setup)
    except harness.Skipped as reason:
        print(f"skipped: {reason}")
        return 77
    except harness.Failure as failure:
        print(f"FAILED: {failure}\neverything is in {setup.directory}")
        return 1
    finally:
        setup.end()
    print("passed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
