#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Exports generated traces and compares the database with the traces, the CSV files with the
database, and docs/database.md with both: its columns, and its queries.

usage: check_export.py RINGSIDE_GENERATE RINGSIDE DATABASE_MD
"""
import csv
import json
import os
import pathlib
import signal
import re
import shlex
import sqlite3
import subprocess
import sys
import tempfile

EMULATOR = shlex.split(os.environ.get("RINGSIDE_TEST_EMULATOR", ""))
OPTIONS = ["--hosts", "2", "--ranks-per-host", "2", "--split", "2", "--steps", "--iterations", "30",
           "--straggler", "3:400", "--mismatch", "size:1:7", "--pattern",
           "AllReduce:8388608,AllReduce:65536:split,AllGather:4096"]
TABLES = ("meta", "hosts", "processes", "communicators", "memberships", "operations", "frames", "calls",
          "steps", "ranks", "kinds", "links", "findings")


def run(*command, status=0):
    result = subprocess.run([*EMULATOR, *map(str, command)], capture_output=True, timeout=60,
                            check=False)
    assert result.returncode == status, (command, result)
    return result.stderr.decode()


def read_events(path):
    """The events of a trace; their times stay as they are written."""
    return json.loads(path.read_text(encoding="utf-8"))


def check_against_traces(database, traces):
    calls = steps = 0
    for path in sorted(traces.glob("*.json")):
        begun = [e for e in read_events(path) if e["ph"] == "b" and "args" in e]
        operations = {e["args"]["op"]: e["args"] for e in begun if e["cat"] == "op"}
        rows = database.execute(
            "SELECT k.*, m.rank AS member_rank FROM calls k"
            " JOIN memberships m ON m.id = k.membership_id"
            " JOIN processes p ON p.id = m.process_id WHERE p.path = ?", (str(path),)).fetchall()
        assert {row["op"] for row in rows} == set(operations), path
        for row in rows:
            there = operations[row["op"]]
            assert (row["function"], row["seq"], row["bytes"], row["count"], row["member_rank"]) == (
                there["func"], there.get("seq"), there["bytes"], there["count"], there["rank"])
            own_ns = there["end_ns"] - there["start_ns"]
            # Clocks drift by up to 50 ppm, and moments are whole nanoseconds.
            assert abs(row["end_ns"] - row["start_ns"] - own_ns) <= 1 + own_ns * 1e-4, row["op"]
        written = sorted(e["args"]["bytes"] for e in begun if e["cat"] == "step")
        exported = database.execute(
            "SELECT s.bytes FROM steps s JOIN processes p ON p.id = s.process_id"
            " WHERE p.path = ? ORDER BY s.bytes", (str(path),)).fetchall()
        assert written == [row["bytes"] for row in exported], path
        calls += len(operations)
        steps += len(written)
    assert calls > 0 and steps > 0


def check_moments(database, traces):
    """On the reference host's clock the moments are those of its traces."""
    rows = database.execute("SELECT p.path, p.start_ns FROM processes p JOIN hosts h"
                            " ON h.id = p.host_id WHERE h.is_reference").fetchall()
    assert rows
    for row in rows:
        args = read_events(traces / pathlib.Path(row["path"]).name)[0]["args"]
        since_epoch_ns = args["base_time_s"] * 10**9 + args["start_ns"]
        assert abs(row["start_ns"] - since_epoch_ns) < 10**9, (row["start_ns"], since_epoch_ns)


def check_consistency(database):
    assert not database.execute("PRAGMA foreign_key_check").fetchall()
    assert database.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
    verdicts = dict(database.execute("SELECT verdict, count(*) FROM operations GROUP BY 1").fetchall())
    assert verdicts.pop("size mismatch") == 1 and set(verdicts) == {"matched"}, verdicts
    assert not database.execute(
        "SELECT o.id FROM operations o JOIN calls k ON k.operation_id = o.id"
        " GROUP BY o.id HAVING count(*) != o.ranks_seen OR sum(k.waited_ns) != o.waited_ns"
        " OR max(k.start_ns) != o.last_start_ns OR max(k.end_ns) != o.last_end_ns").fetchall()
    late = database.execute(
        "SELECT m.global_rank FROM operations o JOIN memberships m ON m.id = o.last_membership_id"
        " WHERE o.last_is_decided GROUP BY 1 ORDER BY count(*) DESC").fetchone()
    assert late[0] == 3, "the rank that computes longer comes last"
    kinds = {row["kind"] for row in database.execute("SELECT kind FROM findings")}
    assert {"mismatch", "straggler"} <= kinds, kinds


