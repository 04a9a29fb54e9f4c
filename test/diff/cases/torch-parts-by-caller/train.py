# SPDX-License-Identifier: Apache-2.0
import os
import time

import torch
import torch.distributed as dist
from torch.distributed.fsdp import fully_shard

import cpu_compute
import nccl_ringside.torch


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.attn, self.mlp = torch.nn.Linear(32, 32), torch.nn.Linear(32, 32)

    def forward(self, x):
        return x + self.mlp(torch.relu(self.attn(x)))


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = torch.nn.ModuleList(Block() for _ in range(3))
        self.head = torch.nn.Linear(32, 4)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return self.head(x)


def train(rank, device, model):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(3):
        loss = model(torch.randn(8, 32).to(device)).square().mean()
        optimizer.zero_grad()
        if rank == 3:
            time.sleep(0.02)
        loss.backward()
        optimizer.step()


def run(name, directory):
    rank = int(os.environ["RANK"])
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl", device_id=device)
    cpu_compute.install()
    torch.manual_seed(0)
    with nccl_ringside.torch.annotate("ALL", hooks=True, skip=("cpu_compute",)):
        # Buckets of 10 KB: a layer has 8.
        train(rank, device, nccl_ringside.torch.name_buckets(
            torch.nn.parallel.DistributedDataParallel(
                Model().to(device), device_ids=[device.index], bucket_cap_mb=0.01)))
        model = Model().to(device)
        for layer in model.layers:
            fully_shard(layer)
        train(rank, device, fully_shard(model))
    torch.cuda.synchronize()
    dist.destroy_process_group()
