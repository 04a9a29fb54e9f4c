# SPDX-License-Identifier: Apache-2.0
"""The line of the program that a call came from: the innermost one outside PyTorch's own files."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import sys
from typing import Optional


class CallSites:
    """Finds the line without inspect.stack(), which reads source files."""

    def __init__(self, *modules: str) -> None:
        """The files of these modules and packages are passed over, and this package's own."""
        self._inside: tuple[str, ...] = (os.path.dirname(os.path.abspath(__file__)) + os.sep,)
        for name in modules:
            found = importlib.util.find_spec(name)
            if found is None:
                raise ValueError(f"there is no module {name!r}")
            places = found.submodule_search_locations
            self._inside += (
                (str(found.origin),) if places is None else tuple(place + os.sep for place in places)
            )
        # By the name of a file, whether it is passed over.
        self._known = {contextlib.__file__: True}
        self._lines: dict[tuple[str, int], tuple[str, bytes]] = {}

    def find(self, depth: int) -> tuple[Optional[str], Optional[bytes]]:
        """"FILE:LINE", and the same for C; `depth` frames are passed over unseen.

        None where the thread has no such frame: the threads that run backward() begin in C++.
        """
        frame = sys._getframe(depth)
        known = self._known
        while frame is not None:
            name = frame.f_code.co_filename
            is_inside = known.get(name)
            if is_inside is None:
                # Importers, and code that torch.fx writes. A program given with -c is <string>.
                is_inside = name.startswith(("<frozen", "<eval_with_key", *self._inside))
                known[name] = is_inside
            if not is_inside:
                key = (name, frame.f_lineno)
                line = self._lines.get(key)
                if line is None:
                    text = f"{name}:{key[1]}"
                    line = self._lines[key] = (text, text.encode("utf-8", "replace"))
                return line
            frame = frame.f_back  # type: ignore[assignment]
        return None, None
