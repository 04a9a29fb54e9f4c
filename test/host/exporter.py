# SPDX-License-Identifier: Apache-2.0
"""`ringside exporter` and a real Prometheus as a test starts and asks them."""
import json
import re
import resource
import signal
import socket
import subprocess
import time
import urllib.parse
import urllib.request


class Failure(Exception):
    """A check that does not hold; the text says which."""


def require(condition, text):
    if not condition:
        raise Failure(text)


def wait_for(what, limit_s, look):
    deadline = time.monotonic() + limit_s
    while not (found := look()):
        require(time.monotonic() < deadline, f"not in {limit_s} s: {what}")
        time.sleep(0.05)
    return found


def get(address, path="/metrics", accept=None):
    request = urllib.request.Request(f"http://{address}{path}",
                                     headers={"Accept": accept} if accept else {})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return answer.read().decode()


def samples(text, name):
    """Values by labels, of one metric in Prometheus' text."""
    found = {}
    for line in text.splitlines():
        match = re.fullmatch(re.escape(name) + r"(?:\{(.*)\})? (\S+)", line)
        if match:
            require(match[1] not in found, f"twice: {line}")
            found[match[1]] = float(match[2])
    return found


class Exporter:
    """`ringside exporter` at a port that is free."""

    def __init__(self, ringside, rings, *options, file_bytes=None):
        """`file_bytes`: no file becomes larger, as on a full disk."""
        limits = [resource.RLIMIT_FSIZE, (file_bytes, resource.RLIM_INFINITY)]
        self.process = subprocess.Popen(
            [str(ringside), "exporter", "--listen", "127.0.0.1:0", "--ring-dir", str(rings),
             *map(str, options)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, text=True,
            preexec_fn=lambda: file_bytes and (signal.signal(signal.SIGXFSZ, signal.SIG_IGN), resource.setrlimit(*limits)))
        line = self.process.stderr.readline()
        found = re.fullmatch(r"ringside exporter: .*: http://(\S+)/metrics\n", line)
        require(found, f"no address: {line!r}")
        self.address = found[1]

    def states(self, text=None):
        """How many processes the scrape has found, by state."""
        text = text or get(self.address)
        found = samples(text, "ringside_exporter_processes")
        return {re.fullmatch('state="(.*)"', labels)[1]: int(value)
                for labels, value in found.items() if value}

    def end(self):
        """It ends by SIGTERM, with 0."""
        self.process.terminate()
        return self.process.wait(timeout=60)


class Prometheus:
    """Scrapes targets each second."""

    def __init__(self, place, targets):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.address = f"127.0.0.1:{probe.getsockname()[1]}"
        config = place / "prometheus.yml"
        config.write_text(json.dumps({
            "global": {"scrape_interval": "1s", "scrape_timeout": "1s"},
            "scrape_configs": [{"job_name": "ringside",
                                "static_configs": [{"targets": targets}]}]}), encoding="utf-8")
        self.process = subprocess.Popen(
            ["prometheus", f"--config.file={config}", f"--storage.tsdb.path={place / 'tsdb'}",
             f"--web.listen-address={self.address}"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def ask(self, query, label="global_rank"):
        """Values by a label; empty while it knows nothing."""
        path = "/api/v1/query?" + urllib.parse.urlencode({"query": query})
        try:
            answer = json.loads(get(self.address, path))
        except OSError:
            return {}
        return {one["metric"].get(label, ""): float(one["value"][1])
                for one in answer["data"]["result"]}

    def end(self):
        self.process.kill()
        self.process.wait()
