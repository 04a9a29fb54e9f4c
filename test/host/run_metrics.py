#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plays recordings in two processes whose metrics a real Prometheus scrapes by HTTP, and asks it for
sums, which must be the recordings'; and looks at the files for a node exporter. Where Prometheus is
not installed the text is read without it.
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request

import expected

REPEAT = 20
HOLD_S = 20


class Failure(Exception):
    pass


def require(condition, text):
    if not condition:
        raise Failure(text)


def wait_for(what, limit_s, look):
    deadline = time.monotonic() + limit_s
    while not (found := look()):
        require(time.monotonic() < deadline, f"not in {limit_s} s: {what}")
        time.sleep(0.05)
    return found


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def get(address, path, accept=None):
    request = urllib.request.Request(f"http://{address}{path}",
                                     headers={"Accept": accept} if accept else {})
    with urllib.request.urlopen(request, timeout=20) as answer:
        return answer.read().decode()


def samples(text, name):
    """Values by labels, of one metric in Prometheus' text."""
    found = {}
    for line in text.splitlines():
        match = re.fullmatch(re.escape(name) + r"\{(.*)\} (\S+)", line)
        if match:
            require(match[1] not in found, f"twice: {line}")
            found[match[1]] = float(match[2])
    return found


class Jobs:
    """Processes that have made their last operation and wait."""

    def __init__(self, options, place):
        self.options = options
        self.place = place
        self.prom = place / "prom"
        self.prom.mkdir()
        self.files = sorted(pathlib.Path(options.recording).glob("*.jsonl.gz"))[:2]
        self.recordings = [expected.Recording(file) for file in self.files]
        self.port = free_port()
        self.processes = [self.begin(rank) for rank in range(2)]

    def begin(self, rank):
        environment = {key: value for key, value in os.environ.items()
                       if not key.startswith("RINGSIDE_")}
        environment.update(RANK=str(rank), RINGSIDE_DIR=str(self.place / "traces"),
                           RINGSIDE_RING_BYTES="32M", RINGSIDE_EVENTS="all",
                           RINGSIDE_LOG=str(self.place / f"log{rank}"),
                           RINGSIDE_METRICS_DIR=str(self.prom), RINGSIDE_METRICS_SECONDS="1",
                           RINGSIDE_METRICS_LISTEN=str(self.port))
        calls = len(self.recordings[rank].calls) * REPEAT
        return subprocess.Popen([self.options.host, "--plugin", self.options.plugin, "--repeat",
                                 str(REPEAT), "--sleep-at", f"{calls}:{HOLD_S}",
                                 str(self.files[rank])], env=environment,
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def addresses(self):
        """Each process says where it listens: the second on another port."""
        found = []
        for rank in range(2):
            log = self.place / f"log{rank}"
            text = log.read_text(encoding="utf-8") if log.exists() else ""
            found += re.findall(r"metrics at http://(\S+)/metrics", text)
            require("no metrics" not in text, text)
        return found if len(found) == 2 else None

    def operations(self):
        return [len(recording.operations()) * REPEAT for recording in self.recordings]

    def is_done(self, addresses):
        return all(sum(samples(get(address, "/metrics"), "ringside_operations_total").values()) ==
                   wanted for address, wanted in zip(addresses, self.operations()))


def check_text(jobs, addresses):
    text = get(addresses[0], "/metrics")
    dropped = samples(text, "ringside_dropped_callbacks_total")
    require(len(dropped) == 5 and not any(dropped.values()), f"lost: {dropped}")
    produced = sum(jobs.recordings[0].produced.values()) * REPEAT
    require(sum(samples(text, "ringside_callbacks_total").values()) == produced, "callbacks")
    functions = {}
    for event in jobs.recordings[0].operations():
        func = expected.message(event)[0]
        functions[func] = functions.get(func, 0) + REPEAT
    found = {}
    for labels, value in samples(text, "ringside_operations_total").items():
        func = re.search(r'func="(\w+)"', labels)[1]
        found[func] = found.get(func, 0) + value
    require(found == functions, f"{found}, not {functions}")
    require(get(addresses[0], "/metrics", "application/openmetrics-text").endswith("# EOF\n"),
            "no OpenMetrics")


def check_file(jobs):
    def written():
        files = sorted(jobs.prom.glob("*.prom"))
        return files if len(files) == 2 else None
    for file in wait_for("a file of each process", 10, written):
        text = file.read_text(encoding="utf-8")
        require(samples(text, "ringside_build_info"), "the file has no end")
        if shutil.which("promtool"):
            done = subprocess.run(["promtool", "check", "metrics"], input=text, text=True,
                                  capture_output=True, timeout=60, check=False)
            require(done.returncode == 0, f"promtool: {done.stdout}{done.stderr}")
            require(not done.stderr.strip(), f"promtool: {done.stderr}")


class Prometheus:
    def __init__(self, place, targets):
        self.address = f"127.0.0.1:{free_port()}"
        config = place / "prometheus.yml"
        config.write_text(json.dumps({
            "global": {"scrape_interval": "1s", "scrape_timeout": "1s"},
            "scrape_configs": [{"job_name": "ringside",
                                "static_configs": [{"targets": targets}]}]}), encoding="utf-8")
        self.process = subprocess.Popen(
            ["prometheus", f"--config.file={config}", f"--storage.tsdb.path={place / 'tsdb'}",
             f"--web.listen-address={self.address}"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def ask(self, query):
        """Values by rank; empty while it knows nothing."""
        path = "/api/v1/query?" + urllib.parse.urlencode({"query": query})
        try:
            answer = json.loads(get(self.address, path))
        except OSError:
            return {}
        return {int(one["metric"]["global_rank"]): float(one["value"][1])
                for one in answer["data"]["result"]}


def check_prometheus(jobs, place, addresses):
    prometheus = Prometheus(place, addresses)
    try:
        wanted = dict(enumerate(map(float, jobs.operations())))
        query = "sum by (global_rank) (ringside_operations_total)"
        wait_for(f"{query} = {wanted}", 30, lambda: prometheus.ask(query) == wanted)
        buckets = prometheus.ask(
            'sum by (global_rank) (ringside_duration_seconds_bucket{le="+Inf"})')
        counts = prometheus.ask("sum by (global_rank) (ringside_duration_seconds_count)")
        require(buckets == counts and len(counts) == 2, f"{buckets}, {counts}")
        busbw = prometheus.ask("sum by (global_rank) (ringside_bus_bytes_total) / "
                               "sum by (global_rank) (ringside_bus_seconds_total)")
        require(len(busbw) == 2 and all(value > 0 for value in busbw.values()), f"{busbw}")
        print(f"Prometheus: {query}: {wanted}; busbw {busbw} bytes/s")
    finally:
        prometheus.process.kill()
        prometheus.process.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--host", required=True, help="nccl_host")
    parser.add_argument("--plugin", required=True)
    parser.add_argument("recording", help="a folder of test/data/transcripts")
    options = parser.parse_args()
    place = pathlib.Path(tempfile.mkdtemp(prefix="ringside-metrics-"))
    jobs = Jobs(options, place)
    try:
        addresses = wait_for("addresses in the logs", 30, jobs.addresses)
        require(len(set(addresses)) == 2, f"one port for two: {addresses}")
        wait_for("all operations", 30, lambda: jobs.is_done(addresses))
        check_text(jobs, addresses)
        check_file(jobs)
        if shutil.which("prometheus"):
            check_prometheus(jobs, place, addresses)
        else:
            print("Prometheus is not installed: not asked")
        for process in jobs.processes:
            require(process.wait(timeout=60) == 0, f"nccl_host returned {process.returncode}")
        require(not list(jobs.prom.iterdir()), f"left: {list(jobs.prom.iterdir())}")
    except Failure as failure:
        for process in jobs.processes:
            process.kill()
        sys.exit(f"{failure}\nfiles are in {place}")
    shutil.rmtree(place)


if __name__ == "__main__":
    main()
