# SPDX-License-Identifier: Apache-2.0
"""`with` blocks that are decorators, too: of functions, generators and coroutines."""

from __future__ import annotations

import contextlib
import functools
import inspect
import sys
import types
from collections.abc import Callable, Generator
from typing import Any, Optional, TypeVar

_Function = TypeVar("_Function", bound=Callable[..., Any])
_Steps = Generator[Any, Any, Any]

_NOT_THE_PROGRAM = (contextlib.__file__, __file__)


class Block:
    """What is open while a `with` block runs, or a decorated function.

    A decorated generator or coroutine runs in steps, and other code runs on its thread in between.
    The block is open from its first step to its end.
    """

    def __enter__(self) -> Any:
        raise NotImplementedError

    def __exit__(
        self,
        kind: Optional[type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[types.TracebackType],
    ) -> None:
        raise NotImplementedError

    def _run(self, steps: _Steps) -> _Steps:
        with self:
            return (yield from steps)

    def __call__(self, function: _Function) -> _Function:
        if inspect.isasyncgenfunction(function):
            raise TypeError(
                f"{function.__qualname__} is an asynchronous generator, which cannot be decorated; "
                "use a `with` block around each of its parts"
            )
        if not callable(function):
            raise TypeError(f"what is decorated is a function, not {function!r}")
        wrapped: Any
        if inspect.iscoroutinefunction(function):

            @functools.wraps(function)
            async def wrapped(*given: Any, **named: Any) -> Any:
                return await _awaitable(self._run(function(*given, **named).__await__()))

        elif inspect.isgeneratorfunction(function):

            @functools.wraps(function)
            def wrapped(*given: Any, **named: Any) -> _Steps:
                return (yield from self._run(function(*given, **named)))

        else:

            @functools.wraps(function)
            def wrapped(*given: Any, **named: Any) -> Any:
                with self:
                    return function(*given, **named)

        return wrapped  # type: ignore[no-any-return]


@types.coroutine
def _awaitable(steps: _Steps) -> _Steps:
    return (yield from steps)


class StepBlock(Block):
    """A block that is open only while the steps themselves run.

    So what other code does on the thread in between is not in it, and blocks of several coroutines
    end in the order in which they began.
    """

    def _run(self, steps: _Steps) -> _Steps:
        go_on: Callable[[Any], Any] = steps.send
        given: Any = None
        while True:
            with self:
                try:
                    made = go_on(given)
                except StopIteration as end:
                    return end.value
            try:
                given = yield made
                go_on = steps.send
            except GeneratorExit:
                with self:
                    steps.close()
                raise
            except BaseException as error:
                given, go_on = error, steps.throw


def line_of_program() -> str:
    """The line that this thread is at, outside this module and contextlib."""
    frame: Any = sys._getframe(2)
    while frame.f_back is not None and frame.f_code.co_filename in _NOT_THE_PROGRAM:
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"
