#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Records test/data/kineto again: PyTorch's profiler over two ranks of a job with Gloo, on the CPU.

It needs PyTorch (a virtual environment with `pip install torch numpy`), which no test does.

usage: make_kineto.py DIRECTORY
"""
import gzip
import os
import pathlib
import subprocess
import sys
import tempfile

RANKS = 2
STEPS = 3


def profile(rank, store, path):
    import torch
    import torch.distributed as distributed
    from torch.profiler import ProfilerActivity, record_function

    distributed.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=RANKS)
    tensor = torch.ones(65536)
    distributed.all_reduce(tensor)
    with torch.profiler.profile(activities=[ProfilerActivity.CPU], record_shapes=True) as profiler:
        for _ in range(STEPS):
            with record_function("step"):
                (tensor @ tensor).item()
                distributed.all_reduce(tensor)
                distributed.all_gather([torch.empty(1024) for _ in range(RANKS)], torch.ones(1024))
                if rank == 0:
                    distributed.send(tensor[:256], 1)
                else:
                    distributed.recv(tensor[:256], 0)
            profiler.step()
    profiler.export_chrome_trace(path)
    distributed.destroy_process_group()


def main():
    if len(sys.argv) == 4:
        profile(int(sys.argv[1]), *sys.argv[2:])
        return
    target = pathlib.Path(sys.argv[1])
    target.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as directory:
        # Relative names, since PyTorch writes the one that it was given into the file.
        ranks = [subprocess.Popen([sys.executable, pathlib.Path(__file__).resolve(), str(rank),
                                   f"{directory}/store", f"rank{rank}.json"], cwd=directory,
                                  env=os.environ | {"OMP_NUM_THREADS": "1"}) for rank in range(RANKS)]
        if any([process.wait() for process in ranks]):
            sys.exit("a rank failed")
        for rank in range(RANKS):
            text = (pathlib.Path(directory) / f"rank{rank}.json").read_bytes()
            (target / f"rank{rank}.json.gz").write_bytes(gzip.compress(text, 9, mtime=0))


if __name__ == "__main__":
    main()
