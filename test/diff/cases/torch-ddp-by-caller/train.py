# SPDX-License-Identifier: Apache-2.0
import os
import sys
import time

import torch
import torch.distributed as dist

import cpu_compute
import nccl_ringside.torch


def ddp(rank, device):  # rank 3 is slow here, and below
    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Linear(16, 64), torch.nn.ReLU(), torch.nn.Linear(64, 64),
                                 torch.nn.ReLU(), torch.nn.Linear(64, 4)).to(device)
    wrapped = torch.nn.parallel.DistributedDataParallel(
        module, device_ids=[device.index], bucket_cap_mb=0.01)
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
    for step in range(4):
        inputs = torch.randn(8, 16).to(device)
        loss = wrapped(inputs).square().mean()
        optimizer.zero_grad()
        if rank == 3:
            time.sleep(0.02)
        loss.backward()
        optimizer.step()
        mean = loss.detach()
        dist.all_reduce(mean)


def plain(rank, device):
    evens = [dist.new_group([0, 2], group_desc="my evens"), dist.new_group([1, 3], group_desc="my odds")]
    values = torch.ones(1024).to(device)
    for step in range(4):
        if rank == 3:
            time.sleep(0.01)
        dist.all_reduce(values)
        dist.all_reduce(values, group=evens[rank % 2])
    gathered = torch.empty(4096, device=device)
    dist.all_gather_into_tensor(gathered, values)
    other = rank ^ 1
    works = dist.batch_isend_irecv([dist.P2POp(dist.isend, values, other),
                                    dist.P2POp(dist.irecv, gathered[:1024], other)])
    for work in works:
        work.wait()
    dist.barrier()


def run(name, directory):
    rank = int(os.environ["RANK"])
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    cpu_compute.install()
    warm = torch.ones(4).to(device)
    dist.all_reduce(warm)
    with nccl_ringside.torch.annotate("ALL", hooks=True, skip=("cpu_compute",)):
        {"ddp": ddp, "plain": plain}[name](rank, device)
    torch.cuda.synchronize()
    dist.destroy_process_group()
