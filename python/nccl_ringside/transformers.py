# SPDX-License-Identifier: Apache-2.0
"""The active steps of a training with the Trainer of Hugging Face's transformers.

    from nccl_ringside.transformers import RingsideCallback

    Trainer(..., callbacks=[RingsideCallback(torch.profiler.schedule(wait=10, warmup=0, active=5))])

A step is one of the optimizer, with all that it accumulates. Needs the package transformers.
"""

from __future__ import annotations

import importlib
from typing import Any

from ._profile import Profiler

_module: Any = importlib.import_module("transformers")


class RingsideCallback(_module.TrainerCallback):  # type: ignore[misc]
    """Records the active steps of training; the arguments are those of nccl_ringside.Profiler."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__()
        self.profiler = Profiler(*arguments, **named)

    def on_train_begin(self, *_: Any, **__: Any) -> None:
        self.profiler.start()

    def on_step_end(self, *_: Any, **__: Any) -> None:
        self.profiler.step()

    def on_train_end(self, *_: Any, **__: Any) -> None:
        self.profiler.stop()
