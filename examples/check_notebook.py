#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs python/who_waits.ipynb on a recording of DDP and FSDP on emulated GPUs, which is an input of
test/diff. Needs nbclient, ipykernel, pyarrow and nccl_ringside in this Python.

usage: check_notebook.py
"""

import os
import pathlib
import sys

import nbclient
import nbformat

HERE = pathlib.Path(__file__).resolve().parent
TRACES = HERE.parent / "test/diff/cases/torch-parts-by-caller/traces"

# As that case's stdout has them: what is in the trace, from the job's own script.
WANTED = ("46 operations, 184 calls of ranks",
          "train.py:41 torch.all_reduce (DDP bucket 0: head.bias and 7 more)",
          "0 us     25872 bytes  bucket 0: layers.0.attn.weight and 13 more\n",
          "bucket 1: layers.1.attn.bias and 5 more\n",
          "ReduceScatter, group default_pg, number ")


def main():
    os.environ["TRACES"] = str(TRACES)
    notebook = nbformat.read(HERE / "python" / "who_waits.ipynb", as_version=4)
    nbformat.validate(notebook)
    nbclient.NotebookClient(notebook, timeout=120, startup_timeout=120,
                            kernel_name="python3").execute()
    said = "".join(output.get("text", "") for cell in notebook.cells
                   for output in cell.get("outputs", ()))
    print(said)
    missing = [text for text in WANTED if text not in said]
    print(f"it does not say {missing}" if missing else "passed")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
