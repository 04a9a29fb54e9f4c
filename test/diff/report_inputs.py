# SPDX-License-Identifier: Apache-2.0
"""Inputs of the cases of `ringside report`, of which the data of the page are compared, and of
`ringside summary --plot`. How the page looks and works is the matter of test/report."""

import hang_inputs
import network_inputs
from iterations_inputs import training
from match_inputs import odd_one, ranks
from trace_writer import Trace

HOSTILE = "</script><script>alert(1)</script><!--"


def hostile(name=HOSTILE, nranks=2, operations=2):
    """All that a trace names is markup; the last rank is late, but for the first time, which shows
    how soon after its call a kernel of it starts."""
    files = {}
    for rank in range(nranks):
        trace = Trace(rank, host="<b>node</b>", job="<i>job</i>")
        trace.communicator(nranks=nranks, name=name)
        for seq in range(operations):
            late_us = 300 if rank == nranks - 1 and seq > 0 else 0
            trace.operation("AllReduce", 64 << (2 * seq % 16), seq=seq, times_from="gpu",
                            early_us=late_us, dur_us=500 - late_us, algo="<u>RING</u>")
        files[f"traces/ringside.{rank}.json"] = trace.text()
    return files


def sizes(trace, rank):
    """Two functions of several sizes, the greater the faster; one of them by two algorithms."""
    for seq, power in enumerate((2, 10, 16, 20, 24)):
        trace.operation("AllReduce", 1 << power, seq=seq, times_from="gpu", dur_us=20 + 2**power / 5000)
    trace.operation("AllReduce", 1 << 16, seq=5, times_from="gpu", dur_us=90, algo="TREE", proto="LL128")
    trace.operation("AllGather", 1 << 20, seq=0, times_from="gpu", dur_us=400)
    trace.operation("Broadcast", 1 << 10, seq=0, times_from="enqueue", root=0)


def cases():
    one = ranks(2, lambda trace, rank: trace.operation("AllReduce", 8, seq=0, times_from="gpu"))
    return {
        "help-report": ("report --help", {}),
        "report": ("report --format json -o - traces", training()),
        "report-part": ("report --format json -o - --func AllGather traces", training()),
        "report-network": ("report --format json -o - traces", network_inputs.job(slow=(2, 1))),
        "report-stuck": ("report --format json -o - traces", hang_inputs.texts(hang_inputs.one_missing())),
        "report-mismatch": ("report --format json -o - traces", ranks(4, odd_one)),
        "report-nothing": ("report --format json -o - traces", ranks(2, lambda trace, rank: None)),
        "report-hostile": ("report --format json -o - traces", hostile()),
        "report-exists": ("report --format json -o report.json traces", {**one, "report.json": "mine\n"}),
        "report-over-trace": ("report --force --format json -o traces/ringside.mix.node0.100.1.json traces",
                              one),
        "summary-plot": ("summary --plot traces", ranks(4, sizes)),
        "summary-plot-nothing": ("summary --plot traces", ranks(2, lambda trace, rank: None)),
        "summary-plot-json": ("summary --plot --format json traces", one),
    }
