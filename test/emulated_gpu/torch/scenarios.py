# SPDX-License-Identifier: Apache-2.0
"""The scenarios of a rank. The CPU makes and checks values: no operator runs without GPUs."""

import datetime
import glob
import importlib
import inspect
import json
import os
import pickle
import sys
import time

import torch
import torch.distributed as dist

import asked
import cpu_compute
import steps

BEGIN = time.monotonic()
# From PyTorch 2.15 on, "nccl" means nccl2 unless this says otherwise.
LEGACY = os.environ.get("TORCH_DIST_USE_NCCL2") == "0"


def log(text):
    print(f"[{time.monotonic() - BEGIN:6.2f}] {text}", flush=True)


class Rank:
    def __init__(self, directory, log_calls=True):
        self.directory = directory
        self.rank, self.world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
        self.device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
        self.verified = 0
        if log_calls:
            asked.Log(f"{directory}/calls-{self.rank}.jsonl")

    def start(self, timeout=60):
        torch.cuda.set_device(self.device)
        dist.init_process_group("nccl", timeout=datetime.timedelta(seconds=timeout),
                                device_id=self.device)
        self.everyone = list(range(self.world))

    def values(self, count=4, rank=None):
        """Returns the value that a rank contributes."""
        return torch.arange(count, dtype=torch.float32) + 10 * (self.rank if rank is None else rank)

    def mine(self, count=4):
        return self.values(count).to(self.device)

    def empty(self, count=4):
        return torch.empty(count, device=self.device)

    def check(self, tensor, expected, what):
        self.verified += 1
        got = torch.cat([t.cpu() for t in (tensor if isinstance(tensor, list) else [tensor])])
        if not torch.equal(got, expected):
            raise AssertionError(f"{what}: {got} instead of {expected}")

    def save_dump(self):
        """The Flight Recorder as the process sees it now. Both implementations have their own."""
        c10d = torch._C._distributed_c10d
        dump = c10d._dump_nccl_trace() if LEGACY else c10d._dump_fr_trace(backend="nccl2")
        log(f"{len(pickle.loads(dump)['entries'])} entries in the Flight Recorder")
        with open(f"{self.directory}/fr_asked_{self.rank}", "wb") as file:
            file.write(dump)


def dense(rank, group=None):
    """Each collective whose parts have one size."""
    ranks = dist.get_process_group_ranks(group) if group else rank.everyone
    n, index = len(ranks), ranks.index(rank.rank)
    sums = sum(rank.values(rank=r) for r in ranks)
    wide = [rank.values(4 * n, r) for r in ranks]
    x = rank.mine()
    dist.all_reduce(x, group=group)
    rank.check(x, sums, "all_reduce")
    out = rank.empty(4 * n)
    dist.all_gather_into_tensor(out, rank.mine(), group=group)
    rank.check(out, torch.cat([rank.values(rank=r) for r in ranks]), "all_gather_into_tensor")
    outs = [rank.empty() for _ in ranks]
    dist.all_gather(outs, rank.mine(), group=group)
    rank.check(outs, torch.cat([rank.values(rank=r) for r in ranks]), "all_gather")
    out = rank.empty()
    dist.reduce_scatter_tensor(out, rank.mine(4 * n), group=group)
    rank.check(out, sum(wide)[4 * index:4 * index + 4], "reduce_scatter_tensor")
    x = rank.mine()
    dist.broadcast(x, src=ranks[-1], group=group)
    rank.check(x, rank.values(rank=ranks[-1]), "broadcast")
    x = rank.mine()
    dist.reduce(x, dst=ranks[0], group=group)
    if index == 0:
        rank.check(x, sums, "reduce")
    out = rank.empty(4 * n)
    dist.all_to_all_single(out, rank.mine(4 * n), group=group)
    rank.check(out, torch.cat([w[4 * index:4 * index + 4] for w in wide]), "all_to_all_single")
    dist.barrier(group=group)


