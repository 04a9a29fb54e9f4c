#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Simulates a training job, writes the traces that Ringside would write of it, and its truth: how
long it took, and how long the same job takes without the delay. It shares nothing with the analyzer.

usage: simulate_job.py DIRECTORY [--pattern dp|tp|pp|stages|moe|fsdp|prefetch|halo]
                       [--kind none|compute|burst|half|input|once|moving] [--percent P] [--seed N]
                       [--ranks N] [--per-host N] [--times gpu|proxy]

The delay is chosen so that the job would take P percent less without it. DIRECTORY gets the traces
and truth.json.
"""
import argparse
import json
import pathlib
import random
import sys

US = 1_000
MS = 1_000_000
BASE_S = 1_790_857_026
START_NS = 4_142_976_000_000_000  # since the base
LAUNCH_NS = 5 * US
CALL_NS = 6 * US
# The pause of a stream between two kernels of which the second one waits already, by the seed.
BETWEEN_NS = (0, 5 * US, 12 * US, 20 * US)


class Operation:
    """A collective, or a pair of a send and a receive."""

    def __init__(self, needed, transfer_ns):
        self.needed = needed
        self.transfer_ns = transfer_ns
        self.arrivals = {}
        self.end_ns = None

    def arrive(self, rank, time_ns):
        self.arrivals[rank] = time_ns
        if len(self.arrivals) == self.needed:
            self.end_ns = max(self.arrivals.values()) + self.transfer_ns


class Communicator:
    def __init__(self, name, ranks, bytes_per_ns, latency_ns):
        self.name, self.ranks = name, ranks
        self.bytes_per_ns, self.latency_ns = bytes_per_ns, latency_ns
        self.hash = hash_of(name, ranks)

    def transfer_ns(self, bytes_):
        return round(self.latency_ns + bytes_ / self.bytes_per_ns)


def hash_of(name, ranks):
    value = 0xCBF29CE484222325
    for byte in f"{name} {ranks}".encode():
        value = (value ^ byte) * 0x100000001B3 % 2**64
    return value


class Rank:
    """What one rank does: its CPU launches work for its GPU's streams and runs ahead of them."""

    def __init__(self, job, rank):
        self.job, self.rank = job, rank
        self.cpu_ns = START_NS + 20 * MS
        self.compute_ns = 0
        self.stream_ns = {}  # by communicator; an Operation or a list of them while it is not known
        self.rows = []
        self.counts = {}
        self.groups = 0

    def compute(self, nominal_ns):
        job = self.job
        duration = nominal_ns * job.jitter() * job.factor(self.rank)
        self.cpu_ns += LAUNCH_NS
        self.compute_ns = max(self.compute_ns, self.cpu_ns + LAUNCH_NS) + round(duration)

    def host(self, nominal_ns):
        self.cpu_ns += round(nominal_ns)

    def drain(self, communicator):
        """Waits until what runs on that stream has a time."""
        pending = self.stream_ns.get(communicator.hash, 0)
        if isinstance(pending, list):
            while any(one.end_ns is None for one in pending):
                yield
            pending = max(one.end_ns for one in pending)
            pending += BETWEEN_NS[self.job.options.seed % len(BETWEEN_NS)]
            self.stream_ns[communicator.hash] = pending
        return pending

    def communicate(self, communicator, parts, ready_ns=None):
        """Parts: (func, bytes, peer or None). They run in one kernel, after what the compute stream
        has been given so far, or from ready_ns on."""
        call_ns = self.cpu_ns + LAUNCH_NS
        self.cpu_ns = call_ns + CALL_NS
        before_ns = yield from self.drain(communicator)
        start_ns = max(self.cpu_ns + LAUNCH_NS, before_ns,
                       self.compute_ns if ready_ns is None else ready_ns)
        operations = []
        self.groups += 1
        for func, bytes_, peer in parts:
            key = (communicator.hash, func, peer)
            count = self.counts[key] = self.counts.get(key, 0) + 1
            name = (communicator.hash, func, count)
            needed = len(communicator.ranks)
            if peer is not None:
                ends = (self.rank, peer) if func == "Send" else (peer, self.rank)
                name, needed = (communicator.hash, ends, count), 2
            operation = self.job.operations.get(name)
            if operation is None:
                noise = random.Random(f"{self.job.options.seed} {name}").expovariate(25)
                operation = self.job.operations[name] = Operation(
                    needed, round(communicator.transfer_ns(bytes_) * (1 + noise)))
            operation.arrive(self.rank, start_ns)
            operations.append(operation)
            self.rows.append((communicator, func, bytes_, peer, count - 1, self.groups, call_ns,
                              start_ns, operation, operations))
        self.stream_ns[communicator.hash] = operations

    def wait_for(self, communicator):
        """The compute stream waits for the communicator's."""
        self.compute_ns = max(self.compute_ns, (yield from self.drain(communicator)))

    def wait_for_operations(self, operations):
        while any(one.end_ns is None for one in operations):
            yield
        self.compute_ns = max(self.compute_ns, *(one.end_ns for one in operations))

    def synchronise(self):
        """The CPU waits for the compute stream."""
        self.cpu_ns = max(self.cpu_ns, self.compute_ns)


