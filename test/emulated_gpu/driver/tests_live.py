# SPDX-License-Identifier: Apache-2.0
"""`ringside ctl`, `ringside top`, `ringside exporter` and `ringside ras` with a job that runs."""

import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import time

from expectations import expected_calls
from harness import KERNELS_ARE_SAFE, Failure, Job, check, print_facts

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "host"))
import exporter as http  # noqa: E402

EXAMPLES = pathlib.Path(__file__).resolve().parents[3] / "examples" / "python"

RANKS = 4


class Operator:
    """Someone in a shell beside the job."""

    def __init__(self, setup, job):
        self.setup = setup
        self.job = job

    def ctl(self, *arguments):
        out = self.setup.run_analyzer("ctl", *arguments, "--ring-dir", self.setup.rings, "--format",
                                      "json", "--timeout", "60", expected=(0, 3))
        return json.loads(out)["processes"] if out else []

    def wait_for(self, condition, text):
        """Until it holds of the status of all processes; gives that."""
        while True:
            processes = self.ctl("status")
            if condition(processes):
                return processes
            check(self.job.process.poll() is None and time.monotonic() < self.job.deadline,
                  f"{text}: not so\n{json.dumps(processes, indent=1)}\n{self.job.log()[-2000:]}")
            time.sleep(0.05)


def all_are(value, of="state"):
    return lambda processes: [p[of] for p in processes] == [value] * RANKS


def windows_of(trace):
    """Number: when it was opened and closed, and its operations."""
    times = {}
    for line in trace.lines:
        if line["name"] == "ringside_window":
            times[line["args"]["window"]] = (line["args"]["start_ns"], line["args"].get("end_ns"))
    return {number: (*ends, {(o["func"], o["seq"]) for o in trace.operations
                             if o["window"] == number and "seq" in o})
            for number, ends in times.items()}


def ctl(setup):
    """Windows are opened and closed in four ranks from outside, before, while and after they are up."""
    job = Job(setup, "--scenario", "train", "--iterations", "400", ranks=RANKS, timeout=120,
              RINGSIDE_START="0")
    operator = Operator(setup, job)
    operator.wait_for(lambda processes: len(processes) == RANKS, "four sockets")
    for _ in range(3):  # while communicators are made
        operator.ctl("start")
        operator.ctl("stop")
    up = operator.wait_for(lambda processes: all(p["rank"] is not None for p in processes), "ranks")
    check([p["rank"] for p in up] == list(range(RANKS)), f"ranks: {up}")
    before = up[0]["windows"]
    operator.ctl("start", "--at", "+1", "--operations", "30")
    # Not their state, which they may leave before all have come to it.
    operator.wait_for(all_are(before + 1, of="windows"), "windows at a moment")
    operator.ctl("mark", "in the middle")
    operator.wait_for(all_are("stopped"), "30 operations")
    operator.ctl("start", "--seconds", "1", "--events", "coll,p2p")
    dumped = operator.ctl("dump", "--output", setup.directory)
    operator.wait_for(all_are("stopped"), "a second")
    check(len(dumped) == RANKS, f"dumps: {dumped}")
    setup.run_analyzer("lint", "--closed", *(process["dump_path"] for process in dumped))
    job.wait()
    check(not operator.ctl("status") and not list(setup.rings.iterdir()), "a socket is left")
    found = [windows_of(trace) for trace in job.traces()]
    for windows in found:
        check(max(windows) == before + 2, f"windows {sorted(windows)}, not {before + 2}")
    first, second = ([windows[number] for windows in found] for number in (before + 1, before + 2))
    apart_ms = (max(w[0] for w in first) - min(w[0] for w in first)) / 1e6
    common = set.intersection(*(w[2] for w in first))
    lengths_s = [(w[1] - w[0]) / 1e9 for w in second]
    check(apart_ms < 500, f"opened {apart_ms} ms apart")
    check(len(common) >= 15 and all(len(w[2]) >= 15 for w in first), f"common: {len(common)}")
    check(all(0.95 < length < 3 for length in lengths_s), f"lengths: {lengths_s}")
    check(all(w[2] for w in second), "nothing is recorded in the second")
    for path in (setup.directory / "traces").glob("*.json"):
        check('"name":"in the middle"' in path.read_text(encoding="utf-8"), f"no mark in {path}")
    job.summary()
    print_facts(apart_ms=apart_ms, common=len(common), lengths_s=lengths_s)


