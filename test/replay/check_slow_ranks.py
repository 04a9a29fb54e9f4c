#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Simulated jobs of eight patterns with one late rank or host, with work that moves from rank to rank,
and clean ones: what `ringside stragglers` says of them, compared with the same job simulated without
the delay.

usage: check_slow_ranks.py RINGSIDE [--seeds N] [--first N] [--ranks N] [--times gpu|proxy]
           [--keep DIRECTORY]
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
PATTERNS = ("dp", "tp", "pp", "moe", "fsdp", "prefetch", "halo", "stages")
KINDS = ("compute", "burst", "half", "input")
PERCENTS = (5, 10, 20, 40)


def jobs(options):
    """Pattern, kind, percent, seed: each pattern, one clean job in four, and one that is like it but
    for work that moves. Work that moves between stages is no rank's alone."""
    for seed in range(options.first, options.first + options.seeds):
        for number, pattern in enumerate(PATTERNS):
            if pattern == "stages" and options.times == "proxy":
                continue  # the network's times do not show what they do
            if (seed + number) % 4 == 0:
                yield pattern, "none", 0, seed
                if pattern != "stages":
                    yield pattern, "moving", 20, seed
            else:
                yield (pattern, KINDS[(seed // 4 + number) % len(KINDS)],
                       PERCENTS[(seed + number) % len(PERCENTS)], seed)


def answer_of(ringside, directory):
    ran = subprocess.run([ringside, "stragglers", "--format", "json", str(directory)],
                         stdout=subprocess.PIPE, check=False)
    answer = json.loads(ran.stdout)
    tables = answer["tables"]
    return (tables["slow"]["rows"][0] if "slow" in tables else None,
            [finding["kind"] for finding in answer["findings"]], answer["sentences"][0])


def holds_moving(text, gain_percent, ranks):
    """Whether what a job with work that moves would gain is in the range that is said. The same work on
    all ranks gains a little less than no such work, as each has its part of it."""
    found = re.search(r"at least ([\d.]+) %|\(([\d.]+) to ([\d.]+) %\)", text)
    least = float(found.group(1) or found.group(2))
    most = float(found.group(3) or 100)
    return least <= gain_percent + 0.5 and most >= (1 - 1 / ranks) * gain_percent


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("ringside")
    parser.add_argument("--seeds", type=int, default=4)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--ranks", type=int, default=8)
    parser.add_argument("--times", default="gpu", choices=("gpu", "proxy"))
    parser.add_argument("--keep", type=pathlib.Path)
    options = parser.parse_args()
    counts = dict.fromkeys(("late", "named", "near", "held", "clean", "quiet",
                            "moving", "said"), 0)
    widths = []
    for pattern, kind, percent, seed in jobs(options):
        with tempfile.TemporaryDirectory() as temporary:
            directory = pathlib.Path(options.keep or temporary) / f"{pattern}-{kind}-{percent}-{seed}"
            if not (directory / "truth.json").exists():
                subprocess.run([sys.executable, HERE / "simulate_job.py", directory, "--pattern",
                                pattern, "--kind", kind, "--percent", str(percent), "--seed",
                                str(seed), "--ranks", str(options.ranks), "--times",
                                options.times],
                               check=True, stdout=subprocess.DEVNULL)
            truth = json.loads((directory / "truth.json").read_text())
            found, findings, sentence = answer_of(options.ringside, directory)
        wrong = []
        if kind == "none":
            counts["clean"] += 1
            counts["quiet"] += not findings
            wrong += ["quiet"] if findings else []
        elif kind == "moving":
            counts["moving"] += 1
            is_said = findings == ["imbalance"] and \
                holds_moving(sentence, truth["gain_percent"], options.ranks)
            counts["said"] += is_said
            wrong += [] if is_said else ["said"]
        else:
            counts["late"] += 1
            gain = truth["gain_percent"]
            is_named = found is not None and found["ranks"] == truth["late"]
            is_near = is_named and abs(found["cost_percent"] - gain) <= 0.3 * gain
            is_held = is_named and found["cost_least_percent"] <= gain <= found["cost_most_percent"]
            counts["named"] += is_named
            counts["near"] += is_near
            counts["held"] += is_held
            if is_named and gain >= 10:
                widths.append((found["cost_most_percent"] - found["cost_least_percent"]) /
                              found["cost_percent"])
            wrong += [name for name, good in (("named", is_named), ("near", is_near),
                                              ("held", is_held)) if not good]
        if wrong:
            print(f"{pattern} {kind} {percent} % seed {seed}: not {', '.join(wrong)}: "
                  f"truth {truth}, found {found}")
    print(counts, "median width", sorted(widths)[len(widths) // 2] if widths else None)
    late, clean = max(counts["late"], 1), max(counts["clean"], 1)
    is_good = (counts["named"] >= 0.95 * late and counts["near"] >= 0.9 * late and
               counts["held"] >= 0.9 * late and counts["quiet"] >= 0.97 * clean and
               counts["said"] >= 0.9 * counts["moving"])
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main())
