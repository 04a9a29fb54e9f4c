# SPDX-License-Identifier: Apache-2.0
"""Inputs of the cases of `ringside summary`."""

import gzip

from trace_writer import Trace


def mix(rank, nranks, **options):
    """Collectives of several sizes; the last rank to come is the fastest, it does not wait."""
    trace = Trace(rank, host=f"node{rank // 2}", **options).communicator(nranks=nranks)
    for i in range(5):
        trace.operation("AllReduce", 1 << 20, seq=i, dur_us=400 + 10 * rank + i)
    trace.operation("AllReduce", 1024, seq=5, dur_us=20, algo="TREE", proto="LL")
    trace.operation("AllGather", 262144, seq=0, datatype="bytes", dur_us=90 + rank)
    trace.operation("ReduceScatter", 65536, seq=0, dur_us=80 - rank)
    trace.operation("Reduce", 1000, seq=0, dur_us=33.3, root=1)
    trace.operation("Broadcast", 4096, kind="api", times_from="enqueue", root=0, algo=None,
                    proto=None)
    return trace


def job(nranks, make=mix, **options):
    return {f"traces/ringside.mix.node{r // 2}.{100 + r}.1.json": make(r, nranks, **options).text()
            for r in range(nranks)}


def pairs(rank, nranks):
    trace = Trace(rank).communicator(nranks=nranks)
    for i in range(3):
        for peer in ((rank + 1) % nranks, rank):
            trace.operation("Send", 1024 << i, kind="p2p", peer=peer, dur_us=10 + i,
                            times_from="enqueue" if peer == rank else "gpu", algo=None, proto=None)
        for peer in ((rank - 1) % nranks, rank):
            trace.operation("Recv", 1024 << i, kind="p2p", peer=peer, dur_us=12 + i,
                            times_from="enqueue" if peer == rank else "gpu", algo=None, proto=None)
    return trace


def coalesced(rank, nranks):
    """Eight AllReduce of 1 MiB in one group, which NCCL runs as one kernel of 250 us: 8 x 1,048,576
    bytes / 250 us are 33.55 GB/s, and each of them by itself would seem to have 4.19."""
    trace = Trace(rank).communicator(nranks=nranks)
    for i in range(3):
        begin_ns = trace.time_ns
        for k in range(8):
            trace.time_ns = begin_ns
            trace.operation("AllReduce", 262144, seq=8 * i + k, times_from="gpu", dur_us=250,
                            group=i + 1)
    return trace


def captured(rank, nranks):
    """The AllReduce of a CUDA graph as they are captured, and one without a graph."""
    trace = Trace(rank).communicator(nranks=nranks)
    trace.operation("AllReduce", 65536, seq=0, times_from="gpu", dur_us=50)
    for i in range(1, 4):
        trace.operation("AllReduce", 65536, seq=i, times_from="enqueue", graph=True)
    return trace


def late_leaf(rank, nranks):
    """Broadcasts of 64 KiB; the last rank takes its part 10 ms later out of its buffer, in 4 us."""
    trace = Trace(rank).communicator(nranks=nranks)
    for i in range(4):
        trace.time_ns = 20_000_000 * (i + 1) + (10_000_000 if rank == nranks - 1 else 0)
        trace.operation("Broadcast", 65536, seq=i, datatype="ncclInt8", root=0, times_from="gpu",
                        dur_us=4 if rank == nranks - 1 else 40)
    return trace


def late_fit(rank, nranks):
    """All ranks start at once, but the fit of the last one's GPU clock is 6 us late: so are all of its
    stamps, and no kernel of it seems to start sooner after its call."""
    trace = Trace(rank).communicator(nranks=nranks)
    for i in range(60):
        trace.operation("AllReduce", 65536, seq=i, times_from="gpu",
                        early_us=6 if rank == nranks - 1 else 0, dur_us=100)
    return trace


def sources(rank, nranks):
    """Enqueue only, a place in a queue, and ranks whose sources differ."""
    trace = Trace(rank).communicator(nranks=nranks)
    for i in range(2):
        trace.operation("AllReduce", 256, seq=i, times_from="enqueue")
    for i in range(2, 4):
        trace.operation("AllReduce", 4096, seq=i, times_from="proxy_queue", dur_us=50)
    trace.operation("AllReduce", 65536, seq=4, times_from="gpu" if rank else "proxy", dur_us=60)
    trace.operation("AllReduce", 65536, seq=5, times_from="gpu" if rank else "enqueue")
    trace.operation("PutSignal", 65536, seq=0, times_from="gpu", dur_us=5)
    trace.operation("AllReduce", 64, seq=6, times_from="gpu", dur_us=5, datatype="ncclFuture")
    return trace


