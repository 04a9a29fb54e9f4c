#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Many jobs with known truth: the clocks are within what is said of them, what was injected is
named, and clean runs have no findings.

usage: check_truth.py GENERATE RINGSIDE [--seeds N] [--first N] [CHECK...]
"""
import argparse
import collections
import re
import subprocess
import sys
import tempfile

from generated_job import Failure, GeneratedJob, require

class Job(GeneratedJob):
    def __init__(self, options, seed, directory):
        super().__init__(options, seed, directory)
        self.hosts = self.random.randint(2, 4)
        self.ranks_per_host = self.random.randint(1, 4)
        self.ranks = self.hosts * self.ranks_per_host
        self.arguments += ["--hosts", self.hosts, "--ranks-per-host", self.ranks_per_host,
                           "--offset-ms", self.random.choice((0, 3, 5000)), "--drift-ppm", 50,
                           "--wander-us", self.random.choice((0, 30)),
                           "--times", self.random.choice(("gpu", "proxy"))]

    def clocks(self):
        found = self.ringside("stragglers", "--align-report")
        for row in found["tables"]["clocks"]["rows"]:
            require(row["uncertainty_ns"] is not None,
                    f"nothing bounds the clock of {row['host']}: {row}")
        for name, row, error_ns in self.clock_errors(found)[0]:
            # The generator's stamps and this arithmetic are rounded to a nanosecond each.
            require(error_ns <= row["most_uncertainty_ns"] + 5,
                    f"the clock of {name} is off by {error_ns:.0f} ns: {row}")
        return found

    def findings(self, command, *kinds, statuses=(0, 1)):
        found = self.ringside(command, statuses=statuses)["findings"]
        return [one["text"] for one in found if not kinds or one["kind"] in kinds]


def check_clean(job):
    job.generate("--iterations", 20)
    found = job.clocks()["findings"]
    require(not [one for one in found if one["severity"] != "note"], f"stragglers: {found}")
    require(not job.findings("match"), f"match: {job.findings('match')}")
    require(not job.findings("network"), f"network: {job.findings('network')}")
    summary = job.ringside("summary")
    require(summary["status"] in ("ok", "unknown"), f"summary: {summary['headline']}")


def check_straggler(job):
    rank = job.random.randrange(job.ranks)
    job.generate("--iterations", 60, "--straggler",
                 f"{rank}:{job.random.randint(500, 3000)}")
    job.clocks()
    found = job.findings("stragglers", "straggler")
    headline = job.ringside("summary")["headline"]
    if not found and "proxy" in job.arguments:
        # With proxy times, an operation that has moved nothing has only its call.
        require(headline.startswith("No problem found in "), headline)
        return
    require(len(found) == 1 and found[0].startswith(f"Rank {rank} ("),
            f"rank {rank} is late, found: {found}")
    require(headline == found[0], headline)


def check_mismatch(job):
    rank = job.random.randrange(job.ranks)
    what = job.random.choice(("size", "datatype", "root"))
    job.generate("--iterations", 8, "--pattern", "Broadcast:65536,AllReduce:1048576",
                 "--mismatch", f"{what}:{rank}:{2 * job.random.randrange(8)}")
    found = job.findings("match", "mismatch")
    require(len(found) == 1, f"one {what} mismatch, found: {found}")
    require(f"rank {rank} " in found[0].lower(), f"rank {rank} differs in {what}, found: {found}")
    require(job.ringside("summary")["headline"] == found[0], found[0])
    # The minority comes first. With two ranks there is none.
    require(job.ranks == 2 or found[0].startswith(f"Rank {rank} "), found[0])


def check_function(job):
    """One call is another function's: the calls after it have shifted numbers."""
    rank = job.random.randrange(job.ranks)
    at = job.random.randrange(26)
    job.generate("--iterations", 6, "--pattern",
                 "Broadcast:65536,AllReduce:1048576,Reduce:4096,AllReduce:64,AllGather:512",
                 "--mismatch", f"function:{rank}:{at}")
    found = job.findings("match", "mismatch")
    require(len(found) == 1, f"one function mismatch of rank {rank} at {at}, found: {found}")
    require(f"rank {rank} " in found[0].lower() and " in its place" in found[0],
            f"rank {rank} called another function at {at}, found: {found}")


def stuck(job, rank, *arguments):
    """Returns the output of `ringside hang` for a job whose processes all wrote a dump at once."""
    # With proxy times, an operation that has moved nothing has only its enqueue: it is no finding.
    job.arguments[job.arguments.index("--times") + 1] = "gpu"
    job.generate("--iterations", 6, *arguments)
    text = " ".join(job.ringside("hang", "--min-age", "0", statuses=(1,))["sentences"])
    require(re.search(rf"\b[Rr]ank {rank}\b", text), f"rank {rank} is not named: {text}")
    return text


