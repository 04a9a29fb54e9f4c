# SPDX-License-Identifier: Apache-2.0
"""Inputs of the cases of `ringside match` and `ringside communicators`: one for each verdict."""

from summary_inputs import calling_another, job, mix, restarted, skipping, texts, with_drops
from trace_writer import Trace


def ranks(count, act, close=lambda trace, rank: trace.text(), **options):
    """`count` ranks of one communicator; `act` adds the operations of a rank."""
    files = {}
    for rank in range(count):
        trace = Trace(rank, host=f"node{rank // 2}", **options).communicator(nranks=count)
        act(trace, rank)
        files[f"traces/ringside.mix.node{rank // 2}.{100 + rank}.1.json"] = close(trace, rank)
    return files


def odd_one(trace, rank):
    """Rank 2 of 4 differs in size, then datatype, then root."""
    odd = rank == 2
    trace.operation("AllReduce", 512 if odd else 1024, seq=0)
    trace.operation("AllReduce", 1024, seq=1, datatype="ncclFloat16" if odd else "ncclFloat32")
    trace.operation("Broadcast", 1024, seq=0, root=3 if odd else 0)
    trace.operation("AllReduce", 1024, seq=2)


def long_names():
    files = {}
    for rank in range(2):
        trace = Trace(rank, host="h" * 3000).communicator(nranks=2, name="n" * 3000)
        trace.operation("AllReduce", 1024, seq=0)
        files[f"traces/ringside.{rank}.json"] = trace.text()
    return files


def aborted(trace, rank):
    for seq in range(3):
        trace.operation("AllReduce", 1024, seq=seq)


def half_finished(trace, rank):
    """Rank 3 is still in the kernel when it is dumped, a second before the others finish. Its host's
    clock is ten seconds ahead, so that its raw times are later than all of theirs."""
    trace.events[0]["args"]["boot_id"] = f"b00t{rank // 2}"
    for seq in range(40):
        trace.operation("AllReduce", 1024, seq=seq, times_from="gpu")
    hangs = rank == 3
    trace.operation("AllReduce", 1024, seq=40, times_from="gpu", in_flight=hangs,
                    state="started" if hangs else None, dur_us=2_000_000)
    trace.time_ns += 1_000_000_000 if hangs else 3_000_000_000


