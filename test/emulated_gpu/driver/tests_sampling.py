# SPDX-License-Identifier: Apache-2.0
"""With sampling all ranks keep the same operations, whole."""

import collections

from harness import Job, check, print_facts

COLL_OF = 16
STEPS = 30


def sampled(setup):
    """1 of 16 collectives, and all sends, of a job that repeats a training step."""
    job = Job(setup, "--scenario", ",".join(["train"] * STEPS), ranks=4, timeout=120,
              RINGSIDE_SAMPLE=f"coll:1/{COLL_OF}").wait()
    traces = job.traces()
    kept = []
    for trace in traces:
        check(trace.closed, f"{trace.path.name} is not closed")
        check(not trace.account_errors(), f"account: {trace.account_errors()}")
        check(not trace.dropped(), f"dropped: {trace.dropped()}")
        called = collections.Counter(call["func"] for call in job.calls(trace.rank)
                                     if "func" in call)
        numbers = collections.defaultdict(list)
        for operation in trace.operations:
            is_p2p = operation["kind"] == "p2p"
            check(operation["state"] == "completed" and
                  operation.get("sample_of") == (None if is_p2p else COLL_OF),
                  f"{trace.path.name}: {operation}")
            if not is_p2p:
                numbers[operation["func"]].append(operation["seq"])
        for func, seqs in numbers.items():
            blocks = [seq // COLL_OF for seq in seqs]
            check(len(blocks) == len(set(blocks)), f"{func}: two of a block: {sorted(seqs)}")
        whole_blocks = called["AllReduce"] // COLL_OF
        found = len(numbers["AllReduce"])
        check(whole_blocks <= found <= whole_blocks + 1,
              f"{found} of {called['AllReduce']} AllReduces are kept")
        kept.append({(o["comm"], o["func"], o["seq"]) for o in trace.operations
                     if o["kind"] == "coll"})
        print_facts(rank=trace.rank, called=sum(called.values()), kept=len(trace.operations))
    check(kept[0] and all(one == kept[0] for one in kept), f"ranks have kept {kept}")
    summary = job.summary()
    (comm,) = summary["communicators"]
    check(comm["verdicts"]["matched"] == comm["operations"] > 0, f"verdicts: {comm['verdicts']}")
    for row in comm["rows"]:
        of = 1 if row["function"].startswith("SendRecv") else COLL_OF
        check(row["partial"] == 0 and row.get("count_scaled", row["count"]) == row["count"] * of, f"row: {row}")
    print(setup.run_analyzer("summary", setup.directory / "traces"))


TESTS = {"nccl-sampled": sampled}
