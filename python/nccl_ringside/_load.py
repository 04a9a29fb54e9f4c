# SPDX-License-Identifier: Apache-2.0
"""The results of the analysis of traces, as Arrow tables."""

from __future__ import annotations

import importlib
import os
import sqlite3
import subprocess
import tempfile
import warnings
from collections.abc import Sequence
from typing import Any, Union

from ._checked import require
from ._place import tool_path

# The tables of docs/database.md as a reader wants them first: with names and ranks instead of ids.
_VIEWS = """
CREATE TEMP VIEW operations AS
  SELECT c.run, c.name AS communicator, l.rank AS last_rank, l.global_rank AS last_global_rank, o.*
  FROM main.operations o
  JOIN main.communicators c ON c.id = o.communicator_id
  LEFT JOIN main.memberships l ON l.id = o.last_membership_id;
CREATE TEMP VIEW facts AS
  SELECT c.run, c.name AS communicator, m.rank, m.global_rank, h.host, o.number AS number,
    o.verdict, k.*
  FROM main.calls k
  JOIN main.operations o ON o.id = k.operation_id
  JOIN main.memberships m ON m.id = k.membership_id
  JOIN main.communicators c ON c.id = m.communicator_id
  JOIN main.processes p ON p.id = m.process_id
  JOIN main.hosts h ON h.id = p.host_id;
CREATE TEMP VIEW links AS
  SELECT c.run, c.name AS communicator, m.rank AS from_rank, s.peer AS to_rank, s.channel,
    count(*) AS steps, sum(s.bytes) AS bytes, sum(s.transfer_ns) AS transfer_ns,
    sum(s.gpu_wait_ns) AS gpu_wait_ns, sum(s.peer_wait_ns) AS peer_wait_ns
  FROM main.steps s
  JOIN main.calls k ON k.id = s.call_id
  JOIN main.memberships m ON m.id = k.membership_id
  JOIN main.communicators c ON c.id = m.communicator_id
  WHERE s.is_send
  GROUP BY c.id, m.rank, s.peer, s.channel;
"""

_Path = Union[str, "os.PathLike[str]"]


class Traces:
    """Tables of traces, each a pyarrow.Table; `.to_pandas()` and `polars.from_arrow()` take them on.

    `operations` are the matched operations, `facts` what each rank did in each (its call, its
    times, how long it waited), `links` what went from rank to rank over each channel, if the traces
    have steps, and `findings` what is wrong. docs/database.md has the columns.
    """

    def __init__(self, directory: "tempfile.TemporaryDirectory[str]", database: str) -> None:
        self._directory = directory  # is removed with this object
        self._arrow: Any = importlib.import_module("pyarrow")
        self._connection = sqlite3.connect(database)
        self._connection.executescript(_VIEWS)

    def sql(self, query: str, parameters: Sequence[Any] = ()) -> Any:
        """The result of a query of your own; `main.operations` is the table of docs/database.md."""
        require("query", query, str, "text")
        return self._table(query, parameters, {})

    def _table(self, query: str, parameters: Sequence[Any], types: dict[str, Any]) -> Any:
        cursor = self._connection.execute(query, parameters)
        if cursor.description is None:
            raise ValueError(f"query is a SELECT, not {query!r}")
        names = [column[0] for column in cursor.description]
        columns = list(zip(*cursor)) or [()] * len(names)
        arrays = [self._arrow.array(c, types.get(name)) for name, c in zip(names, columns)]
        return self._arrow.Table.from_arrays(arrays, names=names)

    def _whole(self, name: str, schema: str = "temp") -> Any:
        # A column without a value has its type all the same. Sums have none in SQLite; here they
        # are all of integers.
        kinds = {"TEXT": self._arrow.string(), "REAL": self._arrow.float64()}
        described = self._connection.execute(f"PRAGMA {schema}.table_info({name})")
        types = {row[1]: kinds.get(row[2], self._arrow.int64()) for row in described}
        return self._table(f"SELECT * FROM {schema}.{name}", (), types)

    def table(self, name: str) -> Any:
        """One table as docs/database.md has it: `calls`, `steps`, `hosts`, ..."""
        names = self._connection.execute(
            "SELECT name FROM main.sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'"
        )
        known = [row[0] for row in names]
        if name not in known:
            raise ValueError(f"there is no table {name!r}; the tables are {', '.join(known)}")
        return self._whole(name, "main")

    @property
    def operations(self) -> Any:
        return self._whole("operations")

    @property
    def facts(self) -> Any:
        return self._whole("facts")

    @property
    def links(self) -> Any:
        return self._whole("links")

    @property
    def findings(self) -> Any:
        return self._whole("findings", "main")


def load(*paths: _Path, options: Sequence[str] = ()) -> Traces:
    """Loads what `ringside` finds in directories of traces, or in trace files, as Arrow tables.

    `options` are those of `ringside export` ("--comm", "world"). Needs pyarrow, and the tool
    `ringside` that is installed with this package, or in PATH. ValueError: the traces cannot be
    read, and why. A warning says what of them could not be read.
    """
    if not paths:
        raise TypeError("load() takes at least one path of traces")
    for path in paths:
        require("path", path, (str, os.PathLike), "a path")
        if not os.path.exists(path):
            raise ValueError(f"there is no {os.fspath(path)!r}")
    require("options", options, (list, tuple), "a list of texts")
    for option in options:
        require("option", option, str, "a text")
    try:
        importlib.import_module("pyarrow")
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            "load() needs pyarrow: pip install 'nccl-ringside[arrow]'", name="pyarrow"
        ) from error
    directory = tempfile.TemporaryDirectory(prefix="ringside-load-")
    database = os.path.join(directory.name, "traces.sqlite")
    done = subprocess.run(
        [tool_path(), "export", "--quiet", "--sqlite", database, *options, "--"]
        + [os.fspath(path) for path in paths],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    said = done.stdout.decode("utf-8", "replace").strip()
    parts_only = 4  # something could not be read: the warning below names it
    if done.returncode not in (0, parts_only) or not os.path.exists(database):
        directory.cleanup()
        raise ValueError(said)
    errors = [line for line in said.splitlines() if line.startswith("error: ")]
    if errors:
        warnings.warn("not all could be read:\n" + "\n".join(errors), stacklevel=2)
    return Traces(directory, database)
