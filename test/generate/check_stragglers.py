#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Many simulated jobs, each also simulated without its late rank: what that takes less is the truth.
In clean jobs nobody is named, whatever the noise. A rank or host that costs 5 % or more is named in
the first line of `ringside summary`, with a cost near the truth, and nobody else is.

usage: check_stragglers.py GENERATE RINGSIDE [--seeds N] [--first N] [CHECK...]
"""
import argparse
import collections
import concurrent.futures
import copy
import pathlib
import re
import subprocess
import sys
import tempfile

from generated_job import Failure, GeneratedJob

PATTERNS = ("AllReduce:1048576", "AllReduce:65536,AllGather:65536",
            "Broadcast:65536,AllReduce:1048576", "ReduceScatter:262144,Reduce:4096",
            "AlltoAll:65536,AllReduce:16384", "RingShift:131072,AllReduce:65536")
SPLIT = ("AllReduce:1048576:split,AllReduce:262144:orthogonal",
         "AllReduce:65536:split,AllReduce:65536:split,AllReduce:262144:orthogonal,AllReduce:64")
# The least part of the wall time that a rank must cost to be named in every case, in percent.
LEAST_PERCENT = 5


class Job(GeneratedJob):
    def __init__(self, options, seed, directory):
        super().__init__(options, seed, directory)
        self.hosts = self.random.choice((1, 2, 4))
        self.ranks_per_host = self.random.choice((2, 4, 8) if self.hosts < 4 else (1, 2, 4))
        self.ranks = self.hosts * self.ranks_per_host
        self.compute_us = self.random.choice((200, 1000, 10000))
        self.iterations = self.random.choice((50, 100, 200))
        self.arguments += ["--operations-only", "--hosts", self.hosts, "--ranks-per-host",
                           self.ranks_per_host, "--compute-us", self.compute_us, "--iterations",
                           self.iterations, "--jitter", self.random.choice((0.02, 0.2, 0.6)),
                           "--offset-ms", self.random.choice((0, 3, 500)),
                           "--drift-ppm", self.random.choice((0, 20))]

    def choose_pattern(self):
        if self.ranks >= 8 and self.random.random() < 0.4:
            return "--split", 2, "--pattern", self.random.choice(SPLIT)
        return "--pattern", self.random.choice(PATTERNS)

    def wall_ns(self):
        """From the first end to the last one on the first rank."""
        ends = [args["end_ns"] for args in self.lines_with(self.truth["ranks"][0], '"end_ns"')]
        return max(ends) - min(ends)

    def generate_late(self, pattern, late):
        """Returns what the job would take less without what `late` says, in percent."""
        without = copy.copy(self)
        without.arguments = list(self.arguments)
        without.traces = pathlib.Path(f"{self.traces}-without")
        without.generate(*pattern)
        self.generate(*pattern, *late)
        return 100 * (1 - without.wall_ns() / self.wall_ns())

    def headline(self):
        return self.ringside("summary")["headline"]

    def judge(self, names, gain_percent):
        """`names`: what the first line may begin with."""
        headline = self.headline()
        is_named = headline.startswith(names)
        outcomes = [("others named", "slow the job" in headline.replace("slows", "slow") and
                     not is_named, headline)]
        if gain_percent >= LEAST_PERCENT:
            outcomes.append(("missed", not is_named, f"{headline}: true {gain_percent:.1f} %"))
        if is_named and gain_percent >= LEAST_PERCENT:
            best, least, most = map(float, re.search(
                r"about ([\d.]+) % \(([\d.]+) to ([\d.]+) %\)", headline).groups())
            truth = f"{headline}: true {gain_percent:.1f} %"
            outcomes += [("far", abs(best - gain_percent) > 0.3 * gain_percent, truth),
                         ("outside", not least - 0.5 <= gain_percent <= most + 0.5, truth)]
        return outcomes


def rank_name(rank):
    return f"Rank {rank} ("


def clean_outcomes(job):
    headline = job.headline()
    return [("named", not headline.startswith("No problem found"), headline)]


def check_clean(job):
    """Noise of all kinds: with tails, and such that lasts for some iterations."""
    noise = job.random.choice(((), (), ("--tails", 3), ("--persistence", 0.8)))
    job.generate(*job.choose_pattern(), *noise)
    return clean_outcomes(job)


def check_rooted(job):
    """Clean: a root waits where the others do not, so that these come first to what follows."""
    rooted = job.random.choice(("Reduce:65536,AllReduce:65536", "AllReduce:65536,Reduce:65536",
                                "AllReduce:65536,Broadcast:65536", "Reduce:65536",
                                "Reduce:65536,Broadcast:65536"))
    job.generate("--pattern", rooted, *job.random.choice((("--tails", 3), ())))
    return clean_outcomes(job)


def check_late(job):
    """A rank is late: always, now and then, in a phase."""
    rank = job.random.randrange(job.ranks)
    delay_us = int(job.compute_us * job.random.choice((0.5, 2, 20)))
    late = job.random.choice((("--straggler", f"{rank}:{delay_us}"),
                              ("--straggler", f"{rank}:{delay_us}:{job.iterations // 2}"),
                              ("--late-every", f"{rank}:{delay_us}:10"),
                              ("--late-random", f"{rank}:10:10")))
    return job.judge(rank_name(rank), job.generate_late(job.choose_pattern(), late))


def check_short(job):
    """A job of a few iterations: noise names nobody, and a stall that takes most of it is named. Of two
    ranks it may be unknown what is usual."""
    iterations = job.random.choice((2, 3, 4, 6))
    job.arguments[job.arguments.index("--iterations") + 1] = iterations
    pattern = job.choose_pattern()
    if job.random.random() < 0.5:
        noise = job.random.choice(((), (), ("--tails", 3), ("--persistence", 0.8)))
        job.generate(*pattern, *noise)
        return [("others named", "slow the job by" in job.headline().replace("slows", "slow"),
                 job.headline())]
    rank = job.random.randrange(job.ranks)
    stall_us = 100 * iterations * job.compute_us
    job.generate(*pattern, "--straggler", f"{rank}:{stall_us}:1:2")
    headline = job.headline()
    return [("missed", not headline.startswith(rank_name(rank)) and job.ranks > 2, headline)]


def check_moving(job):
    """Work moves from rank to rank before an exchange of all with all, whose sizes change each time."""
    late = [argument for rank in range(job.ranks)
            for argument in ("--late-random", f"{rank}:3:{150 // job.ranks}")]
    job.generate("--pattern", "AlltoAllv:65536,AllReduce:65536", *late)
    kinds = [finding["kind"] for finding in job.ringside("stragglers")["findings"]]
    return [("missed", kinds != ["imbalance"] and job.ranks > 2, str(kinds))]


def check_in_turn(job):
    """Two ranks are late in turn, in every second iteration each."""
    one, other = sorted(job.random.sample(range(job.ranks), 2))
    late = ("--late-every", f"{one}:{10 * job.compute_us}:2",
            "--late-every", f"{other}:{10 * job.compute_us}:2:1:1")
    if job.ranks == 2:  # nobody else shows what is usual
        late = late[:2]
        return job.judge(rank_name(one), job.generate_late(("--pattern", PATTERNS[0]), late))
    # The two may be all ranks of a host.
    is_host = job.ranks_per_host == 2 and other == one + 1 and one % 2 == 0
    return job.judge(f"Host host{one // 2} " if is_host else f"Rank {one} and rank {other} slow",
                     job.generate_late(("--pattern", PATTERNS[0]), late))


def check_late_host(job):
    """All ranks of a host are late, and no clock shows it."""
    if job.hosts == 1 or job.ranks_per_host == 1:
        return []
    late = [argument for rank in range(job.ranks_per_host)
            for argument in ("--straggler", f"{rank}:{2 * job.compute_us}")]
    return job.judge("Host host0 ", job.generate_late(("--pattern", PATTERNS[0]), late))


def check_roots(job):
    """A rank is late where it is a root by turns, or where only roots wait for it."""
    rooted = job.random.choice(("AllReduce:65536,Broadcast:65536", "AllReduce:65536,Reduce:65536",
                                "Reduce:65536,Broadcast:65536", "Reduce:65536,AllReduce:1024"))
    late = ("--straggler", f"1:{2 * job.compute_us}")
    return job.judge(rank_name(1), job.generate_late(("--pattern", rooted), late))


# Each check, and in what part of its jobs an outcome may come.
LATE = {"missed": 0.05, "others named": 0.01, "far": 0.1, "outside": 0.1}
CLEAN = {"named": 0.01}
CHECKS = {
    "clean": (check_clean, CLEAN),
    "rooted": (check_rooted, CLEAN),
    "late": (check_late, LATE),
    "short": (check_short, LATE),
    "moving": (check_moving, {"missed": 0.1}),
    "in-turn": (check_in_turn, LATE),
    "late-host": (check_late_host, LATE),
    "roots": (check_roots, LATE),
}


def run_one(options, name, seed):
    with tempfile.TemporaryDirectory(prefix="ringside-stragglers-") as directory:
        job = Job(options, seed, directory)
        try:
            return seed, job, CHECKS[name][0](job)
        except (Failure, subprocess.SubprocessError, KeyError, ValueError) as failure:
            return seed, job, [("failed", True, repr(failure))]


def run_check(options, name):
    """Whether each outcome is as rare as it must be; one is always allowed."""
    seeds = range(options.first, options.first + options.seeds)
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        done = list(pool.map(lambda seed: run_one(options, name, seed), seeds))
    counts = collections.Counter()
    judged = collections.Counter()
    for seed, job, outcomes in done:
        for outcome, is_so, why in outcomes:
            judged[outcome] += 1
            counts[outcome] += is_so
            if is_so:
                print(f"{name}, seed {seed}: {outcome}: {why}\n  ringside_generate DIR {job}")
    print(f"{name}: " + ", ".join(f"{outcome} {counts[outcome]} of {judged[outcome]}"
                                  for outcome in judged))
    allowed = CHECKS[name][1]
    return all(counts[outcome] <= max(1, allowed[outcome] * judged[outcome])
               if outcome in allowed else not counts[outcome] for outcome in judged)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("generate")
    parser.add_argument("ringside")
    parser.add_argument("checks", nargs="*", metavar="CHECK", help=", ".join(CHECKS))
    parser.add_argument("--seeds", type=int, default=20, help="jobs for each check")
    parser.add_argument("--first", type=int, default=1, help="first seed")
    parser.add_argument("--jobs", type=int, default=2, help="that run at the same time")
    options = parser.parse_args()
    return 0 if all([run_check(options, name) for name in options.checks or CHECKS]) else 1


if __name__ == "__main__":
    sys.exit(main())
