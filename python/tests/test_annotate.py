# SPDX-License-Identifier: Apache-2.0
"""The parts of annotate(), without PyTorch (with it: ctest -L torch)."""

from __future__ import annotations

import contextlib
import datetime
import importlib
import importlib.util
import inspect
import pathlib
import sys
from collections.abc import Iterator
from typing import Any

import pytest

from nccl_ringside import _annotate, _around, _call_site, _calls, _groups, _imports, _printed, _where


def plain(a: int, b: int = 2, *, c: int = 3) -> tuple[int, int, int]:
    return a, b, c


def many(a: int, *rest: int) -> tuple[int, ...]:
    return (a, *rest)


@contextlib.contextmanager
def managed(a: int, b: int = 1) -> Iterator[int]:
    yield a + b


def test_a_function_has_other_code_and_stays_itself() -> None:
    calls: list[Any] = []
    before, signature, same = plain.__code__, inspect.signature(plain), plain
    library = _around.Library(True)
    around = [
        _around.Around(each, library, lambda: False, calls.append, calls.append)
        for each in (plain, managed, many)
    ]
    assert many(1) == (1,) and many(1, 2, 3) == (1, 2, 3)
    assert calls == [{"a": 1}, None, {"a": 1}, None]
    calls.clear()
    assert plain(1) == (1, 2, 3) and plain(1, 5, c=6) == (1, 5, 6)
    with managed(7) as value:
        assert value == 8
    assert calls == [{"a": 1, "b": 2, "c": 3}, None, {"a": 1, "b": 5, "c": 6}, None,
                     {"a": 7, "b": 1}, None]
    assert same is plain and inspect.signature(plain) == signature
    with pytest.raises(ValueError):  # it is known already
        _around.Around(plain, library, lambda: False, calls.append, calls.append)
    for each in around:
        each.restore()
    assert plain.__code__ is before and plain(1) == (1, 2, 3) and len(calls) == 6


def test_what_throws_ends_its_mark() -> None:
    def throws() -> None:
        raise KeyError("its own")

    ended: list[Any] = []
    _around.Around(throws, _around.Library(True), lambda: False, lambda _: "t", ended.append)
    with pytest.raises(KeyError, match="its own"):
        throws()
    assert ended == ["t"]


def test_a_function_of_another_form_is_refused() -> None:
    library, calls = _around.Library(True), list[Any]()
    for other in (lambda **arguments: arguments, lambda: library):
        with pytest.raises(ValueError):
            _around.Around(other, library, lambda: False, calls.append, calls.append)


def test_ranks_are_runs_or_have_a_stride() -> None:
    for ranks, text in (
        (range(8), "0-7"),
        (range(0, 13, 4), "0-12/4"),
        ((0, 1, 2, 8, 9), "0-2,8-9"),
        ((0, 2), "0,2"),
        ((3, 1), "3,1"),
        ((5,), "5"),
    ):
        assert _groups.ranks_text(tuple(ranks)) == text
    assert _groups.quoted("a group = 50%") == "a%20group%20%3D%2050%25"


class Tensor:
    def __init__(self, *shape: int) -> None:
        self.shape = shape
        self.nbytes = 4
        for size in shape:
            self.nbytes *= size


def test_a_message_is_what_leaves_a_rank_or_comes_to_it() -> None:
    calls = {call.name: call for call in _calls.CALLS}

    def message(name: str, **given: Any) -> Any:
        return calls[name].message(given, calls[name], 1, 4)

    parts = [Tensor(1), Tensor(2), Tensor(3), Tensor(4)]
    assert message("all_reduce", tensor=Tensor(8)) == 32
    assert message("all_gather", tensor=Tensor(1), tensor_list=parts) == 40
    assert message("reduce_scatter_tensor", input=Tensor(8), output=Tensor(2)) == 8
    assert message("gather", tensor=Tensor(2), gather_list=parts) == 32
    assert message("scatter", tensor=Tensor(2), scatter_list=parts) == 32
    assert message("all_to_all", input_tensor_list=parts, output_tensor_list=parts) == 32
    assert message("all_to_all_single", input=Tensor(8, 3), output=Tensor(8, 3)) == 72
    splits = [1, 4, 2, 1]
    assert message("all_to_all_single", input=Tensor(8), input_split_sizes=splits) == 16
    assert message("barrier") is None
    assert message("broadcast_object_list", object_list=["x" * 1000]) > 1000


