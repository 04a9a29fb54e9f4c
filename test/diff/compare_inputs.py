# SPDX-License-Identifier: Apache-2.0
"""Inputs of the cases of `ringside compare`: what got slower, faster, did not change, or is not there."""

from match_inputs import ranks
from network_inputs import with_machine
from trace_writer import Trace


def side(name, dur_us, act):
    """Twelve operations of each kind that `act` names, with the same spread on both sides."""
    def calls(trace, rank):
        for i in range(12):
            noise_us = (i * 7 % 12) - 5 + rank
            for func, count, factor in act:
                trace.operation(func, count, seq=i, times_from="gpu",
                                dur_us=(dur_us + noise_us) * factor)
    return {path.replace("traces", name, 1): text for path, text in ranks(4, calls).items()}


def experts(name, scale, slower=1.0):
    """AlltoAllv of a mixture of experts, no two of one size: the time follows the bytes."""
    def calls(trace, rank):
        for group in range(1, 25):
            tokens = int(scale * (600 + group * 151 % 401))
            for peer in range(3):
                for func, share in (("Send", rank + 2 * peer), ("Recv", peer + 2 * rank)):
                    if peer != rank:
                        trace.operation(func, tokens * (8 + share), kind="p2p", peer=peer, group=group,
                                        times_from="gpu", algo=None, proto=None,
                                        dur_us=slower * (20 + tokens / 4))
                        trace.time_ns -= 1_000_000  # one group: all begin at once
            trace.time_ns += 10_000_000
    return {path.replace("traces", name, 1): text for path, text in ranks(3, calls).items()}


def between_hosts(name, algorithms, times_us, count=12):
    """Four hosts of one GPU and an adapter of 400 Gb/s each: 50 GB/s, of which each algorithm makes
    another peak. `count` AllReduce of each algorithm, and an AllGather by PAT."""
    files = {}
    for rank in range(4):
        trace = Trace(rank, host=f"node{rank}").communicator(nranks=4)
        calls = [algorithms[i % len(algorithms)] for i in range(count * len(algorithms))]
        for seq, algorithm in enumerate(calls):
            trace.operation("AllReduce", 1 << 24, seq=seq, algo=algorithm, times_from="gpu",
                            dur_us=times_us[algorithm] + seq * 5 % 7 + rank / 10)
            trace.time_ns += 10_000_000
        trace.operation("AllGather", 1 << 24, seq=0, algo="PAT", times_from="gpu",
                        dur_us=5000 + rank / 10)
        trace.time_ns += 10_000_000
        files[f"{name}/ringside.mix.node{rank}.{100 + rank}.1.json"] = with_machine(trace).text()
    return files


TIMES_US = {"RING": 2600, "TREE": 3600, "COLLNET_CHAIN": 1700, "COLLNET_DIRECT": 1750,
            "NVLS_TREE": 2000}


SAME = [("AllReduce", 1 << 20, 1), ("ReduceScatter", 1 << 16, 0.5)]


def cases():
    before = side("a", 200, SAME)
    slower = {**before, **side("b", 200, [("AllReduce", 1 << 20, 1.3), ("ReduceScatter", 1 << 16, 0.5)])}
    faster = {**before, **side("b", 200, [("AllReduce", 1 << 20, 0.6), ("ReduceScatter", 1 << 16, 0.5)])}
    noise = {**before, **side("b", 201, SAME)}
    only = {**before, **side("b", 200, [("AllReduce", 1 << 20, 1), ("AllGather", 1 << 10, 1)])}
    apart = {**before, **side("b", 200, [("AllGather", 1 << 10, 1)])}
    few = {**before, **side("b", 400, [("AllReduce", 1 << 20, 1)])}
    few = {path: text.replace('"seq":', '"seq":9', 1) if path.startswith("b") else text
           for path, text in few.items()}
    usual = experts("a", 1)
    return {
        "help-compare": ("compare --help", {}),
        "usage-compare-one": ("compare a", {}),
        "compare-slower": ("compare a b", slower),
        "compare-slower-json": ("compare --format json a b", slower),
        "compare-slower-csv": ("compare --format csv a b", slower),
        "compare-slower-allowed": ("compare --threshold 40 a b", slower),
        "compare-faster": ("compare a b", faster),
        "compare-noise": ("compare a b", noise),
        "compare-only-in-one": ("compare a b", only),
        "compare-nothing-in-common": ("compare a b", apart),
        "compare-too-few": ("compare --to 0.005 a b", few),
        # Of two algorithms there is no one peak.
        "compare-peak-algorithms": (
            "compare a b", {**between_hosts("a", ["RING"], TIMES_US),
                            **between_hosts("b", ["RING", "TREE"], TIMES_US)}),
        "compare-peak-algorithms-json": (
            "compare --format json ../compare-peak-algorithms/a ../compare-peak-algorithms/a", {}),
        "summary-peak-algorithms": (
            "summary --no-findings traces", between_hosts("traces", list(TIMES_US), TIMES_US, 2)),
        "summary-peak-above": (
            "summary --no-findings traces", between_hosts("traces", ["RING"], {"RING": 1800}, 4)),
        "compare-alltoallv": ("compare a b", {**usual, **experts("b", 1, slower=1.3)}),
        "compare-alltoallv-more-json": ("compare --format json a b",
                                        {**usual, **experts("b", 1.1)}),
        "compare-nothing": ("compare a empty", {**before, "empty/.keep": ""}),
    }
