#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A job under a genuine Slurm, from submission to report, as docs/run.md has it: four nodes with two
ranks each (NCCL on emulated GPUs), of which one never joins a collective. The login node watches,
finds it, lists and cancels it; the nodes recover and reduce; ringside-mpi reads what each has. Then
the recipes of examples/slurm.

Skipped (status 77) where there is no Slurm, or namespaces may not be made.
"""
import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import time

from cluster import NODES, CannotRun, Cluster

STUCK = "node2"

JOB = """#!/bin/bash
#SBATCH --nodes=4 --ntasks-per-node=1 --output={place}/job.out
eval "$({ringside} env --plugin {plugin} --dir {local}/$SLURM_JOB_ID)"
srun --kill-on-bad-exit=0 {place}/task.sh
srun --ntasks-per-node=1 --overlap {place}/after.sh
"""

TASK = """#!/bin/bash
mkdir -p {local}/out
[ "$SLURMD_NODENAME" != {stuck} ] || stuck="--stuck-rank 1 --stuck-at 120"
exec {ranks} --out {local}/out --plugin "$NCCL_PROFILER_PLUGIN" --ranks 2 --timeout 150 \\
  --scenario train --iterations 100000 --late-rank 0 --late-us 20000 $stuck
"""

# The tasks of a node but the first one end at once.
LONE = """#!/bin/bash
[ "$SLURM_LOCALID" = 0 ] || exit 0
out={place}/out-$SLURM_JOB_ID-$SLURM_NODEID
mkdir "$out"
exec {ranks} --out "$out" --plugin "$NCCL_PROFILER_PLUGIN" --ranks 2 --timeout 100 --scenario train \
  --iterations "$1" --late-rank 0 --late-us 20000
"""

# The first two commands are those that docs/run.md has for the end of the batch script. The copies
# are for the commands that compare.
AFTER = """#!/bin/bash
{ringside} recover -q --dir {local}/$SLURM_JOB_ID /dev/shm
{ringside} reduce -q {local}/$SLURM_JOB_ID -o {place}/parts/$SLURMD_NODENAME.part
cp {local}/$SLURM_JOB_ID/*.json {place}/traces
ls /dev/shm/*.rings > {place}/left-$SLURMD_NODENAME 2> /dev/null
cp -r {local}/$SLURM_JOB_ID {local}/kept
exit 0
"""


def require(condition, text):
    if not condition:
        sys.exit(f"FAILED: {text}")


def write_script(path, text, **values):
    path.write_text(text.format(**values), encoding="utf-8")
    path.chmod(0o755)


def check_live(cluster, options, job):
    """The commands that ask all hosts of a running job, on the login node."""
    ringside = options.ringside
    found = cluster.run(ringside, "watch", "--slurm", job, "--wait", 60, "--interval", 1, "--hang-seconds",
                        5, "--until-finding", "--for", 80, status=1)
    print(found, end="")
    require(re.search(rf"Rank 0 \({STUCK}\) has waited in AllGather #20 .* Rank 1 \({STUCK}\)", found),
            "watch does not name the rank that has not joined")
    listed = cluster.run(ringside, "ctl", "status", "--slurm", job).splitlines()[1:]
    require(sorted(line.split()[1] for line in listed) == sorted(NODES * 2),
            f"ctl status has not two processes a node: {listed}")
    said = cluster.run(ringside, "hang", "--slurm", job, "--min-age", 3, status=1).splitlines()[0]
    print(said)
    require(said.startswith(f"Rank 1 (host {STUCK}, pid ") and "has not joined AllGather #20" in said,
            "hang does not name it")
    shown = cluster.run(ringside, "top", "--slurm", job, "--once", "--interval", 1)
    require(all(node in shown for node in NODES), f"top lacks a node:\n{shown}")


def check_end(cluster, options, job):
    """The batch script goes on after its step: the nodes recover and reduce."""
    # The steps of `ringside watch` may have come before that of the job.
    (step,) = [line.split()[0] for line in cluster.run("squeue", "-h", "--steps", "-j", job, "-o", "%i %j").splitlines()
               if line.split()[1] == "task.sh"]
    cluster.run("scancel", "--signal=KILL", step)
    until = time.monotonic() + 120
    output = cluster.place / "job.out"
    while cluster.run("squeue", "-h", "-j", job):
        require(time.monotonic() < until,
                f"the job does not end: {cluster.run('squeue', '--steps')}{output.read_text(encoding='utf-8')}")
        time.sleep(0.5)
    print(output.read_text(encoding="utf-8"))
    left = {path.name: path.read_text(encoding="utf-8") for path in cluster.place.glob("left-*")}
    require(len(left) == len(NODES) and not any(left.values()), f"rings are left: {left}")
    parts = cluster.run(options.ringside, "hang", cluster.place / "parts", "--min-age", "0.5", status=1)
    whole = cluster.run(options.ringside, "hang", cluster.place / "traces", "--min-age", "0.5", status=1)
    require(f"(host {STUCK}, " in parts.splitlines()[0], f"the partials do not tell it:\n{parts}")
    summary = cluster.run(options.ringside, "summary", cluster.place / "parts")
    require("8 ranks on 4 hosts (node0, node1, node2, node3)" in summary, f"the summary:\n{summary}")
    require(whole.splitlines()[0] == parts.splitlines()[0], f"not the same:\n{whole}\n{parts}")


def check_mpi(cluster, options):
    """srun starts ringside-mpi, and each process reads what its own node has."""
    if options.ringside_mpi is None:
        return
    traces, kept = cluster.place / "traces", cluster.local / "kept"
    for command in ("summary", "communicators"):
        alone = cluster.run(options.ringside, command, traces).replace(str(traces), str(kept))
        spread = cluster.run("srun", "--mpi=pmix", "-N4", "-n4", options.ringside_mpi, command, "--local",
                             kept)
        require(spread == alone, f"srun ringside-mpi differs:\n{spread}\n{alone}")


def check_recipes(cluster, options):
    """examples/slurm: a batch script, and TaskProlog and Epilog for a job that knows nothing of ringside."""
    lone = cluster.place / "lone.sh"
    write_script(lone, LONE, ranks=options.ranks, place=cluster.place)
    out = cluster.place / "recipe.out"
    variables = f"ALL,PATH=/opt/ringside/bin:/usr/bin:/bin,TRACES={cluster.place}/recipe"
    cluster.run("sbatch", "--wait", f"--export={variables}", f"--output={out}",
                options.recipes / "job.sbatch", lone, 5)
    said = out.read_text(encoding="utf-8")
    require("Read: 4 traces, 4 ranks on 2 hosts" in said and "all closed" in said, f"job.sbatch:\n{said}")

    step = cluster.begin("srun", "--nodes=2", "--ntasks-per-node=1", lone, 100000, stderr=subprocess.DEVNULL)
    until = time.monotonic() + 120
    while len(found := list(cluster.place.glob("traces/*/*.json"))) < 4:
        require(time.monotonic() < until and step.poll() is None, f"not four traces: {found}")
        time.sleep(0.2)
    traces = found[0].parent
    cluster.run("scancel", "--signal=KILL", f"{traces.name}.0")
    step.wait()
    shown = ""
    while shown.count("Recovered after their process had died") == 0:
        require(time.monotonic() < until, f"the Epilog has not recovered the traces:\n{shown}")
        time.sleep(0.5)
        shown = cluster.run(options.ringside, "summary", traces)
    require("Read: 4 traces, 4 ranks on 2 hosts" in shown, f"the traces of the TaskProlog:\n{shown}")
    # NCCL's own files are left if a rank is killed before all have opened them.
    left = cluster.run("srun", "--nodes=4", "bash", "-c", "ls /dev/shm")
    require("ringside" not in left, f"left in /dev/shm: {left}")


