# SPDX-License-Identifier: Apache-2.0
"""Writes what this rank asks of torch.distributed, as it asks it, to calls-<rank>.jsonl.

Each line has the function, the group's name and ranks, the bytes of each tensor by the name of its
parameter, and the other arguments that say who takes part. `within` names the function of
torch.distributed that made the call, where the user did not: all_gather_object calls all_gather.
`line` is the innermost line outside PyTorch, unless the call came from C++.
"""

import contextlib
import functools
import inspect
import json
import threading
import time
import traceback

import torch
import torch.distributed as dist
from torch.distributed import distributed_c10d

FUNCTIONS = ("all_reduce", "broadcast", "reduce", "all_gather", "all_gather_into_tensor",
             "all_gather_single", "reduce_scatter_tensor", "reduce_scatter_single",
             "all_to_all_single", "send", "recv", "isend", "irecv", "batch_isend_irecv", "barrier",
             "all_gather_object", "broadcast_object_list", "gather", "scatter", "all_to_all",
             "reduce_scatter")


def bytes_of(tensor):
    return tensor.numel() * tensor.element_size()


def described(value):
    """An argument as JSON: tensors as bytes. None for what says nothing."""
    if isinstance(value, torch.Tensor):
        return bytes_of(value)
    if isinstance(value, dist.P2POp):
        return {"call": value.op.__name__, "peer": value.peer, "bytes": bytes_of(value.tensor)}
    if isinstance(value, (list, tuple)):
        parts = [described(part) for part in value]
        return None if None in parts else parts
    return value if isinstance(value, int) else None


def line_of_caller():
    inside = (torch.__path__[0], __file__, functools.__file__, contextlib.__file__)
    return next((f"{frame.f_code.co_filename}:{line}" for frame, line in traceback.walk_stack(None)
                 if not frame.f_code.co_filename.startswith(inside)), None)


class Log:
    def __init__(self, path):
        self.file = open(path, "w", encoding="utf-8")
        self.outer = threading.local()
        for name in FUNCTIONS:
            function = self.logged(name, getattr(distributed_c10d, name))
            # The module's own calls, as of all_gather_object, go through its own name.
            setattr(distributed_c10d, name, function)
            setattr(dist, name, function)

    def logged(self, name, function):
        signature = inspect.signature(function)

        @functools.wraps(function)
        def call(*arguments, **named):
            within = getattr(self.outer, "name", None)
            given = signature.bind(*arguments, **named).arguments
            group = given.get("group") or distributed_c10d._get_default_group()
            line = {"call": name, "within": within, "group": group.group_name,
                    "ranks": dist.get_process_group_ranks(group), "line": line_of_caller()}
            line.update({key: described(value) for key, value in given.items()
                         if key != "group" and described(value) is not None})
            line["at_ns"] = time.monotonic_ns()
            # In one write, and before the call: this may be the one that never returns.
            self.file.write(json.dumps(line) + "\n")
            self.file.flush()
            self.outer.name = within or name
            try:
                return function(*arguments, **named)
            finally:
                self.outer.name = within
        return call
