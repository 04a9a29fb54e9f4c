#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Many simulated jobs: in clean ones nobody is called late, whatever the noise and the number of
hosts. A rank that costs more than a twentieth of all ranks' time is named with a share that holds
the truth, and nobody else is. Where the clocks leave that open, `ringside report` says so.

usage: check_stragglers.py GENERATE RINGSIDE [--seeds N] [--first N] [CHECK...]
"""
import argparse
import collections
import concurrent.futures
import json
import pathlib
import random
import subprocess
import sys
import tempfile

from check_truth import true_ns

PATTERNS = ("AllReduce:1048576", "AllReduce:65536,AllGather:65536",
            "Broadcast:65536,AllReduce:1048576", "ReduceScatter:262144,Reduce:4096",
            "AlltoAll:65536,AllReduce:16384", "RingShift:131072,AllReduce:65536")
SPLIT = ("AllReduce:1048576:split,AllReduce:262144:orthogonal",
         "AllReduce:65536:split,AllReduce:65536:split,AllReduce:262144:orthogonal,AllReduce:64")


class Job:
    def __init__(self, options, seed, directory, most_hosts=8):
        self.options = options
        self.random = random.Random(seed)
        self.traces = pathlib.Path(directory) / "traces"
        self.hosts = self.random.randint(1, most_hosts)
        self.ranks_per_host = self.random.choice((1, 2, 4, 8))
        if self.hosts * self.ranks_per_host < 2:
            self.ranks_per_host = 2
        self.ranks = self.hosts * self.ranks_per_host
        self.compute_us = self.random.choice((200, 1000, 10000))
        self.iterations = self.random.choice((50, 100, 200))
        self.arguments = ["--operations-only", "--seed", seed, "--hosts", self.hosts,
                          "--ranks-per-host", self.ranks_per_host, "--compute-us", self.compute_us,
                          "--iterations", self.iterations,
                          "--jitter", self.random.choice((0.02, 0.2, 0.6)),
                          "--offset-ms", self.random.choice((0, 3, 500)),
                          "--drift-ppm", self.random.choice((0, 20))]

    def generate(self, *arguments):
        self.arguments += arguments
        command = [self.options.generate, self.traces, *self.arguments]
        subprocess.run([str(part) for part in command], check=True, capture_output=True, timeout=60)
        self.truth = json.loads((self.traces / "truth.txt").read_text(encoding="utf-8"))

    def choose_pattern(self):
        if self.ranks >= 8 and self.random.random() < 0.4:
            return "--split", self.random.choice((2, 4) if self.ranks % 4 == 0 else (2,)), "--pattern", self.random.choice(SPLIT)
        return "--pattern", self.random.choice(PATTERNS)

    def ringside(self, *arguments):
        done = subprocess.run([self.options.ringside, *arguments, "--format", "json", self.traces],
                              capture_output=True, text=True, timeout=60, check=True)
        return json.loads(done.stdout)

    def findings(self):
        found = self.ringside("stragglers", "--top", "0")
        self.rows = found["tables"]["ranks"]["rows"]
        return [(one["kind"], one["text"]) for one in found["findings"]]

    def status(self):
        return self.ringside("report", "-o", "-")["health"]["status"]

    def shares(self):
        """What others waited for each rank as the last of a collective, of all ranks' time."""
        hosts = {host["host"]: host for host in self.truth["hosts"]}
        starts = collections.defaultdict(dict)
        ends = []
        for rank in self.truth["ranks"]:
            for line in (self.traces / rank["file"]).read_text(encoding="utf-8").splitlines():
                if '"start_ns"' not in line or '"seq"' not in line:
                    continue
                args = json.loads(line.strip("[,]"))["args"]
                key = args["comm"], args["func"], args["seq"]
                starts[key][rank["rank"]] = true_ns(self.truth, hosts[rank["host"]], args["start_ns"])
                ends.append(true_ns(self.truth, hosts[rank["host"]], args["end_ns"]))
        caused = collections.Counter()
        for times in starts.values():
            last = max(times, key=times.get)
            caused[last] += sum(times[last] - time for time in times.values())
        span_ns = max(ends) - min(min(times.values()) for times in starts.values())
        return {rank: caused[rank] / span_ns / self.ranks for rank in range(self.ranks)}


def check_clean(job):
    """Nobody is late, though noise has heavy tails and lasts."""
    noise = job.random.choice(((), (), ("--tails", 1.5), ("--tails", 3), ("--persistence", 0.8)))
    job.generate(*job.choose_pattern(), *noise)
    warned = [text for kind, text in job.findings() if kind == "straggler"]
    noted = [text for kind, text in job.findings() if kind == "late-once"]
    return [("warned", bool(warned), warned), ("noted", bool(noted), noted)]


