#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures what the plugin and annotate() add to a step of DDP, with PyTorch on emulated GPUs.

    compare_torch.py --build build/release [--rounds 5] [--blocks 10]

Each round runs the job without the plugin and with it. With it, blocks of ten steps follow each
other: recording stopped, recording, annotate() besides, and annotate() with hooks. The job has two
ranks; its operators are computed by the CPU, so a step is far longer than on a GPU, and the share
that is added says nothing of one. The figures are of rank 0: median, quartiles, and what is added to
the job without the plugin of the same round; of the time that passed, and of the processor time of
the program's thread, which other work on the machine disturbs less.
"""

import argparse
import json
import pathlib
import statistics
import sys

SOURCE = pathlib.Path(__file__).resolve().parents[2]
sys.path.append(str(SOURCE / "test" / "emulated_gpu" / "driver"))
import harness  # noqa: E402
import tests_torch  # noqa: E402

WITHOUT = "no plugin"
KINDS = ("time", "the thread's processor time")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=pathlib.Path, required=True, help="the build directory")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--blocks", type=int, default=10, help="blocks of ten steps of each kind")
    arguments = parser.parse_args()
    build = arguments.build.resolve()
    setup = harness.Setup(argparse.Namespace(
        ranks_program=build / "emulated_gpu/bin/nccl_ranks", bench_program=None,
        plugin=str(build / "lib/libnccl-profiler-ringside.so"),
        analyzer=str(build / "analyzer/ringside"), nvtx_listener=None,
        torch=SOURCE / ".torch-package", torch_stubs=build / "emulated_gpu/torch_stubs", long=False,
        seed=1, work=build / "emulated_gpu/tests", test="compare-torch"))
    steps_us, added_us = {}, {}
    for number in range(arguments.rounds):
        of_round = {}
        for plugin in ("none", None):
            setup.start_anew(f"{number}-{'without' if plugin else 'with'}")
            tests_torch.run(setup, "nccl2", "timed", TIMED_BLOCKS=str(arguments.blocks),
                            plugin=plugin)
            for mode, times_ns in json.loads((setup.directory / "times-0.json").read_text()).items():
                for kind, of_kind_ns in zip(KINDS, zip(*times_ns)):
                    of_round[mode, kind] = of_kind_ns
        for mode, times_ns in of_round.items():
            steps_us.setdefault(mode, []).extend(time_ns / 1000 for time_ns in times_ns)
            added_us.setdefault(mode, []).append(
                (statistics.median(times_ns) - statistics.median(of_round[WITHOUT, mode[1]])) / 1000)
    for (mode, kind), times_us in steps_us.items():
        low, median, high = statistics.quantiles(times_us, n=4)
        added = "" if mode == WITHOUT else f", added {statistics.median(added_us[mode, kind]):.0f} us"
        print(f"{mode}, {kind}: {median:.0f} us a step, quartiles {low:.0f} to {high:.0f}{added}")
    setup.end()


if __name__ == "__main__":
    main()
