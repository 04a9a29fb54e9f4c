# SPDX-License-Identifier: Apache-2.0
"""Inputs of the cases of `ringside compare`: what got slower, faster, did not change, or is not there."""

from match_inputs import ranks


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
        "compare-alltoallv": ("compare a b", {**usual, **experts("b", 1, slower=1.3)}),
        "compare-alltoallv-more-json": ("compare --format json a b",
                                        {**usual, **experts("b", 1.1)}),
        "compare-nothing": ("compare a empty", {**before, "empty/.keep": ""}),
    }
