# SPDX-License-Identifier: Apache-2.0
"""The calls of torch.distributed that are marked, and which of their arguments say what."""

from __future__ import annotations

import dataclasses
import functools
import io
import pickle
from collections.abc import Callable
from typing import Any, Optional

Arguments = dict[str, Any]  # by the name of the parameter


def size_of(value: Any) -> Optional[int]:
    """The bytes of a tensor, or of all tensors of a list; None is not known."""
    try:
        size: int = value.nbytes
        return size
    except AttributeError:
        return None if value is None else sum([size_of(each) or 0 for each in value])


# How long a message is, as tools that look at torch.distributed alone count it: what a rank keeps
# for itself is none. `index` is the rank's in the group, and `ranks` how many there are.
def _larger(given: Arguments, call: "Call", index: int, ranks: int) -> Optional[int]:
    known = [size_of(given.get(name)) for name in (call.input, call.output)]
    return max([size for size in known if size is not None], default=None)


def _output(given: Arguments, call: "Call", index: int, ranks: int) -> Optional[int]:
    return size_of(given.get(call.output))


def _difference(given: Arguments, call: "Call", index: int, ranks: int) -> Optional[int]:
    sizes = size_of(given.get(call.input)), size_of(given.get(call.output))
    return None if sizes[0] is None or sizes[1] is None else abs(sizes[0] - sizes[1])


def _nothing(given: Arguments, call: "Call", index: int, ranks: int) -> Optional[int]:
    return None


def _to_others(given: Arguments, call: "Call", index: int, ranks: int) -> Optional[int]:
    sent = given[call.input]
    if isinstance(sent, (list, tuple)):
        return (size_of(sent) or 0) - (size_of(sent[index]) or 0)
    rows, splits = int(sent.shape[0]), given.get("input_split_sizes")
    own = int(splits[index]) if splits else rows // ranks
    return int(sent.nbytes) * (rows - own) // rows if rows else 0


def _pickled(given: Arguments, call: "Call", index: int, ranks: int) -> Optional[int]:
    size = 0
    for each in given["object_list"]:
        buffer = io.BytesIO()
        pickle.Pickler(buffer).dump(each)
        size += buffer.tell()
    return size


@dataclasses.dataclass(frozen=True)
class Call:
    """A function of PyTorch, and the names of its parameters."""

    name: str
    input: str = "tensor"
    output: str = ""
    end: str = ""  # what `src` or `dst` is: "root" or "peer"
    default_end: Optional[int] = None  # where neither is given
    ends_in_group: bool = False  # they count within the group, not globally
    message: Callable[[Arguments, "Call", int, int], Optional[int]] = _larger
    at_root: bool = False  # the other ranks do not know the message
    is_async: bool = False  # always
    asynchronous: str = "async_op"  # the parameter that says so
    holds_parts: bool = False  # what is called within is marked, too

    @functools.cached_property
    def is_one_collective(self) -> bool:
        """Whether PyTorch gives it the group's next number, and it alone."""
        several = self.holds_parts or "object" in self.name or "coalesced" in self.name
        between_two = self.end == "peer" or self.name in ("send", "recv", "recv_any_source")
        return not several and not between_two and self.name != "monitored_barrier"


CALLS = (
    Call("all_reduce", output="tensor"),
    Call("all_reduce_coalesced", "tensors", "tensors"),
    Call("broadcast", output="tensor", end="root"),
    Call("reduce", output="tensor", end="root"),
    Call("all_gather", output="tensor_list"),
    Call("all_gather_coalesced", "input_tensor_list", "output_tensor_lists"),
    Call("all_gather_into_tensor", "input_tensor", "output_tensor"),
    Call("all_gather_single", "input_tensor", "output_tensor"),
    Call("_all_gather_base", "input_tensor", "output_tensor"),
    Call("reduce_scatter", "input_list", "output", message=_output),
    Call("reduce_scatter_tensor", "input", "output", message=_output),
    Call("reduce_scatter_single", "input", "output", message=_output),
    Call("_reduce_scatter_base", "input", "output", message=_output),
    *(
        Call(name, "tensor", output, "root", 0, message=_difference, at_root=True)
        for name, output in (
            ("gather", "gather_list"),
            ("gather_single", "gather_tensor"),
            ("gather_into_tensor", "gather_tensor"),
        )
    ),
    Call("scatter", "scatter_list", "tensor", "root", 0, message=_difference, at_root=True),
    Call("all_to_all", "input_tensor_list", "output_tensor_list", message=_to_others),
    Call("all_to_all_single", "input", "output", message=_to_others),
    Call("send", end="peer"),
    Call("recv", "", "tensor", end="peer"),
    Call("isend", end="peer", is_async=True),
    Call("irecv", "", "tensor", end="peer", is_async=True),
    Call("batch_isend_irecv", "", is_async=True, holds_parts=True),
    Call("_coalescing_manager", "", asynchronous="async_ops", holds_parts=True),
    Call("barrier", "", message=_nothing),
    Call("monitored_barrier", "", message=_nothing),
    # Only PyTorch knows the bytes of Python objects, once it has pickled them.
    Call("broadcast_object_list", "", "", "root", 0, message=_pickled, at_root=True),
    Call("all_gather_object", ""),
    Call("gather_object", "", "", "root", 0),
    Call("scatter_object_list", "", "", "root", 0),
    Call("send_object_list", "", end="peer", message=_pickled),
    Call("recv_object_list", "", end="peer"),
)

# torch.distributed._functional_collectives, which DTensor and tensor parallelism call. Their output
# is made by them.
FUNCTIONAL_CALLS = (
    Call("broadcast", "self", "self", "root", ends_in_group=True),
    Call("all_reduce", "self", "self"),
    Call("all_reduce_coalesced", "self", "self"),
    Call("reduce_scatter_tensor_coalesced", "inputs"),
    Call("reduce_scatter_single_coalesced", "inputs"),
    *(
        Call(name + ending, "self")
        for name in (
            "all_gather_tensor",
            "all_gather_single",
            "reduce_scatter_tensor",
            "reduce_scatter_single",
            "all_to_all_single",
        )
        for ending in ("", "_autograd")
    ),
    Call("all_gather_into_tensor_coalesced", "self"),
    Call("all_gather_single_coalesced", "self"),
)
