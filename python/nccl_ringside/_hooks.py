# SPDX-License-Identifier: Apache-2.0
"""Calls of process groups that pass none of torch.distributed's functions: those of DDP's reducer,
of compiled code, and of other callers in C++.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from ._calls import Arguments, Call

_ID = 0x52494E47  # of our hooks, among others of the same group
_ROOTED = ("broadcast", "reduce", "gather", "scatter")


def _call_of(name: str) -> Call:
    end = "root" if name in _ROOTED else ""
    return Call(name, "input_tensors", "output_tensors", end, ends_in_group=True)


class GroupHooks:
    """Hooks before and after the calls of process groups, as PyTorch has them from 2.15 on."""

    def __init__(
        self,
        state: Callable[[], Any],
        is_wanted: Callable[[], int],
        begin: Callable[[Call, str, Arguments], Any],
        end: Callable[[Any], None],
    ) -> None:
        """`state` gives what is known of the calling thread."""
        self._state, self._is_wanted, self._begin, self._end = state, is_wanted, begin, end
        self._groups: list[Any] = []  # references to those with hooks
        self._calls: dict[str, Call] = {}

    def add(self, group: Any) -> None:
        """Does nothing with a group that has hooks already, or takes none."""
        if any(known() is group for known in self._groups) or not hasattr(group, "register_pre_hook"):
            return
        reference = weakref.ref(group)

        def before(called: Any) -> None:
            state = self._state()
            if state.token is not None:  # the call before has thrown
                self.after(None)
            # PyTorch's functions in Python have a range with more facts.
            if state.within is None and self._is_wanted():
                state.token = self._mark(called, reference())

        group.register_pre_hook(_ID, before)
        group.register_post_hook(_ID, self.after)
        self._groups.append(reference)

    def _mark(self, called: Any, group: Any) -> Any:
        name = str(called.name.name).lower()
        call = self._calls.setdefault(name, _call_of(name))
        given = {
            "group": group,
            "input_tensors": called.input_tensors or None,
            "output_tensors": called.output_tensors or None,
            "async_op": called.async_op,
            "src": called.root,
        }
        return self._begin(call, f"torch.ProcessGroup.{name}", given)

    def after(self, _: Any) -> None:
        state = self._state()
        token, state.token = state.token, None
        self._end(token)

    def remove(self) -> None:
        for reference in self._groups:
            group = reference()
            if group is not None:
                group.unregister_pre_hook(_ID)
                group.unregister_post_hook(_ID)
        self._groups.clear()
