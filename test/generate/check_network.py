#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Simulates links whose rate is known, and checks what `ringside network` says of them: the truth
lies within the bounds of every throughput, what is printed is near it, clean jobs of eight ranks
have no warnings, and a slow link is found, alone. Hosts' clocks are off and drift, callbacks are
late, steps overlap or come one by one, receivers wait, some sends complete into buffers, and some
links are long.

    check_network.py RINGSIDE [--seeds N] [--first SEED] [--verbose]
"""

import argparse
import json
import pathlib
import random
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "diff"))
# pylint: disable=wrong-import-position
from network_inputs import row
from trace_writer import Trace

RANKS = 8
CHUNK_BYTES = 1_000_000
SHORT_NS = 3_000  # the latency of most links


class Job:
    """The truth of one job, by its seed. Every second one has a slow link."""

    def __init__(self, seed):
        self.draw = draw = random.Random(seed)
        self.per_host = draw.choice([1, 2, 4])
        self.operations = draw.randint(2, 4)
        self.channels = draw.choice([1, 2])
        self.steps = 24 // self.operations + 8  # of a channel in one operation
        self.depth = draw.choice([1, 4, 8])
        self.noise = draw.choice([0.0, 0.05, 0.2])  # of the time of a step
        self.spread = draw.choice([0.0, 0.02, 0.05])  # of links of one class
        self.late_ns = draw.choice([0, 2_000, 10_000])  # callbacks, at most
        self.is_ring = draw.random() < 0.5
        self.buffered = set(range(RANKS)) if draw.random() < 0.3 else set()
        self.offset_ns = [draw.randint(-5_000_000, 5_000_000) for _ in range(RANKS)]
        self.drift = [draw.uniform(-2e-5, 2e-5) for _ in range(RANKS)]
        self.links = [link for link in self.all_links() if not self.is_on_one_host(*link)
                      or self.is_ring]
        self.usual_gb_s = draw.choice([5, 10, 20])
        self.gb_s = {link: self.usual_gb_s * self.factor(*link) * draw.gauss(1, self.spread)
                     for link in self.links}
        self.latency_ns = draw.choice([SHORT_NS, SHORT_NS, SHORT_NS, 1_000_000])
        # Data is ready so many steps' times after that before it: if not at once, links are idle.
        self.pause = draw.choice([0, 0, 3])
        self.slow = draw.choice(self.links) if seed % 2 else None
        if self.slow:
            self.gb_s[self.slow] /= 4

    def all_links(self):
        for sender in range(RANKS):
            if self.is_ring:
                yield sender, (sender + 1) % RANKS
            else:
                yield from ((sender, to) for to in range(RANKS) if to != sender)

    def host(self, rank):
        return rank // self.per_host

    def is_on_one_host(self, sender, receiver):
        return self.host(sender) == self.host(receiver)

    def factor(self, sender, receiver):
        """Links within a host, rails and the spine are of three classes."""
        if self.is_on_one_host(sender, receiver):
            return 8
        is_rail = self.is_ring or sender % self.per_host == receiver % self.per_host
        return 1 if is_rail else 0.4

    def siblings(self, link):
        """How many other links are of its kind and class."""
        def kind(of):
            return self.is_on_one_host(*of), self.factor(*of)
        return sum(kind(other) == kind(link) for other in self.links if other != link)

    def clock(self, rank, time_ns):
        host = self.host(rank)
        return int(time_ns * (1 + self.drift[host])) + self.offset_ns[host] + 10_000_000

    def stamp(self, rank, time_ns):
        return self.clock(rank, time_ns + self.draw.randint(0, self.late_ns))


def simulate(job):
    """The traces by rank, and the true throughput of each pair."""
    traces = []
    for rank in range(RANKS):
        trace = Trace(rank, host=f"node{job.host(rank)}").communicator(nranks=RANKS)
        trace.events[0]["args"]["boot_id"] = f"boot{job.host(rank)}"
        traces.append(trace)
    spans = {link: [] for link in job.links}
    begin = 0
    for number in range(job.operations):
        rows = []
        longest = 0
        for link in job.links:
            sender, receiver = link
            free = begin + 50_000  # when the link has sent all before
            done = [[] for _ in range(job.channels)]
            for i in range(job.steps):
                for channel in range(job.channels):
                    before = done[channel]
                    start = begin + 50_000 + int(i * job.pause * CHUNK_BYTES / job.usual_gb_s)
                    if i >= job.depth:
                        start = max(start, before[i - job.depth])
                    noise = job.draw.lognormvariate(0, job.noise)
                    free = max(free, start) + int(CHUNK_BYTES / job.gb_s[link] * noise)
                    before.append(free)
                    arrived = free + job.latency_ns
                    spans[link].append((start, arrived))
                    sent = min(start + 4_000, arrived) if sender in job.buffered else arrived
                    posted = begin if i < job.depth else before[i - job.depth]
                    rows.append((sender, "send", channel, receiver, i, start, sent))
                    rows.append((receiver, "recv", channel, sender, i, posted, arrived))
            longest = max(longest, free + job.latency_ns)
        end = longest + 100_000
        for rank, trace in enumerate(traces):
            trace.time_ns = job.clock(rank, begin) - 5_000
            trace.operation("AllReduce", 1 << 20, seq=number, dur_us=(end - begin) / 1000)
        for rank, way, channel, peer, i, start, until in rows:
            at, to = job.stamp(rank, start), job.stamp(rank, until)
            row(traces[rank], "step", f"{way} steps channel {channel}", at, max(at + 1, to),
                {"step": i, "peer": peer, "bytes": CHUNK_BYTES,
                 "transfer_ns": max(1, to - at)})
        begin = end + job.draw.randint(1_000_000, 20_000_000)
    return traces, {link: len(of) * CHUNK_BYTES / union(of) for link, of in spans.items()}


def union(spans):
    total, until = 0, 0
    for start, end in sorted(spans):
        start = max(start, until)
        if end > start:
            total += end - start
            until = end
    return total


def network(ringside, job, directory):
    traces, truth = simulate(job)
    for trace in traces:
        path = pathlib.Path(directory) / f"ringside.mix.{trace.rank}.{trace.pid}.1.json"
        path.write_text(trace.text(), encoding="utf-8")
    output = subprocess.run([ringside, "network", "--format", "json", "--top", "0", directory],
                            capture_output=True, check=False, text=True).stdout
    return json.loads(output), truth


def check(ringside, seed, counts, verbose):
    """Returns the errors in that job."""
    job = Job(seed)
    with tempfile.TemporaryDirectory() as directory:
        found, truth = network(ringside, job, directory)
    wrong = []
    for pair in found["tables"]["matrix"]["rows"]:
        true_gb_s = truth[pair["rank"], pair["peer"]]
        printed = pair["throughput_gb_s"]
        counts["pairs"] += 1
        counts["printed"] += printed is not None
        name = f"{pair['rank']} to {pair['peer']}: {printed}, truly {true_gb_s:.2f}"
        least, most = pair.get("throughput_least_gb_s"), pair.get("throughput_most_gb_s")
        if (least and least > true_gb_s + 0.01) or (most and most < true_gb_s - 0.01):
            wrong.append(f"{name}, outside {least} to {most}")
        if printed and not 0.5 * true_gb_s < printed < 2 * true_gb_s:
            wrong.append(f"{name}, by more than a factor of two")
        counts["near"] += printed is not None and abs(printed / true_gb_s - 1) < 0.1
    slow = {(link["rank"], link["peer"]) for link in found["tables"]["links"]["rows"]
            if link["slow_factor"]}
    if job.slow:
        # Behind a buffer it shows only where the clocks are known well; among few links that vary
        # much, chance can do the same. Four links or fewer of one kind do not tell their usual rate.
        # On a long link a step takes as long at any rate.
        is_certain = (not job.buffered and not (job.is_ring and job.noise > 0.1) and
                      job.latency_ns == SHORT_NS and job.siblings(job.slow) >= 4)
        counts["slow"] += is_certain
        counts["found"] += is_certain and job.slow in slow
        if verbose and job.slow not in slow:
            print(f"seed {seed}: {job.slow} not found, ring {job.is_ring}, {job.per_host} a host, "
                  f"noise {job.noise}, spread {job.spread}, buffered {bool(job.buffered)}")
        slow.discard(job.slow)
    if slow:
        counts["blamed"] += 1
        if verbose:
            print(f"seed {seed}: {slow} blamed, slow is {job.slow}")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("ringside")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    counts = dict.fromkeys(("pairs", "printed", "near", "slow", "found", "blamed"), 0)
    wrong = 0
    for seed in range(options.first, options.first + options.seeds):
        for text in check(options.ringside, seed, counts, options.verbose):
            wrong += 1
            print(f"seed {seed}: {text}")
    print(f"{options.seeds} jobs, {counts['pairs']} pairs of ranks: {counts['printed']} have a "
          f"throughput, {counts['near']} within a tenth of the truth; {wrong} wrong. "
          f"{counts['found']} of {counts['slow']} slow links found that must show; in {counts['blamed']} jobs "
          "another link was blamed.")
    is_good = (wrong == 0 and counts["blamed"] <= options.seeds // 100
               and counts["found"] >= 0.9 * counts["slow"])
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main())
