#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds the collectives that `ringside calls` lists of genuine Flight Recorder dumps against the entries
that PyTorch wrote, as Python's own pickle module reads them: group, number, function, the time of the
first call, each rank's state, and the line of the program; and the database of `ringside fr -o` likewise. Then `calls` and `hang` of made dumps of
12 ranks, of which rank 7 stops calling: make_dumps.py knows what they must say."""

import collections
import json
import pathlib
import pickle
import re
import sqlite3
import subprocess
import sys
import tempfile

import make_dumps

DATA = pathlib.Path(__file__).resolve().parent.parent / "data" / "flight_recorder"
STATES = {"completed": "completed", "started": "started", "scheduled": "enqueued"}


def line_of(frames):
    own = [frame for frame in frames if "/site-packages/torch/" not in frame["filename"]
           and not re.search(r"/lib/python3[.]\d+/[a-z]+[.]py$", frame["filename"])]
    frame = (own or frames)[0]
    return f"{pathlib.PurePath(frame['filename']).name}:{frame['line']} in {frame['name']}"


def written(directory):
    """The collectives of the dumps: what there is of each, by rank of the group."""
    found = collections.defaultdict(dict)
    for path in sorted(directory.iterdir()):
        rank = int(re.search(r"\d+$", path.name).group())
        dump = pickle.loads(path.read_bytes())
        for entry in dump["entries"]:
            name, description = entry["process_group"]
            function = entry["profiling_name"].split(":")[1]
            if entry["is_p2p"] or function == "coalesced":
                continue
            ranks = json.loads(dump["pg_config"][name]["ranks"])
            key = (name, description, tuple(ranks), entry["collective_seq_id"], function)
            assert ranks.index(rank) not in found[key], key
            found[key][ranks.index(rank)] = entry
    # Groups of one description are told apart by their ranks.
    groups = collections.Counter(description for _, description, _ in {key[:3] for key in found})
    return [(key[1] + (f" {list(key[2])}" if groups[key[1]] > 1 else ""), key[3], key[4], min(entry["time_created_ns"] for entry in of_ranks.values()),
             tuple((rank, STATES[entry["state"]]) for rank, entry in sorted(of_ranks.items())),
             tuple(sorted({line_of(entry["frames"]) for entry in of_ranks.values()
                           if entry["frames"]})))
            for key, of_ranks in found.items()]


def sites_of(text):
    """Those of a cell, which names the ranks where there are several."""
    parts = re.sub(r" \(ranks? [0-9, -]+\)", "\n", text or "").split("\n")
    return tuple(sorted(part.removeprefix(", ") for part in parts if part))


def listed(program, directory):
    result = subprocess.run([program, "calls", "--format", "json", "--top", "0", directory],
                            capture_output=True, text=True, check=False)
    assert result.returncode in (0, 4), result.stderr  # 4: a rank has no dump, or has not ended
    rows = json.loads(result.stdout)["tables"]["calls"]["rows"]
    return [(row["communicator"], row["number"], row["function"], row["called_ns"],
             tuple((rank, row[f"rank_{rank}"]) for rank in range(8)
                   if row.get(f"rank_{rank}") in STATES.values()), sites_of(row.get("called_by")))
            for row in rows if not re.match("SendRecv|AlltoAll|Gather|Scatter|coalesced$", row["function"])]


def entries(directory):
    """The collectives of the dumps, one by one."""
    return sorted((entry["process_group"][0] + " " + dump["pg_config"][entry["process_group"][0]]["ranks"], rank,
                   entry["collective_seq_id"], entry["profiling_name"].split(":")[1], STATES[entry["state"]],
                   tuple((frame["filename"], frame["line"], frame["name"]) for frame in entry["frames"]))
                  for path in directory.iterdir() for rank in [int(re.search(r"\d+$", path.name).group())]
                  for dump in [pickle.loads(path.read_bytes())] for entry in dump["entries"]
                  if not entry["is_p2p"] and not entry["profiling_name"].endswith(":coalesced"))


def exported(program, directory, made):
    """The same, of the database that `ringside fr -o` writes."""
    subprocess.run([program, "fr", "--quiet", "--allow-incomplete-ranks", "-o", made, directory], stdout=subprocess.DEVNULL,
                   check=False)
    if made.suffix == ".json":
        tables = {name: [dict(zip(table["columns"], row)) for row in table["rows"]]
                  for name, table in json.loads(made.read_text(encoding="utf-8")).items()}
    else:
        database = sqlite3.connect(made)
        database.row_factory = sqlite3.Row
        tables = {name: list(map(dict, database.execute(f"SELECT * FROM {name}")))
                  for name in ("communicators", "memberships", "frames", "calls")}
        database.close()
    groups = {row["id"]: row["hash"] for row in tables["communicators"]}
    members = {row["id"]: (groups[row["communicator_id"]], row["global_rank"]) for row in tables["memberships"]}
    stacks = collections.defaultdict(list)
    for row in sorted(tables["frames"], key=lambda row: row["number"]):
        stacks[row["stack_id"]].append((row["file"], row["line"], row["function"]))
    return sorted((*members[row["membership_id"]], row["seq"], row["function"], row["state"],
                   tuple(stacks[row["stack_id"]]))
                  for row in tables["calls"] if row["function"] not in ("Send", "Recv", "coalesced"))


def is_exported_right(program, directory):
    with tempfile.TemporaryDirectory() as name:
        made = [pathlib.Path(name) / "made.json"]
        # A build may have no SQLite.
        if directory.name == "legacy-4-lazy" and subprocess.run(
                [program, "export", "--sqlite", pathlib.Path(name) / "made.sqlite", directory],
                capture_output=True, text=True, check=False).stderr.find("without SQLite") < 0:
            made.append(pathlib.Path(name) / "made.db")
        return all(exported(program, directory, path) == entries(directory) for path in made)


def is_right_of_made(program):
    ranks, late, number = 12, 7, 250
    with tempfile.TemporaryDirectory() as name:
        for rank in range(ranks):
            made = make_dumps.dump(rank, ranks, 300, (late, number))
            (pathlib.Path(name) / f"nccl_trace_rank_{rank}").write_bytes(pickle.dumps(made, 2))
        run = [subprocess.run([program, *words, "--format", "json", name], capture_output=True,
                              text=True, check=False) for words in (["calls", "--top", "0"], ["hang"])]
    rows = json.loads(run[0].stdout)["tables"]["calls"]["rows"]
    wanted = [(seq, make_dumps.CALLS[seq % len(make_dumps.CALLS)][0],
               "completed on all" if seq < number
               else f"enqueued on ranks 0-6, 8-11; not recorded on rank {late}",
               f"model.py:{100 + seq % 20} in layer_{seq % 20}") for seq in range(1, 301)]
    got = [(row["number"], row["function"], row["ranks"], row["called_by"]) for row in rows]
    for row in [row for row in got if row not in wanted][:3]:
        print("       not made:", row)
    answer = json.loads(run[1].stdout)["sentences"][0]
    function = make_dumps.CALLS[number % len(make_dumps.CALLS)][0]
    print("      ", answer)
    return wanted == got and f"Rank {late} has not joined {function} #{number} " in answer \
        and run[1].returncode == 1


def main():
    failed = 0 if is_right_of_made(sys.argv[1]) else 1
    print("FAILED made dumps" if failed else "ok     made dumps")
    for directory in sorted(path for path in DATA.iterdir() if path.is_dir()):
        wanted, got = sorted(written(directory)), sorted(listed(sys.argv[1], directory))
        failed += wanted != got
        if not is_exported_right(sys.argv[1], directory):
            failed += 1
            print(f"FAILED {directory.name}: the database has other calls than the dumps")
        print(f"{'ok    ' if wanted == got else 'FAILED'} {directory.name}: {len(wanted)} collectives")
        for row in sorted(set(wanted) ^ set(got)):
            print("      ", "not listed:" if row in wanted else "not written:", row)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
