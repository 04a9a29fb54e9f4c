#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`ringside exporter --watch` beside pretended ranks: nothing is found while nothing is wrong, then a
late rank and its share, then a stuck communicator and the rank that holds it up."""
import argparse
import asyncio
import pathlib
import sys
import tempfile
import threading
import time

from exporter import Exporter, Failure, get, require, samples, wait_for
from pretended_job import PERIOD_NS, WAIT_NS, Job, serve

RANKS = 8
LATE, STUCK = 3, 5
OF_WORLD = 'communicator="0x1",name="world",run="pretended"'


def check(exporter, job):
    def found(name):
        return samples(get(exporter.address), f"ringside_watch_{name}")

    wait_for("six looks", 60, lambda: found("looks_total").get(None, 0) >= 6)
    require(set(found("findings_total").values()) == {0}, "found while nothing is wrong")
    for name in ["stuck_ranks", "idle_rank", "late_ratio"]:
        require(not found(name), name)
    require(found("silent") == {None: 0}, "silent")
    job.late = (LATE, time.monotonic_ns())
    late = wait_for("the late rank", 60, lambda: found("late_ratio"))
    share = WAIT_NS / PERIOD_NS * (RANKS - 1) / RANKS
    require(list(late) == [OF_WORLD + f',rank="{LATE}"'] and
            share * 0.7 < late[OF_WORLD + f',rank="{LATE}"'] <= share * 1.02, f"late: {late}")
    job.stuck = (STUCK, time.monotonic_ns())
    stuck = wait_for("the stuck communicator", 60, lambda: found("stuck_ranks"))
    require(stuck == {OF_WORLD + ',func="AllReduce"': RANKS - 1}, f"stuck: {stuck}")
    require(found("idle_rank") == {OF_WORLD + f',rank="{STUCK}"': 1}, f"{found('idle_rank')}")
    require(found("findings_total")['finding="stuck"'] == 1, "stuck is counted once")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ringside", type=pathlib.Path, required=True)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="ringside-findings-") as directory:
        rings = pathlib.Path(directory)
        job = Job(RANKS, RANKS, seed=1)
        ready = threading.Event()
        threading.Thread(target=lambda: asyncio.run(serve(job, rings, ready)), daemon=True).start()
        ready.wait(60)
        exporter = Exporter(options.ringside.resolve(), rings / "node0", "--watch", "--window", "2",
                            "--hang-seconds", "3", "--interval", "0.5")
        try:
            check(exporter, job)
            require(exporter.end() == 0, "its end")
        except Failure as failure:
            sys.exit(f"{failure}\n{get(exporter.address)}")
        finally:
            exporter.process.kill()


if __name__ == "__main__":
    main()
