# SPDX-License-Identifier: Apache-2.0
"""Profiler, and recording together with torch's profiler."""

from __future__ import annotations

import gzip
import json
import pathlib
import subprocess
from collections.abc import Callable
from typing import Any

import pytest

import nccl_ringside
from conftest import Job, counts, named, read

Run = Callable[..., Job]
KINETO = pathlib.Path(__file__).resolve().parents[2] / "test" / "data" / "kineto"

LOOP = """
    import json
    import nccl_ringside as ringside
    from caller import Communicator
    world = Communicator()
    ended = []

    def ready(profiler):
        ended.append(profiler.step_num)

    schedule = ringside.schedule(skip_first=1, wait=1, warmup=1, active=2, repeat=2)
    with ringside.Profiler(schedule=schedule, on_trace_ready=ready) as profiler:
        for step in range(12):
            world.all_reduce(100 + step)
            profiler.step()
    world.all_reduce(999)
    world.destroy()
    print(json.dumps(ended))
    """
ACTIVE = [3, 4, 7, 8]


@pytest.mark.parametrize("start", ["0", "1"])
def test_only_the_active_steps_are_recorded(run: Run, start: str) -> None:
    job = run(LOOP, RINGSIDE_START=start)
    lines = job.trace()
    assert counts(lines) == [4 * (100 + step) for step in ACTIVE]
    assert job.answer == [5, 9]
    text = [json.dumps(line) for line in lines]
    steps = {step for step in range(12) if any(f'"ProfilerStep#{step}"' in line for line in text)}
    assert steps == set(ACTIVE)
    # A plugin that records from its start has a window before the first step, with nothing in it.
    assert len(named(lines, "ringside_window")) == 2 + int(start)


def test_the_windows_are_chosen_by_the_number_of_the_step(run: Run, tool: str) -> None:
    job = run(LOOP, RINGSIDE_START="0")
    done = subprocess.run(
        [tool, "summary", "--format", "json", "--from", "mark:ProfilerStep#4#1", "--to",
         "mark:ProfilerStep#7#1", str(job.directory / "traces")],
        stdout=subprocess.PIPE,
        check=False,
    )
    assert done.returncode == 4  # the communicator has another rank
    assert b'"bytes":416' in done.stdout.replace(b" ", b"") 
    assert b'"bytes":412' not in done.stdout.replace(b" ", b"")


def test_schedule_is_checked() -> None:
    with pytest.raises(ValueError):
        nccl_ringside.schedule(wait=0, warmup=0, active=0)
    with pytest.raises(TypeError):
        nccl_ringside.Profiler(schedule=3)
    actions = [nccl_ringside.schedule(wait=1, warmup=1, active=2, repeat=1)(n) for n in range(6)]
    assert actions == ["NONE", "WARMUP", "RECORD", "RECORD_AND_SAVE", "NONE", "NONE"]


# Calls what torch.profiler.profile calls, when it does: torch itself is not needed to test that.
TORCH = """
    import enum, gzip, json, os, pathlib, sys, time
    import nccl_ringside as ringside
    import nccl_ringside.torch
    from caller import Communicator
    assert "torch" not in sys.modules

    class Action(enum.Enum):
        NONE, WARMUP, RECORD, RECORD_AND_SAVE = range(4)

    class Profile:
        def __init__(self, schedule, on_trace_ready):
            self.schedule, self.on_trace_ready = schedule, on_trace_ready
            self.step_num, self.action = 0, Action.NONE

        def __enter__(self):
            self.start()
            return self

        def __exit__(self, *_):
            self.stop()

        def start(self):
            self.action = self.schedule(self.step_num)

        def step(self):
            before, self.step_num = self.action, self.step_num + 1
            self.action = self.schedule(self.step_num)
            if before is Action.RECORD_AND_SAVE:
                self.on_trace_ready(self)

        def stop(self):
            if self.action in (Action.RECORD, Action.RECORD_AND_SAVE):
                self.on_trace_ready(self)

        def export_chrome_trace(self, path):
            text = gzip.decompress(pathlib.Path(KINETO).read_bytes()).decode()
            # As if this process had been profiled, until now.
            text = text.replace('"pid": 15018,', f'"pid": {os.getpid()},')
            time.sleep(0.03)  # the recording lasts 21 ms, and two of one rank do not overlap
            last_ns = 4457222497670418  # the last event's time in the file
            text = text.replace('"baseTimeNanoseconds": 1790857026000000000',
                                f'"baseTimeNanoseconds": {time.time_ns() - last_ns}')
            pathlib.Path(path).write_text(text)

    ours = ringside.schedule(wait=1, warmup=1, active=2)
    schedule = lambda step: Action[ours(step)]
    world = Communicator()
    """


def test_attached_it_records_what_torch_records(run: Run, tool: str) -> None:
    trace = min(KINETO.glob("*.json.gz"))
    job = run(
        TORCH
        + f"KINETO = {str(trace)!r}"
        + """
    handler = nccl_ringside.torch.trace_handler("both", worker_name="host/0")
    with nccl_ringside.torch.attach(Profile(schedule, handler)) as profiler:
        for step in range(7):
            world.all_reduce(100 + step)
            profiler.step()
    world.destroy()
    """,
        RINGSIDE_START="0",
        RANK=str(json.loads(gzip.decompress(trace.read_bytes()))["distributedInfo"]["rank"]),
        WORLD_SIZE="2",
    )
    both = job.directory / "both"
    assert sorted(path.name for path in both.iterdir()) == [
        "host_0.4.pt.trace.json",
        "host_0.7.pt.trace.json",
        "ringside.host_0.json",
    ]
    assert counts(job.trace()) == [4 * (100 + step) for step in (2, 3, 6)]
    # An operation that ends within a moment of the window's end may be in flight in the dump.
    assert counts(read(both / "ringside.host_0.json"))[:2] == [4 * 102, 4 * 103]
    merged = subprocess.run(
        [tool, "merge", str(both), "--kineto", str(both), "-o", str(job.directory / "all.json")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        universal_newlines=True,
    )
    assert merged.returncode == 0, merged.stderr
    assert "2 traces of PyTorch's profiler" in merged.stderr
    assert "error" not in merged.stderr


def test_beside_torch_the_profiler_needs_one_argument(run: Run) -> None:
    job = run(
        TORCH
        + """
    with Profile(schedule, lambda _: None) as torch_profiler:
        with ringside.Profiler(torch_profiler) as profiler:
            for step in range(6):
                world.all_reduce(100 + step)
                torch_profiler.step()
                profiler.step()
    world.destroy()
    """,
        RINGSIDE_START="0",
    )
    assert counts(job.trace()) == [4 * 102, 4 * 103]


def test_the_profiler_takes_functions_only() -> None:
    made: Any = nccl_ringside.Profiler(schedule=lambda step: "NONE")
    made.start()
    made.step()
    assert made.step_num == 1
