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
from ._load import Traces, load
from ._place import plugin_path
from ._profile import Profiler, profile, schedule

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
    "start",
    "status",
    "stop",
]
