# SPDX-License-Identifier: Apache-2.0
"""One hang, two records: Ringside's dump where PyTorch's watchdog has fired, and PyTorch's where
Ringside's hang watch was first.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import threading
import time
import weakref
from typing import Any, Optional

from . import _api

_ID = 0x52494E47  # of our hooks, among others of the same group
# At a timeout PyTorch aborts one group after the other, and writes its file in several steps.
_ONE_TIMEOUT_S = 60.0
_PREFIXES = ("TORCH_FR_DUMP_TEMP_FILE", "TORCH_NCCL_DEBUG_INFO_TEMP_FILE")


def _stem() -> Optional[str]:
    """The trace's name without .json; None while there is no trace."""
    path = _api.status().trace_path
    return path[: -len(".json")] if path.endswith(".json") else None


def _stamp(path: Optional[str]) -> Optional[tuple[int, int]]:
    """The state of the file, which changes when it is written."""
    try:
        found = os.stat(path) if path is not None else None
    except OSError:
        return None
    return None if found is None else (found.st_mtime_ns, found.st_size)


class HangRecords:
    """A thread that looks for dumps of either side, until stop() or the end of its block."""

    def __init__(self, interval_s: float) -> None:
        torch: Any = importlib.import_module("torch")
        self._distributed: Any = torch.distributed
        self._c10d: Any = torch._C._distributed_c10d
        self._interval_s = interval_s
        self._lock = threading.Lock()
        self._dumped_s: Optional[float] = None
        self._number = 0  # of Ringside's dumps next to its trace, as far as they are known
        self._hooked: list[Any] = []  # references to groups
        self._seen = _stamp(self._torch_path())
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._run, name="ringside-hangs", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._ends.wait(self._interval_s):
            # The program matters more than a record of it.
            with contextlib.suppress(Exception):
                self._look()

    def _look(self) -> None:
        if not self._distributed.is_initialized():
            return
        self._add_hooks()
        self._look_for_theirs()
        self._look_for_ours()

    def _add_hooks(self) -> None:
        """PyTorch calls them before it aborts a group, where it has them."""
        for group in list(self._distributed.distributed_c10d._world.pg_map):
            if any(known() is group for known in self._hooked):
                continue
            self._hooked.append(weakref.ref(group))
            if getattr(group, "supports_abort_hooks", False):
                group.register_abort_hook(_ID, self._torch_timed_out)

    def _torch_path(self) -> Optional[str]:
        prefix = next((os.environ[name] for name in _PREFIXES if os.environ.get(name)), None)
        if prefix is None or not self._distributed.is_initialized():
            return None
        return f"{prefix}{self._distributed.get_rank()}"

    def _look_for_theirs(self) -> None:
        stamp = _stamp(self._torch_path())
        if stamp != self._seen:
            self._seen = stamp
            if stamp is not None:
                self._torch_timed_out()

    def _torch_timed_out(self) -> None:
        with self._lock:
            now_s, stem = time.monotonic(), _stem()
            if stem is None or (
                self._dumped_s is not None and now_s - self._dumped_s < _ONE_TIMEOUT_S
            ):
                return
            self._dumped_s = now_s
        with contextlib.suppress(_api.RingsideError):
            _api.dump(f"{stem}.torch{int(time.time())}.json")

    def _look_for_ours(self) -> None:
        stem = _stem()
        if stem is None or not os.path.exists(f"{stem}.dump{self._number + 1}.json"):
            return
        self._number += 1
        path = self._torch_path() or os.path.join(
            os.path.dirname(stem), f"torch_rank_{self._distributed.get_rank()}"
        )
        record = self._torch_record()
        # Whoever reads it finds it whole.
        with open(f"{path}.new", "wb") as file:
            file.write(record)
        os.replace(f"{path}.new", path)
        self._seen = _stamp(self._torch_path())

    def _torch_record(self) -> bytes:
        """The Flight Recorder of the implementation that the default group has."""
        torch: Any = importlib.import_module("torch")
        backend = self._distributed.group.WORLD._get_backend(torch.device("cuda"))
        if type(backend).__name__ == "ProcessGroupNCCL":
            return bytes(self._c10d._dump_nccl_trace())
        return bytes(self._c10d._dump_fr_trace(backend="nccl2"))

    def stop(self) -> None:
        """Looks no more; a second time it does nothing."""
        self._ends.set()
        self._thread.join()
        for reference in self._hooked:
            group = reference()
            if group is not None and getattr(group, "supports_abort_hooks", False):
                group.unregister_abort_hook(_ID)
        self._hooked.clear()

    def __enter__(self) -> "HangRecords":
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
