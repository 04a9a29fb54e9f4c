# SPDX-License-Identifier: Apache-2.0
"""The lines that the main thread is at, for `ringside hang` and `watch` where py-spy is missing."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import struct
import sys
import threading
from types import FrameType
from typing import Any, Optional

_served: Optional[int] = None  # the process: a fork has no such thread


def show_stacks() -> bool:
    """Lets processes of this user, and of root, ask where the main thread is; Linux only.

    A thread answers on a socket that only this host has, and takes no time until it is asked. It
    says nothing while code in C holds the interpreter's lock; py-spy sees that, too. Forked child
    processes, such as workers of a data loader, can be asked, too. False: there can be no such
    socket.
    """
    global _served
    if _served == os.getpid():
        return True
    try:
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(f"\0ringside-stacks-{os.getpid()}")
        listener.listen()
        threading.Thread(target=_serve, args=(listener,), name="ringside-stacks", daemon=True).start()
    except (OSError, RuntimeError):
        return False
    if _served is None:
        os.register_at_fork(after_in_child=show_stacks)
    _served = os.getpid()
    return True


def _serve(listener: socket.socket) -> None:
    while True:
        connection, _ = listener.accept()
        with connection, contextlib.suppress(OSError):
            size = struct.calcsize("3i")
            peer = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)
            if struct.unpack("3i", peer)[1] in (0, os.geteuid()):
                connection.sendall(_stack().encode())


def _stack() -> str:
    """As `py-spy dump --json` has it."""
    frame: Optional[FrameType] = sys._current_frames().get(threading.main_thread().ident or 0)
    frames: list[dict[str, Any]] = []
    while frame is not None:
        code = frame.f_code
        frames.append({"name": code.co_name, "filename": code.co_filename, "line": frame.f_lineno})
        frame = frame.f_back
    return json.dumps([{"thread_name": "MainThread", "frames": frames}])