def ragged(rank):
    """Collectives whose parts differ in size, and those of Python objects."""
    n = rank.world
    outs = [rank.empty(8 + r) for r in rank.everyone]
    dist.all_gather(outs, rank.mine(8 + rank.rank))
    rank.check(outs, torch.cat([rank.values(8 + r, r) for r in rank.everyone]),
               "all_gather of several sizes")
    # Rank r sends r + d + 1 elements to rank d.
    sent = [rank.rank + d + 1 for d in rank.everyone]
    out = rank.empty(sum(sent))
    dist.all_to_all_single(out, rank.mine(sum(sent)), list(sent), list(sent))
    parts = []
    for r in rank.everyone:
        sizes = [r + d + 1 for d in rank.everyone]
        parts.append(rank.values(sum(sizes), r).split(sizes)[rank.rank])
    rank.check(out, torch.cat(parts), "all_to_all_single with splits")
    objects = [None] * n
    dist.all_gather_object(objects, {"rank": rank.rank, "more": "x" * 10 * rank.rank})
    assert [each["rank"] for each in objects] == rank.everyone, objects
    objects = [f"from {rank.rank}", rank.rank]
    dist.broadcast_object_list(objects, src=1)
    assert objects == ["from 1", 1], objects
    rank.verified += 2


def coalesced(rank, ring=None):
    """Calls that reach NCCL in one group. Ranks send to each other in the order of the ring."""
    ring = ring or rank.everyone
    at = ring.index(rank.rank)
    following, previous = ring[(at + 1) % rank.world], ring[at - 1]
    forward, back = rank.empty(8), rank.empty(1024)
    works = dist.batch_isend_irecv([
        dist.P2POp(dist.isend, rank.mine(8), following),
        dist.P2POp(dist.irecv, forward, previous),
        dist.P2POp(dist.isend, rank.mine(1024), previous),
        dist.P2POp(dist.irecv, back, following)])
    for work in works:
        work.wait()
    rank.check(forward, rank.values(8, previous), "batch_isend_irecv forward")
    rank.check(back, rank.values(1024, following), "batch_isend_irecv back")
    sizes = (4, 16, 64)
    tensors = [rank.mine(n) for n in sizes]
    with dist._coalescing_manager(device=rank.device, async_ops=True) as manager:
        for tensor in tensors:
            dist.all_reduce(tensor)  # coalesced
    manager.wait()
    for n, tensor in zip(sizes, tensors):
        rank.check(tensor, sum(rank.values(n, r) for r in rank.everyone), "coalesced all_reduce")


def point_to_point(rank, distance=1):
    other, out = rank.rank ^ distance, rank.empty()
    if rank.rank < other:
        dist.send(rank.mine(), other)
        dist.recv(out, other)
    else:
        dist.recv(out, other)
        dist.send(rank.mine(), other)
    rank.check(out, rank.values(rank=other), "send and recv")


def clean(rank):
    """Calls as they should be, in groups old and new, and nothing of Ringside's in Python."""
    rank.start()
    halves = [dist.new_group(rank.everyone[half::2]) for half in (0, 1)]
    for group in (None, halves[rank.rank % 2], dist.new_group()):
        dense(rank, group)
        point_to_point(rank)
        coalesced(rank)


def calls(rank):
    """Every kind of call, in the default group and in new ones, annotated and under the profiler."""
    import nccl_ringside.torch
    rank.start()
    nccl_ringside.torch.annotate("ALL", skip=("asked",))
    cpu_compute.install()  # calls of Python objects compute with their sizes
    halves = [dist.new_group(rank.everyone[half::2], group_desc=name)
              for half, name in enumerate(("evens", "odds"))]
    everyone = dist.new_group(group_desc="everyone")
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU],
                                record_shapes=True) as profiler:
        dense(rank)
        point_to_point(rank)
        coalesced(rank)
        ragged(rank)
        dense(rank, halves[rank.rank % 2])
        dense(rank, everyone)
    profiler.export_chrome_trace(f"{rank.directory}/kineto_{rank.rank}.json")
    rank.save_dump()


