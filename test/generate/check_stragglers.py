#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Many simulated jobs: in clean ones nobody is called late, whatever the noise and the number of
hosts. A rank that costs more than a twentieth of all ranks' time is named with a share that holds
the truth, and nobody else is. If the clocks leave that open, `ringside report` says so.

usage: check_stragglers.py GENERATE RINGSIDE [--seeds N] [--first N] [CHECK...]
"""
import argparse
import collections
import concurrent.futures
import subprocess
import sys
import tempfile

from generated_job import Failure, GeneratedJob

PATTERNS = ("AllReduce:1048576", "AllReduce:65536,AllGather:65536",
            "Broadcast:65536,AllReduce:1048576", "ReduceScatter:262144,Reduce:4096",
            "AlltoAll:65536,AllReduce:16384", "RingShift:131072,AllReduce:65536")
SPLIT = ("AllReduce:1048576:split,AllReduce:262144:orthogonal",
         "AllReduce:65536:split,AllReduce:65536:split,AllReduce:262144:orthogonal,AllReduce:64")


class Job(GeneratedJob):
    def __init__(self, options, seed, directory, most_hosts=8):
        super().__init__(options, seed, directory)
        self.hosts = self.random.randint(1, most_hosts)
        self.ranks_per_host = self.random.choice((1, 2, 4, 8))
        if self.hosts * self.ranks_per_host < 2:
            self.ranks_per_host = 2
        self.ranks = self.hosts * self.ranks_per_host
        self.compute_us = self.random.choice((200, 1000, 10000))
        self.iterations = self.random.choice((50, 100, 200))
        self.arguments += ["--operations-only", "--hosts", self.hosts, "--ranks-per-host", self.ranks_per_host, "--compute-us", self.compute_us,
                          "--iterations", self.iterations,
                          "--jitter", self.random.choice((0.02, 0.2, 0.6)),
                          "--offset-ms", self.random.choice((0, 3, 500)),
                          "--drift-ppm", self.random.choice((0, 20))]

    def fix(self, **values):
        """Takes these in place of what was drawn: hosts, ranks_per_host, compute_us, iterations..."""
        for name, value in values.items():
            setattr(self, name, value)
            self.arguments[self.arguments.index("--" + name.replace("_", "-")) + 1] = value
        self.ranks = self.hosts * self.ranks_per_host

    def choose_pattern(self):
        if self.ranks >= 8 and self.random.random() < 0.4:
            return "--split", self.random.choice((2, 4) if self.ranks % 4 == 0 else (2,)), "--pattern", self.random.choice(SPLIT)
        return "--pattern", self.random.choice(PATTERNS)

    def findings(self):
        found = self.ringside("stragglers", "--top", "0")
        self.rows = found["tables"]["ranks"]["rows"]
        return [(one["kind"], one["text"]) for one in found["findings"]]

    def status(self):
        return self.ringside("report", "-o", "-")["health"]["status"]

    def shares(self):
        """Returns the others' waits because of each rank in the collectives, of all ranks' time.

        The others wait for the last one. If it had waited for others in earlier operations, in
        which the waiting rank took no part, that wait is due to those others."""
        starts = collections.defaultdict(dict)
        ends = []
        for rank in self.truth["ranks"]:
            for args in self.lines_with(rank, '"start_ns"', '"seq"'):
                key = args["comm"], args["func"], args["seq"]
                starts[key][rank["rank"]] = self.true_ns(rank["host"], args["start_ns"])
                ends.append(self.true_ns(rank["host"], args["end_ns"]))
        caused = collections.Counter()
        visits = collections.defaultdict(list)
        for times in sorted(starts.values(), key=lambda times: max(times.values())):
            last = max(times, key=times.get)
            origins = {rank: origins_of(rank, last, times[last] - time, visits[last])
                       for rank, time in times.items() if rank != last}
            for due in origins.values():
                caused.update(due)
            for rank in times:
                visits[rank].insert(0, (times, origins.get(rank, {})))
                del visits[rank][8:]
        span_ns = max(ends) - min(min(times.values()) for times in starts.values())
        return {rank: caused[rank] / span_ns / self.ranks for rank in range(self.ranks)}

    def judge(self, *ranks, least=0.06, is_open=False):
        """The outcomes of a job in which these ranks are late."""
        found = [text for kind, text in self.findings() if kind == "straggler"]
        shares = self.shares()
        outcomes = []
        blamed = found
        for rank in ranks:
            named = [text for text in found if text.startswith(f"rank {rank} (")]
            blamed = [text for text in blamed if text not in named]
            others = sum(share for other, share in shares.items() if other not in ranks)
            if not named and shares[rank] - others / max(self.ranks - len(ranks), 1) >= least:
                status = self.status()
                is_missed = status == "ok" or self.hosts == 1 and not is_open
                outcomes += [("missed", is_missed, (status, f"rank {rank}: {100 * shares[rank]:.1f} %")),
                             ("unknown", not is_missed, None)]
            elif shares[rank] >= least:
                outcomes += [("missed", False, None), ("unknown", False, None)]
        outside = [(row["rank"], row["share_percent"], truth, row["share_most_percent"])
                   for row in self.rows for truth in [100 * shares[int(row["rank"][5:])]]
                   if not row["share_percent"] - 0.2 <= truth <= row["share_most_percent"] + 0.2]
        return [*outcomes, ("others blamed", bool(blamed), blamed), ("outside", bool(outside), outside)]


def origins_of(waiter, last, waited_ns, visits):
    due = collections.Counter()
    for times, origins in visits:
        if waiter in times:
            break
        # A wait of the last one for the waiter delayed both.
        others = {origin: ns for origin, ns in origins.items() if origin != waiter}
        passed_ns = min(waited_ns, sum(others.values()))
        for origin, ns in others.items():
            if passed_ns > 0:
                due[origin] += passed_ns * ns / sum(others.values())
        waited_ns -= passed_ns
    due[last] += waited_ns
    return due


def check_clean(job):
    """Nobody is late, though noise has heavy tails and lasts."""
    noise = job.random.choice(((), (), ("--tails", 1.5), ("--tails", 3), ("--persistence", 0.8)))
    job.generate(*job.choose_pattern(), *noise)
    return clean_outcomes(job)


def clean_outcomes(job):
    warned = [text for kind, text in job.findings() if kind == "straggler"]
    noted = [text for kind, text in job.findings() if kind == "late-once"]
    return [("warned", bool(warned), warned), ("noted", bool(noted), noted)]


def check_rooted(job):
    """Clean: a root waits where the others do not, so that these come first to what follows."""
    hosts = job.random.choice((1, 1, 2))
    job.fix(hosts=hosts, ranks_per_host=job.random.choice((2, 3, 4) if hosts == 1 else (1, 2)))
    rooted = job.random.choice(("Reduce:65536,AllReduce:65536", "AllReduce:65536,Reduce:65536",
                                "AllReduce:65536,Broadcast:65536", "Reduce:65536",
                                "Reduce:65536,Broadcast:65536"))
    job.generate("--pattern", rooted, *job.random.choice((("--tails", 1.5), ("--tails", 1.5), ())))
    return clean_outcomes(job)


def check_lasting(job):
    """Clean: noise that lasts for as long as a third of the job."""
    hosts = job.random.choice((1, 1, 2, 4))
    job.fix(hosts=hosts, ranks_per_host=job.random.choice((2, 4, 8)), iterations=100)
    job.generate(*job.choose_pattern(), "--persistence", 0.97)
    return clean_outcomes(job)


def check_noisy(job):
    """The same with other memories and lengths."""
    hosts = job.random.choice((1, 1, 2, 4))
    job.fix(hosts=hosts, ranks_per_host=job.random.choice((2, 4, 8)),
            iterations=job.random.choice((50, 100, 200, 400)))
    job.generate(*job.choose_pattern(), "--persistence", job.random.choice((0.5, 0.8, 0.9, 0.95, 0.97, 0.98)))
    return clean_outcomes(job)


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
    # With two ranks, or with a few late arrivals, nobody can tell that it is always the same one.
    times = {"--straggler": job.iterations, "--late-random": job.iterations // 20}.get(
        mode[0], int(mode[1].split(":")[3]) if mode[1].count(":") > 2 else job.iterations // 10)
    is_open = job.ranks ** (min(times, 32 * times // job.iterations + 1) - 1) < 10_000
    return job.judge(rank, is_open=is_open)


def check_costly(job):
    """Issue 15, row 21: late by 20 ms in a tenth of the iterations of a millisecond, or ten times
    the computing in a random twentieth."""
    job.fix(hosts=1, ranks_per_host=8, compute_us=1000, iterations=200)
    rank = job.random.randrange(8)
    mode = job.random.choice((("--late-every", f"{rank}:20000:10"), ("--late-random", f"{rank}:10:5")))
    job.generate("--pattern", "AllReduce:262144", *mode)
    return job.judge(rank)


def check_rare(job):
    """Late by 20 ms in every tenth of 50 iterations of a millisecond, beside three others."""
    job.fix(hosts=1, ranks_per_host=4, compute_us=1000, iterations=50)
    rank = job.random.randrange(4)
    job.generate("--pattern", "AllReduce:262144", "--late-every", f"{rank}:20000:10")
    return job.judge(rank)


def check_few(job):
    """A small job, and a rank that is late in 5 to 10 % of the iterations, also beside noise that lasts."""
    job.fix(hosts=1, ranks_per_host=job.random.choice((4, 4, 8)), compute_us=1000,
            iterations=job.random.choice((100, 200)))
    rank = job.random.randrange(job.ranks)
    percent = job.random.randint(5, 10)
    mode = job.random.choice((("--late-every", f"{rank}:20000:{100 // percent}"),
                              ("--late-random", f"{rank}:20:{percent}")))
    job.generate("--pattern", "AllReduce:262144", *mode,
                 *job.random.choice(((), ("--persistence", 0.8), ("--tails", 3))))
    # As in check_late(): of random ones there may be half as many.
    times = job.iterations * percent // 100 // (2 if mode[0] == "--late-random" else 1)
    return job.judge(rank, is_open=job.ranks ** (times - 1) < 10_000)


def check_in_turn(job):
    """Two ranks are late in turn, in every second iteration each."""
    job.fix(hosts=1, ranks_per_host=job.random.choice((4, 8)), compute_us=1000, iterations=50)
    one, other = job.random.sample(range(job.ranks), 2)
    job.generate("--pattern", "AllReduce:262144", "--late-every", f"{one}:20000:2", "--late-every",
                 f"{other}:20000:2:1:1")
    return job.judge(one, other)


def check_late_host(job):
    """All ranks of a host are late, and clocks that nothing else bounds do not show it: no rank of
    another host may be blamed for what it made those of its own host wait."""
    job.fix(hosts=2, ranks_per_host=job.random.choice((2, 4)), compute_us=1000, iterations=100)
    delays = [argument for rank in range(job.ranks_per_host)
              for argument in ("--straggler", f"{rank}:20000")]
    own = job.random.randrange(job.ranks_per_host, job.ranks)
    job.generate("--pattern", "AllReduce:262144", *delays, "--straggler",
                 f"{own}:{job.random.choice((1000, 5000))}")
    outcomes = job.judge()
    return [(outcome, is_so and any(text.startswith("rank") for text in why), why)
            if outcome == "others blamed" else (outcome, is_so, why) for outcome, is_so, why in outcomes]


def check_cascade(job):
    """A rank is late in its own small communicator. Those that wait for it there come late to the
    ranks of others, and are not blamed."""
    job.fix(hosts=2, ranks_per_host=8)
    rank = job.random.randrange(job.ranks)
    job.generate("--split", 4, "--pattern", SPLIT[0], "--late-every",
                 f"{rank}:{5 * job.compute_us}:{job.random.choice((1, 5))}")
    return [*job.judge(rank),
            ("not the head", job.rows[0]["rank"] != f"rank {rank}", job.rows[0])]


def check_reduce(job):
    """A rank is late to a Reduce, and holds up all others by its root. Before an AllReduce only the
    even ranks are roots, which are not compared with the others. Those in the chain that come after
    the late rank waited as well, perhaps for each other: that may leave it open."""
    job.fix(hosts=1, ranks_per_host=job.random.choice((4, 8)), compute_us=1000, iterations=100)
    rank = job.random.randrange(1, job.ranks, 2)
    rooted = job.random.choice(("Reduce:65536", "Reduce:65536,AllReduce:1024"))
    job.generate("--pattern", rooted, "--straggler", f"{rank}:{job.random.choice((5000, 15000))}")
    found = [text for kind, text in job.findings() if kind == "straggler"]
    blamed = [text for text in found if not text.startswith(f"rank {rank} (")]
    is_named = blamed != found
    is_missed = not is_named and (rooted == "Reduce:65536" or job.status() == "ok")
    return [("missed", is_missed, found), ("unknown", not is_named and not is_missed, None),
            ("others blamed", bool(blamed), blamed),
            ("not the head", job.rows[0]["rank"] != f"rank {rank}", job.rows[0])]


def check_roots(job):
    """A rank is late where it is a root: rank 1 is one by turns with all ranks or with the odd ones."""
    job.fix(hosts=1, ranks_per_host=job.random.choice((4, 8)), compute_us=10_000, iterations=200)
    rooted = job.random.choice(("AllReduce:65536,Broadcast:65536", "AllReduce:65536,Reduce:65536",
                                "Reduce:65536,Broadcast:65536", "Broadcast:65536",
                                "Broadcast:65536,AllReduce:65536,Reduce:65536"))
    job.generate("--pattern", rooted, *job.random.choice((("--straggler", "1:5000"),
                                                          ("--late-every", "1:50000:10"))))
    found = [text for kind, text in job.findings() if kind == "straggler"]
    blamed = [text for text in found if not text.startswith("rank 1 (")]
    return [("missed", blamed == found, job.rows[:1]), ("others blamed", bool(blamed), blamed)]


def check_pairs(job):
    """The same over as many hosts as there are ranks."""
    job.fix(hosts=job.random.choice((4, 8)), ranks_per_host=1)
    rank = job.random.randrange(job.ranks)
    job.generate("--split", 2, "--pattern", SPLIT[0] + job.random.choice(("", ",AllReduce:64")),
                 "--late-every", f"{rank}:{5 * job.compute_us}:{job.random.choice((1, 2, 5))}")
    return job.judge(rank)


def check_parallel(job):
    """Tensor and data parallelism of four ranks on one host: a rank is late in every tenth of 60
    iterations. In its communicators of two ranks that is chance once in 32 jobs, but among all four
    ranks once in 1,024."""
    job.fix(hosts=1, ranks_per_host=4, compute_us=1000, iterations=60,
            jitter=job.random.choice((0.02, 0.2)))
    rank = job.random.randrange(4)
    job.generate("--split", 2, "--pattern", job.random.choice(SPLIT), "--late-every",
                 f"{rank}:{job.random.choice((5000, 20000))}:10")
    return job.judge(rank)


def check_tails(job):
    """A rank computes for a third longer, where a few delays of any rank are a hundred times that."""
    job.fix(hosts=1, ranks_per_host=job.random.choice((2, 4)), compute_us=1000, iterations=400,
            jitter=0.02)
    rank = job.random.randrange(job.ranks)
    job.generate("--pattern", "AllReduce:262144", "--straggler", f"{rank}:300", "--tails", 1.5)
    return job.judge(rank)


# Each check, and in what part of its jobs an outcome may come.
LATE = {"missed": 0.01, "others blamed": 0.01, "outside": 0, "unknown": 1}
CLEAN = {"warned": 0.01, "noted": 0.01}
CHECKS = {
    "clean": (check_clean, CLEAN),
    "rooted": (check_rooted, CLEAN | {"noted": 0.02}),
    "lasting": (check_lasting, CLEAN),
    "noisy": (check_noisy, CLEAN),
    "late": (check_late, LATE),
    "costly": (check_costly, LATE),
    "rare": (check_rare, LATE),
    "few": (check_few, LATE),
    "in-turn": (check_in_turn, LATE),
    "late-host": (check_late_host, LATE),
    "cascade": (check_cascade, LATE | {"not the head": 0.01}),
    "reduce": (check_reduce, LATE | {"not the head": 0.01}),
    "roots": (check_roots, {"missed": 0.02, "others blamed": 0.01}),
    "pairs": (check_pairs, LATE),
    "parallel": (check_parallel, LATE),
    "tails": (check_tails, LATE),
}


def run_one(options, name, seed):
    with tempfile.TemporaryDirectory(prefix="ringside-stragglers-") as directory:
        job = Job(options, seed, directory)
        try:
            return seed, job, CHECKS[name][0](job)
        except (Failure, subprocess.SubprocessError, KeyError, ValueError, StopIteration) as failure:
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
                      f"  ringside_generate DIR {job}")
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
