#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares the page of `ringside report` with its data: the same input gives the same bytes, nothing
that a trace names gets out of the data, nothing is asked of a network, and a large job is put
together.

usage: check_page.py RINGSIDE_GENERATE RINGSIDE
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "diff"))
import report_inputs  # noqa: E402

ISLAND = re.compile(r'<script type="application/json" id="data">(.*?)</script>', re.DOTALL)


def write(directory, files):
    for path, text in files.items():
        target = directory / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    return directory / "traces"


def report(ringside, traces, *options):
    return subprocess.run([ringside, "report", *options, "-o", "-", str(traces)], check=True,
                          capture_output=True, timeout=60).stdout.decode()


def check_hostile(ringside, directory):
    traces = write(directory, report_inputs.hostile(operations=30))
    page = report(ringside, traces)
    data = report(ringside, traces, "--format", "json")
    assert page == report(ringside, traces), "two runs differ"
    islands = ISLAND.findall(page)
    assert len(islands) == 1
    assert "<" not in islands[0]
    assert json.loads(islands[0]) == json.loads(data)
    assert report_inputs.HOSTILE in data.replace('\\"', '"'), "the name is not in the data at all"
    assert "alert(1)</script>" not in page
    turned = write(directory / "turned", report_inputs.hostile("left \u202eright\u2066"))
    assert "\u202e" in report(ringside, turned, "--format", "json"), "the name is not in the data at all"
    assert not set(report(ringside, turned)) & set("\u202e\u2066"), "names turn the text around"
    around = ISLAND.sub("", page)
    # The library names the namespaces of SVG and XHTML, the licence and a comment the author's site.
    fetched = re.findall(r'(?:src|href|action)\s*=\s*["\']?(?:https?:)?//|@import|url\(|fetch\("http', around)
    assert not fetched, fetched
    assert around.count("Redistribution and use in source and binary forms") == 1, "no licence"


def check_bars(bars, shares):
    """The late rank has a bar of its own, and the others are put together in their order."""
    assert bars[0]["first"] == 77 and bars[0]["is_straggler"] and bars[0]["ranks"] == 1, bars[0]
    others = iter([row for row in shares if row["rank"] != 77])
    for bar in bars:
        rows = [row for row in shares if row["rank"] == 77] if bar["is_straggler"] else \
            [next(others) for _ in range(bar["ranks"])]
        assert (bar["first"], bar["last"]) == (rows[0]["rank"], rows[-1]["rank"]), bar
        assert bar["span_ns"] == sum(row["span_ns"] for row in rows)
        for part in ("transfer", "waiting", "enqueued", "outside"):
            assert (bar[f"{part}_ns"] or 0) == sum(row[f"{part}_ns"] or 0 for row in rows), bar
            assert abs((bar[f"{part}_percent"] or 0) - 100 * (bar[f"{part}_ns"] or 0) / bar["span_ns"]) < 0.001
    assert next(others, None) is None and len(bars) <= 33 + 8


def check_large(generate, ringside, directory):
    subprocess.run([generate, directory / "job", "--operations-only", "--hosts", "2", "--ranks-per-host",
                    "64", "--pattern", "AllReduce:1048576,AllGather:65536", "--iterations", "80",
                    "--straggler", "77:400"], check=True, stdout=subprocess.DEVNULL, timeout=60)
    data = json.loads(report(ringside, directory / "job", "--format", "json"))
    assert data["figures"]["ranks"] == 128
    assert data["health"]["headline"].startswith("Rank 77 (host1) slows the job"), data["health"]
    (late,) = data["wait_maps"]
    late_columns = late["columns"][:-1]  # the end of the last is not known
    assert len(late["columns"]) <= 60
    assert late["columns"][0][0] == 1 and late["columns"][-1][1] == 80, late["columns"]
    rows = late["rows"]
    assert rows[0]["label"] == "rank 77" and len(rows) <= 33
    for row in rows:
        assert sum(row["cells_ns"]) == row["others_waited_ns"]
    # All ranks came late to nothing but what rank 77 made them wait for.
    told = json.loads(subprocess.run([ringside, "stragglers", "--top", "0", "--format", "json", directory / "job"],
                                     check=False, capture_output=True, timeout=60).stdout)
    (late,) = [row for row in told["tables"]["ranks"]["rows"] if row["is_straggler"] is True]
    assert late["rank"] == 77
    assert late["waited_ns"] == min(row["waited_ns"] for row in told["tables"]["ranks"]["rows"])
    shares = data["tables"]["shares"]
    names = [column[0] for column in shares["columns"]]
    assert len(shares["rows"]) == 128
    for row in shares["rows"]:
        one = dict(zip(names, row))
        assert one["span_ns"] == sum(one[f"{part}_ns"] for part in ("transfer", "waiting", "enqueued", "outside"))
    check_bars(data["share_bars"], [dict(zip(names, row)) for row in shares["rows"]])
    for row, cells in ((row, row["cells_ns"]) for row in rows):
        for column, cell, percent in zip(late_columns, cells, row["cells_percent"]):
            assert abs(percent - 100 * cell / (128 * column[3])) < 0.001, (column, cell, percent)
    waiting = {row[0]: dict(zip(names, row))["waiting_ns"] for row in shares["rows"]}
    assert min(waiting, key=waiting.get) == 77, "the late rank waits least"


