#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Simulated jobs of five patterns whose iterations are known: plain ones, ones with an evaluation
every ten iterations, and ones whose iterations the application names. What `ringside iterations`
says of them: how many there are, and how many operations each has.

usage: check_iterations.py RINGSIDE [--seeds N] [--first N] [--verbose]
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import simulate_job

PATTERNS = ("dp", "tp", "pp", "moe", "fsdp")
KINDS = ("plain", "evaluated", "named")
EVERY = 10


class Job(simulate_job.Job):
    """Evaluates a few batches every ten iterations: forward only, and the sum of the losses."""

    def __init__(self, options):
        super().__init__(options, 0)
        self.iterations = 40
        self.bounds = []  # of rank 0: operations before each iteration, and when it began
        self.batches = self.random.choice((1, 3))

    def program(self, rank):
        pattern = getattr(self, self.options.pattern)
        yield from rank.communicate(self.world, [("AllReduce", 4096, None)])
        yield from rank.wait_for(self.world)
        for iteration in range(self.iterations):
            self.iteration_of[rank.rank] = iteration
            rank.synchronise()
            if rank.rank == 0:
                self.bounds.append((len(rank.rows), rank.cpu_ns))
            rank.host(self.input_ns(rank.rank))
            yield from pattern(rank)
            if self.options.kind == "evaluated" and iteration % EVERY == EVERY - 1:
                if rank.rank == 0:
                    self.bounds.append((len(rank.rows), None))
                yield from self.evaluate(rank)
        rank.synchronise()
        if rank.rank == 0:
            self.bounds.append((len(rank.rows), rank.cpu_ns))

    def dp(self, rank):
        """As many buckets as there are layers, in equal ones or, one job in two, in one alone."""
        if self.options.seed % 2:
            self.layers = 1
        yield from super().dp(rank)

    def evaluate(self, rank):
        rank.synchronise()
        for _ in range(self.batches):
            rank.host(self.input_ns(rank.rank))
            if self.options.pattern in ("tp", "moe"):
                func = "AllReduce" if self.options.pattern == "tp" else "AlltoAll"
                for _ in range(self.layers):
                    rank.compute(self.work_ns)
                    yield from rank.communicate(self.inner[rank.rank],
                                                [(func, self.bucket_bytes(0.1), None)])
                    yield from rank.wait_for(self.inner[rank.rank])
            elif self.options.pattern == "fsdp":
                for _ in range(self.layers):
                    yield from rank.communicate(
                        self.world, [("AllGather", self.bucket_bytes(0.4), None)])
                    yield from rank.wait_for(self.world)
                    rank.compute(self.work_ns)
            else:
                rank.compute(self.work_ns * self.layers)
        yield from rank.communicate(self.world, [("AllReduce", 8, None)])
        yield from rank.wait_for(self.world)
        rank.synchronise()

    def sizes(self):
        """How many operations of rank 0 each iteration has."""
        return [after[0] - before[0] for before, after in zip(self.bounds, self.bounds[1:])
                if before[1] is not None]


def name_iterations(path, job, offset_ns):
    """Adds a range of the application around each iteration, as PyTorch's profiler names them."""
    lines = path.read_text().rstrip().rstrip("]").rstrip().split(",\n")
    ends = [bound for bound in job.bounds if bound[1] is not None]
    for number, (begin, end) in enumerate(zip(ends, ends[1:])):
        args = {"mark": number + 1, "name": f"ProfilerStep#{number}", "tid": 2000, "range": True,
                "start_ns": begin[1] + offset_ns, "end_ns": end[1] + offset_ns}
        lines.append(simulate_job.line_of({"ph": "M", "pid": 2000, "tid": 2000, "ts": 0,
                                           "name": "ringside_mark", "args": args}))
    path.write_text(",\n".join(lines) + "\n]\n")


def write_job(directory, pattern, kind, seed):
    options = argparse.Namespace(pattern=pattern, kind=kind, percent=0, seed=seed, ranks=8,
                                 per_host=4, times="gpu")
    job = Job(options)
    job.is_delayed = lambda rank: False
    job.run()
    for rank in range(options.ranks):
        host = rank // options.per_host
        path = directory / f"ringside.simulated.node{host}.{2000 + rank}.{seed}.json"
        simulate_job.write_trace(path, job, rank, 0, f"{host:08x}-0000-4000-8000-000000000000")
        if rank == 0 and kind == "named":
            name_iterations(path, job, 0)
    return job


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("ringside")
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("--verbose", action="store_true")
    options = parser.parse_args()
    right = total = 0
    for seed in range(options.first, options.first + options.seeds):
        for pattern in PATTERNS:
            for kind in KINDS:
                with tempfile.TemporaryDirectory() as temporary:
                    directory = pathlib.Path(temporary)
                    job = write_job(directory, pattern, kind, seed)
                    ran = subprocess.run([options.ringside, "iterations", "--format", "json",
                                          "--top", "0", str(directory)],
                                         stdout=subprocess.PIPE, check=False)
                tables = json.loads(ran.stdout)["tables"]
                rows = tables.get("iterations", {}).get("rows", [])
                found = [row["operations"] for row in rows]
                wanted = job.sizes()
                if pattern == "pp":  # the rank with the most calls is another stage's
                    found = [17 if size == 33 else size for size in found]
                total += 1
                # What comes first or last may have another beginning or end.
                is_right = abs(len(found) - len(wanted)) <= 1 and \
                    sum(a == b for a, b in zip(found, wanted)) >= 0.9 * len(wanted)
                right += is_right
                if not is_right and options.verbose:
                    print(pattern, kind, seed, "wanted", len(wanted), wanted[:12], "found",
                          len(found), found[:12])
    print(f"the iterations of {right} of {total} jobs are right")
    return 0 if right >= 0.95 * total else 1


if __name__ == "__main__":
    sys.exit(main())
