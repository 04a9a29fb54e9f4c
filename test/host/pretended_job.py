#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`ringside watch` beside a job of pretended ranks, on hosts that are directories: how long it takes
from the moment a rank is late, or stops, to the sentence that names it; and that nothing is found
while nothing is wrong.

Each rank is a control socket that answers as the plugin does. In each 20 ms it has done one AllReduce
of about 8 ms. A late rank comes 4 ms later than the others, which then wait for it: a fifth of the
time. Who stands still joins nothing any more.
"""
import argparse
import asyncio
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import tempfile
import threading
import time

PERIOD_NS = 20_000_000
WAIT_NS = 4_000_000


class Job:
    """All ranks; their state changes by the other thread's hand."""

    def __init__(self, ranks, ranks_per_host, seed):
        self.ranks = ranks
        self.ranks_per_host = ranks_per_host
        self.begin_ns = time.monotonic_ns()
        self.late = None  # rank, since when
        self.stuck = None
        chance = random.Random(seed)
        self.pace_ns = [8_000_000 + chance.randrange(-200_000, 200_000) for _ in range(ranks)]

    def host_of(self, rank):
        return f"node{rank // self.ranks_per_host}"

    def answer(self, rank, verb):
        now = time.monotonic_ns()
        until = min(now, self.stuck[1]) if self.stuck else now
        operations = (until - self.begin_ns) // PERIOD_NS
        joint_ns = operations * self.pace_ns[rank] + random.randrange(0, 3_000_000)
        if self.late and self.late[0] != rank:
            joint_ns += max(0, until - self.late[1]) // PERIOD_NS * WAIT_NS
        waits = self.stuck is not None and self.stuck[0] != rank
        communicator = {
            "context": 1, "comm": "0x1", "name": "world", "rank": rank, "nranks": self.ranks,
            "operations": operations, "message_bytes": 0, "timed_operations": operations,
            "busy_ns": joint_ns, "bus_bytes": 0.0, "bus_ns": joint_ns, "joint_operations": operations,
            "joint_ns": joint_ns, "in_flight_operations": 1 if waits else 0, "in_flight_bytes": 0}
        if waits:
            communicator |= {"oldest_func": "AllReduce", "oldest_seq": operations,
                             "oldest_age_ns": now - self.stuck[1]}
        status = {"version": 1, "ok": True, "verb": verb, "job": "pretended", "host": self.host_of(rank),
                  "pid": 1000 + rank, "rank": rank, "directory": "/pretended", "trace_path": "",
                  "communicators": 1, "windows": 1, "operations": operations, "dropped": 0,
                  "trouble": False, "state": "recording"}
        if verb == "live":
            return status | {"time_ns": now, "live": [communicator], "left_out": 0}
        return status if verb == "status" else {"version": 1, "ok": False, "error": "refused",
                                                "message": "has no traces: it is pretended"}


async def serve(job, rings, ready):
    async def one(rank, reader, writer):
        try:
            while line := await reader.readline():
                writer.write(json.dumps(job.answer(rank, json.loads(line)["verb"])).encode() + b"\n")
                await writer.drain()
        except ConnectionError:
            pass  # whoever asks has not waited
        writer.close()

    os.chdir(rings)  # the name of a socket has at most 107 bytes
    for rank in range(job.ranks):
        directory = pathlib.Path(job.host_of(rank)) / (
            f"ringside.pretended.{job.host_of(rank)}.{1000 + rank}.1790000000000000-{rank:08x}.rings")
        directory.mkdir(parents=True)
        await asyncio.start_unix_server(lambda reader, writer, rank=rank: one(rank, reader, writer),
                                        str(directory / "control"))
    ready.set()
    await asyncio.Event().wait()


class Watch:
    """`ringside watch` over the pretended hosts."""

    def __init__(self, options, place):
        hosts = place / "hosts"
        hosts.write_text("".join(f"{host.name}\n" for host in sorted((place / "rings").iterdir())),
                         encoding="utf-8")
        self.process = subprocess.Popen(
            [options.ringside, "watch", "--job", "pretended", "--format", "json", "--hosts", hosts, "--exec",
             f"RINGSIDE_RING_DIR={place}/rings/{{host}}", "--interval", str(options.interval),
             "--window", str(options.window), "--hang-seconds", str(options.hang_seconds), "--no-dumps",
             "--timeout", str(options.timeout), "--host-timeout", str(2 * options.timeout + 5)],
            stdout=subprocess.PIPE, text=True)
        self.findings = []
        self.taken = 0
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            self.findings.append((time.monotonic(), json.loads(line)))

    def wait_for(self, kind, seconds):
        """The next finding that is not the end of one; it must be of this kind."""
        begin = time.monotonic()
        while True:
            while len(self.findings) == self.taken:
                if time.monotonic() > begin + seconds:
                    sys.exit(f"nothing is found in {seconds} s")
                time.sleep(0.01)
            at, finding = self.findings[self.taken]
            self.taken += 1
            if finding["ends"] or finding["finding"] == "verdict":
                continue
            if finding["finding"] != kind:
                sys.exit(f"not {kind}: {finding}")
            return at - begin, finding


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ringside", type=pathlib.Path, required=True)
    parser.add_argument("--ranks", type=int, default=64)
    parser.add_argument("--ranks-per-host", type=int, default=8)
    parser.add_argument("--clean-seconds", type=float, default=20)
    parser.add_argument("--interval", type=float, default=2)
    parser.add_argument("--window", type=float, default=10)
    parser.add_argument("--hang-seconds", type=float, default=10)
    parser.add_argument("--timeout", type=float, default=5)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    options.ringside = options.ringside.resolve()
    with tempfile.TemporaryDirectory(prefix="ringside-pretended-") as directory:
        place = pathlib.Path(directory)
        (place / "rings").mkdir()
        job = Job(options.ranks, options.ranks_per_host, options.seed)
        ready = threading.Event()
        threading.Thread(target=lambda: asyncio.run(serve(job, place / "rings", ready)),
                         daemon=True).start()
        ready.wait(60)
        watch = Watch(options, place)
        time.sleep(options.clean_seconds)
        if watch.findings:
            sys.exit(f"found while nothing is wrong: {watch.findings}")
        late = options.ranks // 3
        job.late = (late, time.monotonic_ns())
        seconds, finding = watch.wait_for("late", 60)
        share = 100 * WAIT_NS / PERIOD_NS * (options.ranks - 1) / options.ranks
        if finding["ranks"] != [late] or not share * 0.8 < finding["percent_of_time"] <= share:
            sys.exit(f"not rank {late}, or not up to {share} %: {finding}")
        print(f"late: {seconds:.1f} s; {finding['sentence']}")
        stuck = options.ranks // 2
        job.stuck = (stuck, time.monotonic_ns())
        seconds, finding = watch.wait_for("stuck", 60)
        if len(finding["ranks"]) != options.ranks - 1 or finding["idle_ranks"] != [stuck]:
            sys.exit(f"not rank {stuck}: {finding}")
        if not re.search(rf"Rank {stuck} \(node\d+\) has nothing in flight there\.$",
                         finding["sentence"]):
            sys.exit(f"not named: {finding}")
        print(f"stuck: {seconds:.1f} s; {finding['sentence']}")
        watch.process.kill()


if __name__ == "__main__":
    main()