def check_csv(database, directory):
    for table in TABLES:
        with open(directory / f"{table}.csv", encoding="utf-8", newline="") as file:
            header, *rows = csv.reader(file)
        cursor = database.execute(f"SELECT * FROM {table} ORDER BY rowid")
        assert header == [column[0] for column in cursor.description], table
        expected = [["" if value is None else value for value in row] for row in cursor]
        assert len(rows) == len(expected), table
        for row, other in zip(rows, expected):
            for text, value in zip(row, other):
                assert (float(text) if isinstance(value, float) else text) == (
                    value if isinstance(value, float) else str(value)), (table, row)


def check_documentation(database, text):
    for table in TABLES:
        section = re.search(rf"^### {table}\n(.*?)(?=^##)", text, re.M | re.S).group(1)
        documented = set(re.findall(r"`([a-z0-9_]+)`", section))
        columns = {row["name"] for row in database.execute(f"PRAGMA table_info({table})")}
        assert columns <= documented, (table, columns - documented)
    queries = re.findall(r"```sql\n(.*?)```", text, re.S)
    assert len(queries) == 3
    for query in queries:
        rows = database.execute(query).fetchall()
        assert rows and all(value is not None for value in rows[0]), query
    return queries


def said(ringside, *words):
    """The JSON of a command, whatever it thinks of the job."""
    return json.loads(subprocess.run([*EMULATOR, ringside, *words, "--format", "json"], capture_output=True,
                                     timeout=60, check=False).stdout)


def answered(ringside, traces, query):
    return said(ringside, "query", traces, query)["tables"]["rows"]["rows"]


def is_near(one, other, by):
    return one == other if one is None or other is None else abs(one - other) <= by


def check_views(ringside, traces):
    """Views give what the commands give, row by row."""
    rows = {view: answered(ringside, traces, f"SELECT * FROM {view}")
            for view in ("worst_rows", "slow_links", "rank_times", "mismatches")}
    kinds = sorted(rows["worst_rows"], key=lambda row: json.dumps(
        [row[key] for key in ("run", "communicator", "function", "bytes", "algorithm", "protocol")]))
    wanted = sorted(
        ({"run": of["run"], "communicator": of["label"], **row}
         for of in said(ringside, "summary", traces)["communicators"] for row in of["rows"]),
        key=lambda row: json.dumps([row[key] for key in (
            "run", "communicator", "function", "bytes", "algorithm", "protocol")]))
    assert len(kinds) == len(wanted) > 0
    for row, other in zip(kinds, wanted):
        for key in ("run", "communicator", "function", "bytes", "datatype", "times_from"):
            assert row[key] == other[key], (key, row, other)
        assert row["operations"] == other["count"], (row, other)
        assert is_near(row["busy_ns"], other["time_median_us"] and other["time_median_us"] * 1000, 1), (row, other)
        assert is_near(row["busy_p99_ns"], other["time_p99_us"] and other["time_p99_us"] * 1000, 1), (row, other)
        assert is_near(row["busbw_gb_s"], other["busbw_gb_s"], 1e-6), (row, other)
    links = said(ringside, "network", "--top=0", traces)["tables"]["links"]["rows"]
    assert len(rows["slow_links"]) == len(links) > 0
    for row, other in zip(rows["slow_links"], links):
        assert (row["communicator"], row["rank"], row["host"], row["peer"], row["channel"], row["bytes"],
                row["transfers"], "send" if row["is_send"] else "receive") == (
                    other["communicator"], other["rank"], other["host"], other["peer"], other["channel"],
                    other["bytes"], other["steps"], other["direction"]), (row, other)
        for key, by, name in (("gb_s", 0.006, "throughput_gb_s"), ("slow_factor", 0.06, "slow_factor"),
                              ("time_ns", 0.01, "time_ns"), ("step_median_ns", 0.5, "step_median_ns")):
            assert is_near(row[key], other[name], by), (key, row, other)
    by_rank = {(row["run"], row["rank"]): row for row in said(ringside, "stragglers", traces)["tables"]["ranks"]["rows"]}
    assert len(by_rank) == len(rows["rank_times"])
    for row in rows["rank_times"]:
        other = by_rank[row["run"], row["global_rank"]]
        assert (row["host"], row["pid"], row["operations"], row["own_ns"], row["waited_ns"]) == (
            other["host"], other["pid"], other["kernels"], other["own_ns"], other["waited_ns"]), (row, other)
        assert is_near(row["cost_percent"], other["cost_percent"], 0.06)
    sides = said(ringside, "match", traces)["tables"]["sides"]["rows"]
    assert {(row["communicator"], f"{row['function']} #{row['number']}", row["verdict"], row["differs_in"])
            for row in rows["mismatches"]} == {
                (row["communicator"], row["operation"], row["verdict"], row["differs_in"])
                for row in sides if row["verdict"] != "not recorded"}
    return rows


