# SPDX-License-Identifier: Apache-2.0
"""A wrong argument is refused by its name, also where the plugin is not there."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import nccl_ringside
import nccl_ringside.torch as ours


def in_block(manager: Any) -> None:
    with manager:
        pass


WRONG: dict[str, tuple[Callable[[Any], Any], str]] = {
    "annotate level": (lambda wrong: ours.annotate(wrong), "level"),
    "annotate print": (lambda wrong: ours.annotate("NONE", print=wrong), "print"),
    "annotate source": (lambda wrong: ours.annotate("NONE", source=wrong), "source"),
    "annotate hooks": (lambda wrong: ours.annotate("NONE", hooks=wrong), "hooks"),
    "annotate nvtx": (lambda wrong: ours.annotate("NONE", nvtx=wrong), "nvtx"),
    "annotate modules": (lambda wrong: ours.annotate("NONE", modules=wrong), "modules"),
    "name_buckets": (lambda wrong: ours.name_buckets(wrong), "ddp"),
    "annotate skip": (lambda wrong: ours.annotate("NONE", skip=[wrong]), "skip"),
    "attach": (lambda wrong: ours.attach(wrong), "profiler"),
    "trace_handler": (lambda wrong: ours.trace_handler(wrong), "directory"),
    "trace_handler worker": (lambda wrong: ours.trace_handler(".", wrong), "worker_name"),
    "mark": (lambda wrong: nccl_ringside.mark(wrong), "text"),
    "push": (lambda wrong: nccl_ringside.push(wrong), "text"),
    "push source": (lambda wrong: nccl_ringside.push("text", wrong), "source"),
    "named_range": (lambda wrong: in_block(nccl_ringside.named_range(wrong)), "text"),
    "start": (lambda wrong: nccl_ringside.start(wrong), "events"),
    "profile": (lambda wrong: in_block(nccl_ringside.profile(wrong)), "events"),
    "dump": (lambda wrong: nccl_ringside.dump(wrong), "path"),
    "Profiler": (lambda wrong: nccl_ringside.Profiler(wrong), "schedule"),
    "Profiler ready": (lambda wrong: nccl_ringside.Profiler(None, wrong), "on_trace_ready"),
    "Profiler events": (lambda wrong: nccl_ringside.Profiler(events=wrong), "events"),
    "schedule": (
        lambda wrong: nccl_ringside.schedule(wait=wrong, warmup=0, active=1),
        "wait",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_argument_is_named(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NCCL_PROFILER_PLUGIN", raising=False)
    call, argument = WRONG[name]
    with pytest.raises(TypeError, match=rf"\b{argument}\b.* not 5\.5"):
        call(5.5)


def test_one_name_is_no_list_of_names() -> None:
    with pytest.raises(TypeError, match="skip is a list of names of modules, not 'lightning'"):
        ours.annotate("NONE", skip="lightning")
    with pytest.raises(TypeError, match="skip"):
        ours.annotate("NONE", skip=5)  # type: ignore[arg-type]


def test_the_interval_is_a_number_of_seconds() -> None:
    with pytest.raises(TypeError, match="interval_s"):
        ours.record_hangs("1")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="interval_s"):
        ours.record_hangs(0)


def test_numbers_of_a_schedule_are_in_range() -> None:
    with pytest.raises(ValueError, match="active is positive"):
        nccl_ringside.schedule(wait=1, warmup=0, active=0)
