#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A few steps of PyTorch on ranks that share a GPU; without RANK it starts them all.

usage: torch_ranks.py RANKS ddp|graphs DIRECTORY
"""

import os
import socket
import subprocess
import sys

STEPS = 6
REPLAYS = 10
ELEMENTS = 1 << 18
SENTENCE = "all values are right"


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def start_all(ranks):
    """Each rank is a host of its own to NCCL, which refuses two ranks of one host on one GPU."""
    port = str(free_port())
    running = []
    for rank in range(ranks):
        environment = {**os.environ, "RANK": str(rank), "LOCAL_RANK": "0", "WORLD_SIZE": str(ranks),
                       "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port,
                       "NCCL_HOSTID": f"gpu-check-{rank}"}
        running.append(subprocess.Popen([sys.executable, *sys.argv], env=environment))
    return max(abs(process.wait()) for process in running)


def train(torch, distributed, directory):
    """DDP under torch.profiler, with the kernels' rows."""
    torch.manual_seed(1)
    model = torch.nn.Sequential(torch.nn.Linear(512, 512), torch.nn.ReLU(),
                                torch.nn.Linear(512, 512)).cuda()
    model = torch.nn.parallel.DistributedDataParallel(model, device_ids=[0], bucket_cap_mb=1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]

    def step():
        optimizer.zero_grad()
        model(torch.ones(64, 512, device="cuda")).sum().backward()
        optimizer.step()

    step()
    torch.cuda.synchronize()
    with torch.profiler.profile(activities=activities) as profile:
        for _ in range(STEPS):
            step()
        torch.cuda.synchronize()
    profile.export_chrome_trace(os.path.join(directory, f"kineto.{distributed.get_rank()}.json"))
    # The same gradients everywhere: so all parameters are still the same.
    own = torch.cat([parameter.detach().flatten() for parameter in model.parameters()])
    most, least = own.clone(), own.clone()
    distributed.all_reduce(most, op=distributed.ReduceOp.MAX)
    distributed.all_reduce(least, op=distributed.ReduceOp.MIN)
    return bool((most == least).all()) and bool(own.abs().sum() > 0)


def replay(torch, distributed):
    """An AllReduce that is captured once and replayed."""
    values = torch.ones(ELEMENTS, device="cuda")
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            distributed.all_reduce(torch.ones(ELEMENTS, device="cuda"))
    torch.cuda.current_stream().wait_stream(side)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, capture_error_mode="thread_local"):
        distributed.all_reduce(values)
    values.fill_(1)
    for _ in range(REPLAYS):
        graph.replay()
    torch.cuda.synchronize()
    right = bool((values == float(distributed.get_world_size() ** REPLAYS)).all())
    graph.reset()  # NCCL would wait for it
    return right


def run_rank(mode, directory):
    import torch  # pylint: disable=import-outside-toplevel
    import torch.distributed as distributed  # pylint: disable=import-outside-toplevel
    torch.cuda.set_device(0)
    distributed.init_process_group("nccl", device_id=torch.device("cuda", 0))
    right = (train(torch, distributed, directory) if mode == "ddp"
             else replay(torch, distributed))
    distributed.barrier()
    torch.cuda.synchronize()
    distributed.destroy_process_group()
    print(f"rank {os.environ['RANK']}: {SENTENCE if right else 'WRONG values'}", flush=True)
    return 0 if right else 1


def main():
    ranks, mode, directory = int(sys.argv[1]), sys.argv[2], sys.argv[3]
    return run_rank(mode, directory) if "RANK" in os.environ else start_all(ranks)


if __name__ == "__main__":
    sys.exit(main())
