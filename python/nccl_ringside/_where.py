# SPDX-License-Identifier: Apache-2.0
"""Which part of a model calls: the module, FSDP's unit, DDP's bucket."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from ._groups import quoted

# Wrappers add these to the names of modules.
_WRAPPERS = ("module", "_fsdp_wrapped_module", "_checkpoint_wrapped_module", "_orig_mod")
# A mark has a thousand bytes in all.
_MOST_NAMES_BYTES = 200


class Where:
    """A part of a model: the fields of a mark, and the same for a printed line."""

    def __init__(self, **fields: Any) -> None:
        self.fields = fields
        self.text = "".join(f" {key}={quoted(str(value))[:250]}" for key, value in fields.items())


def module_path(name: str) -> str:
    """A module's name in the model, without what wrappers have added."""
    return ".".join(part for part in name.split(".") if part not in _WRAPPERS)


class ModuleHooks:
    """Hooks around forward() of the modules of a model."""

    def __init__(
        self, model: Any, state: Callable[[], Any], is_compiling: Callable[[], bool]
    ) -> None:
        """`state` gives what is known of the calling thread; its `where` is a stack."""
        self._handles: list[Any] = []
        for name, module in model.named_modules():
            path = module_path(name)
            if path:
                self._add(module, Where(module=path), state, is_compiling)

    def _add(
        self,
        module: Any,
        where: Where,
        state: Callable[[], Any],
        is_compiling: Callable[[], bool],
    ) -> None:
        # torch.compile follows hooks, too; nothing is marked in compiled code.
        def before(*_: Any) -> None:
            if not is_compiling():
                state().where.append(where)

        def after(*_: Any) -> None:
            # A module that has begun while it was compiled, or before the hooks, left nothing.
            if not is_compiling() and where in state().where:
                while state().where.pop() is not where:
                    pass

        self._handles.append(module.register_forward_pre_hook(before, prepend=True))
        self._handles.append(module.register_forward_hook(after, always_call=True))

    def remove(self) -> None:
        for handle in self._handles:
            handle.remove()
        self._handles.clear()


def names_text(names: Sequence[str]) -> str:
    """As many names as have room, and how many more there are: "a.weight,a.bias,+6"."""
    text = ",".join(names)
    if len(text) <= _MOST_NAMES_BYTES:
        return text
    kept = text[:_MOST_NAMES_BYTES].split(",")[:-1]
    return ",".join([*kept, f"+{len(names) - len(kept)}"])


def bucket_hook(
    ddp: Any, hook: Callable[[Any, Any], Any], current: Callable[[], Any]
) -> Callable[[Any, Any], Any]:
    """The communication hook, which says besides which bucket it reduces.

    `current` gives the Annotation that is in effect, or None.
    """
    named = {id(parameter): name for name, parameter in ddp.module.named_parameters()}

    @functools.wraps(hook)  # DDP looks at its name and its annotations
    def named_hook(state: Any, bucket: Any) -> Any:
        annotation = current()
        if annotation is None:
            return hook(state, bucket)
        names = [named.get(id(parameter), "?") for parameter in bucket.parameters()]
        where = Where(bucket=int(bucket.index()), parameters=names_text(names))
        with annotation.within(where):
            return hook(state, bucket)

    return named_hook
