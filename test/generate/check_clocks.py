#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Jobs whose clocks are known, with hosts that are late in many ways: the offset that --align-report
prints is never further from the truth than it says, and neither is any start on the common clock.
Priors narrow it: a true one finds a host that is always late, and a wrong one is dropped.

usage: check_clocks.py GENERATE RINGSIDE [--seeds N] [--first N] [--way WAY] [--steps] [--calls]
"""
import argparse
import collections
import concurrent.futures
import csv
import os
import pathlib
import re
import sys
import tempfile

from generated_job import BASE_S, GeneratedJob, own_ns

# How a host is late: FROM:UNTIL:GROWTH_US of each straggler, of N iterations.
WAYS = {
    "never": lambda n: [],
    "always": lambda n: ["0"],
    "after a quick start": lambda n: ["3"],
    "from the middle on": lambda n: [str(n // 2)],
    "until the middle": lambda n: [f"0:{n // 2}"],
    "in phases": lambda n: [f"{i * n // 5}:{i * n // 5 + n // 10}" for i in range(5)],
    "more and more": lambda n: [f"0:{n}:growth"],
    "once": lambda n: [f"{n // 3}:{n // 3 + 1}"],
}
PATTERNS = {
    "collectives": "AllReduce:1048576,AllGather:65536",
    "an AllReduce": "AllReduce:4194304",
    "all": "AllReduce:4194304,AllGather:1048576,Broadcast:65536,Reduce:262144,AlltoAllv:131072,"
           "Gather:16384,Scatter:16384,RingShift:131072",
    "pairs": "RingShift:131072,Neighbour:65536",
    "rooted": "Broadcast:65536,Reduce:262144,Gather:16384,Scatter:16384",
    "exchange": "AlltoAll:65536,AlltoAllv:131072",
}
# Iterations, and microseconds of computing in each: 0.2 s to a day.
LENGTHS = ((200, 1_000), (60, 2_000), (300, 10_000), (100, 3_600_000), (96, 900_000_000))


class Job(GeneratedJob):
    def __init__(self, options, seed, directory):
        super().__init__(options, seed, directory)
        self.way = options.way or self.random.choice(sorted(WAYS))
        self.pattern = self.random.choice(sorted(PATTERNS))
        self.hosts = self.random.randint(2, 8)
        per_host = self.random.choice((1, 1, 2))
        iterations, compute_us = self.random.choice(LENGTHS)
        same = self.random.random() < 0.3
        self.arguments += ["--hosts", self.hosts, "--ranks-per-host", per_host,
                          "--iterations", iterations, "--compute-us", compute_us,
                          "--jitter", self.random.choice((0, 0.01, 0.2)),
                          "--offset-ms", 0 if same else self.random.choice((0, 3, 5000)),
                          "--drift-ppm", 0 if same else self.random.choice((0, 10, 50)),
                          "--wander-us", 0 if same else self.random.choice((0, 30)),
                          "--wander-period-s", max(60, iterations * compute_us // 3_000_000),
                          "--times", self.random.choice(("gpu", "gpu", "proxy")),
                          "--pattern", PATTERNS[self.pattern]]
        delay_us = self.random.choice((200, 1_000, 5_000))
        host = self.random.randrange(self.hosts)
        for late in WAYS[self.way](iterations):
            late = late.replace("growth", str(self.random.choice((5, 20, 100))))
            for rank in range(host * per_host, (host + 1) * per_host):
                self.arguments += ["--straggler", f"{rank}:{delay_us}:{late}"]
        if self.random.random() < 0.2:
            rank = self.random.randrange(self.hosts * per_host)
            self.arguments += ["--start-late", f"{rank}:{iterations // 4}"]


def steps_told(job, found):
    """By host, the times by its own clock between which it is said to have stepped."""
    begun_ns = job.truth["job_start_ns"] - 2_000_000  # all traces
    steps = collections.defaultdict(list)
    for name, begin, end in re.findall(
            r"(?:the clock of|that of) (\S+?)(?: stepped)?,.* between (-?[\d.]+) and (-?[\d.]+) s",
            "\n".join(found["notes"])):
        zero_ns = own_ns(job.truth, job.hosts_by_name[name], begun_ns)
        steps[name].append((zero_ns + float(begin) * 1e9 - 1e3, zero_ns + float(end) * 1e9 + 1e3))
    return steps


def check_calls(job, directory, found, reference, common):
    """Every call's time on the common clock is the reference's clock at its true time, to within
    the greatest uncertainty of its host."""
    steps = steps_told(job, found)
    rows = {row["host"]: row for row in found["tables"]["clocks"]["rows"]}
    base_ns = BASE_S * 1_000_000_000

    def table(name):
        with open(directory / "tables" / f"{name}.csv", encoding="utf-8", newline="") as file:
            yield from csv.DictReader(file)

    names = {row["id"]: row["host"] for row in table("hosts")}
    host_of = {row["id"]: names[row["host_id"]] for row in table("processes")}
    path_of = {row["id"]: pathlib.Path(row["path"]).name for row in table("processes")}
    process_of = {row["id"]: row["process_id"] for row in table("memberships")}
    raw = {}
    for rank in job.truth["ranks"]:
        for args in job.lines_with(rank, '"op":', '"enqueue_start_ns":'):
            raw[(rank["file"], str(args["op"]))] = args["enqueue_start_ns"]
    for call in table("calls"):
        process = process_of[call["membership_id"]]
        name = host_of[process]
        own = raw.get((path_of[process], call["op"]))
        if own is None or rows[name]["uncertainty_ns"] is None or job.hosts_by_name[name] is reference:
            continue
        if any(begin < own < end for begin, end in steps[name]):
            continue
        truth_ns = own_ns(job.truth, common, job.true_ns(name, own))
        error_ns = abs(int(call["enqueue_start_ns"]) - base_ns - truth_ns)
        if error_ns > rows[name]["most_uncertainty_ns"] + 5:
            return [f"a call of {name} is {error_ns:.0f} ns off, and its clock at most "
                    f"{rows[name]['most_uncertainty_ns']}"]
    return []


def check_report(job, found, hidden_ns=0, behind=None):
    """Returns errors of the printed offsets, how well these are known, the reference, and the
    common clock."""
    errors, *reference = job.clock_errors(found, behind)
    # The generator's stamps and this arithmetic are rounded to a nanosecond each.
    wrong = [f"the clock of {name} is off by {error_ns:.0f} ns, and said to be off by "
             f"{row['uncertainty_ns']} at most"
             for name, row, error_ns in errors if error_ns > row["uncertainty_ns"] + hidden_ns + 5]
    return wrong, [row["uncertainty_ns"] for _, row, _ in errors], *reference


def check(seed, options):
    with tempfile.TemporaryDirectory(prefix="ringside-clocks-") as name:
        directory = pathlib.Path(name)
        job = Job(options, seed, directory)
        job.generate()
        found = job.ringside("stragglers", "--align-report")
        wrong, widths, *reference = check_report(job, found)
        wrong += [note for note in found["notes"] if "operations contradict" in note]
        if not wrong and options.calls:
            job.export(directory / "tables")
            wrong += check_calls(job, directory, found, *reference)
        return job, wrong, widths


class StepJob(Job):
    """One host or two step. Two steps are the plugin's least tellable ones at least; smaller ones, and
    those of a machine whose counter stands still as well, are in no trace."""

    def __init__(self, options, seed, directory):
        super().__init__(options, seed, directory)
        length = int(self.arguments[self.arguments.index("--iterations") + 1])
        self.is_reported = self.random.random() < 0.5
        self.way = "stepping, reported" if self.is_reported else "stepping, hidden"
        self.steps = []
        for host in self.random.sample(range(self.hosts), self.random.randint(1, min(2, self.hosts - 1))):
            size_us = self.random.choice((5_000, 50_000, 2_000_000) if self.is_reported
                                         else (5, 100, 1_000, 50_000, 2_000_000))
            size_us *= self.random.choice((-1, 1)) * self.random.uniform(1, 3)
            self.steps.append((host, self.random.randrange(length // 4, length), round(size_us)))
        for host, at, size_us in self.steps:
            self.arguments.append(f"--clock-step={host}:{at}:{size_us}{'' if self.is_reported else ':hidden'}")


def check_step(seed, options):
    with tempfile.TemporaryDirectory(prefix="ringside-clocks-") as name:
        directory = pathlib.Path(name)
        job = StepJob(options, seed, directory)
        job.generate()
        found = job.ringside("stragglers", "--align-report")
        said = steps_told(job, found)
        # A step that contradicts nothing is not seen, and bounds that it moved are off by as much.
        # With two hosts the other one may be named.
        hidden_ns = sum(
            abs(step["size_ns"]) for host in job.truth["hosts"] for step in host["steps"]
            if not any(begin <= own_ns(job.truth, job.hosts_by_name[name], step["at_ns"]) <= end
                       for name in list(said) for begin, end in said[name]))
        if options.calls and not hidden_ns:
            job.export(directory / "tables")

        def held_against(behind):
            wrong, widths, *reference = check_report(job, found, hidden_ns, behind)
            if not wrong and options.calls and not hidden_ns:
                wrong = check_calls(job, directory, found, *reference)
            return wrong, widths

        # If the reference may have stepped, the common clock is that of one of its pieces.
        wrong, widths = min(map(held_against, [None, 0, 1] if said else [None]), key=lambda one: len(one[0]))
        if job.is_reported:
            wrong += [f"a step is not told: {found['notes']}"] if hidden_ns else []
        if len(job.steps) == 1:
            wrong += [note for note in found["notes"] if "operations contradict" in note]
        if not job.is_reported:
            job.way += ", found" if said else ", not found"
        return job, wrong, widths


class PriorJob(GeneratedJob):
    """A host that is always late, and clocks whose error is known, or is said wrongly."""

    pattern = "an AllReduce"

    def __init__(self, options, seed, directory):
        super().__init__(options, seed, directory)
        chance = self.random
        self.hosts = chance.randint(2, 5)
        self.error_us = chance.choice((50, 200))
        self.is_wrong = chance.random() < 0.3
        self.is_of_kernel = chance.random() < 0.5
        self.way = "with a wrong prior" if self.is_wrong else "always, with a prior"
        self.late = chance.randrange(self.hosts)
        self.arguments += ["--hosts", self.hosts, "--ranks-per-host", 1, "--iterations", 60,
                          "--compute-us", 1000, "--jitter", 0.02, "--drift-ppm", 0,
                          "--offset-ms", 50 if self.is_wrong else 0.9e-3 * self.error_us,
                          "--wander-us", 0 if self.is_wrong else self.error_us // 20,
                          "--pattern", PATTERNS[self.pattern]]
        if not self.is_wrong:
            self.arguments += ["--straggler", f"{self.late}:{20 * self.error_us}"]
        if self.is_of_kernel:
            self.arguments += ["--max-error-us", self.error_us]
        self.prior = [] if self.is_of_kernel else ["--clock-error", f"{self.error_us}us"]

    def wrong(self, found, without, widths):
        def named(document):
            return [one["text"] for one in document["findings"] if one["kind"] == "straggler"]

        def is_late_named(document):
            return [text.startswith(f"Rank {self.late} ") for text in named(document)] == [True]

        rests = [note for note in found["notes"] if "rely on the error of each clock" in note]
        dropped = [note for note in found["notes"] if "priors are dropped" in note]
        if self.is_wrong:
            offsets = sorted(host["offset_ns"] for host in self.truth["hosts"])
            # All others are near the first or the last, else each contradicts one that is far away.
            return [] if (offsets[-1] - offsets[0] < 2_000_000 or dropped) and not named(found) else [
                f"the prior is wrong, but {found['notes']}"]
        wrong = [f"the prior is true, but {dropped}"] if dropped else []
        # Who is late is the same with any clocks.
        if not rests or not is_late_named(found):
            wrong.append(f"rank {self.late} is not found: {named(found)}, {found['notes']}")
        if any("rely on the error of each clock" in note for note in without["notes"]) or not is_late_named(without):
            wrong.append(f"without a prior: {named(without)}, {without['notes']}")
        # Clock lines are 60 iterations apart, and the kernel's error grows by 500 ppm between them.
        most_ns = 2_000 * self.error_us + (100_000 if self.is_of_kernel else 1_000)
        return wrong + [f"+- {width} ns" for width in widths if width > most_ns]


def check_prior(seed, options):
    with tempfile.TemporaryDirectory(prefix="ringside-clocks-") as directory:
        job = PriorJob(options, seed, directory)
        job.generate()
        found = job.ringside("stragglers", "--align-report", *job.prior)
        wrong, widths, *_ = check_report(job, found)
        notes = " ".join(found["notes"])
        if job.is_wrong and "rely on the error of each clock" in notes and "priors are dropped" not in notes:
            wrong = []  # nothing contradicts the wrong prior, and the output says that it rests on it
        for path in job.traces.glob("ringside.*") if job.is_of_kernel else ():
            path.write_text(path.read_text(encoding="utf-8").replace('"synchronised":true', '"synchronised":false'),
                            encoding="utf-8")
        return job, wrong + job.wrong(found, job.ringside("stragglers", "--align-report"), widths), widths


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("generate")
    parser.add_argument("ringside")
    parser.add_argument("--seeds", type=int, default=24, help="jobs")
    parser.add_argument("--first", type=int, default=1, help="first seed")
    parser.add_argument("--way", choices=WAYS, help="how a host is late, in all jobs")
    parser.add_argument("--calls", action="store_true", help="also look at every call's time")
    parser.add_argument("--steps", action="store_true", help="only jobs in which clocks step")
    options = parser.parse_args()
    jobs = collections.Counter()
    failed = collections.Counter()
    known = collections.defaultdict(list)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        seeds = range(options.first, options.first + options.seeds)
        kinds = (check_step,) if options.steps else (check,) if options.way else (check, check_prior, check_step)
        checks = [(seed, kind) for kind in kinds for seed in seeds]
        for (seed, _), (job, wrong, widths) in zip(checks, pool.map(lambda c: c[1](c[0], options), checks)):
            jobs[job.way] += 1
            failed[job.way] += bool(wrong)
            known[job.way] += widths
            for text in wrong:
                print(f"seed {seed}, {job.way} late, {job.pattern}: {text}\n"
                      f"  ringside_generate DIR {job}")
    for way in sorted(jobs):
        widths = sorted(known[way])
        middle = f"{widths[len(widths) // 2] / 1000:.0f} us" if widths else "-"
        print(f"{way:20s} {jobs[way] - failed[way]:4d} of {jobs[way]:4d} hold the truth; "
              f"uncertainty in the middle {middle}")
    return 1 if sum(failed.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