def old_interface(rank, nranks, comm="0x77aa", **options):
    """An interface that gives no number of ranks, and perhaps no hash."""
    trace = Trace(rank, abi=2, nccl="2.25.1", **options)
    trace.communicator(1, comm=comm, name=None, nranks=None)
    trace.operation("AllReduce", 65536, seq=0, times_from="gpu", dur_us=70)
    trace.operation("AllGather", 65536, seq=0, datatype="bytes", times_from="gpu", dur_us=70)
    trace.operation("Broadcast", 65536, seq=0, datatype="bytes", times_from="gpu", root=0,
                    dur_us=40)
    return trace


def no_hash(rank, nranks, split_ranks=None):
    trace = old_interface(rank, nranks, comm=None, run=None)
    trace.communicator(2, comm=None, name=None, nranks=None,
                       rank=rank if split_ranks is None else split_ranks[rank])
    return trace.operation("Reduce", 1024, context=2, seq=0, times_from="gpu", root=0, dur_us=15)


def two_ranks(different, **options):
    """Rank 0 and rank 1 of a short job; `different` changes what rank 1 does."""
    texts = {}
    for rank in range(2):
        trace = Trace(rank, **options).communicator(nranks=2)
        for i in range(8):
            different(trace, rank, i)
        texts[f"{rank}.json"] = trace
    return texts


def texts(traces):
    return {name: trace.text() for name, trace in traces.items()}


def skipping(trace, rank, i):
    if rank == 0 or i not in (2, 5):
        trace.operation("AllReduce", 65536, seq=i, dur_us=60)


def disagreeing(trace, rank, i):
    strange = rank == 1
    trace.operation("AllReduce", 2048 if strange and i == 1 else 1024, seq=i,
                    datatype="ncclFloat16" if strange and i in (1, 2) else "ncclFloat32")
    trace.operation("Broadcast", 1024, seq=i, root=1 if strange and i == 3 else 0)


def calling_another(trace, rank, i):
    """At the fourth place rank 0 calls AllReduce, rank 1 Broadcast; later all is well again."""
    if rank == 1 and i == 3:
        trace.operation("Broadcast", 1024, seq=0, root=0, state="started", in_flight=True,
                        times_from="gpu")
    elif rank == 0 and i == 3:
        trace.operation("AllReduce", 1024, seq=3, state="started", in_flight=True,
                        times_from="gpu")
    elif i < 3:
        trace.operation("AllReduce", 1024, seq=i)


