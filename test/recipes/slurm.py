#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Stands for the commands of Slurm, by the name that it is called by: srun runs two tasks, and waits.

SLURM_LOG gets a line for each call. scancel signals the tasks of the steps that run.
"""
import os
import pathlib
import signal
import subprocess
import sys


def main():
    name, arguments = pathlib.Path(sys.argv[0]).name, sys.argv[1:]
    log = pathlib.Path(os.environ["SLURM_LOG"])
    with log.open("a", encoding="utf-8") as file:
        file.write(" ".join([name, *arguments]) + "\n")
    tasks = log.with_name("tasks")
    if name == "scancel":
        for pid in tasks.read_text(encoding="utf-8").split():
            os.kill(int(pid), signal.SIGTERM)
    elif name == "runuser":
        return subprocess.call(arguments[arguments.index("--") + 1:])
    elif name == "scontrol":
        print("localhost" if arguments[0] == "show" else "", end="\n")
    elif name == "srun":
        while arguments[0].startswith("--"):
            arguments.pop(0)
        ranks = range(1) if "recover" in arguments else range(2)
        running = [subprocess.Popen(arguments, env={**os.environ, "SLURM_PROCID": str(rank)})
                   for rank in ranks]
        if len(running) == 2:
            tasks.with_suffix(".new").write_text(" ".join(str(task.pid) for task in running),
                                                 encoding="utf-8")
            tasks.with_suffix(".new").replace(tasks)
        return max(task.wait() % 256 for task in running)
    return 0


if __name__ == "__main__":
    sys.exit(main())
