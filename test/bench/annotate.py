#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures the time that annotate() adds to a call of torch.distributed: medians, in microseconds.

    NCCL_PROFILER_PLUGIN=... RINGSIDE_DIR=... PYTHONPATH=TORCH:python annotate.py [CALLS]

Needs PyTorch (.torch-package, with the libraries of the emulated GPUs in LD_LIBRARY_PATH) and the
plugin. The call is a function of PyTorch's form that does nothing, in a group of eight.
"""

import functools
import pathlib
import statistics
import sys
import time

import torch
import torch.distributed as dist

from nccl_ringside import _annotate, _api, _around, _calls

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "python" / "tests"))
import caller  # noqa: E402

ROUNDS = 15


def all_reduce(tensor, op=None, group=None, async_op=False):
    """As torch.distributed has it."""


def median_us(calls, function=all_reduce):
    """The median call of the least disturbed round; the plugin writes between the rounds."""
    tensor, clock = torch.ones(8, 4), time.perf_counter_ns
    rounds = []
    for _ in range(ROUNDS):
        time.sleep(0.1)
        times = []
        for _ in range(calls):
            begin = clock()
            function(tensor)
            times.append(clock() - begin)
        rounds.append(statistics.median(times))
    return min(rounds) / 1000


def main():
    calls = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    dist.init_process_group("fake", store=None, rank=2, world_size=8)
    call = next(each for each in _calls.CALLS if each.name == "all_reduce")
    communicator = caller.Communicator()  # from here on the plugin writes
    bare_us = median_us(calls)
    for source, recording, what in ((True, True, "mark and source line"), (False, True, "mark only"),
                                    (True, False, "nothing is recorded")):
        (_api.start if recording else _api.stop)()
        with _annotate.Annotation("ALL", False, source) as annotation:
            around = _around.Around(
                all_reduce, annotation._library, torch.compiler.is_dynamo_compiling,
                functools.partial(annotation._begin, call, "torch.all_reduce"), annotation._end)
            print(f"{what}: {median_us(calls) - bare_us:.2f} us")
            around.restore()
    _api.start()
    bare_us = median_us(calls, dist.all_reduce)
    for hooks in (False, True):
        with _annotate.Annotation("ALL", False, hooks=hooks):
            print(f"torch.distributed's own, {'with' if hooks else 'without'} hooks: "
                  f"{median_us(calls, dist.all_reduce) - bare_us:.2f} us")
    communicator.destroy()


if __name__ == "__main__":
    main()