def replaying(trace, rank, i):
    trace.operation("AllReduce", 1024, seq=i // 4, dur_us=10 + i)


def flying(trace, rank, i):
    if i < 6:
        trace.operation("AllReduce", 1024, seq=i)
    elif i == 6:
        trace.operation("AllReduce", 1024, seq=i, state="started" if rank == 0 else "enqueued",
                        in_flight=True, times_from="gpu" if rank == 0 else "enqueue")
    elif rank == 0:
        trace.operation("AllReduce", 1024, seq=i, times_from="enqueue", in_flight=True)


def with_drops(traces):
    traces["1.json"].account["ProxyOp"] = {"produced": 9, "written": 2, "dropped_ring_full": 7}
    return traces


def marked_too_fast():
    """Rank 0 lost marks and ranges of the application, rank 1 had too many events open."""
    files = {}
    for rank in range(2):
        trace = mix(rank, 2)
        trace.given_up = {"ProxyStep": 40, "ProxyOp": 2} if rank == 1 else {}
        lost = {"marks_lost": 1200, "ranges_lost": 1} if rank == 0 else None
        files[f"traces/ringside.mix.node0.{100 + rank}.1.json"] = trace.text(lost=lost)
    return files


def recovered_twice():
    """Both processes died: rank 0's trace says how many marks were lost with it, rank 1's does not."""
    files = {}
    for rank in range(2):
        trace = mix(rank, 2)
        trace.given_up = {"ProxyStep": 3} if rank == 0 else {}
        lost = {"marks_lost": 7, "ranges_lost": 0} if rank == 0 else None
        files[f"traces/ringside.mix.node0.{100 + rank}.1.json"] = trace.text(recovered=True, lost=lost)
    return files


def restarted():
    """Two runs of a job in one directory, by an interface without a hash."""
    files = {}
    for run in range(2):
        for rank in range(2):
            trace = old_interface(rank, 2, comm="0x77aa", run=0x10 * (run + 1) + rank,
                                  start_ns=1_000_000 + run * 60_000_000_000)
            files[f"traces/ringside.mix.node0.{rank}.{run}.json"] = trace.text()
    return files


def one_process():
    """Two ranks in one process."""
    trace = Trace(0)
    for context in (1, 2):
        trace.communicator(context, rank=context - 1)
    for context in (1, 2):
        trace.operation("AllReduce", 65536, context=context, seq=0, dur_us=60 + context)
    return {"one.json": trace.text()}


def dump_and_trace():
    files = {}
    for rank in range(2):
        whole, dump = Trace(rank), Trace(rank, dump=True)
        for trace, count in ((whole, 6), (dump, 4)):
            trace.communicator(nranks=2)
            for i in range(count):
                trace.operation("AllReduce", 65536, seq=i, dur_us=60)
        files[f"traces/dump.{rank}.json"] = dump.text()
        files[f"traces/ringside.mix.node0.{100 + rank}.1.json"] = whole.text()
    return files


def damaged():
    """One trace each that is whole, cut off, without an end, and with bad lines; and no traces."""
    good = mix(0, 4).text()
    cut = mix(1, 4).text(closed=False, torn='{"ph":"b","cat":"op","id2":{"lo')
    lines = mix(2, 4).text().split("\n")
    operations = [i for i, line in enumerate(lines) if '"flow_in"' in line]
    for i, damage in zip(operations, (
            lambda line: line[: len(line) // 2], lambda line: line.replace('{"op"', '{{"op"'),
            lambda line: line.replace('"context":1', '"context":-1'),
            lambda line: line.replace('"state":"completed",', '').replace(
                '"state":"completed"', '"other":1'),
            lambda line: line.replace('"bytes":', '"bytes":1e'), lambda line: line + "{}",
            lambda line: "", lambda line: line.replace('"end_ns":', '"end_ns":-'))):
        lines[i] = damage(lines[i])
    return {"traces/ringside.0.json": good, "traces/ringside.1.json": cut,
            "traces/ringside.2.json": "\n".join(lines),
            "traces/ringside.3.json": b"\x00\xff\x1f\x8b garbage \n\x80",
            "traces/ringside.4.json": "",
            "traces/notes.json": '{"these": "are notes"}\n', "traces/log.txt": "a log\n"}


def segments(rank):
    """A process's segments 2 to 4; the first was deleted."""
    files = {}
    for segment in (2, 3, 4):
        trace = Trace(rank, segment=segment, after=5 * (segment - 1), start_ns=segment * 10_000_000)
        trace.account = {"Coll": {"produced": 10 * segment, "written": 5 * (segment - 1),
                                  "merged": 5 * (segment - 1), "rotated": 10}}
        trace.communicator(nranks=2)
        for i in range(5):
            trace.operation("AllReduce", 65536, seq=5 * (segment - 1) + i, dur_us=60)
        name = f"traces/ringside.mix.node0.{100 + rank}.1.s{segment:06d}.json"
        files[name] = trace.text(next_segment=segment + 1 if segment < 4 else None)
    return files


def without(files, *parts):
    return {path: text for path, text in files.items() if not any(p in path for p in parts)}


def squeezed(text):
    """As `gzip` does it; stored, so that no version of zlib makes other bytes of it."""
    return gzip.compress(text.encode(), compresslevel=0, mtime=0)


def compressed(damage=lambda data: data, keep=False):
    """Two ranks; the second's trace is compressed, and then damaged."""
    files = job(2)
    plain = files["traces/ringside.mix.node0.101.1.json"]
    files["traces/ringside.mix.node0.101.1.json.gz"] = damage(squeezed(plain))
    return files if keep else without(files, ".101.1.json") | {
        path: text for path, text in files.items() if path.endswith(".gz")}


def cases():
    two, four = job(2), job(4)
    newer = two["traces/ringside.mix.node0.100.1.json"].replace('"format_version":1',
                                                                '"format_version":2')
    many_bad = mix(0, 2).text().replace('"ph":"X"', '"ph":X').replace('"ph":"e"', '"ph":e')
    result = {
        "help": ("--help", {}),
        "help-summary": ("summary --help", {}),
        "help-lint": ("lint --help", {}),
        "help-run": ("run --help", {}),
        "help-env": ("env --help", {}),
        "help-doctor": ("doctor --help", {}),
        "usage-run-no-command": ("run --dir x", {}),
        "usage-run-events": ("run --events coll,nonsense -- true", {}),
        "usage-env-format": ("env --format xml", {}),
        "usage-no-command": ("", {}),
        "usage-stray": ("stray", {}),
        "usage-mistyped": ("sumary traces", {}),
        "usage-mistyped-verb": ("ctl stauts", {}),
        "usage-too-many": ("ctl status now", {}),
        "help-of": ("help ctl stop", {}),
        "usage-unknown-option": ("summary --fomat json traces", {}),
        "usage-bad-format": ("summary --format xml traces", {}),
        "usage-no-input": ("summary", {}),
        "usage-lint-no-input": ("lint", {}),
        "usage-from-nan": ("summary --from nan traces", {}),
        "usage-min-bytes-negative": ("summary --min-bytes -5 traces", {}),
        "usage-top-negative": ("stragglers --top -1 traces", {}),
        "usage-duration-nan": ("run --duration nan -- true", {}),
        "usage-seconds-nan": ("ctl start --seconds nan", {}),
        "usage-min-age-nan": ("hang --min-age nan traces", {}),
        "usage-ctl-pid": ("ctl status --pid x", {}),
        "usage-table": ("stragglers --format csv --table nope traces", two),
        "usage-device": ("summary /dev/null", {}),
        "summary-2-ranks": ("summary traces", two),
        "summary-4-ranks": ("summary traces", four),
        "summary-coalesced": ("summary traces", job(2, coalesced)),
        "stragglers-late-fit": ("stragglers traces", job(2, late_fit)),
        # As `ringside merge` begins a file, which may lie next to its inputs.
        "summary-merged-there": ("summary --no-findings traces", {**two, "traces/timeline.json": (
            '[{"ph":"M","pid":100,"tid":100,"ts":0,"name":"ringside_merged","args":{"format_version":1,'
            '"ringside_version":"0.1.0","note":"' + "for viewers only " * 20 + '"}},\n'
            '{"ph":"M","pid":100,"tid":100,"ts":0,"name":"ringside_trace","args":{}}]\n')}),
        "summary-captured": ("summary traces", job(2, captured)),
        "summary-late-leaf": ("summary traces", job(4, late_leaf)),
        "summary-late-leaf-intervals": ("summary --intervals traces", job(4, late_leaf)),
        "summary-json": ("summary --format json traces", two),
        "summary-csv": ("summary --format csv traces", two),
        "summary-fail-on-met": ("summary --fail-on 'busbw<0.01,mismatch,missing,dropped' traces", two),
        "summary-fail-on-absent-rank": (
            "summary --intervals --fail-on 'busbw<200' traces",
            {name: text for name, text in two.items() if ".101." not in name}),
        "summary-no-such-communicator": ("summary --comm wordl --fail-on mismatch traces", two),
        "summary-no-such-function": ("summary --func Allreduce traces", two),
        "summary-no-such-host": ("summary --host node00 traces", two),
        "summary-nothing-left": ("summary --func AllReduce --min-bytes 1gb traces", two),
        "summary-fail-on-failed": ("summary --format csv --fail-on 'busbw<200,mismatch' traces", two),
        "summary-fail-on-unknown": (
            "summary --format csv --func Broadcast --fail-on 'busbw<1,straggler>5%' traces", two),
        "summary-fail-on-filtered": (
            "summary --format csv --min-bytes 1mb --func AllReduce --fail-on 'busbw<10' traces", two),
        "summary-fail-on-unread": (
            "summary --format csv --fail-on 'mismatch,missing' gone.json traces", two),
        "summary-fail-on-infinite": ("summary --fail-on 'busbw<inf' traces", {}),
        "hang-unread": ("hang gone.json traces", two),
        "usage-fail-on": ("summary --fail-on 'busbw>200' traces", two),
        "stragglers-2-ranks": ("stragglers traces", two),
        "stragglers-json": ("stragglers --align-report --format json traces", two),
        "overlap-2-ranks": ("overlap traces", two),
        "critical-path-2-ranks": ("critical-path --top 3 traces", two),
        "critical-path-csv": ("critical-path --format csv --table operations traces", two),
        "help-stragglers": ("stragglers --help", {}),
        "help-overlap": ("overlap --help", {}),
        "help-critical-path": ("critical-path --help", {}),
        "summary-marks-lost": ("summary --func AllGather traces", marked_too_fast()),
        "summary-marks-lost-json": ("summary --func AllGather --format json traces", marked_too_fast()),
        "summary-recovered": ("summary --func AllGather traces", recovered_twice()),
        "summary-recovered-json": ("summary --func AllGather --format json traces", recovered_twice()),
        "summary-markdown": ("summary --format markdown traces", two),
        "summary-pairs": ("summary traces", job(3, pairs)),
        "summary-sources": ("summary traces", job(2, sources)),
        "summary-sources-json": ("summary --format json traces", job(2, sources)),
        "summary-inferred-nranks": ("summary traces", job(2, old_interface)),
        "summary-inferred-nranks-csv": ("summary --format csv traces", job(2, old_interface)),
        "summary-no-hash": ("summary traces", job(2, no_hash)),
        "summary-no-hash-contradiction": ("summary traces", job(
            4, lambda rank, nranks: no_hash(rank, nranks, split_ranks=(0, 1, 0, 1)))),
        "summary-restarted": ("summary traces", restarted()),
        "summary-compressed": ("summary traces", compressed()),
        "summary-compressed-other-name": ("summary traces", {
            path.replace("ringside.", "mine."): text for path, text in compressed().items()}),
        "summary-compressed-twice": ("summary traces", compressed(keep=True)),
        "summary-compressed-cut-off": ("summary --strict traces", compressed(
            lambda data: data[:len(data) * 2 // 3])),
        "summary-compressed-damaged": ("summary --strict traces", compressed(
            lambda data: data[:-8] + b"\0\0\0\0" + data[-4:])),
        "summary-segments": ("summary --strict traces", segments(0) | segments(1)),
        "summary-segments-json": ("summary --format json traces", segments(0) | segments(1)),
        "summary-segments-missing": ("summary traces", without(
            segments(0) | segments(1), "100.1.s000003", "101.1.s000004")),
        "summary-segments-missing-strict": ("summary --format csv --strict traces", without(
            segments(0) | segments(1), "100.1.s000003", "101.1.s000004")),
        "summary-segment-alone": ("summary traces", without(segments(0), "s000002", "s000004")),
        "lint-segments": ("lint traces", segments(0)),
        "lint-compressed": ("lint traces", compressed()),
        "summary-one-process": ("summary one.json", one_process()),
        "summary-no-trace-of-rank": ("summary traces", {k: v for k, v in four.items()
                                                        if ".103." not in k}),
        "summary-missing": ("summary 0.json 1.json", texts(two_ranks(skipping))),
        "summary-missing-with-drops": ("summary 0.json 1.json",
                                       texts(with_drops(two_ranks(skipping)))),
        "summary-missing-windows": ("summary 0.json 1.json",
                                    texts(two_ranks(skipping, windows=2))),
        "summary-mismatch": ("summary 0.json 1.json", texts(two_ranks(disagreeing))),
        "summary-mismatch-json": ("summary --format json 0.json 1.json",
                                  texts(two_ranks(disagreeing))),
        "summary-another-function": ("summary 0.json 1.json", texts(two_ranks(calling_another))),
        "summary-replays": ("summary 0.json 1.json", texts(two_ranks(replaying))),
        "summary-in-flight": ("summary 0.json 1.json", texts(two_ranks(flying))),
        "summary-dump-and-trace": ("summary traces", dump_and_trace()),
        "summary-damaged": ("summary traces", damaged()),
        "summary-damaged-strict": ("summary --strict traces", damaged()),
        "summary-drops-strict": ("summary --strict 0.json 1.json",
                                 texts(with_drops(two_ranks(skipping)))),
        "summary-strict": ("summary --strict traces", two),
        "summary-many-bad-lines": ("summary bad.json", {"bad.json": many_bad}),
        "summary-missing-directory": ("summary nowhere", {}),
        "summary-empty-directory": ("summary empty", {"empty/.keep": ""}),
        "summary-garbage-only": ("summary garbage.json", {"garbage.json": b"\x1f\x8b\x08\x00zip"}),
        "summary-newer-format": ("summary newer.json", {"newer.json": newer}),
        "summary-fail-on-nothing": ("summary --fail-on 'mismatch,missing' none.json",
                                    {"none.json": Trace(0).communicator().text()}),
        "summary-hosts-apart": ("summary traces", {
            f"traces/ringside.mix.node{rank}.{100 + rank}.1.json":
                Trace(rank, host=f"node{rank}").communicator(nranks=1, rank=0, comm=f"0x{rank + 1}")
                .operation("AllReduce", 1 << 10, seq=0).text().replace("b00t", f"b00t{rank}")
            for rank in range(3)}),
        "summary-no-operations": ("summary none.json",
                                  {"none.json": Trace(0).communicator().text()}),
    }
    return result
