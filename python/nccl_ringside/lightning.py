# SPDX-License-Identifier: Apache-2.0
"""The active steps of a training with Lightning.

    from nccl_ringside.lightning import RingsideCallback

    Trainer(callbacks=[RingsideCallback(torch.profiler.schedule(wait=10, warmup=0, active=5))])

Needs the package lightning, or pytorch_lightning.
"""

from __future__ import annotations

import importlib
from typing import Any

from ._profile import Profiler

try:
    _module: Any = importlib.import_module("lightning.pytorch")
except ModuleNotFoundError:
    _module = importlib.import_module("pytorch_lightning")


class RingsideCallback(_module.Callback):  # type: ignore[misc]
    """Records the active steps of training; the arguments are those of nccl_ringside.Profiler."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__()
        self.profiler = Profiler(*arguments, **named)

    def on_train_start(self, *_: Any) -> None:
        self.profiler.start()

    def on_train_batch_end(self, *_: Any) -> None:
        self.profiler.step()

    def on_train_end(self, *_: Any) -> None:
        self.profiler.stop()

    def on_exception(self, *_: Any) -> None:
        self.profiler.stop()
