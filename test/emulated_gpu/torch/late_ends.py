#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs a job of PyTorch again and again, with and without the plugin in turn, and looks for ranks
that have done all their work and do not end.

    late_ends.py BUILD [--jobs 100] [--until 17:30] [--late-s 20] [--give-up-s 180] [--apart] ...

A rank's last line in its log is "ok". For each job a line says how long each rank took from there
to its end and how much of that it computed, how busy the machine was, and whether a rank is late.
A late rank's threads are written to a file in the log directory (gdb, py-spy where it is
installed), with the processor time that it takes meanwhile, which tells a rank that waits from one
that computes slowly. Then it has until --give-up-s to end by itself. The last lines count. Exit
status 1: a rank did not end by itself, or a job failed.
"""

import argparse
import collections
import datetime
import math
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import time
import types

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "driver"))
import harness  # noqa: E402
import tests_torch  # noqa: E402

TICKS = os.sysconf("SC_CLK_TCK")


def stat_of(pid):
    """The fields of /proc/PID/stat behind the name; None once the process has ended."""
    try:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None if fields[0] in "ZX" else fields


def computed_s(pid):
    fields = stat_of(pid)
    return None if fields is None else (int(fields[11]) + int(fields[12])) / TICKS


def children(pid):
    try:
        return list(map(int, pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()))
    except FileNotFoundError:
        return []


class Rank:
    """A process, from its "ok" on."""

    def __init__(self, number, pid, log):
        self.number, self.pid, self.log = number, pid, log
        self.ok_at = self.computed_at_ok_s = self.ended_at = None
        self.computed_s, self.is_late = 0.0, False

    def look(self):
        now, computed = time.monotonic(), computed_s(self.pid)
        if self.ok_at is None:
            if self.log.exists() and self.log.read_bytes().endswith(b"] ok\n"):
                self.ok_at, self.computed_at_ok_s = now, computed or 0.0
        elif computed is not None:
            self.computed_s = computed - self.computed_at_ok_s
        if computed is None:
            self.ended_at = now

    def seconds(self, now):
        """Since "ok"; None without it."""
        return None if self.ok_at is None else (self.ended_at or now) - self.ok_at

    def __str__(self):
        seconds = self.seconds(time.monotonic())
        if seconds is None:
            return "no ok"
        so_far = "" if self.ended_at else " so far"
        return f"{seconds:.1f} s ({self.computed_s:.1f} computed){so_far}"


def threads_of(pid):
    """All that the kernel, gdb and py-spy know of the threads of a process."""
    states = collections.Counter()
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        try:
            state = (task / "stat").read_text().rpartition(")")[2].split()[0]
            name = (task / "comm").read_text().strip().rstrip("0123456789")
            states[f"{name} {state} {(task / 'wchan').read_text()}"] += 1
        except (FileNotFoundError, ProcessLookupError):
            continue
    said = [f"{count} x {state}" for state, count in states.most_common()]
    # It takes half a minute to read PyTorch's symbols, in which the process stands still.
    for command in (["gdb", "-batch", "-nx", "-p", str(pid), "-ex", "thread apply all bt 30"],
                    ["py-spy", "dump", "--pid", str(pid)]):
        if not shutil.which(command[0]):
            said.append(f"({command[0]} is not installed)")
            continue
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, errors="replace", check=False)
        # A stream of an emulated GPU is a thread, and most of them wait for work.
        said += [f"$ {' '.join(command)}", *(part for part in done.stdout.split("\n\n")
                                            if '"emugpu-s' not in part.partition("\n")[0])]
    return "\n".join(said)


def look_closely(rank):
    """The work of a late rank."""
    before_s, begun = computed_s(rank.pid), time.monotonic()
    time.sleep(2)
    after_s, took_s = computed_s(rank.pid), time.monotonic() - begun
    since_ok = f"rank {rank.number}, pid {rank.pid}, {begun - rank.ok_at:.1f} s after its ok: "
    if before_s is None or after_s is None:
        return f"{since_ok}it ended while it was looked at\n"
    return (f"{since_ok}in {took_s:.1f} s it computed {after_s - before_s:.2f} s, load "
            f"{os.getloadavg()[0]:.1f}\n{threads_of(rank.pid)}\n")


def watch(ranks, options, report):
    """Until all ranks have ended by themselves; False if nobody waits any longer for one."""
    until = time.monotonic() + options.timeout_s + options.give_up_s
    while any(rank.ended_at is None for rank in ranks) and time.monotonic() < until:
        for rank in ranks:
            if rank.ended_at is None:
                rank.look()
        now = time.monotonic()
        waited = {rank: rank.seconds(now) for rank in ranks if rank.ok_at and not rank.ended_at}
        for rank, seconds in waited.items():
            if seconds > options.late_s and not rank.is_late:
                rank.is_late = True
                with open(report, "a", encoding="utf-8") as file:
                    file.write(look_closely(rank))
        if any(seconds > options.give_up_s for seconds in waited.values()):
            break
        time.sleep(0.05)
    return all(rank.ended_at is not None and rank.ok_at is not None for rank in ranks)


def setup_of(options, name):
    build = options.build.resolve()
    return harness.Setup(types.SimpleNamespace(
        ranks_program=str(build / "emulated_gpu/bin/nccl_ranks"), bench_program=None,
        plugin=str(build / "lib/libnccl-profiler-ringside.so"), analyzer=None, nvtx_listener=None,
        torch=str(pathlib.Path(__file__).resolve().parents[3] / ".torch-package"),
        torch_stubs=str(build / "emulated_gpu/torch_stubs"), long=False, seed=1,
        work=str(options.log_directory / "work"), test=name))


def run_one(options, number, with_plugin):
    """Returns the ranks, and whether all of them ended by themselves and well."""
    setup = setup_of(options, "job")
    job = tests_torch.start(setup, options.implementation, options.scenario, ranks=options.ranks,
                            timeout=options.timeout_s, plugin=None if with_plugin else "none",
                            launcher=["--apart"] if options.apart else [])
    until, pids = time.monotonic() + options.timeout_s, []
    while len(pids) < options.ranks and job.process.poll() is None and time.monotonic() < until:
        time.sleep(0.02)
        pids = children(job.process.pid)
    ranks = [Rank(rank, pid, setup.directory / f"rank{rank}.log") for rank, pid in enumerate(pids)]
    kind = "with" if with_plugin else "without"
    report = options.log_directory / f"late-{number}-{kind}.txt"
    is_well = watch(ranks, options, report) and len(ranks) == options.ranks
    load = os.getloadavg()[0]
    late = [rank for rank in ranks if rank.is_late]
    if not is_well:
        job.kill()
        shutil.copytree(setup.directory, options.log_directory / f"failed-{number}-{kind}",
                        dirs_exist_ok=True)
    status = job.process.wait(30)
    is_well = is_well and status == 0
    print(f"{number} {kind} the plugin: {'late' if late else 'in time' if is_well else 'FAILED'}, "
          f"exit status {status}, load {load:.1f}, from ok to the end: {'; '.join(map(str, ranks))}"
          + (f", threads in {report}" if late else ""), flush=True)
    return ranks, is_well


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--jobs", type=int, default=100)
    parser.add_argument("--until", help="begins no job after this time of the day, HH:MM")
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--late-s", type=float, default=20, help="after ok (%(default)s)")
    parser.add_argument("--give-up-s", type=float, default=180, help="after ok (%(default)s)")
    parser.add_argument("--timeout-s", type=int, default=300, help="before ok (%(default)s)")
    parser.add_argument("--scenario", default="clean")
    parser.add_argument("--implementation", choices=("nccl2", "legacy"), default="nccl2")
    parser.add_argument("--apart", action="store_true", help="each rank imports PyTorch by itself")
    parser.add_argument("--log-directory", type=pathlib.Path, default=pathlib.Path("late-ends"))
    options = parser.parse_args()
    options.log_directory = options.log_directory.resolve()
    options.log_directory.mkdir(parents=True, exist_ok=True)
    counts = {kind: {"jobs": 0, "failed": 0, "late": 0} for kind in (True, False)}
    seconds = {True: [], False: []}
    for number in range(1, options.jobs + 1):
        if options.until and datetime.datetime.now().strftime("%H:%M") >= options.until:
            break
        with_plugin = number % 2 == 1
        ranks, is_well = run_one(options, number, with_plugin)
        counts[with_plugin]["jobs"] += 1
        counts[with_plugin]["failed"] += not is_well
        counts[with_plugin]["late"] += any(rank.is_late for rank in ranks)
        seconds[with_plugin] += [rank.seconds(0) for rank in ranks if rank.ok_at and rank.ended_at]
    for kind, count in counts.items():
        of_ranks = sorted(seconds[kind]) or [math.nan]
        print(f"{'with' if kind else 'without'} the plugin: {count['jobs']} jobs, "
              f"{count['failed']} failed, {count['late']} with a late rank; from ok to the end "
              f"{statistics.median(of_ranks):.1f} s (median), at most {of_ranks[-1]:.1f} s")
    return 1 if any(count["failed"] for count in counts.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
