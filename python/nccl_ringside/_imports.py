# SPDX-License-Identifier: Apache-2.0
"""Something to do once the program has imported a module, without importing it for that."""

from __future__ import annotations

import contextlib
import importlib.machinery
import importlib.util
import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any, Optional


class WhenImported:
    """Calls a function with a module: at once if it is imported, else when it will be.

    What the function throws does not reach the program.
    """

    def __init__(self, name: str, then: Callable[[ModuleType], Any]) -> None:
        self._name, self._then = name, then
        self._is_asking = False
        known = sys.modules.get(name)
        if known is not None:
            self._done(known)
        else:
            sys.meta_path.insert(0, self)

    def _done(self, module: ModuleType) -> None:
        with contextlib.suppress(Exception):
            self._then(module)

    def find_spec(
        self, name: str, path: Optional[Sequence[str]], target: Optional[ModuleType] = None
    ) -> Optional[importlib.machinery.ModuleSpec]:
        """As Python asks all that is in sys.meta_path."""
        if name != self._name or self._is_asking:
            return None
        self._is_asking = True
        try:
            spec = importlib.util.find_spec(name)  # as the others find it
        finally:
            self._is_asking = False
        if spec is not None and spec.loader is not None:
            execute = spec.loader.exec_module

            def execute_and_tell(module: ModuleType) -> None:
                execute(module)
                # Nobody may want to know any longer, or whoever asked has imported nothing.
                if self in sys.meta_path:
                    self.remove()
                    self._done(module)

            # A loader that takes no other function leaves the module without what is to be done.
            with contextlib.suppress(AttributeError):
                setattr(spec.loader, "exec_module", execute_and_tell)
        return spec

    def remove(self) -> None:
        """Waits no more; a second time it does nothing."""
        with contextlib.suppress(ValueError):
            sys.meta_path.remove(self)
