# SPDX-License-Identifier: Apache-2.0
"""With torch.profiler: record what it records, and write both traces where they find each other.

    profiler = torch.profiler.profile(schedule=..., on_trace_ready=nccl_ringside.torch.trace_handler("traces"))
    with nccl_ringside.torch.attach(profiler):
        for batch in batches:
            train(batch)
            profiler.step()

    $ ringside merge traces/ --kineto traces/ -o all.json

annotate() says in the trace, and on stdout, what a program calls of torch.distributed, and from where.

This module itself does not import torch.
"""

from __future__ import annotations

import importlib
import os
import re
import socket
from collections.abc import Callable
from typing import Any, Optional, TypeVar, Union

from . import _annotate, _api
from ._annotate import Annotation, annotate
from ._checked import OPTIONAL_TEXT, require, require_callable
from ._hangs import HangRecords
from ._profile import StepWindows, always
from ._where import bucket_hook

__all__ = [
    "Annotation",
    "HangRecords",
    "annotate",
    "attach",
    "name_buckets",
    "record_hangs",
    "trace_handler",
]

_P = TypeVar("_P")


def trace_handler(
    directory: Union[str, "os.PathLike[str]"], worker_name: Optional[str] = None
) -> Callable[[Any], None]:
    """An on_trace_ready for torch.profiler.profile, and for nccl_ringside.Profiler.

    It writes `WORKER.STEP.pt.trace.json`, Kineto's trace of this window, and
    `ringside.WORKER.json`, Ringside's trace of the process so far, which the next window replaces.
    WORKER is HOST_PID unless it is named; it must not be the same for two processes. `ringside merge
    DIRECTORY --kineto DIRECTORY` puts them together.
    """
    require("directory", directory, (str, os.PathLike), "a path")
    require("worker_name", worker_name, OPTIONAL_TEXT, "text or None")
    target = os.fspath(directory)

    def write(profiler: Any) -> None:
        worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        worker = re.sub(r"[^\w.-]", "_", worker)
        os.makedirs(target, exist_ok=True)
        export = getattr(profiler, "export_chrome_trace", None)
        if export is not None:
            step = int(getattr(profiler, "step_num", 0))
            export(os.path.join(target, f"{worker}.{step}.pt.trace.json"))
        ours = os.path.join(target, f"ringside.{worker}.json")
        # Not named as a trace until it takes the place of the last one.
        new = f"{ours}.new"
        try:
            os.unlink(new)
        except FileNotFoundError:
            pass
        if _api.dump(new):
            os.replace(new, ours)

    return write


def attach(profiler: _P, events: Optional[str] = None) -> _P:
    """Has recording start and stop with a torch.profiler.profile, which it returns.

    The profiler's own `start`, `step` and `stop` do it, so the loop stays as it is. Attach it before
    it is started.
    """
    torch_profiler: Any = profiler
    if not all(hasattr(profiler, name) for name in ("start", "step", "stop", "step_num")):
        raise TypeError(f"profiler is a torch.profiler.profile, not {profiler!r}")
    require("events", events, OPTIONAL_TEXT, "text or None")
    start, step, stop = torch_profiler.start, torch_profiler.step, torch_profiler.stop
    schedule = getattr(torch_profiler, "schedule", None) or always
    windows = StepWindows(events)

    # Ours begins before theirs and ends before it too, as theirs writes its file then.
    def start_both() -> Any:
        number = int(torch_profiler.step_num)
        windows.go_to(schedule(number), number)
        return start()

    def step_both() -> Any:
        number = int(torch_profiler.step_num) + 1
        windows.go_to(schedule(number), number)
        return step()

    def stop_both() -> Any:
        windows.end()
        return stop()

    torch_profiler.start, torch_profiler.step, torch_profiler.stop = (
        start_both,
        step_both,
        stop_both,
    )
    return profiler


def name_buckets(ddp: _P, hook: Optional[Callable[[Any, Any], Any]] = None, state: Any = None) -> _P:
    """Has annotate() say which of DDP's buckets a call reduces, and which parameters are in it.

    PyTorch gives this to communication hooks only, of which a model has one: `hook` and `state` are
    those that it shall have, as for `register_comm_hook`; without them it is PyTorch's own
    `allreduce_hook`, which does what DDP does without a hook. Returns the model.
    """
    model: Any = ddp
    if not hasattr(model, "register_comm_hook"):
        raise TypeError(f"ddp is a DistributedDataParallel, not {ddp!r}")
    require_callable("hook", hook)
    if hook is None:
        hooks = importlib.import_module("torch.distributed.algorithms.ddp_comm_hooks.default_hooks")
        hook, state = hooks.allreduce_hook, model.process_group
    named = bucket_hook(model, hook, lambda: _annotate._current)
    model.register_comm_hook(state, named)
    return ddp


def record_hangs(interval_s: float = 0.5) -> HangRecords:
    """Has Ringside and PyTorch both leave a record of a hang, whichever of them notices it.

    If PyTorch's watchdog times out, Ringside writes a dump next to its trace
    (`TRACE.torchTIME.json`): before PyTorch aborts a group, where its backend has abort hooks (from
    PyTorch 2.15 on), else when the file of this rank appears that TORCH_FR_DUMP_TEMP_FILE or
    TORCH_NCCL_DEBUG_INFO_TEMP_FILE names. If Ringside's hang watch (RINGSIDE_HANG_SECONDS) or dump()
    without a path was first, PyTorch's Flight Recorder is written to that file, else next to the
    trace as `torch_rank_RANK`. A thread looks every `interval_s` seconds; it needs Python, so a
    program that waits in C++ and keeps Python's lock leaves the record of the one that noticed.
    The result's stop(), or the end of its `with` block, ends it.
    """
    require("interval_s", interval_s, (int, float), "a number of seconds")
    if not interval_s > 0:
        raise ValueError(f"interval_s is more than 0, not {interval_s!r}")
    return HangRecords(interval_s)
