# SPDX-License-Identifier: Apache-2.0
"""Inputs of the cases of `ringside network`: rings of ranks whose transfers have known times."""

from trace_writer import Number, Trace

CHUNK_BYTES = 1 << 20
STEPS = 24


def row(trace, category, name, start_ns, end_ns, args):
    trace.rows = getattr(trace, "rows", 0) + 1
    event = {"cat": category, "id2": {"local": hex(0x5000 + trace.rows)}, "pid": trace.pid,
             "tid": trace.pid, "name": name}
    trace.events += [
        {"ph": "b", **event, "ts": Number(start_ns),
         "args": {"op": trace.operations, "context": 1, **args}},
        {"ph": "e", **event, "ts": Number(end_ns)}]


def ring(rank, nranks=4, *, channels=2, steps=True, proxies=True, slow=None, states=True,
         within_node=None):
    """One AllReduce; then one of the function `within_node`, which needs no network. Sends run at 10 GB/s, a little more on higher channels; `slow` is the rank
    and channel whose sends take three times as long."""
    trace = Trace(rank, host=f"node{rank}").communicator(nranks=nranks)
    begin = trace.time_ns
    trace.operation("AllReduce", 1 << 20, seq=0, dur_us=9000)
    for channel in range(channels):
        for send in (True, False):
            at = begin
            sender = rank if send else (rank - 1) % nranks  # whose pace both ends of a link have
            for i in range(STEPS):
                transfer = 100_000 - 1000 * channel + i % 3 * 100
                transfer *= 3 if slow == (sender, channel) else 1
                peer = (rank + (1 if send else -1)) % nranks
                own = ({"gpu_wait_ns": 20_000, "peer_wait_ns": 5_000, "transfer_ns": transfer}
                       if send else {"transfer_ns": 24_000 + transfer, "flush_ns": 1_000})
                args = {"step": i, "peer": peer, "bytes": CHUNK_BYTES, **(own if states else {})}
                if steps:
                    row(trace, "step", f"{'send' if send else 'recv'} steps channel {channel}",
                        at, at + 25_000 + transfer, args)
                at += 25_000 + transfer
        for send in (True, False):
            if proxies:
                peer = (rank + (1 if send else -1)) % nranks
                row(trace, "proxy", f"{'send' if send else 'recv'} channel {channel}", begin, at,
                    {"peer": peer, "steps": STEPS, "bytes": STEPS * CHUNK_BYTES})
    if within_node:
        trace.operation(within_node, 1 << 20, seq=0, dur_us=100)
    return trace


def with_machine(trace, errors=0):
    """A GPU and two adapters at its side, read at the start and at the end; the first adapter has had
    `errors` symbol errors in between."""
    trace.events[0]["args"]["boot_id"] = f"boot{trace.rank}"
    gpu = {"index": 0, "uuid": f"GPU-{trace.rank}", "pci": "0000:18:00.0"}
    for event in trace.events:
        if event["name"] == "ringside_communicator":
            args = event["args"]
            created_ns = args.pop("created_ns")
            args.update(gpu=gpu, created_ns=created_ns)
    for counted in (0, errors):
        at_ns = trace.time_ns
        trace.time_ns += 1_000_000
        trace.meta("ringside_topology", {"ts_ns": at_ns, "state": "complete", "driver": "580.65.06",
                                         "took_ns": 2_000_000, "nvml_ns": 1_000_000, "gpus": 1,
                                         "ports": 2})
        trace.meta("ringside_gpu", {
            "ts_ns": at_ns, **gpu, "name": "NVIDIA H100 80GB HBM3", "pcie_generation": 5,
            "pcie_width": 16, "most_pcie_generation": 5, "most_pcie_width": 16, "numa_node": 0,
            "pci_path": "pci0000:00/0000:00:01.0/0000:18:00.0", "links": []})
        for number, bus in enumerate(("19", "5a")):
            root = "pci0000:00/0000:00:01.0" if number == 0 else "pci0000:50/0000:50:01.0"
            trace.meta("ringside_port", {
                "ts_ns": at_ns, "device": f"mlx5_{number}", "port": 1, "pci": f"0000:{bus}:00.0",
                "pci_path": f"{root}/0000:{bus}:00.0", "numa_node": number,
                "link_layer": "InfiniBand", "state": "ACTIVE", "rate_mbit_s": 400000,
                "counters": {"link_downed": 0, "symbol_error": counted if number == 0 else 0}})
    return trace


def job_with_machines(errors):
    """`errors`: by rank."""
    return {f"traces/ringside.mix.node{rank}.{100 + rank}.1.json":
            with_machine(ring(rank, slow=(2, 1)), errors.get(rank, 0)).text() for rank in range(4)}


def job(nranks=4, **options):
    return {f"traces/ringside.mix.node{rank}.{100 + rank}.1.json":
            ring(rank, nranks, **options).text() for rank in range(nranks)}