def check_spank(cluster, options):
    """The option of examples/slurm/spank_ringside.c, with what else would profile the job switched off."""
    if not (cluster.place / "plugstack.conf").exists():
        print("the SPANK plugin is not compiled: there is no libslurm-dev")
        return
    lone = cluster.place / "lone.sh"
    for option, traces in (("--ringside=" + str(cluster.place / "spank"), cluster.place / "spank"),
                           ("--ringside", None)):
        before = set(cluster.place.glob("traces/*"))
        cluster.run("env", "RINGSIDE=off", "srun", option, "--nodes=2", "--ntasks-per-node=1", lone, 5)
        if traces is None:
            (traces,) = set(cluster.place.glob("traces/*")) - before
        shown = cluster.run(options.ringside, "summary", traces)
        require("Read: 4 traces, 4 ranks on 2 hosts" in shown, f"srun {option}:\n{shown}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("ringside", "plugin", "ranks", "recipes", "work"):
        parser.add_argument(f"--{name}", required=True, type=pathlib.Path)
    parser.add_argument("--ringside-mpi", type=pathlib.Path)
    options = parser.parse_args()
    shutil.rmtree(options.work, ignore_errors=True)
    cluster = Cluster(options.work, options.ringside.parent, options.plugin, options.recipes)
    try:
        cluster.start()
        values = {"place": cluster.place, "local": cluster.local, "ringside": options.ringside,
                  "plugin": options.plugin, "ranks": options.ranks, "stuck": STUCK}
        for name, text in (("job.sh", JOB), ("task.sh", TASK), ("after.sh", AFTER)):
            write_script(cluster.place / name, text, **values)
        for name in ("parts", "traces"):
            (cluster.place / name).mkdir()
        # It waits in the queue while the watch begins.
        job = cluster.run("sbatch", "--parsable", "--hold", cluster.place / "job.sh").strip()
        release = cluster.begin("bash", "-c", f"sleep 4; scontrol release {job}")
        check_live(cluster, options, job)
        release.wait()
        check_end(cluster, options, job)
        check_mpi(cluster, options)
        check_recipes(cluster, options)
        check_spank(cluster, options)
    except CannotRun as reason:
        print(f"skipped: {reason}")
        sys.exit(77)
    except (RuntimeError, subprocess.TimeoutExpired) as error:
        sys.exit(f"FAILED: {error}")
    finally:
        cluster.stop()


if __name__ == "__main__":
    main()
