#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs python/load_traces.py on traces of a simulated job with a late rank and a slow link.

usage: check_load.py GENERATE ANALYZER DIRECTORY TORCH_PACKAGE

pyarrow is this Python's, or what get_torch.sh has fetched with PyTorch. Exit status 77: none.
"""

import os
import pathlib
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent


def main():
    generate, analyzer, directory, torch = map(pathlib.Path, sys.argv[1:])
    fetched = torch.resolve().parent / f"trainers-{sys.implementation.cache_tag}"
    environment = {
        **os.environ, "PATH": f"{analyzer.parent}:{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join(
            [str(HERE.parent / "python"), str(fetched), str(torch), *sys.path])}
    if subprocess.call([sys.executable, "-c", "import pyarrow"], env=environment,
                       stderr=subprocess.DEVNULL) != 0:
        print("skipped: no pyarrow, neither this Python's nor of test/emulated_gpu/get_torch.sh")
        return 77
    shutil.rmtree(directory, ignore_errors=True)
    subprocess.run([generate, directory, "--hosts", "2", "--ranks-per-host", "2", "--iterations", "20",
                    "--seed", "5", "--steps", "--straggler", "3:4000", "--slow-link", "1:2:1:8",
                    "--pattern", "AllReduce:1048576"], check=True)
    said = subprocess.run([sys.executable, HERE / "python" / "load_traces.py", directory],
                          env=environment, stdout=subprocess.PIPE, universal_newlines=True,
                          check=True).stdout
    print(said)
    wanted = ["20 operations, 80 calls of ranks", "\nrank 3 came last in ",
              "AllReduce of 1048576 bytes: 20 times, ",
              "slowest link: rank 1 to rank 2, channel 1: "]
    missing = [text for text in wanted if text not in said]
    print(f"it does not say {missing}" if missing else "passed")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
