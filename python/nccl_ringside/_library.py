# SPDX-License-Identifier: Apache-2.0
"""The C API (include/ringside/ringside.h) of the plugin that is loaded in this process.

The plugin is looked for where NCCL looks, in NCCL_PROFILER_PLUGIN, so that it is the same instance
whoever comes first. A plugin that came into the process in another way is found among the mapped
files. The search is repeated while there is none, since NCCL may load the plugin later.
"""

from __future__ import annotations

import ctypes
import os
import threading
import time
from typing import Optional

# The numbers of ringside.h.
ARGUMENT, EXISTS, IO, DISABLED, TIMEOUT, NOT_FOUND, BUSY = -1, -2, -3, -4, -5, -6, -7

_SEARCH_AGAIN_S = 1.0


class StartOptions(ctypes.Structure):
    """ringside_start_options"""

    _fields_ = [("struct_size", ctypes.c_size_t), ("events", ctypes.c_char_p)]


class StatusInfo(ctypes.Structure):
    """ringside_status_info"""

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


def _declare(library: ctypes.CDLL) -> bool:
    """Whether the library is Ringside's; its functions are declared then."""
    try:
        library.ringside_start.argtypes = [ctypes.POINTER(StartOptions)]
        library.ringside_stop.argtypes = []
        library.ringside_dump.argtypes = [ctypes.c_char_p]
        library.ringside_status.argtypes = [ctypes.POINTER(StatusInfo)]
        library.ringside_mark.argtypes = [ctypes.c_char_p]
        library.ringside_version.restype = ctypes.c_char_p
        library.ringside_error_text.argtypes = [ctypes.c_int]
        library.ringside_error_text.restype = ctypes.c_char_p
        library.ringside_push.argtypes = [ctypes.c_char_p, ctypes.c_char_p]
        library.ringside_pop.argtypes = []
        library.ringside_is_recording.argtypes = []
    except AttributeError:
        return False
    return True


def _load(name: str, mode: int = 0) -> Optional[ctypes.CDLL]:
    try:
        # The instance and its name stay: the plugin is never unloaded.
        return ctypes.CDLL(name, mode=os.RTLD_NOW | os.RTLD_LOCAL | mode, use_errno=True)
    except (OSError, ValueError):
        return None


def _may_be_ours(path: str) -> bool:
    """False for a file that certainly lacks our functions: another profiler's."""
    try:
        with open(path, "rb") as file:
            return b"ringside_error_text" in file.read()
    except OSError:
        return True  # dlopen finds out


def _mapped() -> Optional[ctypes.CDLL]:
    try:
        with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as file:
            paths = {line.split(None, 5)[5].rstrip("\n") for line in file if ".so" in line}
    except (OSError, IndexError):
        return None
    for path in sorted(paths):
        if "nccl-profiler" in os.path.basename(path):
            library = _load(path, os.RTLD_NOLOAD)
            if library is not None and _declare(library):
                return library
    return None


class _Search:
    """Finds the library once, and then keeps it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._library: Optional[ctypes.CDLL] = None
        self._searched_for: Optional[str] = None
        self._of_others: set[str] = set()  # libraries that are never loaded again
        self._searched_at_s = 0.0

    def library(self) -> Optional[ctypes.CDLL]:
        if self._library is not None:
            return self._library
        name = os.environ.get("NCCL_PROFILER_PLUGIN", "")
        with self._lock:
            now_s = time.monotonic()
            is_due = (
                name != self._searched_for or now_s - self._searched_at_s >= _SEARCH_AGAIN_S
            )
            if self._library is None and is_due:
                self._searched_for, self._searched_at_s = name, now_s
                self._library = self._named_by_environment(name) or _mapped()
            return self._library

    # As NCCL: the value as it is; then, if it has no slash, as the part of a name.
    def _named_by_environment(self, name: str) -> Optional[ctypes.CDLL]:
        if name.lower() == "none":
            return None
        library = self._open(name or "libnccl-profiler.so")
        if library is None and "/" not in name:
            library = self._open(f"libnccl-profiler-{name}.so")
        return library

    # Another profiler's library begins to work when it is loaded. So that happens once, where its
    # file is not known, and else not at all.
    def _open(self, name: str) -> Optional[ctypes.CDLL]:
        if name in self._of_others:
            return None
        library = _load(name) if "/" not in name or _may_be_ours(name) else None
        if library is not None and _declare(library):
            return library
        if library is not None or "/" in name and os.path.exists(name):
            self._of_others.add(name)
        return None

    def why_not(self) -> str:
        """Why there is no library, and what to do."""
        name = os.environ.get("NCCL_PROFILER_PLUGIN", "")
        if not name:
            return (
                "NCCL_PROFILER_PLUGIN is not set; start the program with `ringside run -- COMMAND`, "
                "or set the variable to what `python -m nccl_ringside --plugin-path` prints"
            )
        return f"NCCL_PROFILER_PLUGIN is {name!r}, which is not Ringside's plugin or cannot be loaded"


search = _Search()
