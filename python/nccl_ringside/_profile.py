# SPDX-License-Identifier: Apache-2.0
"""Recording a part of a program: a block, a function, or the active steps of a loop."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from types import TracebackType
from typing import Any, Optional, Union

from . import _api
from ._blocks import Block
from ._checked import OPTIONAL_TEXT, require, require_callable


class profile(Block):
    """Records while the `with` block or the decorated function runs, and nothing after it.

    Set RINGSIDE_START=0 (`ringside run --start-off`) so that nothing is recorded before it either.
    Blocks that begin while one is open, on any thread, add nothing: `events` of the first one
    count, and recording ends when the last one ends. Without the plugin it does nothing.
    """

    _lock = threading.Lock()
    _open = 0

    def __init__(self, events: Optional[str] = None) -> None:
        require("events", events, OPTIONAL_TEXT, "text or None")
        self._events = events

    def __enter__(self) -> None:
        with profile._lock:
            if profile._open == 0:
                _api.start(self._events)
            profile._open += 1

    def __exit__(
        self,
        kind: Optional[type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        with profile._lock:
            profile._open -= 1
            if profile._open == 0:
                _api.stop()


def _name_of(action: object) -> str:
    # torch.profiler.ProfilerAction, known by its names: torch is not imported for it.
    return str(getattr(action, "name", action))


_RECORDING = ("RECORD", "RECORD_AND_SAVE")


class StepWindows:
    """Opens and closes windows of recording as the actions of a schedule say.

    A window is as long as its active steps. Each of them is a range `ProfilerStep#N`, the name that
    torch.profiler gives it, and begins with a mark of that name.
    """

    def __init__(self, events: Optional[str] = None) -> None:
        self._events = events
        self._action = "NONE"
        self._has_range = False

    @property
    def is_recording(self) -> bool:
        return self._action in _RECORDING

    def go_to(self, action: object, step: int) -> bool:
        """Step `step` begins. True if a window that is to be saved ended before it."""
        before, self._action = self._action, _name_of(action)
        ended = before == "RECORD_AND_SAVE" or (before in _RECORDING and not self.is_recording)
        self._end_range()
        if ended or not self.is_recording:
            # If the schedule begins with a wait, this ends the window that the plugin has opened.
            _api.stop()
        if self.is_recording:
            if ended or before not in _RECORDING:
                _api.start(self._events)
            name = f"ProfilerStep#{step}"
            _api.mark(name)
            _api.push(name)
            self._has_range = True
        return ended

    def end(self) -> bool:
        """The loop has ended. True if a window was open."""
        was_recording = self.is_recording
        self._end_range()
        _api.stop()
        self._action = "NONE"
        return was_recording

    def _end_range(self) -> None:
        if self._has_range:
            _api.pop()
            self._has_range = False


Schedule = Callable[[int], Any]


def always(_: int) -> str:
    """The schedule without one: every step is recorded, as with torch.profiler.profile."""
    return "RECORD"


def schedule(
    *, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0
) -> Schedule:
    """torch.profiler.schedule for programs without torch, with the same meaning."""
    for name, value in (
        ("wait", wait),
        ("warmup", warmup),
        ("active", active),
        ("repeat", repeat),
        ("skip_first", skip_first),
    ):
        require(name, value, int, "a number of steps")
    if min(wait, warmup, repeat, skip_first) < 0 or active < 1:
        raise ValueError("the numbers of a schedule are not negative, and active is positive")
    cycle = wait + warmup + active

    def action(step: int) -> str:
        step -= skip_first
        if step < 0 or (repeat > 0 and step >= repeat * cycle):
            return "NONE"
        step %= cycle
        if step < wait:
            return "NONE"
        if step < wait + warmup:
            return "WARMUP"
        return "RECORD_AND_SAVE" if step == cycle - 1 else "RECORD"

    return action


class Profiler(Block):
    """Records the active steps of a loop, and no others.

        with Profiler(schedule=torch.profiler.schedule(wait=1, warmup=1, active=2)) as profiler:
            for batch in batches:
                train(batch)
                profiler.step()

    `schedule` is torch.profiler.schedule(...) as it is, this package's schedule(...), or a function
    of the step's number; without it every step is recorded. It may also be the
    torch.profiler.profile of the same loop, whose schedule it takes then. `on_trace_ready` is called
    with the profiler when a window has ended; `dump` is of use in it. `events` are names as
    RINGSIDE_EVENTS takes them.
    """

    def __init__(
        self,
        schedule: Union[Schedule, Any, None] = None,
        on_trace_ready: Optional[Callable[["Profiler"], Any]] = None,
        events: Optional[str] = None,
    ) -> None:
        # torch.profiler.profile is no function, and has its schedule as a member.
        self._schedule: Schedule = always if schedule is None else (
            getattr(schedule, "schedule", schedule) or always
        )
        if not callable(self._schedule):
            raise TypeError(
                f"schedule is a function of the step's number, or torch's profiler, not {schedule!r}"
            )
        require_callable("on_trace_ready", on_trace_ready)
        require("events", events, OPTIONAL_TEXT, "text or None")
        self.on_trace_ready = on_trace_ready
        self.step_num = 0
        self._windows = StepWindows(events)

    def start(self) -> None:
        """Step 0 begins."""
        self.step_num = 0
        self._windows.go_to(self._schedule(0), 0)

    def step(self) -> None:
        """The next step begins."""
        self.step_num += 1
        if self._windows.go_to(self._schedule(self.step_num), self.step_num):
            self._ready()

    def stop(self) -> None:
        """The loop has ended."""
        if self._windows.end():
            self._ready()

    def _ready(self) -> None:
        if self.on_trace_ready is not None:
            self.on_trace_ready(self)

    def dump(self, path: Union[str, "os.PathLike[str]", None] = None) -> bool:
        """As nccl_ringside.dump."""
        return _api.dump(path)

    def __enter__(self) -> "Profiler":
        self.start()
        return self

    def __exit__(
        self,
        kind: Optional[type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        self.stop()
