# SPDX-License-Identifier: Apache-2.0
"""The line of JSON that a call is printed as."""

from __future__ import annotations

import json
import os
import socket
import sys
import time
from collections.abc import Callable
from typing import Any, Optional

from ._calls import Arguments, Call, size_of
from ._groups import Group
from ._where import Where


def leads(call: Call, group: Group, end: Optional[int]) -> bool:
    """Whether this rank prints: the root, both ends of a send, else the first rank of the group."""
    if call.end == "peer":
        return True
    return group.rank == (end if call.end == "root" and end is not None else group.ranks[0])


def nvtx_mark(torch: Any, wanted: Optional[bool]) -> Optional[Callable[[str], Any]]:
    """The function that makes a mark in NVTX; None if that is not wanted, or nobody listens."""
    if wanted is None:
        wanted = bool(os.environ.get("NVTX_INJECTION64_PATH")) and hasattr(torch._C, "_nvtx")
    if not wanted:
        return None
    if not hasattr(torch._C, "_nvtx"):
        raise ValueError("nvtx is True, and this PyTorch is built without NVTX")
    mark: Callable[[str], Any] = torch.cuda.nvtx.mark
    return mark


class Printer:
    def __init__(self, torch: Any) -> None:
        self._torch = torch
        self._serials: dict[int, str] = {}
        self._vm = os.environ.get("VM_ID") or socket.gethostname()

    def _device(self) -> Optional[int]:
        cuda = self._torch.cuda
        return int(cuda.current_device()) if cuda.is_available() and cuda.is_initialized() else None

    def gpu_serial(self) -> str:
        named, device = os.environ.get("GPU_SERIAL"), self._device()
        if named or device is None:
            return named or "unknown"
        if device not in self._serials:
            properties = self._torch.cuda.get_device_properties(device)
            self._serials[device] = str(getattr(properties, "uuid", "unknown"))
        return self._serials[device]

    @property
    def vm_id(self) -> str:
        return self._vm

    def line(
        self,
        name: str,
        call: Call,
        given: Arguments,
        group: Group,
        end: Optional[int],
        source: Optional[str],
        batch: Any,
        number: Optional[int],
        where: Optional[Where],
    ) -> str:
        """All that is known of a call, as JSON."""
        knows_message = not call.at_root or end == group.rank
        said = {
            "name": name,
            "rank": group.rank,
            "message_size": call.message(
                given, call, group.ranks.index(group.rank), len(group.ranks)
            )
            if knows_message
            else None,
            "bytes_in": size_of(given.get(call.input)),
            "bytes_out": size_of(given.get(call.output)),
            "group_ranks": group.ranks,
            "group_name": group.name,
            "group_description": group.description,
            f"{call.end or 'root'}_rank": end,
            "device": self._device(),
            "gpu_serial": self.gpu_serial(),
            "vm_id": self._vm,
            "timestamp": time.time(),
            "source_line": source,
            "async": call.is_async or bool(given.get(call.asynchronous)),
            "correlation_id": getattr(batch, "number", None),
            "batch_size": getattr(batch, "size", None),
            "sequence_number": number,
            **(where.fields if where is not None else {}),
        }
        return json.dumps({key: value for key, value in said.items() if value is not None})

    def write(self, line: str) -> None:
        """Prints before the call: if that hangs, its line is there."""
        # In one write: the ranks of a host share their output.
        sys.stdout.write(line + "\n")
        sys.stdout.flush()
