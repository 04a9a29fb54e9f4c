# SPDX-License-Identifier: Apache-2.0
"""Refuses wrong arguments by their names, whether the plugin is there or not."""

from __future__ import annotations

from typing import Any, Union


def require(name: str, value: Any, kinds: Union[type, tuple[type, ...]], what: str) -> None:
    """TypeError unless the value is of one of the types, or None where `what` says so."""
    if not isinstance(value, kinds):
        raise TypeError(f"{name} is {what}, not {value!r}")


OPTIONAL_TEXT = (str, type(None))


def require_callable(name: str, value: Any) -> None:
    """TypeError unless the value can be called, or is None."""
    if value is not None and not callable(value):
        raise TypeError(f"{name} is a function or None, not {value!r}")
