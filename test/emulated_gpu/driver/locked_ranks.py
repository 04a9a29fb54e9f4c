# SPDX-License-Identifier: Apache-2.0
"""Ranks that call NCCL by ctypes, of which one waits for a lock in a C++ library (ranks/lock.cc).

    locked_ranks.py LIBRARY|sleep RANKS WHO MILLISECONDS WHERE

With "sleep" it sleeps in Python instead. Rank WHO waits for so long, for ever if it is negative, and WHERE "init": before it makes its
communicator, "loop": before each AllReduce from the 20th on.
"""

import ctypes
import os
import subprocess
import sys
import tempfile
import time

import nccl_ringside

FLOAT, SUM, COUNT = 7, 0, 65536


class UniqueId(ctypes.Structure):
    _fields_ = [("internal", ctypes.c_char * 128)]


def checked(status):
    if status != 0:
        raise RuntimeError(f"status {status}")


def load_batch(library, milliseconds):
    if library is None:
        time.sleep(milliseconds / 1000 if milliseconds >= 0 else 1_000_000)
    else:
        library.take_batch(milliseconds)


def unique_id(nccl, rank, path):
    """The first rank makes it, and the others read it from a file."""
    made = UniqueId()
    if rank == 0:
        checked(nccl.ncclGetUniqueId(ctypes.byref(made)))
        with open(f"{path}.part", "wb") as file:
            file.write(bytes(made))
        os.rename(f"{path}.part", path)
    while not os.path.exists(path):
        time.sleep(0.01)
    with open(path, "rb") as file:
        return UniqueId.from_buffer_copy(file.read())


def run_rank(library, ranks, milliseconds, where, path):
    if where != "init":  # as in most programs
        nccl_ringside.show_stacks()
    rank = int(os.environ["RANK"])
    nccl = ctypes.CDLL("libnccl.so.2", mode=ctypes.RTLD_GLOBAL)
    cuda = nccl if hasattr(nccl, "cudaMalloc") else ctypes.CDLL("libcudart.so.13")
    checked(cuda.cudaSetDevice(0))
    buffer, stream, communicator = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    checked(cuda.cudaMalloc(ctypes.byref(buffer), ctypes.c_size_t(4 * COUNT)))
    checked(cuda.cudaStreamCreate(ctypes.byref(stream)))
    made = unique_id(nccl, rank, path)
    if where == "init":
        load_batch(library, milliseconds)
    checked(nccl.ncclCommInitRank(ctypes.byref(communicator), ranks, made, rank))
    for number in range(1_000_000):
        if where == "loop" and number >= 20:
            load_batch(library, milliseconds)
        checked(nccl.ncclAllReduce(buffer, buffer, ctypes.c_size_t(COUNT), FLOAT, SUM, communicator, stream))
        checked(cuda.cudaStreamSynchronize(stream))


def main():
    library, ranks, who, milliseconds, where, *of_rank = sys.argv[1:]
    if of_rank:
        is_late = os.environ["RANK"] == who
        run_rank(None if library == "sleep" else ctypes.CDLL(library), int(ranks), int(milliseconds), where if is_late else "", *of_rank)
        return
    with tempfile.TemporaryDirectory() as directory:
        for process in [subprocess.Popen([sys.executable, *sys.argv, f"{directory}/id"],
                                         env={**os.environ, "RANK": str(rank), "NCCL_HOSTID": f"emulated-host-{rank}"})
                        for rank in range(int(ranks))]:
            process.wait()


if __name__ == "__main__":
    main()
