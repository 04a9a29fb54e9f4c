# SPDX-License-Identifier: Apache-2.0
"""A process that stands still in an operation: `hang` of processes that run, the webhook of `watch`,
and `run --watch`; a scenario of run_control.py."""
import http.server
import json
import os
import pathlib
import socketserver
import subprocess
import tempfile
import threading
import time

import expected
import run_hang
from control_case import ask, require, wait_for
from exporter_forged import Forger

SECRET = "X-Ringside-Key: 4f1c"


class Hook(http.server.BaseHTTPRequestHandler):
    """Takes findings, but for those at /refused."""

    def do_POST(self):  # noqa: N802
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.posts.append((self.path, dict(self.headers), json.loads(body)))
        self.send_response(503 if self.path == "/refused" else 204)
        self.end_headers()

    def log_message(self, *_):
        pass


def stuck(case):
    file = sorted(pathlib.Path(case.options.recording).glob("*.jsonl.gz"))[0]
    after, operation = run_hang.middle_of_an_operation(file)
    wanted = f"{expected.message(operation)[0]} #{operation.call['seqNumber']}"

    def stand_still(seconds):
        case.start_host("--sleep-at", f"{after}:{seconds}", recording=file, RINGSIDE_EVENTS="all")
        case.wait_for_sockets(1)
        wait_for(lambda: [row.get("oldest_func") for row in json.loads(case.run(
            "top", "--once", "--format", "json", "--interval", "0.2")[0])["rows"]
            if (row.get("oldest_age_ns") or 0) > 500_000_000] ==
            [expected.message(operation)[0]], "the operation that stands still")

    stand_still(40)
    hang_here_and_on_hosts(case, wanted)
    webhook(case, wanted)
    evidence(case)
    without_farewell(case)
    case.run("recover", case.rings)
    run_and_watch(case, file, after, wanted)


def names_a_fifo(case):
    """What a process names as its dump is no way to anything else; nobody waits at a FIFO."""
    fifo, link = case.place / "fifo", case.place / "link"
    os.mkfifo(fifo)
    link.symlink_to("/etc/hostname")
    status = ask(case.sockets()[0], {"version": 1, "verb": "live"})
    forger = Forger(case.rings, "ringside.job.vm.4242.1-1.rings")
    for path, why in ((fifo, "is no regular file"), (link, "is a link")):
        forger.reply = json.dumps({**status, "pid": 4242, "dump_path": str(path)}).encode() + b"\n"
        out, said = case.run("hang", "--pid", "4242", "--min-age", "0.3", status=3)
        require(f"{path} cannot be read: it {why}" in out + said, out + said)
    forger.end()


def hang_here_and_on_hosts(case, wanted):
    out, _ = case.run("hang", "--all", "--min-age", "0.3", status=1)
    require(wanted in out.splitlines()[0], out)
    # On a host whose files are not to be seen here: they are copied, and the copies are gone after.
    hidden = case.place / "hidden"
    hidden.mkdir()
    hosts = case.place / "hosts"
    hosts.write_text("node1\n", encoding="utf-8")
    way = f"""RINGSIDE_RING_DIR={case.rings} sh -c ': {{host}}; cd {hidden}
        for dump in *.dump*; do test -e "$dump" && mv "$dump" {case.traces}; done
        "$@"; mv {case.traces}/*.dump* {hidden}' -"""
    for dump in case.traces.glob("*.dump*"):
        dump.unlink()
    copied, _ = case.run("hang", "--hosts", hosts, "--exec", way, "--min-age", "0.3", status=1)
    require(wanted in copied.splitlines()[0], copied)
    require(len(list(hidden.iterdir())) == 1 and not list(case.traces.glob("*.dump*")), "not copied")
    require(not list(pathlib.Path(case.sockets_without_rings).iterdir()), "a copy is left")
    hosts.write_text("node1\ngone\n", encoding="utf-8")
    way = f"RINGSIDE_RING_DIR={case.rings} sh -c 'test {{host}} = node1 && exec \"$@\"; exit 9' -"
    out, said = case.run("hang", "--hosts", hosts, "--exec", way, "--min-age", "3600", status=4)
    require("host gone ended with status 9" in said and "1 process or host has given no dump" in out,
            out + said)
    names_a_fifo(case)
    case.run("hang", "--job", "nobody", status=3)
    _, said = case.run("hang", status=2)
    require("DIR_OR_FILE is required" in said, said)
    _, said = case.run("hang", "--all", case.traces, status=2)
    require("files exclude --job" in said, said)


def webhook(case, wanted):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hook)
    server.posts = []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"http://127.0.0.1:{server.server_port}"
    secret = case.place / "secret"
    secret.write_text(SECRET + "\n", encoding="utf-8")
    watch = ["watch", "--all", "--hang-seconds", "1", "--interval", "0.2", "--until-finding", "--no-dumps",
             "--no-evidence", "--format", "json"]
    for path, more, variables in [("/hook?a=1&b=$(id)", ["--webhook-header", secret], {}),
                                  ("/hook", [], {"RINGSIDE_WEBHOOK_HEADER": SECRET})]:
        out, said = case.run(*watch, "--webhook", address + path, *more, status=1, variables=variables)
        require(len(server.posts) == 1, f"{server.posts} {said}")
        at, headers, finding = server.posts.pop()
        require(at == path and headers["Content-Type"] == "application/json" and
                headers["X-Ringside-Key"] == "4f1c", f"{at} {headers}")
        require(finding == json.loads(out) and wanted in finding["sentence"], f"{finding}")
    _, said = case.run(*watch, "--webhook", address + "/refused", status=1)
    require("--webhook: curl" in said and "503" in said and
            "1 finding has not been handed over" in said, said)
    for options, text in [(["--webhook", "file:///etc/passwd"], "not http:// or https://"),
                          (["--webhook", address, "--webhook-header", case.place / "nowhere"], "no header")]:
        _, said = case.run(*watch, *options, status=2)
        require(text in said, said)
    server.shutdown()


