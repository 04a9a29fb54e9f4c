# SPDX-License-Identifier: Apache-2.0
"""`ringside exporter --inspector`: its lines are the operations of the traces, by nccl-tests' formulas, in
files of a directory and through sockets whose reader comes late and takes its time; `ringside` reads them
as it reads NCCL Inspector's."""
import json
import os
import re
import socket
import subprocess
import threading

from exporter import Exporter, get, require, wait_for

SIZES = {"AllGather": lambda n: n, "ReduceScatter": lambda n: n}
FACTORS = {"AllReduce": lambda n: 2 * (n - 1) / n, "AllGather": lambda n: (n - 1) / n,
           "ReduceScatter": lambda n: (n - 1) / n}


def line_of(args, start, communicator, number):
    """What an operation of a trace is in Inspector's format."""
    kind = args["kind"]
    ns, n = args["end_ns"] - args["start_ns"], communicator["nranks"]
    algbw = args["bytes"] * SIZES.get(args["func"], lambda n: 1)(n) / ns
    values = {"": args["func"], "_sn": number, "_msg_size_bytes": args["bytes"],
              "_exec_time_us": (ns + 500) // 1000,
              "_timing_source": {"gpu": "kernel_gpu", "proxy": "collective_cpu"}[args["times_from"]],
              "_algobw_gbs": f"{algbw:.6f}",
              "_busbw_gbs": f"{algbw * FACTORS.get(args['func'], lambda n: 1)(n):.6f}"}
    if kind == "p2p":
        values["_peer"] = args["peer"]
    header = {"id": communicator["comm"], "comm_name": communicator["name"], "nnodes":
              communicator["nnodes"], "rank": communicator["rank"], "n_ranks": n}
    end_us = (start["base_time_s"] * 10**9 + args["end_ns"]) // 1000
    return header, start["host"], start["pid"], end_us, {
        f"{kind}{key}": str(value) for key, value in values.items()}


def expected(traces, pid):
    """Of the segments of a process that are there so far, in their order."""
    lines, communicators, sends = [], {}, {}
    for path in sorted(traces.glob(f"*.{pid}.*.json"), key=lambda path: (".s0" in path.name, path.name)):
        for line in path.read_text(encoding="utf-8").splitlines():
            if '"args":{' not in line:
                continue
            event = json.loads(line.strip("[,") + ("" if line.strip("[,").endswith("}") else "}"))
            args = event["args"]
            if event["name"] == "ringside_trace":
                start = args
            elif event["name"] == "ringside_communicator":
                communicators[args["context"]] = args
            elif event.get("cat") == "op":
                number = args.get("seq")
                if args["kind"] == "p2p":
                    number = sends[args["context"]] = sends.get(args["context"], 0) + 1
                if args["times_from"] in ("gpu", "proxy") and args["state"] == "completed":
                    lines.append(line_of(args, start, communicators[args["context"]], number))
    return lines


def read(text):
    lines = []
    for line in text.splitlines():
        one = json.loads(line, parse_float=str)
        about = one["metadata"]
        require(about["inspector_output_format_version"] == "v4.0", line)
        (perf,) = [one[key] for key in ("coll_perf", "p2p_perf") if key in one]
        lines.append((one["header"], about["hostname"], about["pid"], about["dump_timestamp_us"],
                      {key: str(value) for key, value in perf.items()}))
    return lines


class Reader:
    """A collector at a socket, which reads when it may: a connection is a process."""

    def __init__(self, path):
        self.may_read = threading.Event()
        self.texts = []
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.bind(str(path))
        self.socket.listen()
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            connection, _ = self.socket.accept()
            self.texts.append(bytearray())
            threading.Thread(target=self.take, args=(connection, self.texts[-1]), daemon=True).start()

    def take(self, connection, text):
        self.may_read.wait()
        while part := connection.recv(65536):
            text += part


