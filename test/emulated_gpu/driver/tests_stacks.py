# SPDX-License-Identifier: Apache-2.0
"""A rank of Python waits for a lock in a C++ library, or sleeps in Python: `watch` and `hang` show where, with tools
of this machine."""

import json
import os
import pathlib
import re
import shutil
import sys
import time

from harness import Job, Skipped, check, print_facts

RANKS = 3
LATE = 1
PACKAGE = pathlib.Path(__file__).resolve().parents[3] / "python"
PROGRAM = pathlib.Path(__file__).parent / "locked_ranks.py"
IN_LOCK = re.compile(rf"Rank {LATE} \(process \d+\) was in .*mutex_lock.* < take_batch\b.* \(by [^)]*\b(eu-stack|gdb)\b")


def start(setup, milliseconds, where, library="libwaiting_lock.so"):
    libraries = pathlib.Path(setup.ranks_program).parent.parent / "lib"
    folders = [setup.nccl_folder, libraries] if setup.nccl_folder else [libraries]
    return Job(setup, ranks=RANKS, timeout=200, RINGSIDE_JOB=f"locked-{os.getpid()}",
               PYTHONPATH=str(PACKAGE), LD_LIBRARY_PATH=":".join(map(str, folders)),
               command=(sys.executable, str(PROGRAM), "sleep" if library == "sleep" else str(libraries / library), str(RANKS), str(LATE),
                        str(milliseconds), where))


def watch(setup, *options):
    """What it has found first, and the stacks."""
    begin = time.monotonic()
    out = setup.run_analyzer("watch", "--job", f"locked-{os.getpid()}", "--ring-dir", setup.rings, "--wait", "60",
                             "--until-finding", "--for", "100", "--format", "json", "--no-dumps", *options,
                             expected=(1,))
    found, *others = [json.loads(line) for line in out.splitlines()]
    print_facts(after_s=round(time.monotonic() - begin, 1), sentence=found["sentence"])
    return found, [one["text"] for finding in others for one in finding["evidence"] if one["source"] == "stack"
                   or one["source"] == "start-up"]


def locked(setup):
    if not shutil.which("eu-stack") and not shutil.which("gdb"):
        raise Skipped("neither eu-stack nor gdb is here")
    # In start-up, the others wait in NCCL's bootstrap, where it has loaded no plugin yet.
    job = start(setup, -1, "init")
    found, stacks = watch(setup, "--hang-seconds", "1")
    job.kill()
    check(found["finding"] == "start_up" and found["sentence"].startswith("None of 3 processes has a communicator"),
          f"a rank hangs in start-up: {found}")
    check(any(map(IN_LOCK.match, stacks)), f"in start-up: {stacks}")
    # gdb does not find the way out of the library that redirect_wheel.py makes, which has no sections.
    if shutil.which("eu-stack") or not setup.nccl_folder:
        check(sum(bool(re.search("nccl[A-Z]|libnccl.so", one)) for one in stacks[:-1]) == RANKS - 1 and
              re.search(rf"Rank {LATE} \(process \d+\) is in no call of the start-up .*, in which 2 ranks wait",
                        stacks[-1]), f"in start-up: {stacks}")

    setup.start_anew("late")
    job = start(setup, 200, "loop")
    found, stacks = watch(setup, "--window", "2", "--hang-seconds", "60")
    job.kill()
    check(found["finding"] == "late" and found["ranks"] == [LATE] and len(stacks) == 1 and IN_LOCK.match(stacks[0]),
          f"late: {found} {stacks}")

    setup.start_anew("stuck")
    job = start(setup, -1, "loop")
    found, _ = watch(setup, "--hang-seconds", "2")
    check(found["finding"] == "stuck" and found["idle_ranks"] == [LATE], f"stuck: {found}")
    said = setup.run_analyzer("hang", "--ring-dir", setup.rings, expected=(1,)).splitlines()
    check(said[0].startswith(f"Rank {LATE} ") and IN_LOCK.match(said[1]), f"stuck: {said[:3]}")
    tool = "py-spy" if shutil.which("py-spy") else "show_stacks"
    check(re.search(rf"in load_batch \(locked_ranks.py:\d+\) < run_rank .* < main .*\(by {tool}; .* natively in", said[1]),
          f"without the lines of Python: {said[1]}")
    print(said[1])
    if shutil.which("gdb"):
        # eu-stack is not everywhere.
        (setup.directory / "eu-stack").write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
        (setup.directory / "eu-stack").chmod(0o755)
        path = os.environ["PATH"]
        os.environ["PATH"] = f"{setup.directory}:{path}"
        said = setup.run_analyzer("hang", "--ring-dir", setup.rings, expected=(1,)).splitlines()
        os.environ["PATH"] = path
        found = IN_LOCK.match(said[1])
        check(found and found[1] == "gdb" and "take_batch (lock.cc:" in said[1], f"by gdb: {said[:3]}")
        print(said[1])
    job.kill()


def sleeping(setup):
    """No tool of this machine is needed: the process itself shows its lines, or a py-spy that is here does."""
    in_sleep = re.compile(rf"Rank {LATE} \(process \d+\) was in .*load_batch \(locked_ranks.py:\d+\).* \(by (py-spy|show_stacks);")
    job = start(setup, 200, "loop", "sleep")
    found, stacks = watch(setup, "--window", "2", "--hang-seconds", "60")
    job.kill()
    check(found["finding"] == "late" and found["ranks"] == [LATE] and len(stacks) == 1 and in_sleep.match(stacks[0]),
          f"late: {found} {stacks}")
    setup.start_anew("stuck")
    job = start(setup, -1, "loop", "sleep")
    found, stacks = watch(setup, "--hang-seconds", "2")
    check(found["finding"] == "stuck" and found["idle_ranks"] == [LATE] , f"stuck: {found}")
    said = setup.run_analyzer("hang", "--job", f"locked-{os.getpid()}", "--ring-dir", setup.rings, expected=(1,)).splitlines()
    check(said[0].startswith(f"Rank {LATE} ") and in_sleep.match(said[1]), f"stuck: {said[:3]}")
    print(said[1])
    job.kill()


TESTS = {"nccl-locked": locked, "nccl-sleeping": sleeping}
