# SPDX-License-Identifier: Apache-2.0
"""A function of PyTorch with other code for a while, and the plugin's functions for that code."""

from __future__ import annotations

import ctypes
import inspect
import time
import types
from collections.abc import Callable
from typing import Any, Optional

from . import _library
from ._calls import Arguments

_AROUND = """
def {name}({parameters}):
    if {own}.is_compiling() or not {own}.library.is_wanted():
        {give}{own}.original({arguments})
        return
    token = {own}.begin({{{given}}})
    try:
        {give}{own}.original({arguments})
    finally:
        {own}.end(token)
"""


class Around:
    """A function that has other code for a while, and stays the same object.

    PyTorch compares its functions: a P2POp takes nothing but `isend` and `irecv`, the coalescing
    manager and torch.compile know the collectives by their identity. And a module that has imported
    the name before calls the new code all the same. The code has the parameters of the function,
    since to take and give on *args and **kwargs would cost more than all else while nothing is
    recorded.
    """

    def __init__(
        self,
        function: Any,
        library: "Library",
        is_compiling: Callable[[], bool],
        begin: Callable[[Arguments], Any],
        end: Callable[[Any], None],
    ) -> None:
        # PyTorch's decorators stay around it.
        self._function = inspect.unwrap(function)
        self._code: types.CodeType = self._function.__code__
        own = f"_ringside_{self._function.__name__}"
        positional, keywords = self._code.co_argcount, self._code.co_kwonlyargcount
        names = self._code.co_varnames[: positional + keywords]
        flags = self._code.co_flags
        is_other = flags & inspect.CO_VARKEYWORDS or (keywords and flags & inspect.CO_VARARGS)
        if self._code.co_freevars or is_other or own in self._code.co_names:
            raise ValueError(f"{self._function.__name__} is not a plain function, or known already")
        self.library, self.is_compiling, self.begin, self.end = library, is_compiling, begin, end
        self.original = types.FunctionType(
            self._code, self._function.__globals__, self._function.__name__
        )
        keyword = [f"{name}={name}" for name in names[positional:]]
        star = ["*"] if keyword else []
        if flags & inspect.CO_VARARGS:
            star = [f"*{self._code.co_varnames[positional]}"]
        text = _AROUND.format(
            name=self._function.__name__,
            own=own,
            parameters=", ".join([*names[:positional], *star, *names[positional:]]),
            arguments=", ".join([*names[:positional], *(keyword or star)]),
            given=", ".join(f"{name!r}: {name}" for name in names),
            give="yield from " if inspect.isgeneratorfunction(self._function) else "return ",
        )
        made: dict[str, Any] = {}
        exec(compile(text, self._code.co_filename, "exec"), made)
        self._function.__globals__[own] = self
        # Its defaults are the function's own, and stay.
        self._function.__code__ = made[self._function.__name__].__code__.replace(
            co_firstlineno=self._code.co_firstlineno
        )

    def restore(self) -> None:
        self._function.__code__ = self._code  # what it called stays: a thread may be in there


class Library:
    """The plugin's functions, without giving up the interpreter's lock for a moment each."""

    def __init__(self, is_always_wanted: bool) -> None:
        self._next_s = 0.0
        self.push: Callable[[bytes, Optional[bytes]], int]
        self.pop: Callable[[], int]
        self._is_always_wanted = is_always_wanted
        self._use(self._look)

    def _use(self, is_recording: Callable[[], int]) -> None:
        self.is_recording = is_recording
        # A call is described if something becomes of it.
        self.is_wanted = _yes if self._is_always_wanted else is_recording

    def _look(self) -> int:
        now_s = time.monotonic()
        if now_s < self._next_s:
            return 0
        self._next_s = now_s + 1
        library = _library.search.library()
        if library is None:
            return 0
        fast = ctypes.PyDLL(library._name, handle=library._handle)
        if _library._declare(fast):
            self.push, self.pop = fast.ringside_push, fast.ringside_pop
            self._use(fast.ringside_is_recording)
        return self.is_recording()


def _yes() -> int:
    return 1