def check_missing(job):
    """A rank leaves a call out; it and the others wait for each other, or it is at its end."""
    rank = job.random.randrange(job.ranks)
    # Not a Broadcast: who leaves out one of those need not be waited for.
    pattern = ("--pattern", "AllReduce:1048576,AllGather:65536,Reduce:4096,ReduceScatter:512")
    stuck(job, rank, "--missing", f"{rank}:{job.random.randrange(6)}", *pattern)


def check_hang(job):
    """A rank stops calling; with a dump of every process, and with one lost."""
    rank = job.random.randrange(job.ranks)
    lost = ("--lose", (rank + 1) % job.ranks) if job.ranks > 2 and job.random.random() < 0.5 else ()
    text = stuck(job, rank, "--hang", f"{rank}:{job.random.randrange(1, 6)}", *lost)
    require(f"Rank {rank} " in text and "has not joined" in text, f"rank {rank} stopped: {text}")


def starts_of(job):
    """True starts of each collective, by rank."""
    starts = {}
    for rank in job.truth["ranks"]:
        for args in job.lines_with(rank, '"seq"', '"start_ns"'):
            starts.setdefault((args["func"], args["seq"]), {})[rank["rank"]] = job.true_ns(
                rank["host"], args["start_ns"])
    return starts


def check_waiting(job):
    """`ringside overlap` says what ranks waited."""
    # Ranks that send to their own host only have no proxy times.
    job.arguments[job.arguments.index("--times") + 1] = "gpu"
    job.generate("--iterations", 20, "--pattern", "AllReduce:1048576,AllGather:65536",
                 "--straggler", f"{job.random.randrange(job.ranks)}:{job.random.randint(0, 200)}")
    waited_ns = collections.Counter()
    collectives = starts_of(job).values()
    for starts in collectives:
        for rank, start_ns in starts.items():
            waited_ns[rank] += max(starts.values()) - start_ns
    # All ranks end a collective at once, so the last one to come shows its time but for the stamps.
    error_ns = 1000 * len(collectives)
    for row in job.ringside("overlap")["tables"]["ranks"]["rows"]:
        require(abs(row["waiting_ns"] - waited_ns[row["rank"]]) <= error_ns,
                f"rank {row['rank']} waited {waited_ns[row['rank']]:.0f} ns: {row}")


def check_slow_link(job):
    """One channel between two hosts is slower than all the others. Links are compared with those of
    their class, here those between hosts, of which there must be four pairs."""
    job.hosts, job.ranks_per_host = job.random.randint(5, 6), 2
    job.arguments[job.arguments.index("--hosts") + 1] = job.hosts
    job.arguments[job.arguments.index("--ranks-per-host") + 1] = 2
    here = job.random.randrange(job.hosts) * job.ranks_per_host + job.ranks_per_host - 1
    there = (here + 1) % (job.hosts * job.ranks_per_host)
    job.generate("--iterations", 30, "--steps", "--slow-link",
                 f"{here}:{there}:1:{job.random.choice((4, 8))}")
    found = job.findings("network", "slow_link")
    require(len(found) == 1 and re.search(rf"rank {here}\b.*rank {there}\b.*channel 1\b", found[0]),
            f"channel 1 from rank {here} to rank {there} is slow, found: {found}")


def check_lost(job):
    """Without a rank's file, or with lost records, nothing is missing."""
    rank = job.random.randrange(job.ranks)
    lost = job.random.choice((("--lose", rank), ("--drop", f"{rank}:20"), ("--truncate", rank)))
    job.generate("--iterations", 10, *lost)
    found = job.findings("match", "missing", "mismatch", statuses=(0, 4))
    require(not found, f"{lost}: {found}")


CHECKS = {"clean": check_clean, "straggler": check_straggler, "mismatch": check_mismatch,
          "function": check_function, "missing": check_missing, "hang": check_hang,
          "waiting": check_waiting,
          "slow-link": check_slow_link, "lost": check_lost}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("generate")
    parser.add_argument("ringside")
    parser.add_argument("checks", nargs="*", metavar="CHECK", help=", ".join(CHECKS))
    parser.add_argument("--seeds", type=int, default=8, help="jobs for each check")
    parser.add_argument("--first", type=int, default=1, help="first seed")
    options = parser.parse_args()
    failed = 0
    for name in options.checks or CHECKS:
        for seed in range(options.first, options.first + options.seeds):
            with tempfile.TemporaryDirectory(prefix="ringside-truth-") as directory:
                job = Job(options, seed, directory)
                try:
                    CHECKS[name](job)
                except (Failure, KeyError, ValueError, subprocess.TimeoutExpired) as failure:
                    failed += 1
                    print(f"{name}, seed {seed}: {type(failure).__name__} {failure}\n"
                          f"  ringside_generate DIR {job}")
        print(f"{name}: {options.seeds} seeds")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