def check_runs(generate, ringside, directory):
    """Several runs are side by side, each against the one before it; the hosts of one are one job."""
    for number, bandwidth in enumerate((40, 40, 25), 1):
        subprocess.run([generate, directory / f"night-{number}", "--seed", str(number), "--hosts", "2",
                        "--ranks-per-host", "2", "--iterations", "200", "--bandwidth", str(bandwidth),
                        "--pattern", "AllReduce:1048576,AllGather:65536"],
                       check=True, stdout=subprocess.DEVNULL, timeout=60)
    nights = [directory / f"night-{number}" for number in (1, 2, 3)]
    data = json.loads(subprocess.run([ringside, "report", "--format", "json", "-o", "-", *nights], check=True,
                                     capture_output=True, timeout=60).stdout)
    assert [row[:2] for row in data["tables"]["runs"]["rows"]] == \
        [[number, str(night)] for number, night in enumerate(nights, 1)]
    assert data["health"]["status"] == "error" and data["health"]["headline"].startswith("Run 3 "), data["health"]
    slower = [one for one in data["health"]["findings"] if one["kind"] == "slower"]
    assert len(slower) == 2 and all(one["text"].startswith("run 3: ") and one["command"] ==
                                    f"ringside compare {nights[1]} {nights[2]}" for one in slower), slower
    kinds = {row[2]: row[5:] for row in data["tables"]["kinds"]["rows"]}
    assert set(kinds) == {"AllReduce", "AllGather"}
    told = json.loads(subprocess.run([ringside, "compare", "--format", "json", nights[0], nights[2]], check=False,
                                     capture_output=True, timeout=60).stdout)
    for row in told["tables"]["changes"]["rows"]:
        assert [round(row["median_a_ns"]), round(row["median_b_ns"])] == \
            [round(kinds[row["function"]][run]) for run in (0, 2)], (row, kinds)
    subprocess.run([generate, directory / "bad", "--seed", "4", "--hosts", "2", "--ranks-per-host", "2",
                    "--iterations", "200", "--pattern", "AllReduce:1048576", "--mismatch", "datatype:1:7"],
                   check=True, stdout=subprocess.DEVNULL, timeout=60)
    bad = json.loads(subprocess.run([ringside, "report", "--format", "json", "-o", "-", nights[0], directory / "bad"],
                                    check=True, capture_output=True, timeout=60).stdout)["health"]
    assert bad["status"] == "error" and bad["headline"].startswith("run 2: Rank 1 "), bad
    assert any(one["kind"] == "run" and one["severity"] == "error" for one in bad["findings"]), bad
    hosts = [sorted(map(str, nights[0].glob(f"*.host{host}.*"))) for host in (0, 1)]
    for number, files in enumerate(hosts):
        (directory / f"host{number}").mkdir()
        for path in files:
            pathlib.Path(path).rename(directory / f"host{number}" / pathlib.Path(path).name)
    one = json.loads(report(ringside, directory / "host0", str(directory / "host1"), "--format", "json"))
    assert one["figures"]["ranks"] == 4, "the hosts of one job are taken for runs"


def check_one_cause(generate, ringside, directory):
    """One rank's exchange of another size differs from each of its peers, in both directions."""
    subprocess.run([generate, directory / "exchange", "--hosts", "1", "--ranks-per-host", "4", "--iterations", "3", "--pattern",
                    "AlltoAll:65536", "--mismatch", "size:2:1"], check=True, stdout=subprocess.DEVNULL, timeout=60)
    data = json.loads(report(ringside, directory / "exchange", "--format", "json"))
    errors = [one for one in data["health"]["findings"] if one["severity"] == "error"]
    assert len(errors) == 1 and "(5 more pairs of this exchange do not match)" in errors[0]["text"], errors
    assert "--around 0x" in errors[0]["timeline"], errors
    assert len(data["tables"]["match_sides"]["rows"]) == 12, "the table has all"


def main():
    generate, ringside = sys.argv[1:]
    with tempfile.TemporaryDirectory() as directory:
        check_hostile(ringside, pathlib.Path(directory) / "hostile")
        check_runs(generate, ringside, pathlib.Path(directory))
        check_one_cause(generate, ringside, pathlib.Path(directory))
        check_large(generate, ringside, pathlib.Path(directory))
    print("the page is as it should be")


if __name__ == "__main__":
    main()
