#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plays recordings in two processes, whose metrics `ringside exporter` serves at one port: a real
Prometheus scrapes it, and its sums must be the recordings'. A process that stands still, one that has
died and sockets of nobody do not keep the others from being scraped, and neither does one that
answers what no process does. If Prometheus is not installed, the text is read without it.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

import expected
from exporter_forged import check_forged
from exporter_inspector import check_inspector, check_losses
from exporter_otlp import check_otlp
from exporter import Exporter, Failure, Prometheus, get, require, samples, wait_for

REPEAT = 20
HOLD_S = 120
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def state_and_parent(pid):
    stat = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8")
    state, parent = stat.rpartition(")")[2].split()[:2]
    return state, int(parent)


class Jobs:
    """Processes that have made their last operation and wait."""

    def __init__(self, options, place, **environment):
        self.options = options
        self.place = place
        self.environment = environment
        self.rings = place / "rings"
        self.rings.mkdir(parents=True, exist_ok=True)
        self.files = sorted(pathlib.Path(options.recording).glob("*.jsonl.gz"))[:2]
        self.recordings = [expected.Recording(file) for file in self.files]
        self.processes = [self.begin(rank) for rank in range(2)]
        self.pids = [self.player(process) for process in self.processes]

    def player(self, process):
        """nccl_host plays a recording in a child."""
        def found():
            pids = [int(path.name.split(".")[3]) for path in self.rings.iterdir()]
            return [pid for pid in pids if state_and_parent(pid)[1] == process.pid]
        return wait_for("rings of each process", 30, found)[0]

    def begin(self, rank):
        environment = {key: value for key, value in os.environ.items()
                       if not key.startswith("RINGSIDE_")}
        environment.update(RANK=str(rank), RINGSIDE_DIR=str(self.place / "traces"),
                           RINGSIDE_RING_DIR=str(self.rings), RINGSIDE_RING_BYTES="32M",
                           RINGSIDE_EVENTS="all", RINGSIDE_LOG=str(self.place / f"log{rank}"),
                           **self.environment)
        calls = len(self.recordings[rank].calls) * REPEAT
        return subprocess.Popen([self.options.host, "--plugin", self.options.plugin, "--repeat",
                                 str(REPEAT), "--sleep-at", f"{calls}:{HOLD_S}",
                                 str(self.files[rank])], env=environment,
                                stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def labels(self, rank):
        """Those that all metrics of a process have."""
        return (f'global_rank="{rank}",host="{socket.gethostname()}",'
                f'pid="{self.pids[rank]}",uid="{os.geteuid()}"')

    def operations(self):
        return [len(recording.operations()) * REPEAT for recording in self.recordings]

    def counted(self, text, rank):
        return sum(value for labels, value in samples(text, "ringside_operations_total").items()
                   if labels.startswith(self.labels(rank) + ","))

    def is_done(self, address):
        text = get(address)
        return [self.counted(text, rank) for rank in range(2)] == self.operations()


def check_text(jobs, address):
    text = get(address)
    for rank in range(2):
        own = jobs.labels(rank)
        dropped = {labels: value for labels, value in
                   samples(text, "ringside_dropped_callbacks_total").items()
                   if labels.startswith(own)}
        require(len(dropped) == 5 and not any(dropped.values()), f"lost: {dropped}")
        produced = sum(jobs.recordings[rank].produced.values()) * REPEAT
        require(samples(text, "ringside_callbacks_total")[own] == produced, "callbacks")
        functions = {}
        for event in jobs.recordings[rank].operations():
            func = expected.message(event)[0]
            functions[func] = functions.get(func, 0) + REPEAT
        found = {}
        for labels, value in samples(text, "ringside_operations_total").items():
            if labels.startswith(own + ","):
                func = re.search(r'func="(\w+)"', labels)[1]
                found[func] = found.get(func, 0) + value
        require(found == functions, f"{found}, not {functions}")
        # Both have made their last call.
        wait_for("the time without a call grows", 60,
                 lambda: samples(get(address), "ringside_quiet_seconds")[own] > 0.5)
    opened = get(address, accept="application/openmetrics-text")
    require(opened.endswith("# EOF\n") and opened.count("# EOF") == 1, "no OpenMetrics")
    require(opened.count("# TYPE ringside_operations counter\n") == 1, "a family stands twice")
    check_with_promtool(text)
    if shutil.which("promtool"):
        for command in (["check", "config", "examples/exporter/prometheus.yml"],
                        ["test", "rules", "test/host/alerts.yml"]):
            done = subprocess.run(["promtool", *command], text=True, cwd=ROOT,
                                  capture_output=True, timeout=60, check=False)
            require(done.returncode == 0, f"promtool: {done.stdout}{done.stderr}")


def check_with_promtool(text):
    if shutil.which("promtool"):
        done = subprocess.run(["promtool", "check", "metrics"], input=text, text=True,
                              capture_output=True, timeout=60, check=False)
        require(done.returncode == 0 and not done.stderr.strip(),
                f"promtool: {done.stdout}{done.stderr}")


def check_prometheus(jobs, place, address):
    prometheus = Prometheus(place, [address])
    try:
        wanted = {str(rank): float(count) for rank, count in enumerate(jobs.operations())}
        query = "sum by (global_rank) (ringside_operations_total)"
        wait_for(f"{query} = {wanted}", 60, lambda: prometheus.ask(query) == wanted)
        pids = prometheus.ask("count by (pid) (ringside_callbacks_total)", "pid")
        require(set(pids) == set(map(str, jobs.pids)), f"{pids}")
        buckets = prometheus.ask(
            'sum by (global_rank) (ringside_duration_seconds_bucket{le="+Inf"})')
        counts = prometheus.ask("sum by (global_rank) (ringside_duration_seconds_count)")
        require(buckets == counts and len(counts) == 2, f"{buckets}, {counts}")
        busbw = prometheus.ask("sum by (global_rank) (ringside_bus_bytes_total) / "
                               "sum by (global_rank) (ringside_bus_seconds_total)")
        require(len(busbw) == 2 and all(value > 0 for value in busbw.values()), f"{busbw}")
        answered = prometheus.ask('ringside_exporter_processes{state="answered"}', "state")
        require(answered == {"answered": 2}, f"{answered}")
        check_dashboard(prometheus, get(address))
        print(f"Prometheus: {query}: {wanted}; busbw {busbw} bytes/s")
    finally:
        prometheus.end()


def check_dashboard(prometheus, text_of_metrics):
    """Prometheus understands all queries of the dashboard, and they name metrics that there are, as
    do the alert rules."""
    alerts = (ROOT / "docs" / "monitoring" / "ringside-alerts.yml").read_text(encoding="utf-8")
    text = (ROOT / "docs" / "monitoring" / "grafana-dashboard.json").read_text(encoding="utf-8")
    panels = json.loads(text)["panels"]
    queries = [target["expr"] for panel in panels for target in panel.get("targets", [])]
    require(len(queries) >= 10, "no queries in the dashboard")
    for query in queries + re.findall(r"expr: (.*ringside_.*)", alerts):
        for name in set(re.findall(r"ringside_\w+", query)):
            family = name.removesuffix("_bucket")
            require(f"# TYPE {family} " in text_of_metrics, f"there is no {name}")
        plain = query.replace("$__rate_interval", "1m").replace("$communicator", ".*")
        prometheus.ask(plain)  # an error of the query is an HTTP error


def check_others(jobs, address, exporter):
    """A process that stands still is counted, and nobody waits for it longer than the timeout."""
    # Nobody listens at the first, nobody has ever listened at the second, nobody answers at the third.
    for number, name in enumerate(("stale", "none", "mute")):
        (jobs.rings / f"ringside.{name}.h.{number + 1}.1.rings").mkdir()
    stale = socket.socket(socket.AF_UNIX)
    stale.bind(str(jobs.rings / "ringside.stale.h.1.1.rings" / "control"))
    stale.close()
    mute = socket.socket(socket.AF_UNIX)
    mute.bind(str(jobs.rings / "ringside.mute.h.3.1.rings" / "control"))
    mute.listen(8)
    os.kill(jobs.pids[1], signal.SIGSTOP)
    wait_for("the process stands still", 30, lambda: state_and_parent(jobs.pids[1])[0] == "T")
    begun = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        texts = list(pool.map(get, [address] * 8))
    took = time.monotonic() - begun
    os.kill(jobs.pids[1], signal.SIGCONT)
    mute.close()
    # Each waits three seconds for the two that say nothing; one after the other they would take 24.
    require(took < 15, f"eight scrapes at a time took {took:.1f} s")
    for text in texts:
        require(exporter.states(text) == {"answered": 1, "failed": 2, "no_socket": 2},
                f"{exporter.states(text)}")
        require(jobs.counted(text, 0) == jobs.operations()[0] and jobs.counted(text, 1) == 0,
                "not the sums of the one that answers")
    errors = samples(get(address), "ringside_exporter_errors_total")
    require(errors['reason="timeout"'] >= 16, f"{errors}")

    # One is killed: its rings are left over, and skipped.
    os.kill(jobs.pids[1], signal.SIGKILL)
    jobs.processes[1].wait(timeout=60)
    text = get(address)
    require(exporter.states(text).get("dead") == 1, f"{exporter.states(text)}")
    require(jobs.counted(text, 0) == jobs.operations()[0] and jobs.counted(text, 1) == 0, "sums")


def check_command_line(options, address):
    """An address that cannot be served gets a message, and a status of its own."""
    def run(*arguments):
        done = subprocess.run([options.ringside, "exporter", *arguments], capture_output=True,
                              text=True, timeout=60, check=False)
        return done.returncode, done.stderr
    status, said = run("--listen", address, "--ring-dir", "/dev/shm")
    require(status == 1 and f"cannot listen at {address}: Address already in use" in said, said)
    status, said = run("--ring-dir", "/no/such/place")
    require(status == 3 and "/no/such/place: there is no such directory" in said, said)
    for wrong in (("--listen", "localhost:9401"), ("--timeout", "0"), ("--listen", "70000"),
                  ("--otlp", "collector:4318"), ("--otlp", "env"), ("--inspector", "/no/such/place"),
                  ("--inspector", f"unix:/{'long/' * 40}"), ("--inspector", options.ringside)):
        status, said = run(*wrong)
        require(status == 2, f"{wrong}: {status}: {said}")
        require(wrong[0] != "--inspector" or f"--inspector: {wrong[1].removeprefix('unix:')}" in said,
                said)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--host", required=True, help="nccl_host")
    parser.add_argument("--plugin", required=True)
    parser.add_argument("--ringside", required=True)
    parser.add_argument("recording", help="a folder of test/data/transcripts")
    options = parser.parse_args()
    place = pathlib.Path(tempfile.mkdtemp(prefix="ringside-exporter-"))
    jobs = Jobs(options, place)
    try:
        exporter = Exporter(options.ringside, jobs.rings, "--timeout", "3", "--watch")
        try:
            wait_for("all operations", 30, lambda: jobs.is_done(exporter.address))
            check_text(jobs, exporter.address)
            if shutil.which("prometheus"):
                check_prometheus(jobs, place, exporter.address)
            else:
                print("Prometheus is not installed: not asked")
            check_otlp(options, jobs)
            check_inspector(options, lambda at: Jobs(options, at, RINGSIDE_MAX_BYTES="8M"),
                            place / "inspector")
            check_losses(options, lambda at: Jobs(options, at, RINGSIDE_MAX_BYTES="8M"), place / "losses")
            check_forged(jobs, exporter, check_with_promtool)
            check_command_line(options, exporter.address)
            check_others(jobs, exporter.address, exporter)
        finally:
            status = exporter.end()
        require(status == 0, f"the exporter ended with {status}")
    except Failure as failure:
        for process in jobs.processes:
            process.kill()
        sys.exit(f"{failure}\nfiles are in {place}")
    for process in jobs.processes:
        process.kill()
        process.wait()
    shutil.rmtree(place)


if __name__ == "__main__":
    main()
