#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""One field of one entry of one rank's dump is replaced by an odd value, or its entries change places or are copied
over others, or a dump has another rank's name or a second one that contradicts it, in genuine dumps of jobs that had no
trouble. Whatever it is, ringside must not crash, must not accuse a rank or an operation that was not
touched, and must not say "All match" where the verdict needs that field.

usage: check_damaged_dumps.py RINGSIDE [--count N] [--seed S] [--show]"""

import argparse
import copy
import json
import pathlib
import pickle
import random
import re
import shutil
import subprocess
import sys
import tempfile

DATA = pathlib.Path(__file__).resolve().parent.parent / "data" / "flight_recorder"
SETS = ["legacy-2-clean", "legacy-2-coalesced_p2p", "legacy-2-fsdp", "legacy-4-ddp", "legacy-4-lazy",
        "nccl2-2-clean", "nccl2-2-coalesced_p2p", "nccl2-4-clean", "nccl2-4-fsdp", "nccl2-4-lazy",
        "nccl2-4-profile_all"]
ODD = [None, True, 0, 1, -1, 7, 99, 2 ** 31, 2 ** 62, 2 ** 63, 2 ** 70, 0.0, 1.5, float("nan"), "", " ", "\t", "x",
       "7", "-1", "1e3", "0x1", "\x00", "\x7f", "\u00e9" * 40, b"x", [], {}, [[]], [None], [1], [-4], ["x"], [[1]],
       [[-4]], [["a"]], [[1.5]], [[2 ** 62, 2 ** 62]], [[[1]]], {"x": 1}, ("0",), ("9", "nowhere"), ("0", "nowhere"),
       (0, 1), ("", ""), (("0",), "x"), "completed", "started", "scheduled", "COMPLETED"]
PEERS = ["99", "-1", "4294967296", "77777777777777777777", "1e3", "0x1", "abc", "", " 1", "1 ", "?", "??", "+1"]
# A verdict does not rest on these.
NEEDLESS = {"frames", "pg_id", "thread_name", "thread_id", "op_id", "time_discovered_started_ns",
            "time_created_ns", "p2p_seq_id",
            "time_discovered_completed_ns", "retired", "timeout_ms", "is_p2p", "duration_ms"}
# The side whose tensors all ranks must have alike; a verdict does not rest on the other one, nor on those of other
# functions.
COMPARED = {"input": "all_reduce|all_reduce_barrier|allreduce_coalesced|broadcast|reduce|_reduce_scatter_base|"
                     "reduce_scatter|reduce_scatter_tensor_coalesced|send .*",
            "output": "all_gather|_all_gather_base|all_gather_into_tensor_coalesced|scatter|recv .*"}


def call_of(entry):
    return entry["profiling_name"].rsplit(":", 1)[-1]


def is_needed(key, before, entry):
    """Whether a verdict needs this value of an entry that was another one before."""
    side = key.split("_")[0]
    if key == "state" and entry.get(key) in ("scheduled", "started", "completed"):
        return False  # a state that the call may have had
    if "dtypes" in key and re.search("->|<-", call_of(before)):
        return False  # both sides count bytes
    if "dtypes" in key and isinstance(entry.get(key), (list, tuple)) and any(
            isinstance(one, str) and one.strip() for one in entry[key]):
        return False  # a datatype that PyTorch may have one day
    return key not in NEEDLESS and (side not in COMPARED or re.fullmatch(COMPARED[side], call_of(before)) is not None)


def misplace(entries, rng):
    """Puts entries where they were not made. Returns what was done."""
    place, other = rng.sample(range(len(entries)), 2)
    one, another = entries[place], entries[other]
    entries[place] = copy.deepcopy(another)
    is_exchange = rng.random() < 0.5
    keeps = rng.choice([[], ["record_id"], ["record_id", "time_created_ns"]])
    entries[place].update({key: one[key] for key in keeps})
    if is_exchange:
        entries[other] = {**one, **{key: another[key] for key in keeps}}
    return (f"entry {place + 1} {'and' if is_exchange else '='} entry {other + 1}"
            + (f" but for {', '.join(keeps)}" if keeps else ""))


def mutate(dump, rng):
    """Changes the dump. Returns what was done, the touched entry as it was (nothing: the whole dump), and whether
    it says nothing else than before."""
    entries = dump["entries"]
    if rng.random() < 0.2:
        return misplace(entries, rng), None, False
    place = rng.randrange(len(entries))
    entry = entries[place]
    before = copy.deepcopy(entry)
    kind = rng.random()
    if kind < 0.02:
        entries.reverse()
        return "entries reversed", None, False
    if kind < 0.08:
        entries.insert(place, copy.deepcopy(entry))
        return f"entry {place + 1} doubled", before, False
    if kind < 0.11:
        value = rng.choice(ODD)
        entries[place] = value
        return f"entry {place + 1} = {value!r}", before, False
    if kind < 0.16:
        dump["entries"] = []
        dump["pg_status"] = rng.choice([dump["pg_status"], *ODD])
        return f"no entries, pg_status = {dump['pg_status']!r}", None, False
    if kind < 0.24:
        name = rng.choice(sorted(dump["pg_config"]))
        key = rng.choice(["ranks", "desc", "name"])
        value = rng.choice([*ODD, "[0, 1", "[0,,1]", "[0, 0, 1, 1]", "[0, x]", "[-1, 0]", "0, 1", "[0-3]"])
        is_same = key != "ranks"
        dump["pg_config"][name][key] = value
        return f"{key} of group {name} = {value!r}", None, is_same
    sends = [e for e in entries if re.match("(send|recv) ", call_of(e))]
    if kind < 0.5 and sends:
        entry = rng.choice(sends)
        before = copy.deepcopy(entry)
        place = entries.index(entry)
        verb, own, arrow, peer = re.fullmatch(r"(send|recv) (\d+)(->|<-)(\d+)", call_of(entry)).groups()
        if rng.random() < 0.5:
            own = rng.choice(PEERS)
        else:
            peer = rng.choice([*PEERS, own])
        entry["profiling_name"] = f"nccl:{verb} {own}{arrow}{peer}"
        return f"entry {place + 1}: {call_of(before)} -> {call_of(entry)!r}", before, peer in ("?", own)
    key = rng.choice(sorted(entry))
    ranks = dump["pg_config"][entry["process_group"][0]]["ranks"]
    is_alone = "," not in ranks and re.search("sizes|dtypes", key) is not None  # nobody to disagree with
    if rng.random() < 0.1:
        del entry[key]
        return f"entry {place + 1} ({call_of(before)}) without {key}", before, not is_needed(key, before, entry)
    entry[key] = rng.choice(ODD)
    return (f"entry {place + 1} ({call_of(before)}): {key} = {entry[key]!r}, was {before[key]!r}", before,
            is_alone or not is_needed(key, before, entry) or entry[key] == before[key])


def damage(work, rng):
    """Changes a dump of the job. Returns its rank and what mutate() returns."""
    path = rng.choice(sorted(work.glob("fr_*")))
    rank = int(path.name.rsplit("_", 1)[1])
    if rng.random() < 0.06:
        other = rng.choice([one for one in sorted(work.glob("fr_*")) if one != path])
        path.write_bytes(other.read_bytes())
        return rank, f"{path.name} = {other.name}", None, False
    dump = pickle.loads(path.read_bytes())
    if rng.random() < 0.06:
        path = work / f"fr_again_{rank}"
        calls = [(i, call_of(entry)) for i, entry in enumerate(dump["entries"]) if call_of(entry) != "coalesced"]
        first, second = rng.choice([(i, j) for i, one in calls for j, two in calls if one != two])
        dump["entries"][first]["profiling_name"] = dump["entries"][second]["profiling_name"]
        did = f"{path.name} has the call of entry {second + 1} in entry {first + 1}", None, False
    else:
        what, *rest = mutate(dump, rng)
        did = f"{path.name}: {what}", *rest
        path.unlink()
    path.write_bytes(pickle.dumps(dump, 2))
    return rank, *did


def complaints(run, rank, before, is_same, what):
    """What is wrong with an answer."""
    found = []
    if run.returncode not in (0, 1, 3, 4):
        found.append(f"{what}: status {run.returncode}: {run.stderr[-300:]}")
    try:
        answer = json.loads(run.stdout)
    except ValueError:
        return found + ([] if run.returncode == 3 else [f"{what}: no JSON"])
    headline = " ".join(answer["sentences"])
    accused = [f["text"] for f in answer["findings"] if f["severity"] == "error"]
    if not is_same and run.returncode == 0 and not accused:
        found.append(f"{what}: status 0: {headline}")
    if before is None and not is_same and run.returncode == 1:
        found.append(f"{what}: status 1: {headline}")
    if "All match" in headline and run.returncode != 0:
        found.append(f"{what}: All match, status {run.returncode}")
    for text in accused:
        call = call_of(before) if before else ""
        touched = re.match("(send|recv) ", call)
        # A call that the rank did make differently is the touched one, or has its number.
        same = before is not None and (
            "SendRecv" in text or "send" in text.lower() if touched
            else f"#{before['collective_seq_id']} " in text)
        if not same or f"rank {rank}" not in text.lower() and f" {rank}" not in text:
            found.append(f"{what}: accuses: {text}")
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("ringside")
    parser.add_argument("--count", type=int, default=150)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--show", action="store_true", help="say what each mutant is")
    args = parser.parse_args()
    wrong = 0
    statuses = {}
    with tempfile.TemporaryDirectory() as made:
        for number in range(args.count):
            rng = random.Random(f"{args.seed}/{number}")
            source = DATA / SETS[number % len(SETS)]
            work = pathlib.Path(made) / "job"
            shutil.rmtree(work, ignore_errors=True)
            shutil.copytree(source, work)
            rank, did, before, is_same = damage(work, rng)
            found = []
            for command in ("match", "hang"):
                run = subprocess.run([args.ringside, command, "--format", "json", str(work)], capture_output=True,
                                     text=True, errors="replace", timeout=60)
                found += complaints(run, rank, before, is_same or (command == "hang" and before is not None), command)
                statuses[command, run.returncode] = statuses.get((command, run.returncode), 0) + 1
            if args.show or found:
                print(f"{number}: {source.name}: {did}")
            for one in found:
                print(f"    {one}")
            wrong += bool(found)
    print(f"{args.count} mutants, {wrong} wrong;", ", ".join(
        f"{command} ended with {status}: {count}" for (command, status), count in sorted(statuses.items())))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
