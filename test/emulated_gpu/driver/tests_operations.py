# SPDX-License-Identifier: Apache-2.0
"""Every operation is in the traces, as it was called, through every version of the interface."""

import collections
import functools
import json
import time

import expectations
from harness import KERNELS_ARE_SAFE, Job, check, print_facts


def load_is_logged(job, version):
    """NCCL names the plugin and the interface version that it chose."""
    log = job.nccl_log()
    check("libnccl-profiler-ringside" in log, "NCCL's log does not name the plugin's file")
    check(f"(v{version})" in log and f"ringside (v{version})" in log.lower(),
          f"NCCL's log does not say that it loaded ringside as v{version}: " +
          "; ".join(line for line in log.splitlines() if "PROFILER" in line)[:500])


def complete(job, *, named=True, detailed=True, broadcasts=True, numeric=False):
    """All ranks' traces hold exactly what was called, nothing was lost; returns the traces."""
    traces = job.traces()
    check(sorted(t.rank for t in traces) == list(range(job.ranks)),
          f"launcher_rank of the traces is {[t.rank for t in traces]}")
    for trace in traces:
        check(trace.closed, f"{trace.path.name} is not closed")
        calls = expectations.expected_calls(job.calls(trace.rank), broadcasts)
        if numeric:
            calls = expectations.through_numeric_types(calls)
        expectations.compare(trace, calls, named=named, detailed=detailed)
        if named:
            expectations.compare_sequence(trace, calls)
            timed = expectations.check_times(trace, job.calls(trace.rank))
            print_facts(rank=trace.rank, operations=len(trace.operations), timed=timed)
        expectations.check_account(trace)
    return traces


def times_come_from(traces, source, skip=lambda trace, operation: False):
    for trace in traces:
        others = [(o["func"], o.get("seq"), o["times_from"], o["state"]) for o in trace.operations
                  if not skip(trace, o)
                  and (o["times_from"] != source or o["state"] != "completed")]
        check(not others, f"{trace.path.name}: {len(others)} operations of {len(trace.operations)} "
                          f"without times from {source}: {others[:5]}")


def matched_everywhere(job, executed):
    """The analyzer matches all operations over all ranks; those `executed` are in its rows."""
    text = job.setup.run_analyzer("summary", job.setup.directory / "traces")
    (job.setup.directory / "summary.txt").write_text(text, encoding="utf-8")
    summary = job.summary()
    # Whatever the analyzer counts as lost, in doubt or unreadable: there is nothing of it.
    incomplete = {key: value for key, value in summary["completeness"].items()
                  if value and key != "callbacks_produced"}
    check(not incomplete, f"summary: not complete: {incomplete}")
    check(summary["inputs"]["ranks"] == job.ranks, f"summary: {summary['inputs']['ranks']} ranks")
    for comm in summary["communicators"]:
        check(comm["verdicts"]["matched"] == comm["operations"] > 0,
              f"summary, communicator {comm['label']}: {comm['operations']} operations, "
              f"{comm['verdicts']}, {comm['examples'][:3]}")
    # Each communicator's calls are those of its rank 0.
    called = collections.Counter(
        (call["func"], call["bytes"]) for rank in range(job.ranks)
        for call in expectations.expected_calls(job.calls(rank))
        if call["rank"] == 0 and call["func"] in executed)
    rows = collections.Counter()
    for comm in summary["communicators"]:
        for row in comm["rows"]:
            if row["function"] in executed:
                rows[row["function"], row["bytes"]] += row["count"]
                # Operations of a group have their bandwidth together. Any other has at least
                # bounds, however long a busy machine held up one of the ranks.
                check(row["is_grouped"] or row["busbw_least_gb_s"] is not None,
                      f"summary: no bandwidth in {row}")
    check(rows == called, f"summary: rows lack {called - rows} and have too many {rows - called}")


COLLECTIVES = ("AllReduce", "AllGather", "ReduceScatter", "Reduce")


def mix(setup, ranks):
    """A user who sets nothing gets this."""
    tags = ("--user-tag", "0x7a6") if setup.interface >= 7 else ()
    job = Job(setup, *tags, ranks=ranks, timeout=90).wait()
    load_is_logged(job, setup.interface)
    traces = complete(job)
    # NCCL from 2.29.2 on tells nothing of a broadcast's execution.
    times_come_from(traces, "proxy", skip=lambda t, o: expectations.is_to_self(t, o)
                    or o["func"] == "Broadcast")
    matched_everywhere(job, COLLECTIVES)


def after_send_to_self(trace, operation):
    """NCCL's host code does not count a rank's send to itself as work, its kernels do (seen in the
    sources from 2.26 to 2.30): from the group with the first one on, kernel events on that channel
    carry the times of another operation, or do not come. Times from elsewhere, or none, are the
    right answer there.
    """
    same = [o for o in trace.operations if o["context"] == operation["context"]]
    groups = {o["group"] for o in same if expectations.is_to_self(trace, o) and "group" in o}
    first = min((o["enqueue_start_ns"] for o in same
                 if expectations.is_to_self(trace, o) or o.get("group") in groups),
                default=None)
    return first is not None and operation["enqueue_start_ns"] >= first


def shifted(setup):
    return after_send_to_self if setup.interface < 7 else lambda trace, operation: False