def check_inspector(options, make_jobs, place):
    out, path = place / "lines", place / "collector"
    for folder in (out, place / "rings"):
        folder.mkdir(parents=True)
    files = Exporter(options.ringside, place / "rings", "--inspector", out)
    sent = Exporter(options.ringside, place / "rings", "--inspector", f"unix:{path}")
    jobs = make_jobs(place)
    try:
        def whole():
            texts = [(out / f"{os.uname().nodename}-pid{pid}.log") for pid in jobs.pids]
            wanted = [expected(place / "traces", pid) for pid in jobs.pids]
            made = [len(operations) for operations in wanted]
            found = [read(text.read_text(encoding="utf-8")) if text.exists() else [] for text in texts]
            return min(made) > 500 and jobs.is_done(files.address) and found == wanted and texts
        texts = wait_for("a line of each operation", 60, whole)
        require(len(list((place / "traces").glob("*.s0*.json"))) > 2, "no segments")
        reader = Reader(path)
        wait_for("the connections", 30, lambda: len(reader.texts) == 2)
        get(sent.address)  # nobody waits for a reader that takes nothing
        require(not any(reader.texts), "it has read")
        reader.may_read.set()
        wanted = sorted(text.read_text(encoding="utf-8") for text in texts)
        wait_for("all lines by the socket", 60,
                 lambda: sorted(bytes(text).decode() for text in reader.texts) == wanted)
    finally:
        for process in jobs.processes:
            process.kill()
        ends = [one.end() for one in (files, sent)]
    require(ends == [0, 0], f"{ends}")
    require(sent.process.stderr.read() == f"ringside exporter: --inspector: nobody listens at {path}; "
            "operations wait in the traces until somebody does\n", "what the exporter said")
    read_back(options, texts, place / "traces")


def check_losses(options, make_jobs, place):
    """A reader that leaves with lines in its buffer: they are counted. A file that somebody has cut while a line was
    half written, since the disk was full: it begins with a whole line."""
    place.mkdir(parents=True)
    path, out = place / "collector", place / "lines"
    for folder in (place / "rings", out):
        folder.mkdir()
    reader = socket.socket(socket.AF_UNIX)
    reader.bind(str(path))
    reader.listen()
    sent = Exporter(options.ringside, place / "rings", "--inspector", f"unix:{path}")
    full = Exporter(options.ringside, place / "rings", "--inspector", out, file_bytes=10_000)
    jobs = make_jobs(place)
    try:
        connections = [reader.accept()[0] for _ in jobs.pids]
        logs = [out / f"{os.uname().nodename}-pid{pid}.log" for pid in jobs.pids]
        wait_for("the files are full", 60, lambda: all(log.exists() and log.stat().st_size == 10_000 for log in logs))
        require(not any(log.read_bytes().endswith(b"\n") for log in logs), "a line ends at the limit by chance")
        for log in logs:
            os.truncate(log, 0)
        wait_for("they are full again", 60, lambda: all(log.stat().st_size == 10_000 for log in logs))
        for log in logs:
            read("\n".join(log.read_text(encoding="utf-8").split("\n")[:-1]))
        wait_for("lines", 60, lambda: all(one.recv(1, socket.MSG_PEEK) for one in connections))
        for one in connections:
            one.close()
        said = ""
        while "in its buffer are lost" not in said:
            said = sent.process.stderr.readline()
            require(said, "it has not said how many lines are lost")
        lost = int(re.search(r"up to (\d+) lines in its buffer are lost", said)[1])
        require(0 < lost <= sum(len(expected(place / "traces", pid)) for pid in jobs.pids), said)
    finally:
        for process in jobs.processes:
            process.kill()
        for one in (sent, full):
            one.end()


def read_back(options, texts, traces):
    """`ringside` has all operations, and takes none for one that a call is missing of."""
    done = subprocess.run([options.ringside, "summary", "--format", "json", *map(str, texts)],
                          text=True, capture_output=True, timeout=60, check=False)
    require(done.returncode == 0, done.stdout[-1000:] + done.stderr)
    counted = sum(len(expected(traces, int(text.stem.rpartition("-pid")[2]))) for text in texts)
    files = json.loads(done.stdout)["inputs"]["files"]
    require(sum(file["operations"] for file in files) == counted and
            not any(file["bad_lines"] for file in files), f"{counted}: {files}")