def watch(setup):
    """One rank is late, and later another is stuck: each is named, without a human, in seconds."""
    job = Job(setup, "--scenario", "train", "--iterations", "1000", "--late-rank", "2", "--late-us",
              "20000", "--stuck-rank", "1", "--stuck-at", "400", ranks=RANKS, timeout=200)

    def findings(*arguments):
        begin = time.monotonic()
        out = setup.run_analyzer("watch", "--format", "json", "--ring-dir", setup.rings, "--wait", "60",
                                 "--until-finding", "--interval", "0.5", "--for", "150", *arguments,
                                 expected=(1,))
        found = [json.loads(line) for line in out.splitlines()]
        print_facts(after_s=round(time.monotonic() - begin, 1),
                    sentences=[finding["sentence"] for finding in found])
        return found

    late, *_ = findings("--window", "2", "--hang-seconds", "60")
    check(late["finding"] == "late" and late["ranks"] == [2] and late["communicator"] == "world" and
          10 <= late["percent_of_time"] <= 75, f"rank 2 is late: {late}")
    stuck, verdict, stacks = findings("--hang-seconds", "4", "--late-percent", "100", "--command",
                                      f"cat >> {setup.directory}/told")
    told = [json.loads(line) for line in open(setup.directory / "told", encoding="utf-8")]
    job.kill()
    check(stuck["finding"] == "stuck" and stuck["ranks"] == [0, 2, 3] and stuck["seconds"] >= 4,
          f"three ranks wait: {stuck}")
    check(verdict["finding"] == "verdict" and verdict["verdict"] and
          verdict["verdict"][0].startswith("Rank 1 (") and
          "has not joined" in verdict["verdict"][0], f"rank 1 is stuck: {verdict}")
    check(len(verdict["dumps"]) == RANKS and verdict["dumps_missing"] == 0, f"dumps: {verdict}")
    check(stacks["finding"] == "verdict" and {one["source"] for one in stacks["evidence"]} == {"stack"} and
          stacks["evidence"][0]["text"].startswith("Rank 1 (process "), f"no stacks: {stacks}")
    check(told == [stuck, verdict, stacks], f"the command got {told}")