class Job:
    def __init__(self, options, delay):
        self.options, self.delay = options, delay
        self.random = random.Random(options.seed)
        choose = random.Random(options.seed * 7 + 1)
        self.operations = {}
        self.iteration = 0
        self.late = choose.randrange(options.ranks)
        self.iterations = choose.choice((20, 30, 40))
        late_in = random.Random(options.seed * 7 + 2)
        self.late_in = [late_in.randrange(options.ranks) for _ in range(self.iterations)]
        self.spread = choose.choice((0.005, 0.02, 0.05))
        self.work_ns = choose.choice((0.3, 1, 3)) * MS
        self.layers = choose.choice((4, 6, 8))
        self.gb_per_s = choose.choice((20, 50, 150))
        self.once_at = self.iterations // 3
        self.parts = max(2, min(4, options.ranks // 2))
        world = list(range(options.ranks))
        self.world = self.communicator("world", world)
        if options.pattern == "tp":
            self.inner = self.split("tp", [r // self.parts for r in world])
            self.outer = self.split("dp", [r % self.parts for r in world])
        elif options.pattern == "prefetch":
            self.gathers = self.communicator("gathers", world)
        elif options.pattern == "moe":
            self.inner = self.split("ep", [r // self.parts for r in world])
        elif options.pattern in ("pp", "stages"):
            stages = self.parts if options.pattern == "pp" else options.ranks
            self.replicas = options.ranks // stages
            self.inner = self.split("pp", [r % self.replicas for r in world])
            self.outer = self.split("dp", [r // self.replicas for r in world])

    def communicator(self, name, ranks):
        return Communicator(name, ranks, self.gb_per_s, 15 * US)

    def split(self, name, colours):
        groups = {}
        for rank, colour in enumerate(colours):
            groups.setdefault(colour, []).append(rank)
        made = {c: self.communicator(f"{name} {c}", ranks) for c, ranks in groups.items()}
        return [made[c] for c in colours]

    def jitter(self):
        return max(0.5, self.random.gauss(1, self.spread))

    def is_delayed(self, rank):
        options = self.options
        if options.kind == "none":
            return False
        if options.kind == "input" and options.per_host > 1 and options.seed % 2:
            return rank // options.per_host == self.late // options.per_host  # a whole host
        if options.kind == "moving":
            return rank == self.late_in[self.iteration_of[rank]]
        return rank == self.late

    def factor(self, rank):
        if not self.is_delayed(rank) or self.options.kind == "input":
            return 1
        if self.options.kind == "burst" and self.iteration_of[rank] % 10 != 7:
            return 1
        if self.options.kind == "half" and 2 * self.iteration_of[rank] < self.iterations:
            return 1
        if self.options.kind == "once" and self.iteration_of[rank] != self.once_at:
            return 1
        return 1 + self.delay

    def input_ns(self, rank):
        late = self.is_delayed(rank) and self.options.kind == "input"
        return 0.05 * self.work_ns * self.jitter() + (self.delay * self.work_ns if late else 0)

    def program(self, rank):
        pattern = getattr(self, self.options.pattern)
        yield from rank.communicate(self.world, [("AllReduce", 4096, None)])
        yield from rank.wait_for(self.world)
        for self_iteration in range(self.iterations):
            self.iteration_of[rank.rank] = self_iteration
            rank.synchronise()
            rank.host(self.input_ns(rank.rank))
            yield from pattern(rank)

    # Each layer's gradients are reduced while the next is computed.
    def dp(self, rank):
        rank.compute(self.work_ns * self.layers)
        for _ in range(self.layers):
            rank.compute(2 * self.work_ns)
            yield from rank.communicate(self.world, [("AllReduce", self.bucket_bytes(0.5), None)])
        yield from rank.wait_for(self.world)
        rank.compute(self.work_ns)

    def tp(self, rank):
        inner, outer = self.inner[rank.rank], self.outer[rank.rank]
        for _ in range(2 * self.layers):
            rank.compute(self.work_ns)
            yield from rank.communicate(inner, [("AllReduce", self.bucket_bytes(0.1), None)])
            yield from rank.wait_for(inner)
        yield from rank.communicate(outer, [("AllReduce", self.bucket_bytes(0.8), None)])
        yield from rank.wait_for(outer)
        rank.compute(self.work_ns)

    def moe(self, rank):
        inner = self.inner[rank.rank]
        for _ in range(self.layers):
            rank.compute(self.work_ns)
            yield from rank.communicate(inner, [("AlltoAll", self.bucket_bytes(0.1), None)])
            yield from rank.wait_for(inner)
            rank.compute(self.work_ns)
            yield from rank.communicate(inner, [("AlltoAll", self.bucket_bytes(0.1), None)])
            yield from rank.wait_for(inner)
        yield from rank.communicate(self.world, [("AllReduce", self.bucket_bytes(0.5), None)])
        yield from rank.wait_for(self.world)
        rank.compute(self.work_ns)

    # The parameters of a layer are gathered while the one before is computed.
    def fsdp(self, rank):
        gather = [("AllGather", self.bucket_bytes(0.4), None)]
        scatter = [("ReduceScatter", self.bucket_bytes(0.4), None)]
        for passes, nominal in ((0, 1), (1, 2)):
            yield from rank.communicate(self.world, gather)
            for layer in range(self.layers):
                # Memory of two layers is there: the next one's comes once the last one's is free.
                free_ns = rank.compute_ns
                yield from rank.wait_for(self.world)
                if layer + 1 < self.layers:
                    yield from rank.communicate(self.world, gather, ready_ns=free_ns)
                rank.compute(nominal * self.work_ns)
                if passes == 1:
                    yield from rank.communicate(self.world, scatter)
        yield from rank.wait_for(self.world)
        rank.compute(self.work_ns)

    # Each layer's parameters are called for before computing waits for those of the layer before, on
    # the stream of the gradients or on one of their own.
    def prefetch(self, rank):
        gathers = self.gathers if self.options.seed % 2 else self.world
        for passes in (1, 2):
            yield from rank.communicate(gathers, [("AllGather", self.bucket_bytes(0.4), None)])
            for layer in range(self.layers):
                parameters = rank.stream_ns[gathers.hash] if layer == 0 else following
                if layer + 1 < self.layers:
                    yield from rank.communicate(gathers,
                                                [("AllGather", self.bucket_bytes(0.4), None)])
                    following = rank.stream_ns[gathers.hash]
                yield from rank.wait_for_operations(parameters)
                rank.compute(passes * self.work_ns)
                if passes == 2:
                    yield from rank.communicate(
                        self.world, [("ReduceScatter", self.bucket_bytes(0.4), None)])
        yield from rank.wait_for(self.world)
        rank.compute(self.work_ns)

    # One forward, one backward, as Megatron groups its sends and receives.
    def pp(self, rank):
        line, outer = self.inner[rank.rank], self.outer[rank.rank]
        stage, last = line.ranks.index(rank.rank), len(line.ranks) - 1
        before = line.ranks[stage - 1] if stage > 0 else None
        after = line.ranks[stage + 1] if stage < last else None
        batches = 2 * len(line.ranks)
        warm = min(last - stage, batches)
        bytes_ = self.bucket_bytes(0.05)

        def move(*parts):
            parts = [(func, bytes_, peer) for func, peer in parts if peer is not None]
            if parts:
                yield from rank.communicate(line, parts)
                yield from rank.wait_for(line)

        for _ in range(warm):
            yield from move(("Recv", before))
            rank.compute(self.work_ns)
            yield from move(("Send", after))
        if warm < batches:
            yield from move(("Recv", before))
        for batch in range(batches - warm):
            rank.compute(self.work_ns)
            yield from move(("Send", after), ("Recv", after))
            rank.compute(2 * self.work_ns)
            if batch + 1 < batches - warm:
                yield from move(("Send", before), ("Recv", before))
            else:
                yield from move(("Send", before))
        for _ in range(warm):
            yield from move(("Recv", after))
            rank.compute(2 * self.work_ns)
            yield from move(("Send", before))
        yield from rank.communicate(outer, [("AllReduce", self.bucket_bytes(1), None)])
        yield from rank.wait_for(outer)
        rank.compute(self.work_ns)

    # No stage has replicas.
    stages = pp

    # Each rank exchanges its borders with two neighbours, in one kernel. Nothing else brings all
    # ranks together, so a delay moves on by one rank with each exchange.
    def halo(self, rank):
        count = self.options.ranks
        after, before = (rank.rank + 1) % count, (rank.rank - 1) % count
        bytes_ = self.bucket_bytes(0.1)
        for _ in range(self.layers):
            rank.compute(self.work_ns)
            yield from rank.communicate(self.world, [(func, bytes_, peer) for peer in (after, before)
                                                     for func in ("Send", "Recv")])
            yield from rank.wait_for(self.world)

    def bucket_bytes(self, share):
        """As many bytes as take that share of a layer's time."""
        return int(share * self.work_ns * self.gb_per_s) // 4096 * 4096 + 4096

    def run(self):
        self.iteration_of = [0] * self.options.ranks
        ranks = [Rank(self, number) for number in range(self.options.ranks)]
        # Each rank has its own chance, so that the order of the simulation changes nothing.
        chances = [random.Random(self.options.seed * 1000 + number) for number in range(len(ranks))]
        waiting = {rank: self.program(ranks[rank]) for rank in range(len(ranks))}
        while waiting:
            before = (len(self.operations), len(waiting),
                      sum(one.end_ns is not None for one in self.operations.values()),
                      sum(len(rank.rows) for rank in ranks))
            for rank in list(waiting):
                self.random = chances[rank]
                try:
                    next(waiting[rank])
                except StopIteration:
                    del waiting[rank]
            after = (len(self.operations), len(waiting),
                     sum(one.end_ns is not None for one in self.operations.values()),
                     sum(len(rank.rows) for rank in ranks))
            if waiting and before == after:
                sys.exit("simulate_job.py: the ranks of this pattern wait for each other for ever")
        self.rows = [rank.rows for rank in ranks]
        ends = [row[-2].end_ns for rows in self.rows for row in rows]
        return max(ends) - min(row[7] for rows in self.rows for row in rows)


def find_delay(options):
    """The delay without which the job takes so much less, and both times."""
    clean_ns = Job(options, 0).run()
    if options.kind == "none":
        return 0, clean_ns, clean_ns
    low, high = 0.0, 1.0
    wanted_ns = clean_ns / (1 - options.percent / 100)
    while Job(options, high).run() < wanted_ns:
        high *= 2
    for _ in range(12):
        middle = (low + high) / 2
        low, high = (middle, high) if Job(options, middle).run() < wanted_ns else (low, middle)
    return high, clean_ns, Job(options, high).run()


def line_of(value):
    return json.dumps(value, separators=(",", ":"))


def write_trace(path, job, rank, offset_ns, boot):
    options = job.options
    pid = 2000 + rank
    host = f"node{rank // options.per_host}"
    out = []

    def meta(name, args):
        out.append({"ph": "M", "pid": pid, "tid": pid, "ts": 0, "name": name, "args": args})

    def clock(time_ns):
        meta("ringside_clock", {
            "ts_ns": time_ns, "realtime_ns": hex(BASE_S * 10**9 + time_ns),
            "monotonic_ns": hex(time_ns - offset_ns - START_NS + 10**12 * (rank // options.per_host + 1)),
            "uncertainty_ns": 60, "synchronised": True, "estimated_error_ns": 600_000,
            "maximum_error_ns": 9_000_000})

    start_ns = START_NS + offset_ns
    events = ["Coll", "P2p", "ProxyOp"] + (["KernelCh"] if options.times == "gpu" else ["ProxyStep"])
    meta("ringside_trace", {
        "format_version": 1, "plugin_version": "0.1.0", "run_id": hex(0x5EED0000 + options.seed * 4096 + rank),
        "job": "simulated", "host": host, "boot_id": boot, "pid": pid, "launcher_rank": rank,
        "launcher_rank_from": "RANK", "base_time_s": BASE_S, "start_ns": start_ns,
        "nccl_version": "2.29.7", "abi": 6, "clock": "tsc", "events": events, "config": {},
        "environment": {}})
    meta("process_name", {"name": f"rank {rank}"})
    clock(start_ns)
    meta("ringside_window", {"window": 1, "start_ns": start_ns, "events": events})
    contexts = {}
    last_ns = start_ns
    for number, row in enumerate(job.rows[rank], 1):
        communicator, func, bytes_, peer, seq, group, call_ns, begin_ns, operation, kernel = row
        if communicator.hash not in contexts:
            contexts[communicator.hash] = len(contexts) + 1
            hosts = {one // options.per_host for one in communicator.ranks}
            meta("ringside_communicator", {
                "context": contexts[communicator.hash], "comm": f"0x{communicator.hash:x}",
                "name": communicator.name, "rank": communicator.ranks.index(rank),
                "nranks": len(communicator.ranks), "nnodes": len(hosts),
                "gpu": {"index": rank % options.per_host,
                        "uuid": f"GPU-{rank % options.per_host:08d}", "pci": f"00000000:{rank % options.per_host:02d}:00.0"},
                "created_ns": start_ns + 10 * MS})
        is_seen_late = options.times == "proxy" and func == "Recv"
        if is_seen_late:
            # Data flows, and so is seen, once the last of those that are needed has come.
            begin_ns = max(begin_ns, max(operation.arrivals.values()) - 20 * US)
        args = {"op": number, "context": contexts[communicator.hash],
                "comm": f"0x{communicator.hash:x}", "rank": communicator.ranks.index(rank),
                "nranks": len(communicator.ranks)}
        if peer is None:
            args |= {"kind": "coll", "func": func, "seq": seq}
        else:
            args |= {"kind": "p2p", "func": func, "peer": communicator.ranks.index(peer),
                     "group": group}
        args |= {"count": bytes_ // 4, "datatype": "ncclFloat32", "bytes": bytes_}
        if peer is None:
            args |= {"algo": "RING", "proto": "SIMPLE"}
        # A kernel ends as a whole, which only the network's times do not show.
        end_ns = offset_ns + (operation.end_ns if options.times == "proxy" else
                              max(one.end_ns for one in kernel))
        args |= {"channels": 4, "window": 1, "tid": pid, "enqueue_start_ns": call_ns + offset_ns,
                 "enqueue_end_ns": call_ns + CALL_NS + offset_ns, "start_ns": begin_ns + offset_ns,
                 "end_ns": end_ns, "times_from": options.times, "state": "completed"}
        if is_seen_late:
            args["start_is_latest"] = True
        out.append({"ph": "b", "cat": "op", "id2": {"local": hex(number)}, "pid": pid, "tid": pid,
                    "ts": (begin_ns + offset_ns) / 1000, "name": func, "args": args})
        out.append({"ph": "e", "cat": "op", "id2": {"local": hex(number)}, "pid": pid, "tid": pid,
                    "ts": end_ns / 1000, "name": func})
        last_ns = max(last_ns, end_ns)
    clock(last_ns + MS)
    by_kind = {}
    for row in job.rows[rank]:
        kind = "Coll" if row[3] is None else "P2p"
        by_kind[kind] = by_kind.get(kind, 0) + 1
    meta("ringside_account", {
        "ts_ns": last_ns + MS, "final": True,
        "by_type": {kind: {"produced": 2 * n, "written": n, "merged": n} for kind, n in by_kind.items()},
        "by_thread": [{"tid": pid, "produced": 2 * len(job.rows[rank]), "dropped": 0}]})
    meta("ringside_end", {"ts_ns": last_ns + MS, "operations": len(job.rows[rank])})
    path.write_text("[" + ",\n".join(map(line_of, out)) + "\n]\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("directory", type=pathlib.Path)
    parser.add_argument("--pattern", default="dp",
                        choices=("dp", "tp", "pp", "stages", "moe", "fsdp", "prefetch", "halo"))
    parser.add_argument("--kind", default="compute",
                        choices=("none", "compute", "burst", "half", "input", "once", "moving"))
    parser.add_argument("--percent", type=float, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--ranks", type=int, default=8)
    parser.add_argument("--per-host", type=int, default=4)
    parser.add_argument("--times", default="gpu", choices=("gpu", "proxy"))
    options = parser.parse_args()
    options.directory.mkdir(parents=True, exist_ok=True)
    delay, clean_ns, wall_ns = find_delay(options)
    job = Job(options, delay)
    job.run()
    clocks = random.Random(options.seed + 99)
    hosts = (options.ranks + options.per_host - 1) // options.per_host
    offsets = [round(clocks.gauss(0, 0.4 * MS)) for _ in range(hosts)]
    boots = [f"{clocks.getrandbits(32):08x}-0000-4000-8000-{clocks.getrandbits(48):012x}" for _ in range(hosts)]
    for rank in range(options.ranks):
        host = rank // options.per_host
        write_trace(options.directory / f"ringside.simulated.node{host}.{2000 + rank}.{options.seed}.json",
                    job, rank, offsets[host], boots[host])
    late = [] if options.kind in ("none", "moving") else [r for r in range(options.ranks) if job.is_delayed(r)]
    truth = {"pattern": options.pattern, "kind": options.kind, "seed": options.seed,
             "late": late, "wall_ns": wall_ns, "without_ns": clean_ns,
             "gain_percent": 100 * (1 - clean_ns / wall_ns), "iterations": job.iterations,
             "per_host": options.per_host}
    (options.directory / "truth.json").write_text(line_of(truth) + "\n")
    print(line_of(truth))


if __name__ == "__main__":
    main()
