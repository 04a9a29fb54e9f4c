#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes dumps of PyTorch's Flight Recorder as of a job with one group of all ranks, in the form of version
2.10: pickles of protocol 2, in which texts and frames are shared, as PyTorch makes them. Their fields and
stacks have the sizes of the genuine ones in test/data/flight_recorder. --skip RANK NUMBER: that rank has not
called the collective of that number, nor any behind it. With --measure PROGRAM it then runs `PROGRAM match`
and `PROGRAM hang` on them, and prints how long each took; with --torch DIRECTORY, where PyTorch is unpacked, its
own analyzer, too."""

import argparse
import pathlib
import pickle
import resource
import subprocess
import sys
import time

import check_verdicts

BEGIN_NS = 1_795_375_256_000_000_000
TORCH = "/srv/job001/venv/lib/python3.11/site-packages/torch/"
# -1: what all ranks have together.
CALLS = [("all_reduce", [[1024, 1024]], [[1024, 1024]]), ("_all_gather_base", [[512]], [[-1]]),
         ("_reduce_scatter_base", [[-1]], [[512]]), ("broadcast", [[77]], [[77]])]


def stacks():
    """20 stacks of 8 frames, whose innermost are PyTorch's."""
    def frame(name, file, line):
        return {"name": name, "filename": file, "line": line}
    outer = [frame("wrapper", TORCH + "distributed/c10d_logger.py", 83),
             frame("_engine_run_backward", TORCH + "autograd/graph.py", 824)]
    main = [frame("train_epoch", "/srv/job001/train/loop.py", 210),
            frame("main", "/srv/job001/train/train.py", 333),
            frame("<module>", "/srv/job001/train/train.py", 341)]
    return [[frame(CALLS[i % len(CALLS)][0], TORCH + "distributed/distributed_c10d.py", 4000 + i)] + outer
            + [frame(f"layer_{i}", "/srv/job001/train/model.py", 100 + i),
               frame("step", "/srv/job001/train/train.py", 17 + i)] + main for i in range(20)]


def entry(number, record, rank, ranks, calls_of_stack, first):
    call, inputs, outputs = CALLS[number % len(CALLS)]
    inputs, outputs = ([[size if size != -1 else 512 * ranks for size in sizes] for sizes in side]
                       for side in (inputs, outputs))
    created = BEGIN_NS + number * 1_000_000 + rank * 137
    return {"frames": list(calls_of_stack[number % len(calls_of_stack)]), "record_id": first + record,
            "pg_id": 0, "process_group": ("0", "default_pg"), "thread_name": "python",
            "thread_id": str(139_863_509_334_912 + rank), "collective_seq_id": number, "p2p_seq_id": 0,
            "op_id": number, "profiling_name": "nccl:" + call, "time_created_ns": created,
            "input_sizes": [list(sizes) for sizes in inputs], "input_dtypes": ["Float"],
            "output_sizes": [list(sizes) for sizes in outputs], "output_dtypes": ["Float"],
            "state": "completed", "time_discovered_started_ns": None,
            "time_discovered_completed_ns": created + 700_000, "retired": True, "timeout_ms": 600_000,
            "is_p2p": False}


def dump(rank, ranks, entries, skip):
    made = stacks()
    numbers = range(1, entries + 1)
    if skip is not None and skip[0] == rank:
        numbers = range(1, skip[1])
    listed = [entry(number, i, rank, ranks, made, 0) for i, number in enumerate(numbers)]
    if skip is not None:
        for late in listed[skip[1] - 1:]:
            late.update(state="scheduled", time_discovered_completed_ns=None, retired=False)
    group = {"name": "0", "desc": "default_pg", "ranks": str(list(range(ranks)))}
    status = {"last_enqueued_collective": numbers[-1], "last_started_collective": -1,
              "last_completed_collective": skip[1] - 1 if skip else numbers[-1]}
    return {"version": "2.10", "pg_config": {"0": group}, "comm_lib_version": "2.29.7",
            "pg_status": {"0": status}, "entries": listed}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("directory", type=pathlib.Path)
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--entries", type=int, default=2000)
    parser.add_argument("--skip", type=int, nargs=2)
    parser.add_argument("--measure", metavar="PROGRAM")
    parser.add_argument("--torch", type=pathlib.Path)
    arguments = parser.parse_args()
    if not arguments.directory.exists():
        arguments.directory.mkdir(parents=True)
        for rank in range(arguments.ranks):
            made = dump(rank, arguments.ranks, arguments.entries, arguments.skip)
            (arguments.directory / f"nccl_trace_rank_{rank}").write_bytes(pickle.dumps(made, 2))
    commands = {name: [arguments.measure, name, arguments.directory] for name in ("match", "hang") if arguments.measure}
    if arguments.torch:
        commands["PyTorch's"] = [sys.executable, "-c", check_verdicts.THEIRS, arguments.torch, arguments.directory,
                                 "--prefix", "nccl_trace_rank_"]
    for name, command in commands.items():
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        begin = time.monotonic()
        result = subprocess.run(command, capture_output=True, text=True, check=False)
        taken = time.monotonic() - begin
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        print(f"{name}: {taken:.2f} s, {after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime:.2f} "
              f"s of processors, {after.ru_maxrss / 1024:.0f} MiB at most: {(result.stdout + result.stderr).splitlines()[:2]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
