#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""More events are open at once than ranges can be: those without a range are counted and told of, the others
end, also if NCCL stops them twice, and then there is room again.

The plugin's table of version 6 is called from Python, since no recording has that many open."""
import argparse
import ctypes
import json
import os
import pathlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time

OPEN, ROOM, AFTERWARDS = 70_000, 65_536, 10
GROUP = 1  # ncclProfileGroup


def call_plugin(plugin, rings):
    """Runs as the application's process; prints the plugin's status while all are open."""
    table = (ctypes.c_void_p * 6).in_dll(ctypes.CDLL(plugin), "ncclProfiler_v6")
    init = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_void_p,
                            ctypes.c_char_p, ctypes.c_int, ctypes.c_int, ctypes.c_int,
                            ctypes.c_void_p)(table[1])
    start = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)(table[2])
    stop = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(table[3])
    finalize = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)(table[5])
    context, mask = ctypes.c_void_p(), ctypes.c_int()
    init(ctypes.byref(context), 7, ctypes.byref(mask), b"world", 2, 2, 0, None)
    descriptor = (ctypes.c_uint64 * 20)(GROUP)

    def begin(number):
        handles = (ctypes.c_void_p * number)()
        for i in range(number):
            start(context, ctypes.byref(handles, i * ctypes.sizeof(ctypes.c_void_p)), descriptor)
        return handles

    handles = begin(OPEN)
    deadline = time.monotonic() + 30  # the plugin's thread may come late
    while not (paths := list(pathlib.Path(rings).glob("*.rings/control"))):
        assert time.monotonic() < deadline, "no control socket"
        time.sleep(0.01)
    with socket.socket(socket.AF_UNIX) as control:
        control.connect(str(paths[0]))
        control.sendall(b'{"version":1,"verb":"status"}\n')
        print(control.makefile().readline(), flush=True)
    for handle in handles:
        stop(handle)
        stop(handle)
    for handle in begin(AFTERWARDS):
        stop(handle)
    finalize(context)


def check(options, directory):
    log = directory / "log"
    environment = {key: value for key, value in os.environ.items()
                   if not key.startswith("RINGSIDE_")}
    environment.update(RINGSIDE_DIR=str(directory), RINGSIDE_RING_DIR=str(directory),
                       RINGSIDE_RING_BYTES="32M", RINGSIDE_EVENTS="all", RINGSIDE_LOG=str(log),
                       NVTX_INJECTION64_PATH=options.listener, NVTX_LISTENER_DIR=str(directory))
    done = subprocess.run([sys.executable, __file__, "--plugin", options.plugin, "--child",
                           str(directory)], env=environment, stdout=subprocess.PIPE, text=True,
                          timeout=100, check=True)
    (seen,) = directory.glob("nvtx.*.jsonl")
    lines = [json.loads(line) for line in seen.read_text(encoding="utf-8").splitlines()]
    starts = [line["range"] for line in lines if line["what"] == "start"]
    ends = [line["range"] for line in lines if line["what"] == "end"]
    # One thread's ranges fill the table nearly to the last place.
    begun = len(starts) - AFTERWARDS
    assert ROOM * 9 / 10 < begun <= ROOM, begun
    assert sorted(ends) == sorted(starts), f"{len(ends)} of {len(starts)} have ended"
    without = json.loads(done.stdout)["ranges_without_room"]
    assert without == OPEN - begun, without
    assert log.read_text(encoding="utf-8").count("too many NVTX ranges are open") == 1


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plugin", required=True)
    parser.add_argument("--listener", help="the tool that takes NVTX")
    parser.add_argument("--child", metavar="RINGS", help="be the application")
    options = parser.parse_args()
    if options.child:
        call_plugin(options.plugin, options.child)
        return
    directory = pathlib.Path(tempfile.mkdtemp(prefix="ringside-full-"))
    check(options, directory)
    shutil.rmtree(directory)


if __name__ == "__main__":
    main()