class Ras(socketserver.StreamRequestHandler):
    """Answers as NCCL's RAS service did in a recording (test/data/ras)."""

    def handle(self):
        for line in self.rfile:
            if line.startswith(b"CLIENT PROTOCOL"):
                self.wfile.write(b"SERVER PROTOCOL 2\n")
            elif line.startswith(b"SET FORMAT"):
                self.wfile.write(b"OK\n")
            else:
                self.wfile.write(self.server.answer)
                return


def evidence(case):
    """RAS and the Flight Recorder's dumps beside the verdict, each marked as of its own source."""
    server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Ras)
    server.answer = (pathlib.Path(__file__).parent.parent / "data" / "ras" / "stuck.json").read_bytes()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    ras = {"NCCL_RAS_ADDR": f"127.0.0.1:{server.server_address[1]}"}
    dump = pathlib.Path(tempfile.gettempdir()) / f"nccl_trace_rank_test{case.place.parent.name}"
    dump.touch()
    try:
        out, _ = case.run("hang", "--all", "--min-age", "0.3", status=1, variables=ras)
        require("note: NCCL's RAS: " in out and f"note: Flight Recorder: {dump}" in out, out)
        hosts = case.place / "hosts"
        hosts.write_text("node1\n", encoding="utf-8")
        way = f"RINGSIDE_RING_DIR={case.rings} sh -c ': {{host}}; exec \"$@\"' -"
        watch = ["watch", "--hosts", hosts, "--exec", way, "--hang-seconds", "1", "--until-finding",
                 "--format", "json"]
        # The operator is told at once; dumps and other sources are waited for after that.
        stuck, verdict = map(json.loads, case.run(*watch, status=1, variables=ras)[0].splitlines())
        require((stuck["finding"], stuck["verdict"], stuck["dumps"], stuck["evidence"]) ==
                ("stuck", [], [], []), f"{stuck}")
        require(verdict["finding"] == "verdict" and verdict["sentence"] == verdict["verdict"][0] and
                len(verdict["dumps"]) == 1, f"{verdict}")
        found = verdict["evidence"]
        require({"ras", "flight_recorder"} <= {one["source"] for one in found} and
                {one["host"] for one in found} == {"node1"}, f"{found}")
        require(any(one["text"] == str(dump) for one in found), f"{found}")
        _, verdict = map(json.loads, case.run(*watch, "--no-evidence", status=1)[0].splitlines())
        require(verdict["evidence"] == [], "asked")
    finally:
        dump.unlink()
        server.shutdown()
    # Without the service nothing is said of it.
    out, _ = case.run("hang", "--all", "--min-age", "0.3", status=1, variables=ras)
    require("RAS" not in out, out)


def without_farewell(case):
    """A process that is killed while it is watched."""
    command = [case.options.ringside, "watch", "--all", "--interval", "0.3", "--format", "json", "--no-evidence",
               "--hang-seconds", "3600"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          env=case.environment(), cwd=case.place) as watch:
        require("watches 1 process" in watch.stderr.readline(), "it does not watch")
        case.kill()
        out, _ = watch.communicate(timeout=60)
    finding = json.loads(out)
    require(finding["finding"] == "died" and "has ended without a farewell, and with " in finding["sentence"] and
            "open communicator" in finding["sentence"] and watch.returncode == 1, f"{finding}")


def run_and_watch(case, file, after, wanted):
    begin = time.monotonic()
    _, said = case.run("run", "--watch", "--watch-options", "--hang-seconds 1 --interval 0.3 --no-dumps",
                       "--dir", case.traces / "run", "--plugin", case.options.plugin, "--no-summary", "--",
                       case.options.host, "--plugin", case.options.plugin, "--abi",
                       file.parent.name.split("-")[1][1], "--timing", "--sleep-at", f"{after}:6", file)
    require(f"has waited in {wanted}" in said, said)
    require(time.monotonic() - begin < 40, "the watch has held the job up")
    lines = (case.traces / "run" / "ringside-watch.jsonl").read_text(encoding="utf-8").splitlines()
    findings = [json.loads(line) for line in lines]
    require(not findings[0]["ends"] and {one["finding"] for one in findings} <= {"stuck", "verdict"} and
            wanted in findings[0]["sentence"], f"{findings}")
    left = subprocess.run(["pgrep", "-f", f"watch.*{case.traces}"], capture_output=True, check=False)
    require(left.returncode == 1, f"a watch is left: {left.stdout}")
    # The watch's own troubles are not the job's, but a mistake in its options is known before the job starts.
    _, said = case.run("run", "--watch", "--watch-options", "--ssh --hosts /no/such/hosts", "--dir", case.traces / "run",
                       "--plugin", case.options.plugin, "--no-summary", "--", "sh", "-c", "sleep 1; exit 7", status=7)
    require("/no/such/hosts" in said, said)
