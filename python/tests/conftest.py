# SPDX-License-Identifier: Apache-2.0
"""Jobs with the real plugin, each in a process of its own: there is one plugin in a process.

RINGSIDE_TEST_PLUGIN names the plugin, and RINGSIDE_TEST_TOOL the tool; unset, the package's own.
"""

from __future__ import annotations

import json
import os
import pathlib
import shutil
import subprocess
import sys
import textwrap
from collections.abc import Callable
from typing import Any, Optional

import pytest

import nccl_ringside

HERE = pathlib.Path(__file__).resolve().parent


def plugin() -> str:
    return os.environ.get("RINGSIDE_TEST_PLUGIN") or nccl_ringside.plugin_path()


class Job:
    """A program's end, and what it left."""

    def __init__(self, done: "subprocess.CompletedProcess[str]", directory: pathlib.Path) -> None:
        self.out, self.err = done.stdout, done.stderr
        self.directory = directory

    @property
    def answer(self) -> Any:
        """Returns the program's output, as JSON."""
        return json.loads(self.out)

    def trace(self) -> list[dict[str, Any]]:
        (path,) = (self.directory / "traces").glob("ringside.*.json")
        return read(path)


def read(path: pathlib.Path) -> list[dict[str, Any]]:
    lines: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    return lines


def named(lines: list[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    """The arguments of the lines of one kind; of several with the same number the last."""
    found: dict[Any, dict[str, Any]] = {}
    key = name[len("ringside_") :]
    for line in lines:
        if line.get("name") == name:
            found[line["args"].get(key)] = line["args"]
    return list(found.values())


def counts(lines: list[dict[str, Any]]) -> list[int]:
    """How many bytes each operation has, in the order of their calls."""
    found = {
        line["args"]["seq"]: line["args"]["bytes"]
        for line in lines
        if isinstance(line.get("args"), dict) and "seq" in line["args"] and "bytes" in line["args"]
    }
    return [found[seq] for seq in sorted(found)]


@pytest.fixture
def run(tmp_path: pathlib.Path) -> Callable[..., Job]:
    """Runs a program; variables that are None are not set."""

    def runs(code: str, **variables: Optional[str]) -> Job:
        environment: dict[str, Optional[str]] = {
            key: value
            for key, value in os.environ.items()
            if not key.startswith(("NCCL_", "RINGSIDE_")) and key not in ("RANK", "WORLD_SIZE")
        }
        rings = tmp_path / "rings"
        rings.mkdir(exist_ok=True)
        environment.update(
            NCCL_PROFILER_PLUGIN=plugin(),
            RINGSIDE_DIR=str(tmp_path / "traces"),
            RINGSIDE_RING_DIR=str(rings),
            PYTHONPATH=os.pathsep.join([str(HERE), *sys.path]),
        )
        environment.update(variables)
        done = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(code)],
            env={key: value for key, value in environment.items() if value is not None},
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            universal_newlines=True,
            timeout=60,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return Job(done, tmp_path)

    return runs


@pytest.fixture
def tool() -> str:
    found = os.environ.get("RINGSIDE_TEST_TOOL") or shutil.which(
        "ringside", path=os.path.dirname(sys.executable)
    )
    if not found:
        pytest.skip("the tool `ringside` is not next to this Python; RINGSIDE_TEST_TOOL names it")
    return found