def mix_kernel(setup):
    """With kernel channels: all times are the GPU's."""
    job = Job(setup, ranks=2, **KERNELS_ARE_SAFE,
              RINGSIDE_EVENTS="coll,p2p,kernel,proxy").wait()
    load_is_logged(job, setup.interface)
    traces = complete(job)
    times_come_from(traces, "gpu", skip=shifted(setup))
    matched_everywhere(job, ())


def mix_network(setup):
    """Without kernel channels: all times are the network's."""
    job = Job(setup, ranks=2, NCCL_ALLGATHERV_ENABLE="0",
              RINGSIDE_EVENTS="coll,p2p,proxy,steps").wait()
    load_is_logged(job, setup.interface)
    traces = complete(job)
    times_come_from(traces, "proxy", skip=expectations.is_to_self)
    matched_everywhere(job, (*COLLECTIVES, "Broadcast"))


def one_host(setup):
    """Ranks that share a host, and a process: no network, several communicators a trace."""
    job = Job(setup, "--ranks-per-host", "2", ranks=2, **KERNELS_ARE_SAFE,
              RINGSIDE_EVENTS="coll,p2p,kernel,proxy").wait()
    times_come_from(complete(job), "gpu", skip=shifted(setup))


def abi(setup, version):
    """A build that offers NCCL this version of the interface only."""
    job = Job(setup, ranks=2).wait()
    load_is_logged(job, version)
    for trace in job.traces():
        check(trace.process["abi"] == version, f"{trace.path.name}: abi {trace.process['abi']}")
    # Names came with v4; the API calls, with the user's own counts and broadcasts, with v5.
    complete(job, named=version >= 4, detailed=version >= 5, broadcasts=version >= 5,
             numeric=version == 1)
    matched_everywhere(job, ())


def broadcasts_default(setup):
    """Broadcasts of several roots in a group, where kernel channels would make NCCL hang, or crash
    though they are asked for."""
    asked = {"RINGSIDE_EVENTS": "default,kernel"} if setup.interface >= 7 else {}
    complete(Job(setup, "--scenario", "broadcasts", ranks=4, timeout=40, **asked).wait())


def captured_live(setup, per_host, captures, are_replays_seen):
    """What `ctl status` says of a captured AllReduce while it is replayed."""
    setup.start_anew(f"live-{per_host}")
    job = Job(setup, "--scenario", "graph", "--iterations", "1000000", "--ranks-per-host", str(per_host), ranks=2,
              RINGSIDE_EVENTS="coll,p2p,proxy")

    def ask(*options):
        return setup.run_analyzer("ctl", "status", "--ring-dir", setup.rings, *options, expected=(0, 1, 3))

    def is_said():
        processes = json.loads(ask("--format", "json") or "{}").get("processes", [])
        return len(processes) == 2 and all(one.get("captured") == captures and
                                           (one["replayed"] > 0) == are_replays_seen for one in processes)
    while not is_said():
        check(job.process.poll() is None and time.monotonic() < job.deadline, f"{per_host} ranks a host: {ask()}")
        time.sleep(0.05)
    said = ask()
    job.kill()
    check(said.count("1 operation captured in CUDA graphs, replays are not seen") == 2 * captures, said)


def captured(setup):
    """A captured AllReduce: each replay is seen with a network or with kernel channels, and of ranks on
    one host without these `summary` says that only the capture is, as does `ctl status`."""
    replays = 6

    def operations(per_host, name, **variables):
        setup.start_anew(name)
        job = Job(setup, "--scenario", "graph", "--iterations", str(replays), "--ranks-per-host", str(per_host),
                  ranks=2, **variables).wait()
        traces = job.traces()
        found = [one["text"] for one in job.summary()["findings"] if one["kind"] == "captured"]
        for trace in traces:
            check(len(expectations.expected_calls(job.calls(trace.rank))) == 1 and all(o["graph"] for o in trace.operations),
                  f"not captured: {trace.operations}")
        return [len(trace.operations) for trace in traces], [o["times_from"] for t in traces for o in t.operations], found

    counts, times_from, found = operations(2, "one-host", RINGSIDE_EVENTS="coll,p2p,proxy")
    check(counts == [1, 1] and set(times_from) == {"enqueue"} and len(found) == 1 and
          found[0].startswith("1 operation captured in CUDA graphs, whose replays are not seen"), f"{counts} {found}")
    captured_live(setup, 2, 1, False)
    captured_live(setup, 1, 0, True)
    counts, times_from, found = operations(1, "network", RINGSIDE_EVENTS="coll,p2p,proxy")
    check(counts == [replays, replays] and set(times_from) == {"proxy_queue"} and not found, f"{counts} {times_from} {found}")
    counts, times_from, found = operations(2, "kernel", RINGSIDE_EVENTS="coll,p2p,kernel,proxy", **KERNELS_ARE_SAFE)
    check(counts == [replays, replays] and set(times_from) == {"gpu"} and not found, f"{counts} {times_from} {found}")


TESTS = {
    "nccl-captured": captured,
    "nccl-mix-2": functools.partial(mix, ranks=2),
    "nccl-mix-4": functools.partial(mix, ranks=4),
    "nccl-mix-kernel": mix_kernel,
    "nccl-mix-network": mix_network,
    "nccl-one-host": one_host,
    "nccl-broadcasts-default": broadcasts_default,
    **{f"nccl-abi-v{n}": functools.partial(abi, version=n) for n in range(1, 8)},
}