def watch_64(setup):
    """The time to verdict with the defaults of `watch` and 64 ranks (docs/performance.md). It takes
    minutes, so CTest does not call it."""
    ranks, late_from, stuck_at, late_s = 64, 60, 160, 1
    # NCCL's own buffers would take 400 MB in each process.
    job = Job(setup, "--scenario", "train", "--iterations", "1000", "--late-rank", "2", "--late-us",
              str(late_s * 1_000_000), "--late-from", str(late_from), "--stuck-rank", "1",
              "--stuck-at", str(stuck_at), ranks=ranks, timeout=900, NCCL_BUFFSIZE="65536",
              NCCL_MAX_NCHANNELS="1")

    def begun_s(rank, number):
        """nccl_ranks counts a shift, a receive and a send in a group, as a collective."""
        calls = [call for call in job.calls(rank) if call.get("func", "Recv") != "Recv"]
        return calls[number]["begin_ns"] / 1e9

    # The first collective of so many processes takes more than ten seconds on a busy machine.
    while len(job.calls(0)) < 20 and time.monotonic() < job.deadline:
        time.sleep(0.5)
    found = []
    command = [setup.analyzer, "watch", "--format", "json", "--ring-dir", setup.rings, "--wait", "60"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        for line in process.stdout:
            finding = json.loads(line)
            print(line, end="")
            if not finding["ends"]:
                found.append((finding, time.monotonic()))
            if finding["finding"] == "verdict":
                break
        process.terminate()
    job.kill()
    late_since_s = begun_s(2, late_from) - late_s
    stopped_s = max(call["end_ns"] for call in job.calls(1)) / 1e9
    check([finding["finding"] for finding, _ in found] == ["late", "stuck", "verdict"],
          f"others are found, too: {found}")
    (late, late_told_s), (stuck, stuck_told_s), (verdict, verdict_told_s) = found
    print_facts(late_after_s=round(late_told_s - late_since_s, 1),
                stuck_after_s=round(stuck_told_s - stopped_s, 1),
                verdict_after_s=round(verdict_told_s - stopped_s, 1))
    check(late["ranks"] == [2] and late_told_s > late_since_s, f"rank 2 is late: {late}")
    check(stuck["ranks"] == [r for r in range(ranks) if r != 1] and stuck["idle_ranks"] == [1] and
          "has not joined" in verdict["verdict"][0], f"rank 1 is stuck: {stuck} {verdict}")


def top(setup):
    """Four ranks run and their figures are read; then one is stuck, and the others wait."""
    job = Job(setup, "--scenario", "train", "--iterations", "1000", "--stuck-rank", "1",
              "--stuck-at", "300", ranks=RANKS, timeout=200)
    operator = Operator(setup, job)
    operator.wait_for(lambda processes: [p["rank"] for p in processes] == list(range(RANKS)) and
                      all(p["operations"] > 20 for p in processes), "operations")

    def rows():
        out = setup.run_analyzer("top", "--once", "--interval", "0.5", "--format", "json",
                                 "--ring-dir", setup.rings)
        return [row for row in json.loads(out)["rows"] if row.get("name") == "world"]

    moving = rows()
    print(setup.run_analyzer("top", "--once", "--interval", "1", "--ring-dir", setup.rings))
    check([row["rank"] for row in moving] == list(range(RANKS)), f"rows: {moving}")
    check(all(row["operations_per_s"] > 0 and row["busbw_bytes_per_s"] > 0 and row["dropped"] == 0
              for row in moving), f"rates: {moving}")
    check(len({row["communicator"] for row in moving}) == 1, f"communicators: {moving}")
    while True:
        waiting = rows()
        if all(row["operations_per_s"] == 0 for row in waiting):
            break
        check(job.process.poll() is None and time.monotonic() < job.deadline, f"{waiting}")
    print(setup.run_analyzer("top", "--once", "--interval", "1", "--ring-dir", setup.rings))
    job.kill()
    stuck = [row["rank"] for row in waiting if not row["in_flight_operations"]]
    oldest = {(row["oldest_func"], row["oldest_seq"]) for row in waiting if "oldest_func" in row}
    check(stuck == [1] and len(oldest) == 1, f"not three that wait for rank 1: {waiting}")
    check(all(row["in_flight_bytes"] > 0 for row in waiting if row["rank"] != 1), f"{waiting}")
    print_facts(rates=[row["operations_per_s"] for row in moving], oldest=oldest)


def scalars(setup):
    """examples/python/scalars.py: the rank that is late is the worst, and the others wait for it."""
    job = Job(setup, "--scenario", "train", "--iterations", "100000", "--late-rank", "2", "--late-us",
              "100000", ranks=RANKS, timeout=200)
    Operator(setup, job).wait_for(
        lambda processes: [p["rank"] for p in processes] == list(range(RANKS)) and
        all(p["operations"] > 20 for p in processes), "operations")
    sys.path.insert(0, str(EXAMPLES))
    import scalars as example
    before = os.environ["PATH"]
    os.environ["PATH"] = f"{pathlib.Path(setup.analyzer).parent}:{before}"
    options = ["--ring-dir", str(setup.rings)]
    found = example.scalars(*options)
    check(found["ringside/worst_rank"] == 2 and found["ringside/busbw_gb_s"] > 0
          # it waits for nobody, and the three others all the time
          and found["ringside/waiting_share"] > 0.25, f"rank 2 is late: {found}")
    # Logged until each of the four was there, with steps that are as long as they say.
    logged, begin_s = {}, time.monotonic()
    example.log_scalars(lambda name, value, step: logged.setdefault(name, (value, step)),
                        lambda: int((time.monotonic() - begin_s) * 100), *options, every_s=0.1)
    while len(logged) < 4:
        check(job.process.poll() is None and time.monotonic() < job.deadline, f"logged: {logged}")
        time.sleep(0.1)
    os.environ["PATH"] = before
    job.kill()
    check(0.005 < logged["ringside/step_time_s"][0] < 0.02, f"a step takes 0.01 s: {logged}")
    print_facts(**{name.rpartition("/")[2]: value for name, value in found.items()})


def by_pid(metrics):
    """Operations of each process, finished and in flight, by Prometheus or in the exporter's text."""
    found = {}
    for metric in ("ringside_operations_total", "ringside_in_flight_operations"):
        for pid, value in metrics(metric).items():
            found[int(pid)] = found.get(int(pid), 0) + int(value)
    return found


def figures(setup, *paths):
    """Counts and times of collectives, by `ringside summary`. Inspector rounds to microseconds."""
    out = json.loads(setup.run_analyzer("summary", "--format", "json", *paths, expected=(0, 1, 4)))
    return {(row["function"], row["bytes"]): (row["count"], row["time_median_us"], *(
        row["wall"][f"{part}_us"] for part in ("min", "median", "max")))
            for communicator in out["communicators"] for row in communicator["rows"]
            if row["times_from"] == "gpu" and not row["is_grouped"] and "SendRecv" not in row["function"]}


def exported(setup):
    """Four ranks on two hosts, of which each has two processes. One is stuck, so that the sums stand
    still: Prometheus has, for each process, what its rank logged that it called, and the lines for NCCL
    Inspector's collectors give the figures of the traces."""
    if not shutil.which("prometheus"):
        print("Prometheus is not installed: the text is read without it")
    job = Job(setup, "--scenario", "train", "--iterations", "1000", "--stuck-rank", "1",
              "--stuck-at", "200", "--ranks-per-host", "2", ranks=RANKS, timeout=200,
              RINGSIDE_EVENTS="default,kernel", **KERNELS_ARE_SAFE)
    lines = setup.directory / "inspector"
    lines.mkdir()
    served = http.Exporter(setup.analyzer, setup.rings, "--timeout", "5", "--inspector", lines)
    prometheus = http.Prometheus(setup.directory, [served.address]) if shutil.which(
        "prometheus") else None

    def ask(metric):
        if prometheus:
            return prometheus.ask(f"sum by (pid) ({metric})", "pid")
        sums = {}
        for labels, value in http.samples(http.get(served.address), metric).items():
            pid = labels.partition('pid="')[2].partition('"')[0]
            sums[pid] = sums.get(pid, 0) + value
        return sums

    try:
        operator = Operator(setup, job)
        ranks = {p["pid"]: p["rank"] for p in operator.wait_for(
            lambda processes: [p["rank"] for p in processes] == list(range(RANKS)), "ranks")}
        while True:
            called = {pid: len(expected_calls(job.calls(rank))) for pid, rank in ranks.items()}
            found = by_pid(ask)
            if called == found and min(called.values()) >= 150:
                break
            check(job.process.poll() is None and time.monotonic() < job.deadline,
                  f"called {called}, by the exporter {found}")
            time.sleep(0.5)
        text = http.get(served.address)
        check(served.states(text) == {"answered": RANKS}, f"{served.states(text)}")
        job.kill()
        http.wait_for("all processes are dead", 30, lambda: served.states() == {"dead": RANKS})
    except http.Failure as failure:
        raise Failure(str(failure)) from None
    finally:
        if prometheus:
            prometheus.end()
        status = served.end()
    check(status == 0, f"the exporter ended with {status}")
    own, fed = figures(setup, setup.directory / "traces"), figures(setup, *lines.iterdir())
    check(own.keys() == fed.keys() and len(own) >= 3, f"{own}\n{fed}")
    for what, (count, *times_us) in own.items():
        check(count == fed[what][0] > 10 and all(
            abs(a - b) <= 1 for a, b in zip(times_us, fed[what][1:])), f"{what}: {own} {fed}")
    print_facts(figures={f"{func} {size}": values for (func, size), values in fed.items()})
    print_facts(called=called, bytes_of_a_scrape=len(text))


def ras(setup):
    """NCCL's RAS, asked while a rank never joins: it has launched fewer; stopped, it does not answer."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    job = Job(setup, "--scenario", "train", "--stuck-rank", "1", "--stuck-at", "3", ranks=3,
              timeout=120, NCCL_RAS_ENABLE="1", NCCL_RAS_ADDR=address)

    def asked(is_it):
        """Asks until `is_it` holds of the rows of ranks and the kinds of findings."""
        while True:
            out = setup.run_analyzer("ras", "--address", address, "--timeout", "20", "--format", "json",
                                     "--save", setup.directory / "ras.json", expected=(0, 1, 3))
            answer = json.loads(out) if out else None
            if answer and is_it({row["rank"]: row for row in answer["tables"]["ras"]["rows"]},
                                [one["kind"] for one in answer["findings"]]):
                return answer
            check(job.process.poll() is None and time.monotonic() < job.deadline,
                  f"not so: {out}\n{job.log()[-2000:]}")
            time.sleep(0.2)

    behind = asked(lambda rows, kinds: len(rows) == 3 and kinds == ["ras-counts"] and
                   rows[1].get("AllReduce", 0) < rows[0].get("AllReduce", 0) ==
                   rows[2].get("AllReduce", 0))
    check(json.loads(setup.run_analyzer("ras", setup.directory / "ras.json", "--format", "json",
                                        expected=(1,))) == behind, "the saved answer says another thing")
    pid = next(row["pid"] for row in behind["tables"]["ras"]["rows"] if row["rank"] == 1)
    check(pid in job.processes(), f"{pid} is no rank: {job.processes()}")
    os.kill(pid, signal.SIGSTOP)
    try:
        stopped = asked(lambda rows, kinds: 1 in rows and rows[1]["state"] == "no answer" and
                        "ras-absent" in kinds)
    finally:
        os.kill(pid, signal.SIGCONT)
    job.kill()
    print_facts(counts=behind["findings"][0]["text"], stopped=stopped["findings"][0]["text"])


TESTS = {"nccl-ras": ras, "nccl-ctl": ctl, "nccl-watch": watch, "nccl-watch-64": watch_64,
         "nccl-top": top, "nccl-exporter": exported,
         "nccl-scalars": scalars}
