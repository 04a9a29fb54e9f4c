# SPDX-License-Identifier: Apache-2.0
"""Steps of a training under PyTorch's profiler, with rows of the GPUs.

Kernels of PyTorch take their time on their streams and compute nothing, so that the CPU runs ahead
of them as it does on a GPU. What one rank is late for is known.
"""

import time

import torch
import torch.distributed as dist

LATE_SECONDS = 0.5
CLOCK_HZ = 1_980_000_000
# Of DDP's calls the first are before the profile; FSDP's are recorded from the first one on.
SCHEDULES = {"ddp": {"wait": 1, "warmup": 1, "active": 2},
             "fsdp": {"wait": 0, "warmup": 0, "active": 3},
             "tp": {"wait": 1, "warmup": 1, "active": 8},
             "pp": {"wait": 1, "warmup": 1, "active": 8}}
LOADS_LATE, COMPUTES_LATE = 2, 1  # ranks, in the last step but one and in the last
BLOCK_SECONDS, SLOW_BLOCK_SECONDS = 0.02, 0.04  # of all ranks' forward pass and of COMPUTES_LATE's: TP, PP
MICROBATCHES = 4


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.up = torch.nn.Linear(64, 256)
        self.down = torch.nn.Linear(256, 64)
        self.cycles = 0

    def forward(self, x):
        if self.cycles:
            torch.cuda._sleep(self.cycles)
        return x + self.down(torch.nn.functional.relu(self.up(x)))


def load(rank, is_late):
    if is_late:
        time.sleep(LATE_SECONDS)
    return torch.randn(32, 64).to(rank.device), torch.randn(32, 64).to(rank.device)


def meet(rank, step):
    """No rank goes on before the last one, so that none is late for what it did in the step before."""
    store = dist.distributed_c10d._get_default_store()
    store.add(f"step {step}", 1)
    while store.add(f"step {step}", 0) < rank.world:
        time.sleep(0.001)


def profile(rank, schedule, do_step):
    with torch.profiler.profile(
            schedule=torch.profiler.schedule(repeat=1, **schedule), with_stack=True,
            experimental_config=torch.profiler._ExperimentalConfig(enable_cuda_sync_events=True),
            on_trace_ready=lambda profiler: profiler.export_chrome_trace(
                f"{rank.directory}/profiles/rank{rank.rank}.json")) as profiler:
        for step in range(sum(schedule.values())):
            meet(rank, step)
            do_step(step)
            profiler.step()


def train(rank, module, blocks, schedule):
    steps = sum(schedule.values())
    optimizer = torch.optim.SGD(module.parameters(), lr=0.01)

    def do_step(step):
        inputs, targets = load(rank, step == steps - 2 and rank.rank == LOADS_LATE)
        is_slow = step == steps - 1 and rank.rank == COMPUTES_LATE
        blocks[0].cycles = int(LATE_SECONDS * CLOCK_HZ) if is_slow else 0
        loss = torch.nn.functional.mse_loss(module(inputs), targets)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        loss.item()

    profile(rank, schedule, do_step)


def steps_ddp(rank):
    rank.start()
    blocks = [Block() for _ in range(3)]
    module = torch.nn.Sequential(*blocks).to(rank.device)
    train(rank, torch.nn.parallel.DistributedDataParallel(
        module, device_ids=[rank.device.index], bucket_cap_mb=0.1), blocks, SCHEDULES["ddp"])


def steps_fsdp(rank):
    from torch.distributed.fsdp import fully_shard
    rank.start()
    blocks = [Block() for _ in range(3)]
    module = torch.nn.Sequential(*blocks).to(rank.device)
    mesh = dist.device_mesh.init_device_mesh("cuda", (rank.world,), mesh_dim_names=("shard",))
    for block in blocks:
        fully_shard(block, mesh=mesh)
    fully_shard(module, mesh=mesh)
    train(rank, module, blocks, SCHEDULES["fsdp"])


def slow_block(rank):
    block = Block().to(rank.device)
    is_slow = rank.rank == COMPUTES_LATE
    block.cycles = int((SLOW_BLOCK_SECONDS if is_slow else BLOCK_SECONDS) * CLOCK_HZ)
    return block


def steps_tp(rank):
    from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
    rank.start()
    mesh = dist.device_mesh.init_device_mesh("cuda", (rank.world,), mesh_dim_names=("tp",))
    module = torch.nn.Sequential(*(
        parallelize_module(slow_block(rank), mesh, {"up": ColwiseParallel(), "down": RowwiseParallel()})
        for _ in range(3)))
    optimizer = torch.optim.SGD(module.parameters(), lr=0.01)

    def do_step(_):
        inputs, targets = load(rank, False)
        loss = torch.nn.functional.mse_loss(module(inputs), targets)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        dist.all_reduce(loss.detach())
        torch.cuda.synchronize()

    profile(rank, SCHEDULES["tp"], do_step)


def steps_pp(rank):
    from torch.distributed.pipelining import PipelineStage, Schedule1F1B
    rank.start()
    block = slow_block(rank)
    part = torch.randn(32 // MICROBATCHES, 64, device=rank.device, requires_grad=True)
    stage = PipelineStage(block, rank.rank, rank.world, rank.device, input_args=part, output_args=part)
    schedule = Schedule1F1B(stage, n_microbatches=MICROBATCHES, loss_fn=torch.nn.functional.mse_loss)
    optimizer = torch.optim.SGD(block.parameters(), lr=0.01)

    def do_step(_):
        inputs, targets = load(rank, False)
        if stage.is_first:
            schedule.step(inputs)
        elif stage.is_last:
            schedule.step(target=targets)
        else:
            schedule.step()
        optimizer.step()
        optimizer.zero_grad()
        torch.cuda.synchronize()

    profile(rank, SCHEDULES["pp"], do_step)


SCENARIOS = {function.__name__: function for function in (steps_ddp, steps_fsdp, steps_tp, steps_pp)}