def check_numbers(ringside, traces):
    """What a table shows, and what JSON has, of values that traces seldom have."""
    (row,) = answered(ringside, traces, "SELECT 1e-12 AS small, 0.1 AS tenth, -5 AS below, x'00ff' AS blob,"
                      " CAST(x'41ff42' AS TEXT) AS text, duration(-1500) AS long, size(-65536) AS large,"
                      " size('x') AS no_number, 9007199254740993 AS whole, char(0) AS zero")
    assert row == {"small": 1e-12, "tenth": 0.1, "below": -5, "blob": "X'00FF'", "text": "A?B", "long": "-1.50 us",
                   "large": "-64 KiB", "no_number": None, "whole": 9007199254740993, "zero": "\0"}, row

    def shown(query, *options):
        return subprocess.run([*EMULATOR, ringside, "query", *options, traces, query], capture_output=True,
                              timeout=60, check=False).stdout.decode()
    shown_row = shown("SELECT -3 AS a_ns, -2048 AS b_bytes, -0.001 AS c, 0.001 AS d").splitlines()[1]
    assert shown_row.split() == ["-3", "ns", "-2", "KiB", ">-0.01", "<0.01"], shown_row
    assert "no rows" in shown("SELECT 1 WHERE 0")
    head = shown('SELECT 1 AS "a|b"', "--format=markdown").splitlines()
    assert any("a\\|b" in line for line in head), head


