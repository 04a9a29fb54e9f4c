#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the ranks of a scenario of PyTorch on emulated GPUs.

    nccl_ranks --ranks N ... -- python3 launch.py --ranks N [--hosts M] [--in-turn] [--apart]
        SCENARIO DIRECTORY

nccl_ranks sets the environment that NCCL needs here. The ranks are forks of this process: PyTorch
is imported once, which takes longer than most scenarios. With --apart each rank is a program that
imports it by itself, as launchers start ranks. Ranks fill one host after the other; with --in-turn
each goes to the next host. Each writes rank<N>.log. The exit status is 0 if all of them ended with
0.
"""

import argparse
import os
import socket
import sys

if "--apart" not in sys.argv:
    import scenarios  # and with it PyTorch, before the ranks are forked


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def become_rank(arguments, rank):
    """Sets the variables of a job launcher, and a log of the rank's own."""
    per_host = arguments.ranks // arguments.hosts
    host, local_rank = divmod(rank, per_host)
    if arguments.in_turn:
        local_rank, host = divmod(rank, arguments.hosts)
    os.environ.update(RANK=str(rank), LOCAL_RANK=str(local_rank), LOCAL_WORLD_SIZE=str(per_host),
                      NCCL_HOSTID=f"emulated-host-{host}")
    with open(f"{arguments.directory}/rank{rank}.log", "wb") as log:
        os.dup2(log.fileno(), sys.stdout.fileno())
        os.dup2(log.fileno(), sys.stderr.fileno())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--ranks", type=int, required=True)
    parser.add_argument("--hosts", type=int, default=2)
    parser.add_argument("--in-turn", action="store_true")
    parser.add_argument("--apart", action="store_true")
    parser.add_argument("scenario")
    parser.add_argument("directory")
    arguments = parser.parse_args()
    os.environ.update(WORLD_SIZE=str(arguments.ranks), MASTER_ADDR="127.0.0.1",
                      MASTER_PORT=str(free_port()))
    if not arguments.apart:
        scenarios.import_what_is_needed(arguments.scenario)
    ranks = {}
    for rank in range(arguments.ranks):
        process = os.fork()
        if process == 0:
            become_rank(arguments, rank)
            if arguments.apart:
                program = os.path.join(os.path.dirname(os.path.abspath(__file__)), "scenarios.py")
                os.execv(sys.executable,
                         [sys.executable, program, arguments.scenario, arguments.directory])
            scenarios.run(arguments.scenario, arguments.directory)
            return 0  # and so the interpreter ends as it always does
        ranks[process] = rank
    failed = 0
    while ranks:
        process, status = os.wait()
        code = os.waitstatus_to_exitcode(status)
        print(f"rank {ranks.pop(process)} ended with {code}", flush=True)
        failed += code != 0
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
