# SPDX-License-Identifier: Apache-2.0
"""named_range() and profile() around functions of every kind."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncIterator, Generator, Iterator
from typing import Any

import pytest

import nccl_ringside
from nccl_ringside import _api


@pytest.fixture
def said(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """What is asked of the plugin, and what functions add."""
    lines: list[str] = []

    def push(text: str, source: str) -> bool:
        assert source.rpartition(":")[0] == __file__ or "asyncio" in source, source
        lines.append(f"<{text}")
        return True

    def pop() -> bool:
        lines.append(">")
        return True

    monkeypatch.setattr(_api, "push", push)
    monkeypatch.setattr(_api, "pop", pop)
    monkeypatch.setattr(_api, "start", lambda events=None: lines.append(f"start {events}"))
    monkeypatch.setattr(_api, "stop", lambda: lines.append("stop"))
    yield lines


def test_a_range_of_a_coroutine_is_open_while_it_runs(said: list[str]) -> None:
    async def work(name: str) -> str:
        said.append(f"{name}1")
        await asyncio.sleep(0)
        said.append(f"{name}2")
        return name

    decorated = [nccl_ringside.named_range(name)(work) for name in ("a", "b")]
    assert all(inspect.iscoroutinefunction(each) for each in decorated)

    async def both() -> list[str]:
        return list(await asyncio.gather(decorated[0]("a"), decorated[1]("b")))

    assert asyncio.run(both()) == ["a", "b"]
    assert said == ["<a", "a1", ">", "<b", "b1", ">", "<a", "a2", ">", "<b", "b2", ">"]


def test_a_coroutine_gets_what_is_thrown_into_it(said: list[str]) -> None:
    @nccl_ringside.named_range("r")
    async def work() -> None:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            said.append("cancelled")
            raise

    async def cancel() -> None:
        task = asyncio.ensure_future(work())
        await asyncio.sleep(0)
        task.cancel()
        await task

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(cancel())
    assert said == ["<r", ">", "<r", "cancelled", ">"]


def test_a_range_of_a_generator_is_open_while_it_runs(said: list[str]) -> None:
    @nccl_ringside.named_range("r")
    def numbers() -> Generator[int, str, str]:
        try:
            said.append((yield 1))
            yield 2
        except KeyError:
            said.append("thrown")
        try:
            yield 3
        finally:
            said.append("closed")
        return "end"

    assert inspect.isgeneratorfunction(numbers)
    made = numbers()
    assert said == [] and next(made) == 1 and said == ["<r", ">"]
    assert made.send("sent") == 2 and made.throw(KeyError("k")) == 3
    made.close()
    assert said == ["<r", ">", "<r", "sent", ">", "<r", "thrown", ">", "<r", "closed", ">"]

    @nccl_ringside.named_range("s")
    def short() -> Generator[int, None, str]:
        yield 1
        return "end"

    ending = short()
    next(ending)
    with pytest.raises(StopIteration, match="end"):
        next(ending)


def test_asynchronous_generators_and_what_is_no_function_are_refused() -> None:
    async def numbers() -> AsyncIterator[int]:
        yield 1

    for block in (nccl_ringside.named_range("r"), nccl_ringside.profile(), nccl_ringside.Profiler()):
        with pytest.raises(TypeError, match="numbers is an asynchronous generator"):
            block(numbers)
        with pytest.raises(TypeError, match="not 5"):
            block(5)  # type: ignore[type-var]


def test_a_window_around_a_coroutine_lasts_until_its_end(said: list[str]) -> None:
    @nccl_ringside.profile("coll")
    async def work() -> None:
        said.append("1")
        await asyncio.sleep(0)
        said.append("2")

    coroutine = work()
    assert said == []
    asyncio.run(coroutine)
    assert said == ["start coll", "1", "2", "stop"]


def test_a_window_within_a_window_does_not_end_it(said: list[str]) -> None:
    @nccl_ringside.profile("p2p")
    def inner() -> None:
        said.append("inner")

    with nccl_ringside.profile("coll"):
        inner()
        with pytest.raises(KeyError), nccl_ringside.profile():
            raise KeyError
        said.append("outer")
    inner()
    assert said == ["start coll", "inner", "outer", "stop", "start p2p", "inner", "stop"]


def test_a_decorated_function_keeps_its_name_and_may_call_itself(said: list[str]) -> None:
    @nccl_ringside.named_range("r")
    def count(down: int) -> Any:
        """Its text."""
        return [down] + (count(down - 1) if down else [])

    assert count(1) == [1, 0] and count.__name__ == "count" and count.__doc__ == "Its text."
    assert said == ["<r", "<r", ">", ">"]