def check_limits(ringside, traces):
    """A query that would take all time, memory or disk is stopped, and others are refused in words."""
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "
    for query, options, why in (
            (endless + "SELECT count(*) FROM n", ("--seconds=1",), "--seconds"),
            (endless + "SELECT max(instr(printf('%.*c', 9000000, 'a'), printf('%.*c', 4500000, 'a') || i)) FROM n",
             ("--seconds=1",), "--seconds"),
            (endless + "SELECT printf('%.*c', 9000000, 'a') AS text FROM n", ("--top=0",), "1 GiB of memory"),
            (endless + "SELECT printf('%.*c', 9000000, 'a') || i AS text FROM n ORDER BY 1", (), "1 GiB of memory"),
            ("VACUUM", (), "only SELECT"), ("VACUUM INTO 'other.sqlite'", (), "only SELECT"),
            ("BEGIN", (), "only SELECT"), ("REINDEX", (), "only SELECT"), ("ANALYZE", (), "only SELECT"),
            ("DROP TABLE calls", (), "only SELECT"), ("PRAGMA hard_heap_limit = 0", (), "only SELECT"),
            ("SELECT nothing FROM calls", (), "--views` lists")):
        assert why in run(ringside, "query", *options, traces, query, status=2), query
    assert "--views" in run(ringside, "query", "--views", "SELECT 1", status=2)
    with subprocess.Popen([*EMULATOR, ringside, "query", traces, endless + "SELECT count(*) FROM n"],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        line = process.stderr.readline()  # after a while it says what can be done
        assert "Ctrl-C" in line and "--seconds" in line, line
        process.send_signal(signal.SIGINT)
        out, rest = process.communicate(timeout=60)
    assert (process.returncode, out, rest) == (130, "", "ringside query: stopped before the query was answered\n"), rest


def check_damage(generate, ringside, there):
    """A query on what is left of the traces says so by its status, as `match` does."""
    for name, options in (("cut", ("--truncate", "1")), ("lost", ("--lose", "1")), ("killed", ("--end", "killed"))):
        run(generate, there / name, "--hosts", "2", "--ranks-per-host", "2", "--iterations", "5", *options)
        run(ringside, "query", there / name, "SELECT * FROM rank_times", status=4)
    (there / "cut" / "ringside.none.json").write_text("no trace", encoding="utf-8")
    assert "ringside.none.json" in run(ringside, "query", there / "cut", "SELECT 1", status=4)


def check_query(ringside, traces, database, queries):
    """`ringside query` answers what Python's SQLite does of the exported database, and its views what
    other commands say."""
    for query in (*queries, "SELECT id, busy_ns, called_by FROM operations WHERE id < 9"):
        rows = answered(ringside, traces, query)
        expected = [dict(row) for row in database.execute(query)]
        assert len(rows) == len(expected) > 0, query
        for row, other in zip(rows, expected):
            assert row.keys() == other.keys() and all(
                abs(row[key] - value) < 1e-8 if isinstance(value, float) else row[key] == value
                for key, value in other.items()), (query, row, other)
    views = json.loads(subprocess.run([*EMULATOR, ringside, "query", "--views", "--format", "json"], check=True,
                                      capture_output=True, timeout=60).stdout)["tables"]
    columns = {row["table"]: row["columns"].split(", ") for row in views["columns"]["rows"]}
    rows = {}
    for view in (row["view"] for row in views["views"]["rows"]):
        rows[view] = answered(ringside, traces, f"SELECT * FROM {view}")
        assert all(set(row) == set(columns[view]) for row in rows[view]) and rows[view], view
    assert rows["rank_times"][0]["global_rank"] == 3 == rows["last_ranks"][0]["global_rank"]
    check_views(ringside, traces)
    assert len({row["number"] for row in rows["mismatches"]}) == 1
    assert len({row["bytes"] for row in rows["mismatches"]}) == 2, "one rank has another size"
    assert {row["verdict"] for row in rows["mismatches"]} == {"size mismatch"}
    for query in ("DELETE FROM calls", "PRAGMA query_only = 0", "ATTACH 'other.sqlite' AS other",
                  "SELECT 1; SELECT 2", "SELECT nothing FROM calls", ""):
        run(ringside, "query", traces, query, status=2)


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    generate, ringside, documentation = map(pathlib.Path, sys.argv[1:])
    with tempfile.TemporaryDirectory() as name:
        there = pathlib.Path(name)
        traces = there / "traces"
        run(generate, traces, *OPTIONS)
        target = there / "run.sqlite"
        run(ringside, "export", "--sqlite", target, "--csv", there / "csv", traces)
        database = sqlite3.connect(target)
        database.row_factory = sqlite3.Row
        check_against_traces(database, traces)
        check_moments(database, traces)
        check_consistency(database)
        check_csv(database, there / "csv")
        queries = check_documentation(database, documentation.read_text(encoding="utf-8"))
        check_query(ringside, traces, database, queries)

        before = target.read_bytes()
        assert "--force" in run(ringside, "export", "--sqlite", target, traces, status=2)
        assert "--force" in run(ringside, "export", "--csv", there / "csv", traces, status=2)
        assert target.read_bytes() == before
        run(ringside, "export", "--force", "--sqlite", target, traces)
        assert target.read_bytes() == before, "the same input gives the same bytes"

        check_numbers(ringside, traces)
        check_limits(ringside, traces)
        check_damage(generate, ringside, there)
        several = there / "several"  # runs; one has an operation that never ends, and a slow link
        for number, options in enumerate((("--slow-link", "1:2:0:4"), ("--hang", "2:20"))):
            run(generate, several / str(number), *OPTIONS, *options)
            for path in (several / str(number)).glob("*.json"):
                text = path.read_text(encoding="utf-8").replace('"run_id":"0x1', f'"run_id":"0x{number + 1}')
                text = text.replace('"job":"generated"', f'"job":"generated {number}"')
                (several / f"{number}-{path.name}").write_text(text, encoding="utf-8")
        views = check_views(ringside, several)
        assert {row["run"] for row in views["worst_rows"]} == {1, 2}

        part = there / "part.sqlite"
        run(ringside, "export", "--sqlite", part, "--func", "AllGather", traces)
        functions = sqlite3.connect(part).execute("SELECT DISTINCT function FROM operations").fetchall()
        assert functions == [("AllGather",)], functions
        assert not list(there.glob("*.tmp")) + list((there / "csv").glob("*.tmp"))
    print("the database is what the traces say")


if __name__ == "__main__":
    main()
