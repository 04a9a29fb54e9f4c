#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds `ringside match` and `ringside hang` against PyTorch's own analyzer (torchfrtrace) on the genuine Flight
Recorder dumps and on made ones (dump_sets.py), whose truth is known: ours must be right of all but GAPS. Prints the
table; --write FILE keeps it as a page. PyTorch's modules alone are loaded, with a stand-in for tabulate."""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

import check_verdicts
import dump_sets
from dump_sets import Truth

# PyTorch itself needs libraries that need not be here. Without tabulate it ends with a NameError.
THEIRS = """
import pathlib, sys, types
torch = pathlib.Path(sys.argv[1]) / "torch"
for name, path in (("torch", torch), ("torch.distributed", torch / "distributed")):
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__path__ = [str(path)]
tabulate = sys.modules["tabulate"] = types.ModuleType("tabulate")
tabulate.tabulate = lambda rows, headers=(): "\\n".join(str(row) for row in rows)
from torch.distributed.flight_recorder.fr_trace import main
main(sys.argv[2:])
"""
KINDS = {"COLLECTIVE_TYPE_MISMATCH": "type", "SIZE_OR_SYNTAX_MISMATCH": "size",
         "COLLECTIVE_DTYPE_MISMATCH": "dtype", "COLLECTIVE_STATE_MISMATCH": "state"}
GENUINE = {"swapped": Truth("type", "all_reduce #2", number=2),
           "other_order": Truth("type", "all_reduce #2", number=2),
           "mismatch": Truth("size", "all_reduce #4", number=4),
           "skip": Truth("missing", "all_reduce #4", "1", 4)}


def theirs(torch, directory):
    """The first trouble that it tells: kind, number, ranks, and the text for the table."""
    result = subprocess.run([sys.executable, "-c", THEIRS, torch, directory, "--allow-incomplete-ranks", "--prefix",
                             min(path.name for path in directory.iterdir()).rstrip("0123456789")],
                            capture_output=True, text=True, check=False, timeout=120)
    text = result.stdout + result.stderr
    first = re.search(r"sequence number: (\d+) has errors|Not all ranks joining collective, sequence number: (\d+)|"
                      r"Input/output mismatch in the collective sequence number: (\d+)|We cannot decide|^MISMATCH|"
                      r"does not have a coalesced end", text, re.MULTILINE)
    if first is None:
        if result.returncode:
            return "error", 0, "", text.strip().splitlines()[-1][:90]
        return "clean", 0, "", "no trouble"
    number = int(next((group for group in first.groups() if group), 0))
    if "We cannot" in first[0]:
        return "unknown", 0, "", "cannot decide"
    if "Not all" in first[0]:
        ranks = re.search(r"missing ranks: \{([^}]*)\}", text)[1]
        return "missing", number, ranks, f"not joined: number {number}, ranks {ranks}"
    if "Input/output" in first[0]:
        return "size", number, "", f"input and output totals of number {number}"
    if "has errors" in first[0]:
        kind = re.search(r"Error type: (\w+)", text)[1]
        return KINDS[kind], number, "", f"{kind} of number {number}"
    return "size", 0, "", "MISMATCH" if first[0] == "MISMATCH" else first[0]


def expand(ranks):
    return {rank for part in ranks.replace(" ", "").split(",") if part for low, _, high in [part.partition("-")]
            for rank in range(int(low), int(high or low) + 1)}


def is_theirs_right(said, truth):
    kind, number, ranks, _ = said
    return kind == truth.kind and (kind in ("clean", "unknown") or number == truth.number) and \
        (kind != "missing" or expand(ranks) == expand(truth.ranks))


def run(program, command, directory, *more):
    return check_verdicts.run(program, command, directory, *more)


# Ours is known to be wrong of these; the table says so.
GAPS = set()
VERDICTS = {"function mismatch": "type", "size mismatch": "size", "datatype mismatch": "dtype",
            "missing": "missing"}


