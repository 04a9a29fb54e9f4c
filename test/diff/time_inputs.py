# SPDX-License-Identifier: Apache-2.0
"""Inputs of the cases of `ringside stragglers` and `ringside overlap`: who waited, as far as the clocks tell."""

from match_inputs import ranks
from trace_writer import Trace


def late(trace, rank):
    """Rank 2 of 3 comes half a millisecond late, but in each fourth operation with the others."""
    for i in range(40):
        late_us = 0 if rank < 2 else 500 if i % 4 else 1
        trace.operation("AllReduce", 1 << 20, seq=i, times_from="gpu", early_us=late_us,
                        dur_us=700 - late_us)


def late_every_tenth(trace, rank):
    """Rank 2 of 4 comes 30 ms late in each tenth operation; the others are a microsecond apart."""
    for i in range(200):
        late_us = 30_000 if i % 10 == 9 and rank == 2 else rank
        trace.operation("AllReduce", 1 << 20, seq=i, times_from="gpu", early_us=late_us,
                        dur_us=30_200 - late_us)
        trace.time_ns += 40_000_000


def moving(trace, rank):
    """Each time another one of 4 ranks has more to do, by up to half of the time of all."""
    for i in range(60):
        late_us = (100, 400, 200, 500, 300)[i % 5] if rank == (i * 7 + i // 4) % 4 else 0
        trace.operation("AllReduce", 1 << 20, seq=i, times_from="gpu", early_us=late_us,
                        dur_us=700 - late_us)


def near(trace, rank):
    for i in range(40):
        trace.operation("AllReduce", 1 << 20, seq=i, times_from="gpu", dur_us=700,
                        early_us=20 * ((i + rank) % 3) if i % 2 else rank / 4)


def stepped(trace, rank):
    """The machine of ranks 2 and 3 is paused for two seconds, and its clock stands still."""
    for i in range(20):
        is_paused = i == 10 and rank > 1
        is_waiting = i == 10 and rank < 2
        if is_paused:
            trace.clock(trace.time_ns - 50_000, step_ns=2_000_000_000, step_after_ns=trace.time_ns - 850_000)
        trace.operation("AllReduce", 1 << 20, seq=i, times_from="gpu",
                        dur_us=2_000_100 if is_waiting else 100)
        trace.time_ns += 2_000_000_000 if is_waiting else 0


def short(computing_ms):
    """An AllReduce of 1 ms after each of these, for each iteration what each rank computes."""
    def make(trace, rank):
        for i, of_ranks in enumerate(computing_ms):
            begin_ns = trace.time_ns
            trace.time_ns = begin_ns + of_ranks[rank] * 1_000_000
            trace.operation("AllReduce", 1 << 20, seq=i, times_from="gpu",
                            dur_us=1000 * (max(of_ranks) - of_ranks[rank] + 1))
            trace.time_ns = begin_ns + (max(of_ranks) + 1) * 1_000_000
    return make


def late_and_stray():
    """A rank is late in the first run; of the second there is one file, whose other rank is unseen."""
    stray = Trace(0, host="node9", job="other", run=0x5eed).communicator(comm="0x5eed")
    late(stray, 0)
    return {**ranks(3, late), "traces/ringside.other.node9.100.1.json": stray.text()}


def of_two_boots(files):
    return {path: text.replace('"b00t"', f'"b00t{path.split(".")[2]}"') for path, text in files.items()}


def cases():
    absent = {path: text for path, text in ranks(3, late).items() if ".102." not in path}
    return {
        "overlap-waiting": ("overlap traces", ranks(3, late)),
        "overlap-waiting-json": ("overlap --format json traces", ranks(2, late)),
        "overlap-waiting-unknown": ("overlap traces", absent),
        "stragglers-stepped-clock": ("stragglers --align-report traces", of_two_boots(ranks(4, stepped))),
        "stragglers-some-undecided": ("stragglers traces", ranks(3, late)),
        "stragglers-stray-run": ("stragglers traces", late_and_stray()),
        "overlap-stray-run": ("overlap ../stragglers-stray-run/traces", {}),
        "summary-findings-late": ("summary ../stragglers-some-undecided/traces", {}),
        "summary-findings-late-tenth": ("summary traces", ranks(4, late_every_tenth)),
        "stragglers-imbalance": ("stragglers traces", ranks(4, moving)),
        "summary-imbalance": ("summary ../stragglers-imbalance/traces", {}),
        "stragglers-short": ("stragglers traces", ranks(4, short([(9, 10, 9, 9), (9, 10, 700, 11)]))),
        "stragglers-short-unjudged": ("stragglers traces",
                                      ranks(4, short([(9, 10, 9, 9), (14, 10, 16, 11)]))),
        "summary-short-unjudged": ("summary --fail-on 'straggler>5%' ../stragglers-short-unjudged/traces",
                                   {}),
        "stragglers-nobody-some-undecided": ("stragglers traces", ranks(3, near)),
    }
