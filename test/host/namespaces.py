#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`ringside watch` over four hosts that are network namespaces, joined by a bridge in a fifth one. Each
is asked through the network, by a program of this file's that stands for ssh. In the middle the link of
one host goes down: it is told as silent, nobody else is blamed, the looks go on, and it comes back.

Skipped (status 77) where namespaces may not be made.
"""
import argparse
import asyncio
import json
import os
import pathlib
import shutil
import socket
import socketserver
import subprocess
import sys
import tempfile
import threading
import time

from network import Network
from pretended_job import Job, serve

PORT = 2222
HOSTS = [f"node{i}" for i in range(4)]
SWITCH = "switch"
SUBNET = "10.77.0"
RANKS_PER_HOST = 2
CUT = "node2"


class Shell(socketserver.StreamRequestHandler):
    """Runs a command with an input; answers with its status and output."""

    def handle(self):
        asked = json.loads(self.rfile.readline())
        done = subprocess.run(asked["words"], input=asked["input"], capture_output=True, text=True,
                              check=False, env=os.environ | {"RINGSIDE_RING_DIR": asked["rings"]})
        self.wfile.write(json.dumps([done.returncode, done.stdout, done.stderr]).encode() + b"\n")


def serve_shell():
    with socketserver.ThreadingTCPServer(("", PORT), Shell) as server:
        server.serve_forever()


def ask_shell(address, rings, words):
    with socket.create_connection((address, PORT)) as connection:
        asked = {"words": words, "input": sys.stdin.read(), "rings": rings}
        connection.sendall(json.dumps(asked).encode() + b"\n")
        status, out, said = json.loads(connection.makefile().readline())
    sys.stdout.write(out)
    sys.stderr.write(said)
    sys.exit(status)


class Findings:
    """The lines of `ringside watch` as they come."""

    def __init__(self, process):
        self.lines = []
        threading.Thread(target=self.read, args=(process.stdout,), daemon=True).start()

    def read(self, stream):
        try:
            for line in stream:
                self.lines.append(json.loads(line))
        except ValueError:
            pass  # closed, at the end

    def wait_for(self, count, seconds):
        until = time.monotonic() + seconds
        while len(self.lines) < count:
            if time.monotonic() > until:
                sys.exit(f"not {count} findings in {seconds} s: {self.lines}")
            time.sleep(0.05)
        return self.lines[count - 1]


def check(options, network, place):
    job = Job(len(HOSTS) * RANKS_PER_HOST, RANKS_PER_HOST, seed=1)
    ready = threading.Event()
    threading.Thread(target=lambda: asyncio.run(serve(job, place / "rings", ready)), daemon=True).start()
    ready.wait(60)
    (place / "hosts").write_text("".join(f"{host}\n" for host in HOSTS), encoding="utf-8")
    way = (f"ip netns exec {network.namespace(SWITCH)} {sys.executable} {__file__} "
           f"--ask {{host}} --rings {place}/rings/{{host}} --")
    listed = [str(options.ringside), "ctl", "status", "--hosts", str(place / "hosts"), "--exec", way,
              "--format", "json", "--host-timeout", "15"]
    until = time.monotonic() + 45
    while subprocess.run(listed, capture_output=True, check=False).returncode != 0:
        if time.monotonic() > until:
            sys.exit("the hosts do not all answer")
    command = [str(options.ringside), "watch", "--hosts", str(place / "hosts"), "--exec", way, "--job",
               "pretended", "--format", "json", "--interval", "0.5", "--window", "3",
               "--host-timeout", "8", "--hang-seconds", "3", "--no-dumps", "--no-evidence"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as watch:
        findings = Findings(watch)
        time.sleep(8)
        if findings.lines:
            sys.exit(f"found while nothing is wrong: {findings.lines}")
        network.set_link(CUT, "down")
        silent = findings.wait_for(1, 40)
        if (silent["finding"], silent["ends"], silent["hosts"]) != ("silent", False, [CUT]):
            sys.exit(f"not the host that was cut off: {silent}")
        print(silent["sentence"])
        # The others are looked at as before: a rank that stands still is told while the host is gone.
        begin = time.monotonic()
        job.stuck = (1, time.monotonic_ns())
        stuck = findings.wait_for(2, 40)
        on_cut = {HOSTS.index(CUT) * RANKS_PER_HOST + i for i in range(RANKS_PER_HOST)}
        if stuck["finding"] != "stuck" or set(stuck["ranks"]) & on_cut or stuck["idle_ranks"]:
            sys.exit(f"not stuck, or more is said than can be known: {stuck}")
        print(f"{time.monotonic() - begin:.1f} s: {stuck['sentence']}")
        network.set_link(CUT, "up")
        again = findings.wait_for(3, 40)
        if not again["ends"] or again["sentence"] != f"Host {CUT} answers again.":
            sys.exit(f"it does not come back: {again}")
        watch.terminate()  # which ends its commands, too


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ringside", type=pathlib.Path)
    parser.add_argument("--serve", action="store_true", help="be the shell of a host")
    parser.add_argument("--ask", metavar="HOST", help="run what follows on this host")
    parser.add_argument("--rings")
    parser.add_argument("words", nargs="*")
    options = parser.parse_args()
    network = Network(f"ringside-{os.getpid()}-", SWITCH, HOSTS, SUBNET)
    if options.serve:
        serve_shell()
    if options.ask:
        ask_shell(network.address(options.ask), options.rings, options.words)
    if shutil.which("ip") is None or os.geteuid() != 0:
        print("skipped: network namespaces need root and `ip` (iproute2)")
        sys.exit(77)
    options.ringside = options.ringside.resolve()
    servers = []
    try:
        network.make()
        for host in HOSTS:
            servers.append(subprocess.Popen(
                ["ip", "netns", "exec", network.namespace(host), sys.executable, __file__, "--serve"]))
    except subprocess.CalledProcessError as error:
        network.remove()
        print(f"skipped: {' '.join(error.cmd)}: {error.stderr.strip()}")
        sys.exit(77)
    with tempfile.TemporaryDirectory(prefix="ringside-namespaces-") as directory:
        place = pathlib.Path(directory)
        (place / "rings").mkdir()
        try:
            check(options, network, place)
        finally:
            for server in servers:
                server.kill()
                server.wait()
            network.remove()


if __name__ == "__main__":
    main()