def on_its_clock(act, dump=True):
    files = {}
    for rank in range(4):
        ahead_ns = 10**10 * (rank // 2)
        trace = Trace(rank, host=f"node{rank // 2}", dump=dump, start_ns=1_000_000 + ahead_ns)
        act(trace.communicator(nranks=4), rank)
        files[f"traces/ringside.mix.node{rank // 2}.{100 + rank}.1.json"] = trace.text()
    return files


def overtaken(trace, rank):
    """The end of rank 1's second operation was lost: it has finished the third."""
    for seq in range(3):
        is_lost = rank == 1 and seq == 1
        trace.operation("AllReduce", 1024, seq=seq, times_from="gpu", in_flight=is_lost,
                        state="started" if is_lost else None)


def not_closed(trace, rank):
    return trace.text(closed=False)


def lost_one(trace, rank):
    trace.account = {"Coll": {"produced": 8, "written": 3, "merged": 3, "dropped_ring_full": 2}}
    return trace.text()


def hostile():
    """Names that would set the title of a terminal, colour it, clear it, and end a line."""
    def act(trace, rank):
        trace.communicator(2, comm="0xbad", name="\x1b]0;title\x07\x1b[31m\u009b2J\x7f\nnote: all is well")
        trace.operation("All\u009b2JReduce", 512 + rank, context=2, seq=0, algo="\x1b[2J")
    return ranks(2, act)


def skipping_one(trace, rank):
    """Rank 1 leaves out the last call; so it does where its lines are doubled, but then its trace is
    damaged, and nothing can be said."""
    for seq in range(3 - rank):
        trace.operation("AllReduce", 1024 + seq, seq=seq)


def tie(trace, rank):
    trace.operation("AllReduce", 512 if rank < 2 else 1024, seq=0)


def odd_function(trace, rank):
    trace.operation("AllReduce", 1024, seq=0)
    if rank == 1:
        trace.operation("AllGather", 1024, seq=0, datatype="bytes")
    else:
        trace.operation("AllReduce", 1024, seq=1)


def many(trace, rank):
    for i in range(30):
        trace.operation("AllReduce", 7 if rank == 1 else 8, seq=i)


def swapped(group=None, kind="coll", in_flight=False):
    """Rank 3 calls Broadcast and AllReduce the other way round; numbers are equal on all ranks."""
    def act(trace, rank):
        trace.operation("AllReduce", 1024, seq=0, group=1)
        calls = [("AllReduce", 1), ("Broadcast", 0)]
        for func, seq in calls if rank != 3 else reversed(calls):
            is_api = func == "Broadcast" and kind == "api"
            stays = in_flight and not is_api
            trace.operation(func, 4096, seq=None if is_api else seq, kind=kind if is_api else "coll",
                            root=0 if func == "Broadcast" else None, in_flight=stays,
                            state="started" if stays else None,
                            times_from="enqueue" if is_api else "proxy",
                            group=None if is_api else group or 2 + trace.operations)
        if not in_flight:
            trace.operation("AllReduce", 1024, seq=2, group=9)
    return act


def mixed_groups(trace, rank):
    """Rank 2 calls the members of each group in another order, which is allowed. Rank 3 gives another
    root in the third iteration."""
    for seq in range(5):
        group = 2 + trace.operations
        functions = ["AllReduce", "ReduceScatter"]
        for func in functions if rank != 2 else reversed(functions):
            trace.operation(func, 1024, seq=seq, group=group)
        trace.operation("Reduce", 1024, seq=seq, root=1 if rank == 3 and seq == 2 else 0)


def one_blocks(trace, rank):
    """Rank 1 calls AllGather where the others call AllReduce; nobody gets any further."""
    trace.operation("AllReduce", 1024, seq=0)
    func = ("AllGather", 0) if rank == 1 else ("AllReduce", 1)
    trace.operation(func[0], 1024, seq=func[1], in_flight=True, state="started")


def left_out_one(trace, rank):
    """Rank 0 makes a call that the others do not: later numbers do not say the same."""
    trace.operation("AllReduce", 8, seq=0)
    gathers = 0
    if rank == 0:
        trace.operation("AllGather", 1, seq=0, datatype="bytes")
        gathers = 1
    trace.operation("AllReduce", 8, seq=1)
    trace.operation("AllGather", 2, seq=gathers, datatype="bytes")
    trace.operation("AllReduce", 8, seq=2)


def left_out_among(sizes):
    """Rank 1 leaves out the fourth call."""
    def act(trace, rank):
        called = [size for i, size in enumerate(sizes) if rank != 1 or i != 3]
        for seq, size in enumerate(called):
            trace.operation("AllReduce", size, seq=seq)
    return act


def stuck(trace, rank):
    """Rank 3 was still in the kernel when it was dumped, long after the others."""
    for i in range(3):
        trace.operation("AllReduce", 1024, seq=i, times_from="gpu")
    hangs = rank == 3
    trace.operation("AllReduce", 1024, seq=3, times_from="gpu", in_flight=hangs,
                    state="started" if hangs else None)


def unmatched_pairs(trace, rank):
    peer = 1 - rank
    for i in range(2):
        trace.operation("Send" if rank == 0 else "Recv", 1024 if rank or i else 512, kind="p2p",
                        peer=peer, times_from="gpu", algo=None, proto=None)
    if rank == 0:
        trace.operation("Send", 64, kind="p2p", peer=peer, times_from="gpu", algo=None, proto=None)


def grouped(trace, rank):
    """AlltoAll, AlltoAllv, Gather, Scatter and a ring of 4 ranks; then a group that is none."""
    links = (lambda s, d: 4096, lambda s, d: 1024 * (1 + s + d) if s != d else None,
             lambda s, d: 512 if d == 1 else None, lambda s, d: 256 if s == 0 and d else None,
             lambda s, d: 8192 if d == (s + 1) % 4 else None, lambda s, d: 64 if s < d else None)
    for group, count in enumerate(links, 1):
        for peer in range(4):
            for func, size in (("Send", count(rank, peer)), ("Recv", count(peer, rank))):
                if size is not None:
                    trace.operation(func, size, kind="p2p", peer=peer, times_from="gpu", algo=None,
                                    proto=None, group=group, dur_us=900)


def uneven(trace, rank):
    """Three AlltoAllv, whose sizes follow the data, as those of a mixture of experts."""
    for group, scale in enumerate((100, 300, 200), 1):
        for peer in range(4):
            for func, size in (("Send", rank + 2 * peer), ("Recv", peer + 2 * rank)):
                if peer != rank:
                    trace.operation(func, scale * (1 + size), kind="p2p", peer=peer, group=group,
                                    times_from="gpu", algo=None, proto=None, dur_us=900)


def far_apart():
    """Two runs of two hosts, 12 s apart; the clock of the second host is 30 s ahead."""
    files = {}
    for run in range(2):
        for rank in range(2):
            trace = Trace(rank, host=f"node{rank}", run=0xabc0 + 2 * run + rank,
                          start_ns=10**9 + 12 * 10**9 * run + 30 * 10**9 * rank)
            trace.events[0]["args"]["boot_id"] = f"b00t{rank}"
            trace.communicator(nranks=2, comm=f"0xc0{run}")
            for seq in range(3):
                trace.operation("AllReduce", 1024, seq=seq)
            files[f"traces/ringside.mix.node{rank}.{run}.json"] = trace.text()
    return files


def sparse(trace, rank):
    """Three AlltoAllv as those of a mixture of experts: what is empty is not sent."""
    for group in (1, 2, 3):
        for peer in range(6):
            for func, source, target in (("Send", rank, peer), ("Recv", peer, rank)):
                size = (source * 7 + target * 5 + group) % 4
                if size > 0:
                    trace.operation(func, 100 * size, kind="p2p", peer=peer, group=group,
                                    times_from="gpu", algo=None, proto=None, dur_us=900)


def late_numbers(nccl, same_sizes=False):
    """Rank 1 is recorded from the tenth operation on only, and NCCL up to 2.25 counts from there."""
    files = {}
    for rank in range(2):
        trace = Trace(rank, abi=2, nccl=nccl, windows=1 - rank)
        trace.communicator(nranks=None)
        if rank == 1:
            trace.window(1, 11_000_000)
        for i in range(40):
            if rank == 1 and i < 10:
                trace.time_ns += 1_000_000
                continue
            trace.operation("AllReduce", 64 if same_sizes else 16 + i * i * 7919 % 1009,
                            seq=i - 10 * rank, times_from="enqueue" if same_sizes else "gpu")
        files[f"traces/ringside.mix.node0.{100 + rank}.1.json"] = trace.text(
            closed=rank == 0 or not same_sizes)
    return files


def nested(rank, nranks):
    """A world of 4, and in it pairs."""
    trace = mix(rank, nranks)
    trace.communicator(2, comm=f"0x{0x20 + rank // 2:x}", name=f"pair{rank // 2}", nranks=2,
                       rank=rank % 2)
    return trace.operation("AllReduce", 1024, context=2, seq=0)


def pairs_alike(times_from):
    """Five pairs that do the same, but the fourth takes longer, and the fifth calls once more."""
    def act(trace, rank):
        pair = rank // 2
        trace.communicator(2, comm=f"0x{0x20 + pair:x}", name=f"tp {pair}", nranks=2, rank=rank % 2)
        for seq in range(3 if pair == 4 else 2):
            trace.operation("AllReduce", 1024, context=2, seq=seq, times_from=times_from,
                            dur_us=300.0 if pair == 3 else 100.0 + pair)
    return ranks(10, act)


def without_hash(nranks, act):
    """Ranks of an interface that gives neither hashes nor numbers of ranks; `act` adds the
    communicators and operations of a rank."""
    files = {}
    for rank in range(nranks):
        trace = Trace(rank, abi=3, nccl="2.27.7")
        act(trace, rank)
        files[f"traces/ringside.mix.node0.{100 + rank}.1.json"] = trace.text()
    return files


def of_subsets(trace, rank):
    """Communicators of ranks 0 to 3, of 0 and 1, and of 0, 1 and 3: all call what they must. The
    second one of rank 3 is the third one of the others."""
    contexts = []
    for ranks_of_one, func, root in (((0, 1, 2, 3), "AllReduce", None), ((0, 1), "AllReduce", None),
                                     ((0, 1, 3), "Reduce", 0)):
        if rank in ranks_of_one:
            context = len(contexts) + 1
            trace.communicator(context, comm=None, name=None, nranks=None,
                               rank=ranks_of_one.index(rank))
            contexts.append((context, func, root))
    for i in range(2):
        for context, func, root in contexts:
            trace.operation(func, 65536, context=context, seq=i, root=root, times_from="gpu")
        if rank < 2:  # a last call that the other communicator of this place does not have
            trace.operation("AllGather", 1024, context=2, seq=i, times_from="gpu")


def of_one(trace, rank):
    """One communicator; rank 2 gives another root."""
    trace.communicator(comm=None, name=None, nranks=None)
    for i in range(2):
        trace.operation("AllReduce", 65536, seq=i, times_from="gpu")
    trace.operation("Reduce", 1024, seq=0, root=1 if rank == 2 else 0, times_from="gpu")


def cases():
    two = {f"traces/{name}": text for name, text in texts(
        {str(r) + ".json": mix(r, 2) for r in range(2)}).items()}

    def dumped(trace, rank):
        trace.time_ns += 5_000_000 if rank == 3 else 0
        return trace.text()

    def later(trace, rank):
        trace.time_ns += 31 * 10**9
        return trace.text()

    def pair(act):
        return {f"traces/{rank}.json": text for rank, text in enumerate(
            texts({rank: act_on(act, rank) for rank in range(2)}).values())}

    def act_on(act, rank):
        trace = Trace(rank).communicator(nranks=2)
        for i in range(8):
            act(trace, rank, i)
        return trace

    whole = ranks(2, skipping_one)
    first, second = sorted(whole)
    lines = whole[second].split("\n")
    is_operation = ['"args":{"op"' in line for line in lines]
    doubled = whole | {second: "\n".join(
        line for line, twice in zip(lines, is_operation) for _ in range(1 + twice))}
    lossy = {f"traces/{name}": text for name, text in texts(with_drops(
        {f"{rank}.json": act_on(skipping, rank) for rank in range(2)})).items()}
    return {
        "match-no-hash-subsets": ("match traces", without_hash(4, of_subsets)),
        "summary-no-hash-subsets": ("summary --fail-on mismatch,missing,state traces",
                                    without_hash(4, of_subsets)),
        "match-no-hash-sole": ("match traces", without_hash(4, of_one)),
        "help-match": ("match --help", {}),
        "help-communicators": ("communicators --help", {}),
        "usage-match-cap": ("match --mismatch-cap many traces", {}),
        "match-all": ("match traces", two),
        "match-nothing": ("match empty", {"empty/.keep": ""}),
        "summary-findings-mismatch": ("summary ../match-odd-one/traces", {}),
        "match-odd-one": ("match traces", ranks(4, odd_one)),
        "match-odd-one-json": ("match --format json traces", ranks(4, odd_one)),
        "match-odd-one-csv": ("match --format csv traces", ranks(4, odd_one)),
        "match-odd-one-markdown": ("match --format markdown traces", ranks(4, odd_one)),
        "match-tie": ("match traces", ranks(4, tie)),
        "match-odd-function": ("match traces", ranks(4, odd_function)),
        "match-swapped": ("match traces", ranks(4, swapped())),
        "match-swapped-json": ("match --format json traces", ranks(4, swapped())),
        "match-swapped-in-group": ("match traces", ranks(4, swapped(group=2))),
        "match-root-behind-mixed-groups": ("match traces", ranks(4, mixed_groups)),
        "match-swapped-call": ("match traces", ranks(4, swapped(kind="api"))),
        "match-swapped-stuck": ("match traces", ranks(4, swapped(kind="api", in_flight=True), dumped,
                                                      dump=True)),
        "hang-swapped-call": ("hang traces", ranks(4, swapped(kind="api", in_flight=True), later,
                                                   dump=True)),
        "match-one-blocks": ("match traces", ranks(3, one_blocks, later, dump=True)),
        # Recorded with PyTorch and NCCL 2.29.7, which shows a single broadcast as a call only.
        "hang-torch-other-order": ("hang traces", {}),
        "match-torch-other-order": ("match ../hang-torch-other-order/traces", {}),
        "summary-hostile": ("summary traces", hostile()),
        "summary-hostile-markdown": ("summary --format markdown traces", hostile()),
        "match-hostile": ("match traces", hostile()),
        "match-hostile-json": ("match --format json traces", hostile()),
        "match-state-clocks": ("match traces", on_its_clock(half_finished)),
        "match-state-no-align": ("match --no-align traces", on_its_clock(half_finished)),
        "match-overtaken": ("match traces", ranks(2, overtaken, dump=True)),
        # Four ranks, each in two communicators.
        "hang-nested": ("hang traces", job(4, nested)),
        "match-alltoallv-sparse": ("match traces", ranks(6, sparse)),
        "match-restarted-far-clocks": ("match traces", far_apart()),
        "match-aborted": ("match traces", ranks(2, aborted, not_closed)),
        "hang-aborted": ("hang traces", ranks(2, aborted, not_closed)),
        "stragglers-aborted": ("stragglers traces", ranks(2, aborted, not_closed)),
        "match-lossy": ("match traces", ranks(2, aborted, lost_one)),
        "summary-fail-on-undecided": ("summary --format csv --fail-on mismatch traces",
                                      late_numbers("2.25.1", same_sizes=True)),
        "match-left-out-last": ("match traces", whole),
        "match-doubled-lines": ("match traces", doubled),
        "match-twice-in-one-file": ("match traces", whole | {first: whole[first] * 2}),
        "match-another-function": ("match traces", pair(calling_another)),
        "match-cap": ("match --mismatch-cap 2 traces", ranks(3, many)),
        "match-left-out-one": ("match traces", ranks(3, left_out_one)),
        "match-left-out-sizes": ("match traces", ranks(3, left_out_among(range(8, 80, 8)))),
        "match-left-out-alike": ("match traces", ranks(3, left_out_among([8] * 9))),
        "match-left-out-alike-json": ("match --format json traces",
                                      ranks(3, left_out_among([4, 8, 8, 8, 8, 8, 4]))),
        "match-state": ("match traces", ranks(4, stuck, dumped, dump=True)),
        "match-state-not-dumped": ("match traces", ranks(4, stuck, dumped)),
        "match-missing": ("match traces", pair(skipping)),
        "match-not-recorded": ("match traces", lossy),
        "match-pairs": ("match traces", ranks(2, unmatched_pairs)),
        "match-groups": ("match traces", ranks(4, grouped)),
        "summary-groups": ("summary traces", ranks(4, grouped)),
        "summary-alltoallv": ("summary traces", ranks(4, uneven)),
        "match-aligned": ("match traces", late_numbers("2.25.1")),
        "match-trusted": ("match traces", late_numbers("2.26.2")),
        "match-undecided": ("match traces", late_numbers("2.25.1", same_sizes=True)),
        "match-runs": ("match traces", restarted()),
        "summary-alike": ("summary traces", pairs_alike("gpu")),
        "summary-alike-markdown": ("summary --format markdown traces", pairs_alike("enqueue")),
        "communicators": ("communicators traces", job(4, nested)),
        "communicators-json": ("communicators --format json traces", job(4, nested)),
        "communicators-csv": ("communicators --format csv traces", job(4, nested)),
        "communicators-markdown": ("communicators --format markdown traces", job(4, nested)),
        "communicators-rank-missing": ("communicators traces", {
            path: text for path, text in job(4, nested).items() if ".103." not in path}),
        "communicators-long-names": ("communicators traces", long_names()),
        "communicators-runs": ("communicators traces", restarted()),
    }
