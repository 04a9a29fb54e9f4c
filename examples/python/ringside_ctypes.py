#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Ringside's C API from Python, for PyTorch and other programs that use NCCL from Python.

    export NCCL_PROFILER_PLUGIN=/path/to/libnccl-profiler-ringside.so RINGSIDE_START=0

    import ringside_ctypes as ringside
    with ringside.profile():        # records what is called in here
        with ringside.named_range("step"):
            train_one_step()
    ringside.dump("step.json")      # everything so far, as a complete trace

Without the plugin, `ringside.available()` is False, and `profile()` does nothing.
"""

import contextlib
import ctypes
import os
import sys

ERRORS = {
    -1: "invalid argument, or an unknown event name",
    -2: "the file exists already",
    -3: "a file could not be created or written",
    -4: "this process records nothing (a forked child, or no memory at load)",
    -5: "no answer within ten seconds",
}


class RingsideError(RuntimeError):
    """A function of Ringside failed; `code` is what it returned."""

    def __init__(self, function, code):
        super().__init__(f"{function}: {ERRORS.get(code, 'unknown error')} ({code})")
        self.code = code


class _StartOptions(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("events", ctypes.c_char_p)]


class Status(ctypes.Structure):
    """ringside_status_info; include/ringside/ringside.h says what the fields mean."""

    _fields_ = [
        ("struct_size", ctypes.c_size_t),
        ("started", ctypes.c_int32),
        ("abi_version", ctypes.c_int32),
        ("nccl_version", ctypes.c_int32),
        ("wanted_mask", ctypes.c_int32),
        ("actual_mask", ctypes.c_int32),
        ("communicators", ctypes.c_int32),
        ("windows", ctypes.c_uint64),
        ("callbacks", ctypes.c_uint64),
        ("operations", ctypes.c_uint64),
        ("dropped", ctypes.c_uint64),
        ("bytes_written", ctypes.c_uint64),
        ("trouble", ctypes.c_int32),
        ("trace_path", ctypes.c_char * 1024),
        ("bytes_kept", ctypes.c_uint64),
        ("rotated", ctypes.c_uint64),
        ("flight_recorder", ctypes.c_int32),
    ]


def _open():
    # The same file that NCCL loads, hence the same instance, whoever comes first.
    name = os.environ.get("NCCL_PROFILER_PLUGIN", "")
    for candidate in (name or "libnccl-profiler.so", f"libnccl-profiler-{name}.so"):
        try:
            library = ctypes.CDLL(candidate)
        except OSError:
            continue
        if not hasattr(library, "ringside_start"):
            return None
        library.ringside_start.argtypes = [ctypes.POINTER(_StartOptions)]
        library.ringside_dump.argtypes = [ctypes.c_char_p]
        library.ringside_status.argtypes = [ctypes.POINTER(Status)]
        library.ringside_mark.argtypes = [ctypes.c_char_p]
        if hasattr(library, "ringside_push"):  # a library may be older
            library.ringside_push.argtypes = [ctypes.c_char_p, ctypes.c_char_p]
        library.ringside_version.restype = ctypes.c_char_p
        return library
    return None


_library = _open()


def _call(name, *arguments):
    if _library is None:
        raise RuntimeError("NCCL_PROFILER_PLUGIN does not name libnccl-profiler-ringside.so")
    code = getattr(_library, name)(*arguments)
    if code != 0:
        raise RingsideError(name, code)


def available():
    """Whether there is a Ringside to talk to."""
    return _library is not None


def start(events=None):
    """Begins to record; `events` are names as RINGSIDE_EVENTS takes them, e.g. "coll,p2p"."""
    options = _StartOptions(ctypes.sizeof(_StartOptions), events.encode() if events else None)
    _call("ringside_start", ctypes.byref(options))


def stop():
    """Stops recording; what has begun is recorded to its end."""
    _call("ringside_stop")


def dump(path):
    """Writes everything so far to `path`, a new file."""
    _call("ringside_dump", os.fsencode(path))


def mark(text):
    """Puts a marker into the trace."""
    _call("ringside_mark", text.encode())


@contextlib.contextmanager
def named_range(text):
    """A range of the calling thread, as long as the `with` block; ranges nest.

    The trace tells the line of the program beside it. Without Ringside, or with one that is older than
    ranges, it does nothing.
    """
    has_ranges = available() and hasattr(_library, "ringside_push")
    if has_ranges:
        caller = sys._getframe(2)
        source = f"{caller.f_code.co_filename}:{caller.f_lineno}"
        _call("ringside_push", text.encode(), source.encode())
    try:
        yield
    finally:
        if has_ranges:
            _call("ringside_pop")


def status():
    """What the profiler is doing."""
    info = Status(struct_size=ctypes.sizeof(Status))
    _call("ringside_status", ctypes.byref(info))
    return info


@contextlib.contextmanager
def profile(events=None):
    """Records within a `with` block; does nothing without Ringside."""
    if not available():
        yield
        return
    start(events)
    try:
        yield
    finally:
        stop()


def main():
    if len(sys.argv) != 2:
        sys.exit(f"usage: {sys.argv[0]} DUMP_FILE")
    if not available():
        sys.exit("NCCL_PROFILER_PLUGIN does not name libnccl-profiler-ringside.so")
    with profile("coll,p2p"), named_range("step"):
        mark("the work with NCCL would be here")
        recording = bool(status().started)
    dump(sys.argv[1])
    print(f"recorded: {recording}, windows: {status().windows}, dump: {sys.argv[1]}")


if __name__ == "__main__":
    main()