def test_nominal_bandwidth_is_busbw_but_where_it_is_said() -> None:
    # monitor_collectives.py has an expression for each kind: (factor, message). busbw is that of
    # nccl-tests, doc/PERFORMANCE.md: factor times size, whose size of all_gather and reduce_scatter
    # is that of all ranks together. docs/metrics.md has both, and where they differ.
    ranks, own = 4, 96
    calls = {call.name: call for call in _calls.CALLS}
    small, large = Tensor(own // 4), Tensor(ranks * own // 4)
    ring = (ranks - 1) / ranks
    for name, given, nominal_factor, size, factor, times in (
        ("all_reduce", {"tensor": small}, 2 * ring, own, 2 * ring, 1),
        ("broadcast", {"tensor": small}, 1, own, 1, 1),
        ("reduce", {"tensor": small}, 1, own, 1, 1),
        ("all_gather", {"tensor": small, "tensor_list": [small] * ranks}, ring, ranks * own, ring, 1),
        ("all_gather_into_tensor", {"input_tensor": small, "output_tensor": large}, ring,
         ranks * own, ring, 1),
        ("reduce_scatter", {"input_list": [small] * ranks, "output": small}, ring, ranks * own, ring,
         1 / ranks),
        ("reduce_scatter_tensor", {"input": large, "output": small}, ring, ranks * own, ring,
         1 / ranks),
        ("gather", {"tensor": small, "gather_list": [small] * ranks}, 1, ranks * own, ring, 1),
        ("scatter", {"tensor": small, "scatter_list": [small] * ranks}, 1, ranks * own, ring, 1),
        # Its sum over all ranks, as its T is of all.
        ("all_to_all", {"input_tensor_list": [small] * ranks}, ranks, ranks * own, ring, ranks),
        ("all_to_all_single", {"input": large}, ranks, ranks * own, ring, ranks),
        ("send", {"tensor": small}, 1, own, 1, 1),
        ("recv", {"tensor": small}, 1, own, 1, 1),
    ):
        message = calls[name].message(given, calls[name], 1, ranks)
        assert message is not None
        assert nominal_factor * message == pytest.approx(times * factor * size), name


def test_the_line_is_the_innermost_outside() -> None:
    text, encoded = _call_site.CallSites("json").find(1)
    assert text is not None and encoded == text.encode()
    assert text.startswith(f"{__file__}:")
    outside, _ = _call_site.CallSites("test_annotate").find(1)
    assert outside is not None and not outside.startswith(__file__)
    with pytest.raises(ValueError):
        _call_site.CallSites("no_such_module")


def test_parts_of_a_model_are_named_without_wrappers() -> None:
    assert _where.module_path("module.layers.3._fsdp_wrapped_module.attn") == "layers.3.attn"
    assert _where.module_path("module") == ""
    where = _where.Where(bucket=2, parameters=_where.names_text(["a.weight", "a.bias"]))
    assert where.text == " bucket=2 parameters=a.weight,a.bias"
    long = _where.names_text([f"layers.{layer}.weight" for layer in range(100)])
    assert len(long) < 210 and long.startswith("layers.0.weight,")
    kept, _, more = long.rpartition(",")
    assert more == f"+{100 - len(kept.split(','))}"


def test_a_mark_in_nvtx_is_made_where_a_tool_listens(monkeypatch: pytest.MonkeyPatch) -> None:
    class Torch:
        """As torch is, as far as this needs it."""

        class _C:
            _nvtx = None

        class cuda:
            class nvtx:
                mark = print

    monkeypatch.delenv("NVTX_INJECTION64_PATH", raising=False)
    assert _printed.nvtx_mark(Torch, None) is None and _printed.nvtx_mark(Torch, True) is print
    monkeypatch.setenv("NVTX_INJECTION64_PATH", "a tool")
    assert _printed.nvtx_mark(Torch, None) is print and _printed.nvtx_mark(Torch, False) is None
    del Torch._C._nvtx
    assert _printed.nvtx_mark(Torch, None) is None
    with pytest.raises(ValueError, match="without NVTX"):
        _printed.nvtx_mark(Torch, True)


def test_what_is_on_is_logged_and_printed_only_if_calls_are(
    capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO")
    _annotate.annotate("NONE")
    assert capsys.readouterr().out == ""
    assert [(each.name, each.getMessage()) for each in caplog.records] == [
        ("nccl_ringside", "Ringside: calls of torch.distributed are not marked.")
    ]
    _annotate.annotate("NONE", print=True)
    assert "are not marked." in capsys.readouterr().out


def test_functions_that_cannot_be_changed_are_named(caplog: pytest.LogCaptureFixture) -> None:
    class Distributed:
        __name__ = "torch.distributed"

        @staticmethod
        def plain() -> None:
            pass

        @staticmethod
        def other(**arguments: int) -> None:
            pass

    class Torch:
        class compiler:
            @staticmethod
            def is_dynamo_compiling() -> bool:
                return False

    annotation = _annotate.Annotation("NONE", False)
    annotation._torch, annotation._library = Torch, _around.Library(True)
    for name in ("plain", "other", "lacking"):
        annotation._put_around(Distributed(), name, lambda _: None)
    for around in annotation._around:
        around.restore()
    assert len(annotation._around) == 1
    assert annotation.unmarked == ["torch.distributed.other"]
    assert annotation.absent == ["torch.distributed.lacking"]
    (line,) = [each.getMessage() for each in caplog.records]
    assert line.startswith("torch.distributed.other is not the plain function")


class Store:
    """PyTorch's store, as far as hosts need it."""

    def __init__(self) -> None:
        self.hosts: dict[str, str] = {}
        self.waits: list[float] = []

    def set(self, key: str, value: str) -> None:
        self.hosts[key] = value

    def get(self, key: str) -> bytes:
        return self.hosts[key].encode()

    def check(self, keys: list[str]) -> bool:
        return all(key in self.hosts for key in keys)

    def wait(self, keys: list[str], timeout: datetime.timedelta) -> None:
        self.waits.append(timeout.total_seconds())
        if not self.check(keys):
            raise RuntimeError("wait timeout")


def test_a_rank_that_does_not_annotate_is_waited_for_once_and_not_for_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    store, world = Store(), Store()  # any object can be the world

    class C10d:
        _world = None

        class GroupMember:
            WORLD = world

        _get_default_store = staticmethod(lambda: store)
        get_rank = staticmethod(lambda: 0)

    class Torch:
        class distributed:
            distributed_c10d = C10d
            _functional_collectives = None
            ProcessGroup = None

    monkeypatch.setattr(_groups, "_ASK_AGAIN_S", 0.0)
    groups = _groups.Groups(Torch)
    group: Any = _groups.Group.__new__(_groups.Group)
    group.ranks, group.crosses_nodes = (0, 1), None
    assert groups.crosses_nodes(group) and groups.crosses_nodes(group)
    assert len(store.waits) == 1 and store.waits[0] <= 2
    store.hosts["ringside/host/1"] = store.hosts["ringside/host/0"]
    assert not groups.crosses_nodes(group) and not groups.is_on_other_node(0, 1)
    store.hosts["ringside/host/2"] = "another"
    assert groups.is_on_other_node(0, 2) and len(store.waits) == 1


def test_without_torch_and_level_nothing_is_imported() -> None:
    with _annotate.annotate("NONE") as annotation:
        annotation.remove()
    with pytest.raises(ValueError, match="instead of one of ALL, CROSSNODE, NONE"):
        _annotate.annotate("SOME")


def test_a_module_is_met_when_the_program_imports_it(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "imported_later").mkdir()
    (tmp_path / "imported_later" / "__init__.py").write_text("")
    for name in ("part", "other"):
        (tmp_path / "imported_later" / f"{name}.py").write_text("value = 7")
    monkeypatch.syspath_prepend(str(tmp_path))
    met: list[Any] = []

    def then(module: Any) -> None:
        met.append(module.value)
        raise KeyError("which the program must not see")

    before = list(sys.meta_path)
    removed = _imports.WhenImported("imported_later.other", then)
    removed.remove()
    removed.remove()
    _imports.WhenImported("imported_later.part", then)
    assert "imported_later" not in sys.modules
    assert importlib.util.find_spec("imported_later.part") is not None and met == []
    for name in ("imported_later.other", "imported_later.part", "json"):
        importlib.import_module(name)
    assert met == [7] and sys.meta_path == before
    _imports.WhenImported("imported_later.part", then)  # it is there already
    assert met == [7, 7] and sys.meta_path == before
    missing = _imports.WhenImported("imported_later.none", then)
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("imported_later.none")
    missing.remove()
    assert met == [7, 7] and sys.meta_path == before