def pipelined(rank, nranks, gb_s, *, channels=2, steps=32, depth=8, buffered=(), host=None,
              peers=None, operations=1):
    """Links that are always busy: `depth` steps of each channel are under way at a time. gb_s(sender,
    receiver) is the rate of a link, which its channels share. Sends of the ranks `buffered` complete
    into a buffer, 5 us after they began."""
    host = host or (lambda rank: f"node{rank}")
    peers = peers or (lambda rank: [(rank + 1) % nranks])
    trace = Trace(rank, host=host(rank)).communicator(nranks=nranks)
    trace.events[0]["args"]["boot_id"] = host(rank)
    chunk = 1_000_000
    for number in range(operations):
        begin = trace.time_ns
        links = [(sender, receiver) for sender in range(nranks) for receiver in peers(sender)]
        longest = max(steps * channels * chunk / gb_s(*link) for link in links)
        trace.operation("AllReduce", 1 << 20, seq=number, dur_us=longest / 1000 + 10)
        for sender, receiver in links:
            if rank not in (sender, receiver):
                continue
            send = rank == sender
            for channel in range(channels):
                done = []
                for i in range(steps):
                    place = i * channels + channel + 1
                    start = begin if i < depth else done[i - depth]
                    done.append(begin + 5_000 + int(place * chunk / gb_s(sender, receiver)))
                    end = start + 5_000 if send and sender in buffered else done[-1]
                    row(trace, "step", f"{'send' if send else 'recv'} steps channel {channel}",
                        start, end, {"step": i, "peer": receiver if send else sender,
                                     "bytes": chunk, "transfer_ns": end - start})
        trace.time_ns = begin + int(longest) + 1_000_000
    return trace


def pipelines(nranks, gb_s, **options):
    return {f"traces/ringside.mix.node{rank}.{100 + rank}.1.json":
            pipelined(rank, nranks, gb_s, **options).text() for rank in range(nranks)}


def even(sender, receiver):
    return 10


def rails(sender, receiver):
    """Ranks of one place in their hosts have a rail of their own, all others cross the spine."""
    usual = 12 if sender % 2 == receiver % 2 else 5
    return usual / 3 if (sender, receiver) == (1, 4) else usual


def through_proxy():
    """Rank 0 reaches rank 3 through the proxy of rank 1, on its own host (PXN)."""
    files = {}
    for rank in range(4):
        trace = Trace(rank, host=f"node{rank // 2}").communicator(nranks=4)
        begin = trace.time_ns
        trace.operation("AlltoAll", 1 << 20, seq=0, dur_us=9000)
        if rank == 1:
            for i in range(24):
                args = {"step": i, "peer": 3, "bytes": 1_000_000, "transfer_ns": 100_000}
                foreign(trace, "step", "send steps channel 0", begin + i * 100_000,
                        begin + (i + 1) * 100_000, args)
            foreign(trace, "proxy", "send channel 0", begin - 1_000, begin + 2_500_000,
                    {"peer": 3, "steps": 24, "foreign": True, "foreign_pid": 100,
                     "foreign_context": "0x1234", "foreign_parent": "0x5678"})
        if rank == 3:
            for i in range(24):
                row(trace, "step", "recv steps channel 0", begin + i * 100_000,
                    begin + (i + 1) * 100_000,
                    {"step": i, "peer": 0, "bytes": 1_000_000, "transfer_ns": 100_000})
        files[f"traces/ringside.mix.node{rank // 2}.{100 + rank}.1.json"] = trace.text()
    return files


def foreign(trace, category, name, start_ns, end_ns, args):
    """A row that names neither operation nor communicator."""
    row(trace, category, name, start_ns, end_ns, args)
    trace.events[-2]["args"] = {"context": 0, **args}


def cases():
    slow = job(slow=(2, 1))
    three_hosts = {"host": lambda rank: f"node{rank // 2}",
                   "peers": lambda rank: [peer for peer in range(6) if peer // 2 != rank // 2],
                   "channels": 1, "steps": 24}
    return {
        "help-network": ("network --help", {}),
        "network-even": ("network traces", job()),
        "network-slow-channel": ("network traces", slow),
        "network-slow-channel-json": ("network --format json --top 2 traces", slow),
        "network-slow-adapter": ("network --top 2 traces", job_with_machines({3: 12})),
        "network-slow-adapter-csv": (
            "network --format csv --top 2 ../network-slow-adapter/traces", {}),
        "network-slow-no-errors": ("network --top 2 traces", job_with_machines({1: 12})),
        "network-matrix-csv": ("network --format csv --table matrix traces", slow),
        "network-markdown": ("network --format markdown --top 3 traces", slow),
        "network-many-ranks": ("network --top 5 traces", job(18, channels=1, slow=(7, 0))),
        "network-no-siblings": ("network traces", job(2, channels=1, slow=(1, 0))),
        "network-no-states": ("network traces", job(2, states=False)),
        "network-no-steps": ("network traces", job(2, steps=False)),
        "network-one-rank": ("network --rank 2 traces", slow),
        "network-chosen": ("network --comm world --func AllReduce --min-bytes 4mb traces", slow),
        "network-none-chosen": ("network --func AllGather traces",
                                job(within_node="AllGather")),
        "network-nothing": ("network traces", job(2, steps=False, proxies=False)),
        "network-no-input": ("network nowhere", {}),
        "network-overlapping-json": ("network --format json --top 1 traces", pipelines(4, even)),
        "network-buffered": ("network traces", pipelines(4, even, buffered=(0, 2))),
        "network-classes": ("network --top 3 traces", pipelines(6, rails, **three_hosts)),
        "network-foreign": ("network traces", through_proxy()),
    }