def ours(program, directory):
    """All kinds of trouble that it tells, and the first sentences that tell them."""
    match, _ = run(program, "match", directory)
    hang, status = run(program, "hang", directory)
    rows = [row for row in match["tables"]["sides"]["rows"] if row["verdict"] in VERDICTS]
    kinds = [VERDICTS[row["verdict"]] for row in rows]
    said = [f["text"] for f in match["findings"] if f["kind"] in ("mismatch", "missing")][:1]
    places = " ".join([row["operation"] for row in rows[:2]] + hang["sentences"])
    causes = {row["cause"]: row for row in reversed(hang["tables"]["stuck"]["rows"])}
    if status == 1:
        kinds += [kind for cause, kind in (("not_joined", "missing"), ("deadlock", "order"),
                                                ("mismatch", "different")) if cause in causes]
    elif status == 4 and not (hang["sentences"][0].startswith("All ranks have called ") and len(hang["sentences"]) == 1):
        kinds.append("unknown")
    if not kinds:
        states = [row for row in run(program, "calls", directory, "--top", "0")[0]["tables"]["calls"]["rows"]
                  if {row.get("rank_0"), row.get("rank_1")} == {"completed", "enqueued"}]
        if states:
            place = f"{states[0]['function']} #{states[0]['number']}"
            return ["state"], place + " completed on one rank, not seen to finish on the other", place
    return kinds or ["clean"], " ".join(said or hang["sentences"][:1]), places


def is_ours_right(kinds, places, truth):
    """The first is the truth, and what else is told is no second trouble."""
    consequences = {"size": {"different"}, "type": {"different", "missing"}, "dtype": {"different"}}
    return kinds[0] == truth.kind and set(kinds) <= {truth.kind} | consequences.get(truth.kind, set()) \
        and truth.at in places


def all_sets(directory):
    for path in sorted(path for path in check_verdicts.DATA.iterdir() if path.is_dir()):
        ranks, scenario = path.name.split("-", 2)[1:]
        truth = GENUINE.get(scenario, dump_sets.CLEAN)
        if scenario == "skip" and len(list(path.iterdir())) < int(ranks):
            truth = Truth("unknown", "all_reduce #4", number=4)
        yield path.name, truth, path
    for i, (name, truth, job, how) in enumerate(dump_sets.sets()):
        path = directory / f"set{i}"
        path.mkdir()
        job.write(path, **how)
        yield name, truth, path


PAGE = """# Flight Recorder: PyTorch's analyzer and ours

`test/flight_recorder/check_against_torch.py RINGSIDE TORCH --write test/flight_recorder/verdicts.md` wrote this page,
with PyTorch {version}'s `torchfrtrace --allow-incomplete-ranks`, and a stand-in for the package `tabulate`, without
which it ends with a NameError where it shows a group. The first {genuine} sets are genuine: what the runs did is known.
The others are made, call by call, by `dump_sets.py`, so the truth is known, too. Coalesced calls are in the form of
2.10's ProcessGroupNCCL also where the version is an older one; coalesced collectives are in the form that PyTorch's
analyzer expects, without a recording.

"Right" means that the first problem that is reported is the one that there is, with its number, and that a clean job
has none. An answer that is true but names a consequence first does not count.

{summary}{gaps}

| set | truth | PyTorch's first answer | right | ours | right |
|---|---|---|---|---|---|
{rows}
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("ringside")
    parser.add_argument("torch", type=pathlib.Path, help="where PyTorch is unpacked")
    parser.add_argument("--write", type=pathlib.Path, metavar="FILE")
    arguments = parser.parse_args()
    has_torch = (arguments.torch / "torch/distributed/flight_recorder").is_dir()
    if not has_torch:
        print(f"PyTorch's is not asked: it is not in {arguments.torch} (RINGSIDE_TORCH=on scripts/test.sh fetches it)")
    rows, right, failed = [], [0, 0], 0
    with tempfile.TemporaryDirectory() as name:
        for label, truth, path in all_sets(pathlib.Path(name)):
            said = theirs(arguments.torch, path) if has_torch else ("", 0, "", "not asked")
            kinds, text, places = ours(arguments.ringside, path)
            are = (is_theirs_right(said, truth), is_ours_right(kinds, places, truth))
            failed += are[1] == (label in GAPS)
            right = [count + is_one for count, is_one in zip(right, are)]
            answer = text.split(" The program")[0].split(". ")[0].rstrip(".")
            rows.append(f"| {label} | {truth} | {said[3]} | {'yes' if are[0] else 'no'} | {answer} | "
                        f"{'yes' if are[1] else 'no'} |")
            print(rows[-1] + ("" if are[1] else f"  not right: {kinds} {places}"), flush=True)
    summary = f"PyTorch's is right of {right[0]} of {len(rows)} sets, ours of {right[1]}."
    print(summary)
    if arguments.write and has_torch:
        version = (arguments.torch / "torch/version.py").read_text(encoding="utf-8")
        arguments.write.write_text(PAGE.format(gaps=" Not yet right of ours: " + ", ".join(sorted(GAPS)) + "." if GAPS else "",
            version=re.search(r"__version__ = '([^'+]*)", version)[1], summary=summary, rows="\n".join(rows),
            genuine=sum(1 for path in check_verdicts.DATA.iterdir() if path.is_dir())), encoding="utf-8")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