def check_late(job):
    """A rank is late: always, now and then, in a phase. It is named with its share."""
    rank = job.random.randrange(job.ranks)
    delay_us = int(job.compute_us * job.random.choice((0.5, 2, 20)))
    mode = job.random.choice((("--straggler", f"{rank}:{delay_us}"),
                              ("--straggler", f"{rank}:{delay_us}:{job.iterations // 2}"),
                              ("--late-every", f"{rank}:{delay_us}:10"),
                              ("--late-every", f"{rank}:{delay_us}:{job.iterations}:{job.iterations // 4}:10"),
                              ("--late-random", f"{rank}:10:10")))
    job.generate("--pattern", "AllReduce:262144", *mode)
    found = [text for kind, text in job.findings() if kind == "straggler"]
    named = [text for text in found if text.startswith(f"rank {rank} (")]
    shares = job.shares()
    others = (sum(shares.values()) - shares[rank]) / (job.ranks - 1)
    # Of two ranks, or of a few late arrivals, nobody can tell that it is always the same one.
    times = {"--straggler": job.iterations, "--late-random": job.iterations // 20}.get(
        mode[0], int(mode[1].split(":")[3]) if mode[1].count(":") > 2 else job.iterations // 10)
    is_open = job.ranks ** (min(times, 32 * times // job.iterations + 1) - 1) < 10_000
    if shares[rank] - others < 0.06:
        return [("others blamed", len(found) > len(named), (mode, found))]
    outcomes = [("others blamed", len(found) > len(named), (mode, found))]
    if not named:
        status = job.status()
        missed = status == "ok" or job.hosts == 1 and not is_open
        return [*outcomes, ("missed", missed, (mode, status, f"{100 * shares[rank]:.1f} %")),
                ("unknown", not missed, None)]
    row = next(row for row in job.rows if row["rank"] == f"rank {rank}")
    if "share_most_percent" not in row:  # as it was before there was one
        return [*outcomes, ("missed", False, None),
                ("outside", abs(row["share_percent"] - 100 * shares[rank]) > 2,
                 (mode, row["share_percent"], 100 * shares[rank]))]
    inside = row["share_percent"] - 0.2 <= 100 * shares[rank] <= row["share_most_percent"] + 0.2
    return [*outcomes, ("missed", False, None),
            ("outside", not inside, (mode, row["share_percent"], 100 * shares[rank],
                                     row["share_most_percent"]))]


def check_costly(job):
    """Issue 15, row 21: late by 20 ms in a tenth of the iterations of a millisecond, or ten times
    the computing in a random twentieth."""
    job.hosts, job.ranks_per_host, job.ranks = 1, 8, 8
    for name, value in (("--hosts", 1), ("--ranks-per-host", 8), ("--compute-us", 1000),
                        ("--iterations", 200)):
        job.arguments[job.arguments.index(name) + 1] = value
    rank = job.random.randrange(8)
    mode = job.random.choice((("--late-every", f"{rank}:20000:10"), ("--late-random", f"{rank}:10:5")))
    job.generate("--pattern", "AllReduce:262144", *mode)
    found = [text for kind, text in job.findings() if kind == "straggler"]
    named = [text for text in found if text.startswith(f"rank {rank} (")]
    return [("missed", not named and job.shares()[rank] > 0.05, (mode, job.shares()[rank])),
            ("others blamed", len(found) > len(named), found)]


def check_cascade(job):
    """A rank is late in its own small communicator. Those that wait for it there come late to the
    ranks of others, and are not blamed."""
    job.hosts, job.ranks_per_host, job.ranks = 2, 8, 16
    for name, value in (("--hosts", 2), ("--ranks-per-host", 8)):
        job.arguments[job.arguments.index(name) + 1] = value
    rank = job.random.randrange(job.ranks)
    job.generate("--split", 4, "--pattern", SPLIT[0], "--late-every",
                 f"{rank}:{5 * job.compute_us}:{job.random.choice((1, 5))}")
    found = [text for kind, text in job.findings() if kind == "straggler"]
    named = [text for text in found if text.startswith(f"rank {rank} (")]
    return [("missed", not named, found), ("others blamed", len(found) > len(named), found),
            ("not the head", job.rows[0]["rank"] != f"rank {rank}", job.rows[0])]


# Each check, and in what part of its jobs an outcome may come.
CHECKS = {
    "clean": (check_clean, {"warned": 0.01, "noted": 0.02}),
    "late": (check_late, {"missed": 0.01, "others blamed": 0.01, "outside": 0, "unknown": 1}),
    "costly": (check_costly, {"missed": 0.01, "others blamed": 0.01}),
    "cascade": (check_cascade, {"missed": 0.01, "others blamed": 0.01, "not the head": 0.01}),
}


def run_one(options, name, seed):
    with tempfile.TemporaryDirectory(prefix="ringside-stragglers-") as directory:
        job = Job(options, seed, directory)
        try:
            return seed, job, CHECKS[name][0](job)
        except (subprocess.SubprocessError, KeyError, ValueError, StopIteration) as failure:
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
            if is_so and CHECKS[name][1].get(outcome, 0) < 1:
                print(f"{name}, seed {seed}: {outcome}: {why}\n"
                      f"  ringside_generate DIR {' '.join(map(str, job.arguments))}")
    print(f"{name}: " + ", ".join(f"{outcome} {counts[outcome]} of {judged[outcome]}"
                                  for outcome in judged))
    allowed = CHECKS[name][1]
    return all(counts[outcome] <= max(1, allowed.get(outcome, 0) * judged[outcome])
               if allowed.get(outcome, 0) else not counts[outcome] for outcome in judged)


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
