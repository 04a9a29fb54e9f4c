# SPDX-License-Identifier: Apache-2.0
"""Tables of what the tool finds in traces that the plugin wrote."""

from __future__ import annotations

import pathlib
import sys
from collections.abc import Callable

import pytest
from conftest import Job

import nccl_ringside
from nccl_ringside import _load, _place

Run = Callable[..., Job]


def test_the_tables_have_what_was_called(
    run: Run, tool: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pyarrow")
    monkeypatch.setattr(_load, "tool_path", lambda: tool)
    for rank, counts in ((0, [1, 2, 3]), (1, [1, 2, 4])):
        job = run(f"""
            import caller
            communicator = caller.Communicator({rank})
            for count in {counts}:
                communicator.all_reduce(count)
            communicator.destroy()
            """)
    traces = nccl_ringside.load(job.directory / "traces")
    operations = traces.operations.to_pylist()
    assert [(each["function"], each["bytes"], each["verdict"]) for each in operations] == [
        ("AllReduce", 4, "matched"),
        ("AllReduce", 8, "matched"),
        ("AllReduce", None, "size mismatch"),
    ]
    assert {each["communicator"] for each in operations} == {"world"}
    facts = traces.facts.to_pylist()
    assert sorted((each["rank"], each["bytes"]) for each in facts) == [
        (rank, 4 * count) for rank, counts in ((0, [1, 2, 3]), (1, [1, 2, 4])) for count in counts
    ]
    types = {field.name: str(field.type) for field in traces.links.schema}
    assert traces.links.num_rows == 0 and (types["communicator"], types["bytes"]) == (
        "string",
        "int64",
    )
    assert any(each["severity"] == "error" for each in traces.findings.to_pylist())
    assert traces.table("processes").num_rows == 2
    assert "communicator" not in traces.table("operations").column_names
    (row,) = traces.sql("SELECT count(*) AS n FROM facts WHERE rank = ?", (1,)).to_pylist()
    assert row == {"n": 3}
    with pytest.raises(ValueError, match="no table 'ops'; the tables are .*operations"):
        traces.table("ops")
    with pytest.raises(ValueError, match="query is a SELECT"):
        traces.sql("CREATE TEMP TABLE t (x)")
    part = nccl_ringside.load(job.directory / "traces", options=["--min-bytes", "8"])
    assert part.operations.num_rows == 2
    with pytest.raises(ValueError, match="there is no .*nowhere"):
        nccl_ringside.load(job.directory / "traces", job.directory / "nowhere")
    with pytest.raises(TypeError, match="options is a list"):
        nccl_ringside.load(job.directory / "traces", options="--comm")
    with pytest.raises(TypeError, match="option is a text"):
        nccl_ringside.load(job.directory / "traces", options=[5])  # type: ignore[list-item]
    with pytest.raises(ValueError, match="Usage"):
        nccl_ringside.load(job.directory / "traces", options=["--help"])
    (job.directory / "traces" / "ringside.cut.json").write_text("[{\n", encoding="utf-8")
    with pytest.warns(UserWarning, match="ringside.cut.json"):
        cut = nccl_ringside.load(job.directory / "traces")
    assert cut.operations.num_rows == 3


def test_what_cannot_be_read_is_said(
    tool: str, tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pyarrow")
    monkeypatch.setattr(_load, "tool_path", lambda: tool)
    with pytest.raises(ValueError, match=str(tmp_path)):
        nccl_ringside.load(tmp_path)
    with pytest.raises(TypeError, match="path is a path, not 5"):
        nccl_ringside.load(5)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="at least one path"):
        nccl_ringside.load()


def test_without_pyarrow_the_extra_is_named(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'nccl-ringside\[arrow\]'"):
        nccl_ringside.load(tmp_path)


def test_the_tool_is_looked_for_beside_python_and_in_path(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Wherever the package itself is: its own tool is not asked for here.
    monkeypatch.setattr(_place, "__file__", str(tmp_path / "a" / "b" / "c" / "d" / "e" / "f.py"))
    monkeypatch.setattr("sysconfig.get_path", lambda _: str(tmp_path / "scripts"))
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    monkeypatch.setattr(nccl_ringside, "__path__", [str(tmp_path / "target" / "nccl_ringside")])
    with pytest.raises(FileNotFoundError, match="neither next to"):
        _place.tool_path()
    for place in ("path", "target/bin", "scripts"):
        path = tmp_path / place / "ringside"
        path.parent.mkdir(parents=True)
        path.write_text(f"#!{sys.executable}")
        path.chmod(0o755)
        assert _place.tool_path() == str(path)