def rooted(rank):
    """Calls that move data between one rank and the others, or take lists of tensors."""
    n, index = rank.world, rank.rank
    parts = [rank.values(rank=r) for r in rank.everyone]
    outs = [rank.empty() for _ in rank.everyone] if index == 1 else None
    dist.gather(rank.mine(), outs, dst=1)
    if outs:
        rank.check(outs, torch.cat(parts), "gather")
    out = rank.empty()
    dist.scatter(out, [part.to(rank.device) for part in parts] if index == 0 else None)
    rank.check(out, parts[index], "scatter")
    outs = [rank.empty() for _ in rank.everyone]
    dist.all_to_all(outs, [rank.mine() + r for r in rank.everyone])
    rank.check(outs, torch.cat([part + index for part in parts]), "all_to_all")
    dist.reduce_scatter(out, [rank.mine() for _ in rank.everyone])
    rank.check(out, sum(parts), "reduce_scatter")
    dist.broadcast(out, group_src=n - 1)
    work = dist.all_reduce(out, async_op=True)
    work.wait()


def halves_of(rank):
    """The group of this rank of two, each with ranks of both hosts."""
    groups = [dist.new_group(rank.everyone[half::2], group_desc=f"my {name}")
              for half, name in enumerate(("evens", "odds"))]
    return groups[rank.rank % 2]


# Bytes of the calls that nothing may be said of.
NOT_ANNOTATED = 4 * 1234


