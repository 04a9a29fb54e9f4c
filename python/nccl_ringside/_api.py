# SPDX-License-Identifier: Apache-2.0
"""The functions of the C API, as Python has them."""

from __future__ import annotations

import ctypes
import dataclasses
import os
from types import TracebackType
from typing import Any, Optional, Union

from . import _library
from ._blocks import StepBlock, line_of_program
from ._checked import OPTIONAL_TEXT, require
from ._library import StartOptions, StatusInfo, search

# A program must not end because its profiler has no room, or because it was forked.
_HARMLESS = (_library.DISABLED, _library.BUSY)
# Results after which `errno` says why.
_OF_FILES = (_library.EXISTS, _library.IO)


class RingsideError(OSError):
    """A function of the plugin failed; `code` is what it returned (ringside.h).

    `errno`, `strerror` and `filename` are set if a file was the reason. If it exists already, the
    error is a FileExistsError, too.
    """

    def __init__(
        self, function: str, code: int, reason: str, number: int = 0, path: Optional[str] = None
    ) -> None:
        if number != 0:
            super().__init__(number, os.strerror(number), path)
        self.code = code
        self._made_of = (function, code, reason, number, path)

    def __str__(self) -> str:
        function, _, reason, number, path = self._made_of
        why = f" ({os.strerror(number)})" if number != 0 else ""
        return f"{function}: {reason}{why}" + (f": {path!r}" if path is not None else "")

    def __reduce__(self) -> Any:
        return type(self), self._made_of


class _FileExists(RingsideError, FileExistsError):
    pass


def _error(function: str, code: int, path: Optional[str] = None) -> RingsideError:
    kind = _FileExists if code == _library.EXISTS else RingsideError
    number = ctypes.get_errno() if code in _OF_FILES else 0
    return kind(function, code, _reason(code), number, path)


def _reason(code: int) -> str:
    library = search.library()
    text: bytes = b"unknown error" if library is None else library.ringside_error_text(code)
    return text.decode()


@dataclasses.dataclass(frozen=True)
class Status:
    """The state of the profiler; ringside.h explains the fields from `started` on.

    If `loaded` is False, `reason` says why and what to do, and all other fields are empty. If it is
    True, `reason` is empty unless the plugin records nothing in this process.
    """

    loaded: bool
    reason: str = ""
    library: str = ""
    started: bool = False
    abi_version: int = 0
    nccl_version: int = 0
    wanted_mask: int = 0
    actual_mask: int = -1
    communicators: int = 0
    windows: int = 0
    callbacks: int = 0
    operations: int = 0
    dropped: int = 0
    bytes_written: int = 0
    trouble: bool = False
    trace_path: str = ""
    bytes_kept: int = 0
    rotated: int = 0
    flight_recorder: bool = False


def _text(text: str) -> bytes:
    # A C string ends at a NUL, and the trace is UTF-8.
    return text.encode("utf-8", "replace").replace(b"\0", b" ")


def _quiet(function: str, code: int) -> bool:
    if code in _HARMLESS:
        return False
    if code != 0:
        raise _error(function, code)
    return True


def available() -> bool:
    """Whether the plugin is in this process, or can be."""
    return search.library() is not None


def library_version() -> Optional[str]:
    """The version of the plugin; None where it is not loaded."""
    library = search.library()
    if library is None:
        return None
    version: bytes = library.ringside_version()
    return version.decode()


def start(events: Optional[str] = None) -> bool:
    """Begins a window of recording; `events` are names as RINGSIDE_EVENTS takes them.

    False: nothing is recorded, and status() says why. RingsideError: an event that does not exist.
    """
    require("events", events, OPTIONAL_TEXT, "text or None")
    library = search.library()
    if library is None:
        return False
    options = StartOptions(ctypes.sizeof(StartOptions), None if events is None else _text(events))
    code: int = library.ringside_start(ctypes.byref(options))
    if code == _library.ARGUMENT:
        raise RingsideError(f"start({events!r})", code, _reason(code))
    return _quiet("ringside_start", code)


def stop() -> bool:
    """Ends the window; what has begun in it is recorded to its end."""
    library = search.library()
    return library is not None and _quiet("ringside_stop", library.ringside_stop())


def dump(path: Union[str, "os.PathLike[str]", None] = None) -> bool:
    """Writes everything so far to `path`, a new file, or next to the trace.

    False: the plugin is not loaded. RingsideError: there is no file; it has `errno` and `filename`.
    """
    require("path", path, (str, os.PathLike, type(None)), "a path or None")
    library = search.library()
    if library is None:
        return False
    code = library.ringside_dump(None if path is None else os.fsencode(path))
    if code != 0:
        raise _error("ringside_dump", code, None if path is None else os.fsdecode(path))
    return True


def mark(text: str) -> bool:
    """Puts a mark into the trace; False if it is not there."""
    require("text", text, str, "text")
    library = search.library()
    return library is not None and _quiet("ringside_mark", library.ringside_mark(_text(text)))


def push(text: str, source: Optional[str] = None) -> bool:
    """Begins a range of the calling thread; `source` is a line of the program."""
    require("text", text, str, "text")
    require("source", source, OPTIONAL_TEXT, "text or None")
    library = search.library()
    if library is None:
        return False
    line = None if source is None else _text(source)
    return _quiet("ringside_push", library.ringside_push(_text(text), line))


def pop() -> bool:
    """Ends the innermost range of the calling thread."""
    library = search.library()
    return library is not None and _quiet("ringside_pop", library.ringside_pop())


class named_range(StepBlock):
    """A range of the calling thread, as long as the `with` block or the decorated function.

    While a decorated coroutine or generator waits, other code runs on its thread. The range ends
    there, and begins anew when the function goes on. Ranges belong to threads: do not `await` in a
    `with` block if other tasks of the thread have ranges, too.
    """

    def __init__(self, text: str) -> None:
        require("text", text, str, "text")
        self._text = text

    def __enter__(self) -> None:
        push(self._text, line_of_program())

    # The plugin pairs the two even if it had no room for the first.
    def __exit__(
        self,
        kind: Optional[type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        pop()


def status() -> Status:
    """Returns the state of the profiler, or the reason why there is none."""
    library = search.library()
    if library is None:
        return Status(loaded=False, reason=search.why_not())
    name = str(library._name)
    info = StatusInfo(struct_size=ctypes.sizeof(StatusInfo))
    code: int = library.ringside_status(ctypes.byref(info))
    if code != 0:
        return Status(loaded=True, library=name, reason=_reason(code))
    return Status(
        loaded=True,
        library=name,
        started=bool(info.started),
        abi_version=info.abi_version,
        nccl_version=info.nccl_version,
        wanted_mask=info.wanted_mask,
        actual_mask=info.actual_mask,
        communicators=info.communicators,
        windows=info.windows,
        callbacks=info.callbacks,
        operations=info.operations,
        dropped=info.dropped,
        bytes_written=info.bytes_written,
        trouble=bool(info.trouble),
        trace_path=os.fsdecode(info.trace_path),
        bytes_kept=info.bytes_kept,
        rotated=info.rotated,
        flight_recorder=bool(info.flight_recorder),
    )
