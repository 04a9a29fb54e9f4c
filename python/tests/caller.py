# SPDX-License-Identifier: Apache-2.0
"""Loads the plugin as NCCL does and calls version 4 of its interface (NCCL 2.27), on one thread.

The layouts are those of NCCL's profiler_v4.h; test/abi compares the plugin's own with that file.
"""

from __future__ import annotations

import ctypes
import os

_COLL = 1 << 1  # ncclProfileColl


class _Coll(ctypes.Structure):
    _fields_ = [
        ("seqNumber", ctypes.c_uint64),
        ("func", ctypes.c_char_p),
        ("sendBuff", ctypes.c_void_p),
        ("recvBuff", ctypes.c_void_p),
        ("count", ctypes.c_size_t),
        ("root", ctypes.c_int),
        ("datatype", ctypes.c_char_p),
        ("nChannels", ctypes.c_uint8),
        ("nWarps", ctypes.c_uint8),
        ("algo", ctypes.c_char_p),
        ("proto", ctypes.c_char_p),
    ]


class _Descr(ctypes.Structure):
    _fields_ = [
        ("type", ctypes.c_uint8),
        ("parentObj", ctypes.c_void_p),
        ("rank", ctypes.c_int),
        ("coll", _Coll),
        ("end", ctypes.c_uint64),
    ]


class _Profiler(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        (
            "init",
            ctypes.CFUNCTYPE(
                ctypes.c_int,
                ctypes.POINTER(ctypes.c_void_p),
                ctypes.POINTER(ctypes.c_int),
                ctypes.c_char_p,
                ctypes.c_uint64,
                ctypes.c_int,
                ctypes.c_int,
                ctypes.c_int,
                ctypes.c_void_p,
            ),
        ),
        (
            "startEvent",
            ctypes.CFUNCTYPE(
                ctypes.c_int,
                ctypes.c_void_p,
                ctypes.POINTER(ctypes.c_void_p),
                ctypes.POINTER(_Descr),
            ),
        ),
        ("stopEvent", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)),
        ("recordEventState", ctypes.c_void_p),
        ("finalize", ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)),
    ]


class Communicator:
    """One rank of a communicator of two."""

    def __init__(self, rank: int = 0) -> None:
        library = ctypes.CDLL(os.environ["NCCL_PROFILER_PLUGIN"], mode=os.RTLD_NOW | os.RTLD_LOCAL)
        self._profiler = _Profiler.in_dll(library, "ncclProfiler_v4")
        self._context = ctypes.c_void_p()
        # NCCL owns the mask, and reads it before each event.
        self._mask = ctypes.c_int(0)
        self._rank = rank
        self._called = 0
        code = self._profiler.init(
            ctypes.byref(self._context), ctypes.byref(self._mask), b"world", 0x5EED, 1, 2, rank, None
        )
        assert code == 0, f"init returns {code}"

    def all_reduce(self, count: int) -> None:
        """Calls for an AllReduce of `count` floats, as far as NCCL would."""
        self._called += 1
        if not self._mask.value & _COLL:
            return
        coll = _Coll(self._called, b"AllReduce", None, None, count, 0, b"ncclFloat32", 2, 8)
        coll.algo, coll.proto = b"RING", b"SIMPLE"
        handle = ctypes.c_void_p()
        self._profiler.startEvent(
            self._context, ctypes.byref(handle), ctypes.byref(_Descr(_COLL, None, self._rank, coll))
        )
        if handle.value:
            self._profiler.stopEvent(handle)

    def destroy(self) -> None:
        self._profiler.finalize(self._context)