def annotated(rank):
    """annotate(): every call is marked and printed, until it is removed."""
    import nccl_ringside.torch
    import torch.distributed._functional_collectives as functional
    rank.start()
    cpu_compute.install()
    half, imported_before = halves_of(rank), dist.distributed_c10d.all_reduce
    before = inspect.unwrap(dist.all_reduce).__code__
    with nccl_ringside.torch.annotate("ALL", print=True, skip=("asked",)):
        dense(rank)
        point_to_point(rank)
        coalesced(rank)
        ragged(rank)
        rooted(rank)
        dense(rank, half)
        imported_before(rank.mine())
        out = functional.all_reduce(rank.mine(99), "sum", half)  # functional
        rank.check(out.wait() if hasattr(out, "wait") else out,
                   sum(rank.values(99, r) for r in rank.everyone[rank.rank % 2::2]), "functional")
    assert inspect.unwrap(dist.all_reduce).__code__ is before
    dist.all_reduce(rank.mine(NOT_ANNOTATED // 4))
    torch.cuda.synchronize()
    rank.save_dump()


def crossing(rank):
    """annotate() as the environment says: what stays on a host is not shown.

    Ranks go to two hosts in turn, so that their numbers alone do not tell who is on which.
    """
    import nccl_ringside.torch
    nccl_ringside.torch.annotate(skip=("asked",))
    rank.start()
    cpu_compute.install()
    own_host = [dist.new_group(rank.everyone[host::2]) for host in (0, 1)][rank.rank % 2]
    across = [dist.new_group(pair) for pair in ([0, 1], [2, 3])][rank.rank // 2]
    for group in (None, own_host, across):
        dense(rank, group)
    point_to_point(rank, 1)
    point_to_point(rank, 2)
    coalesced(rank, [0, 1, 3, 2])  # one neighbour is on the same host


# Bytes of the call in a module of the model with names.
TALKING = 4 * 4321


def model():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(16, 64), torch.nn.ReLU(), torch.nn.Linear(64, 64),
                               torch.nn.ReLU(), torch.nn.Linear(64, 4))


class Talking(torch.nn.Module):
    """A module that itself calls torch.distributed."""

    def forward(self, x):
        dist.all_reduce(torch.zeros(TALKING // 4, device=x.device))
        return x


def batch(step, rank):
    inputs = torch.randn(8, 16, generator=torch.Generator().manual_seed(100 * step + rank))
    return inputs, inputs[:, :4].sin()


def train(module, parameters, batch_of, steps=3):
    optimizer = torch.optim.SGD(parameters, lr=0.1)
    for step in range(steps):
        inputs, targets = batch_of(step)
        loss = torch.nn.functional.mse_loss(module(inputs), targets)
        optimizer.zero_grad()
        loss.backward()  # of each step
        optimizer.step()


def training(rank):
    """DDP, then FSDP; both must end where a training in one process on the CPU ends."""
    import nccl_ringside.torch
    from torch.distributed.fsdp import fully_shard
    rank.start()
    nccl_ringside.torch.annotate("ALL", hooks=True, skip=("asked", "cpu_compute"))
    log(f"{cpu_compute.install()} operators computed by the CPU")
    plain = model()
    train(plain, plain.parameters(), lambda step: [
        torch.cat(parts) for parts in zip(*(batch(step, r) for r in rank.everyone))])
    expected = plain.state_dict()

    def compare(state):
        for name, value in state.items():
            value = value.full_tensor() if hasattr(value, "full_tensor") else value
            torch.testing.assert_close(value.cpu(), expected[name], rtol=1e-4, atol=1e-5)
            rank.verified += 1

    def own_batch(step):
        return [x.to(rank.device) for x in batch(step, rank.rank)]
    module = model().to(rank.device)
    wrapped = torch.nn.parallel.DistributedDataParallel(
        module, device_ids=[rank.device.index], bucket_cap_mb=0.01)
    train(wrapped, wrapped.parameters(), own_batch)
    compare(module.state_dict())
    module = model().to(rank.device)
    named = torch.nn.ModuleDict({"body": module, "talks": Talking()})
    named.forward = lambda x: named["talks"](named["body"](x))
    wrapped = nccl_ringside.torch.name_buckets(torch.nn.parallel.DistributedDataParallel(
        named, device_ids=[rank.device.index], bucket_cap_mb=0.01))
    nccl_ringside.torch.annotate("ALL", hooks=True, skip=("asked", "cpu_compute"), modules=wrapped)
    train(wrapped, wrapped.parameters(), own_batch)
    compare(module.state_dict())
    module = model().to(rank.device)
    mesh = dist.device_mesh.init_device_mesh("cuda", (rank.world,), mesh_dim_names=("shard",))
    for layer in module:
        if isinstance(layer, torch.nn.Linear):
            fully_shard(layer, mesh=mesh)
    fully_shard(module, mesh=mesh)
    train(module, module.parameters(), own_batch)
    compare(module.state_dict())
    rank.save_dump()


def timed(rank):
    """Times steps of DDP, in blocks: recording stopped, recording, and with annotate() besides.

    A step's time is the clock's and the thread's own.
    """
    import nccl_ringside.torch
    rank.start()
    cpu_compute.install()
    module = torch.nn.parallel.DistributedDataParallel(
        model().to(rank.device), device_ids=[rank.device.index], bucket_cap_mb=0.01)
    inputs = [[x.to(rank.device) for x in batch(step, rank.rank)] for step in range(10)]
    modes = ("stopped", "recorded", "annotated", "hooks")
    times = {mode: [] for mode in (modes if nccl_ringside.available() else ("no plugin",))}
    train(module, module.parameters(), inputs.__getitem__)  # DDP makes its buckets anew
    for _ in range(int(os.environ["TIMED_BLOCKS"])):
        for mode, steps_ns in times.items():
            (nccl_ringside.stop if mode == "stopped" else nccl_ringside.start)()
            level = "ALL" if mode in ("annotated", "hooks") else "NONE"
            with nccl_ringside.torch.annotate(level, hooks=mode == "hooks"):
                for step in range(10):
                    begin_ns = time.perf_counter_ns(), time.thread_time_ns()
                    train(module, module.parameters(), lambda _, step=step: inputs[step], steps=1)
                    dist.all_reduce(inputs[0][0].sum())  # as a program logs its loss
                    torch.cuda.synchronize()
                    steps_ns.append((time.perf_counter_ns() - begin_ns[0],
                                     time.thread_time_ns() - begin_ns[1]))
    with open(f"{rank.directory}/times-{rank.rank}.json", "w", encoding="ascii") as file:
        json.dump(times, file)


# Steps 2, 3, 6 and 7 of eight.
SCHEDULE = {"wait": 1, "warmup": 1, "active": 2, "repeat": 2}


def profiled(rank):
    """Eight steps under PyTorch's profiler, of which four are recorded; a step's size is its own."""
    import nccl_ringside.torch
    rank.start()
    profiler = torch.profiler.profile(
        activities=[torch.profiler.ProfilerActivity.CPU],
        schedule=torch.profiler.schedule(**SCHEDULE),
        on_trace_ready=nccl_ringside.torch.trace_handler(f"{rank.directory}/both"))
    with nccl_ringside.torch.attach(profiler):
        for step in range(8):
            for part in (1, 2):
                count = 256 * (2 * step + part)
                tensor = rank.mine(count)
                dist.all_reduce(tensor)
                rank.check(tensor, sum(rank.values(count, r) for r in rank.everyone), "all_reduce")
            profiler.step()


def mismatch(rank):
    """The last rank's all_reduce has half the elements: NCCL may finish, hang, or compute wrong."""
    rank.start(timeout=8)
    for _ in range(3):
        dist.all_reduce(rank.mine())
    torch.cuda.synchronize()
    dist.all_reduce(rank.mine(1 << 16 if rank.rank < rank.world - 1 else 1 << 15))
    rank.save_dump()
    torch.cuda.synchronize()


def is_whole(dump):
    """Whether a watchdog's dump is there and written to its end."""
    try:
        with open(dump, "rb") as file:
            pickle.load(file)
        return True
    except (OSError, EOFError, pickle.UnpicklingError):
        return False


def skip(rank):
    """Rank 1 leaves out the fourth all_reduce, and stays until the watchdogs have written dumps."""
    import nccl_ringside.torch
    rank.start(timeout=5)
    nccl_ringside.torch.record_hangs(0.1)
    nccl_ringside.torch.annotate("ALL", print=True, skip=("asked",))
    for _ in range(3):
        dist.all_reduce(rank.mine())
    torch.cuda.synchronize()
    if rank.rank != 1:
        dist.all_reduce(rank.mine(100))
        torch.cuda.synchronize()
    # With nccl2, the rank whose watchdog sees nothing leaves no dump.
    dumps = [f"{rank.directory}/fr_rank_{r}" for r in rank.everyone if LEGACY or r != 1]
    log(f"abort hooks: {dist.group.WORLD.supports_abort_hooks}")

    def are_there():
        # Ringside's, as record_hangs() writes them, get their names when they are whole.
        ours = glob.glob(f"{os.environ['RINGSIDE_DIR']}/*.torch*.json")
        return all(map(is_whole, dumps)) and len(ours) >= len(dumps)
    until = time.monotonic() + 60
    while not are_there() and time.monotonic() < until:
        time.sleep(0.1)


def stalled(rank):
    """As skip, and Ringside's hang watch notices it long before PyTorch's."""
    import nccl_ringside.torch
    rank.start(timeout=600)
    records = nccl_ringside.torch.record_hangs(0.1)
    for _ in range(3):
        dist.all_reduce(rank.mine())
    torch.cuda.synchronize()
    if rank.rank != 1:
        dist.all_reduce(rank.mine(100))
    until = time.monotonic() + 60
    while not is_whole(f"{rank.directory}/fr_rank_0") and time.monotonic() < until:
        time.sleep(0.1)
    # The call that was left out, so that the job ends as it should.
    if rank.rank == 1:
        dist.all_reduce(rank.mine(100))
    torch.cuda.synchronize()
    records.stop()


SCENARIOS = {function.__name__: function for function in (
    clean, calls, training, profiled, annotated, crossing, mismatch, skip, stalled, timed)}
SCENARIOS |= steps.SCENARIOS


def import_what_is_needed(name):
    """Before the ranks are forked, so that not each of them does it: one or two seconds of computing.

    PyTorch imports torch._inductor for its profiler, and for the stacks in the Flight Recorder.
    """
    if name not in ("clean", "crossing", "timed"):
        importlib.import_module("torch._inductor.config")
    if name in ("training", "steps_fsdp"):
        importlib.import_module("torch.distributed.fsdp")


def run(name, directory):
    imported = len(sys.modules)
    # What logs calls would be the line of the program that makes them.
    rank = Rank(directory, log_calls=name not in steps.SCENARIOS)
    SCENARIOS[name](rank)
    log(f"{rank.verified} results verified, {len(sys.modules) - imported} modules imported")
    dist.destroy_process_group()
    log("ok")


if __name__ == "__main__":
    run(*sys.argv[1:])
