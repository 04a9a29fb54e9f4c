# SPDX-License-Identifier: Apache-2.0
"""Ringside, a profiler for NCCL, from Python: what is recorded while a program runs.

    import nccl_ringside

    with nccl_ringside.profile():          # records what is called in here
        with nccl_ringside.named_range("step"):
            train_one_step()
    nccl_ringside.dump("step.json")        # everything so far, as a complete trace

The plugin is loaded by NCCL, with `ringside run -- COMMAND`. Without it every function does nothing
and returns False, and status() says why. Neither torch nor NCCL is needed, nor imported.
"""

import importlib as _importlib
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from ._api import (
    RingsideError,
    Status,
    available,
    dump,
    library_version,
    mark,
    named_range,
    pop,
    push,
    start,
    status,
    stop,
)
from ._place import plugin_path
from ._profile import Profiler, profile, schedule

if _TYPE_CHECKING:
    from . import torch as torch
    from ._load import Traces, load
    from ._stacks import show_stacks


# What most programs do without is imported when it is used.
def __getattr__(name: str) -> _Any:
    if name == "torch":
        return _importlib.import_module(".torch", __name__)
    if name in ("Traces", "load"):
        return getattr(_importlib.import_module("._load", __name__), name)
    if name == "show_stacks":
        return _importlib.import_module("._stacks", __name__).show_stacks
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

__all__ = [
    "Profiler",
    "RingsideError",
    "Status",
    "Traces",
    "available",
    "dump",
    "library_version",
    "load",
    "mark",
    "named_range",
    "plugin_path",
    "pop",
    "profile",
    "push",
    "schedule",
    "show_stacks",
    "start",
    "status",
    "stop",
]
