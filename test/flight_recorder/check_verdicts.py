#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds `ringside match` and `ringside hang` on genuine Flight Recorder dumps (test/data/flight_recorder)
against what each run did, which its name tells (test/emulated_gpu/torch and the folder's README). With
--torch DIRECTORY, where PyTorch is unpacked (get_torch.sh), its own analyzer is asked, too, and shown."""

import argparse
import json
import pathlib
import subprocess
import sys

DATA = pathlib.Path(__file__).resolve().parent.parent / "data" / "flight_recorder"

# For each scenario: the findings of `match`, a part of the first sentence of `hang`, and its exit
# status.
NOTHING = ([], "Nothing is seen to be stuck", 0)
ORDERS = (["function mismatch"], "do not call the same, and wait for each other", 1)
TRUTH = {
    "clean": NOTHING, "coalesced_p2p": NOTHING, "ddp": NOTHING, "fsdp": NOTHING, "lazy": NOTHING,
    "profile_all": NOTHING, "other_order": ORDERS, "swapped": ORDERS,
    "mismatch": (["size mismatch"], "The ranks disagree in the bytes of all_reduce #4", 1),
    "skip": ([], "Rank 1 has not joined all_reduce #4", 1),
}
# There the rank that did not join left no dump.
UNDECIDED = ([], "No dump of 1 rank was read, so whether it has joined all_reduce #4 ", 4)


def run(program, command, *paths):
    result = subprocess.run([program, command, "--format", "json", *paths], capture_output=True,
                            text=True, check=False)
    if result.returncode not in (0, 1, 4):
        raise AssertionError(f"{command} {paths}: {result.returncode}: {result.stderr}")
    return json.loads(result.stdout), result.returncode


def ours(program, directory):
    match, _ = run(program, "match", directory)
    hang, status = run(program, "hang", directory)
    kinds = sorted({row["verdict"] for row in match["tables"]["sides"]["rows"]
                    if row["verdict"].endswith("mismatch")})
    told = [finding["text"] for finding in match["findings"] if " in its place" in finding["text"]]
    if told and "#2" not in told[0]:
        kinds.append("the consequence before its cause: " + told[0])
    return kinds, hang["sentences"][0], status


# The modules of its analyzer alone: PyTorch itself needs libraries that need not be here.
THEIRS = """
import pathlib, sys, types
torch = pathlib.Path(sys.argv[1]) / "torch"
for name, path in (("torch", torch), ("torch.distributed", torch / "distributed")):
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__path__ = [str(path)]
from torch.distributed.flight_recorder.fr_trace import main
main(sys.argv[2:])
"""


def theirs(torch, directory):
    """The first line in which it tells of trouble, and how it ended if it did not end well."""
    prefix = min(path.name for path in directory.iterdir())[:-1]
    result = subprocess.run([sys.executable, "-c", THEIRS, torch, directory, "--prefix", prefix],
                            capture_output=True, text=True, check=False)
    lines = (result.stdout + result.stderr).splitlines()
    said = [line.strip()[:110] for line in lines
            if any(word in line for word in ("MISMATCH", "issing", "cannot decide", "Not all ranks"))]
    return " | ".join(dict.fromkeys(said[:1] + lines[-1:] * (result.returncode != 0))) or \
        "no trouble told"


def without_each(program, directory):
    """`hang` must not call a clean run stuck if one dump is missing."""
    wrong = []
    for left_out in sorted(directory.iterdir()):
        kept = [path for path in directory.iterdir() if path != left_out]
        hang, status = run(program, "hang", *kept)
        answer = hang["sentences"][0]
        is_told = any(sentence.startswith("No trace or dump of ") for sentence in hang["sentences"])
        is_right = status == 4 and (answer.startswith("No dump of ") or
                                    answer.startswith(("Nothing is seen to be stuck", "All ranks have called ")) and is_told)
        wrong += [] if is_right else [f"without {left_out.name}: {status}: {answer}"]
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("ringside")
    parser.add_argument("--torch", type=pathlib.Path)
    arguments = parser.parse_args()
    failed = 0
    for directory in sorted(path for path in DATA.iterdir() if path.is_dir()):
        scenario = directory.name.split("-", 2)[2]
        files = len(list(directory.iterdir()))
        wanted = TRUTH[scenario]
        if scenario == "skip" and files < int(directory.name.split("-")[1]):
            wanted = UNDECIDED
        kinds, sentence, status = ours(arguments.ringside, directory)
        # A dump does not say whether a last call that all ranks have made is still waited for.
        is_open = wanted is NOTHING and sentence.startswith("All ranks have called ")
        is_right = kinds == wanted[0] and (wanted[1] in sentence or is_open) and status == (4 if is_open else wanted[2])
        failed += not is_right
        print(f"{'ok    ' if is_right else 'FAILED'} {directory.name}: {kinds} {sentence}")
        wrong = without_each(arguments.ringside, directory) if wanted is NOTHING else []
        failed += len(wrong)
        for line in wrong:
            print("FAILED", directory.name, line)
        if arguments.torch:
            print(f"       PyTorch's: {theirs(arguments.torch, directory)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
