# SPDX-License-Identifier: Apache-2.0
"""The common parts of the tests of the control socket: processes that run, and requests to them."""
import json
import os
import pathlib
import signal
import socket
import subprocess
import time


class Failure(Exception):
    pass


def require(condition, text):
    if not condition:
        raise Failure(text)


def wait_for(condition, text, seconds=30):
    deadline = time.monotonic() + seconds
    while not (met := condition()):
        require(time.monotonic() < deadline, f"not in {seconds} s: {text}")
        time.sleep(0.02)
    return met


class Windows:
    """The windows of one trace, and which operations they have."""

    def __init__(self, path):
        self.windows = {}
        self.operations = {}
        self.marks = []
        for line in path.read_text(encoding="utf-8").splitlines():
            line = line.lstrip("[").rstrip(",").strip()
            event = json.loads(line) if line.startswith("{") else {}
            arguments = event.get("args", {})
            if event.get("name") == "ringside_trace":
                self.base_ns = int(arguments["base_time_s"]) * 1_000_000_000
            elif event.get("name") == "ringside_window":
                self.windows[arguments["window"]] = arguments
            elif event.get("cat") == "op" and "window" in arguments:
                self.operations.setdefault(arguments["window"], []).append(arguments["func"])
            elif event.get("cat") == "mark":
                self.marks.append(event["name"])

    def length_s(self, number):
        window = self.windows[number]
        return (window["end_ns"] - window["start_ns"]) / 1e9

    def start_realtime_ns(self, number):
        return self.base_ns + self.windows[number]["start_ns"]


class Case:
    """A directory with rings and traces of its own, and the processes that use them."""

    def __init__(self, options, directory, name):
        self.options = options
        self.place = pathlib.Path(directory) / name
        self.traces = self.place / "traces"
        self.rings = self.place / "rings"
        self.rings.mkdir(parents=True)
        self.sockets_without_rings = self.place / "sockets"
        self.sockets_without_rings.mkdir()
        self.until = self.place / "until"
        self.processes = []
        self.messages = self.place / "messages"

    def environment(self, **variables):
        environment = {key: value for key, value in os.environ.items()
                       if not key.startswith("RINGSIDE_")}
        environment.update(RINGSIDE_DIR=str(self.traces), RINGSIDE_RING_DIR=str(self.rings),
                           RINGSIDE_LOG=str(self.messages), TMPDIR=str(self.sockets_without_rings))
        return environment | variables

    def start_host(self, *arguments, recording=None, **variables):
        """Plays until end() is called, with the recorded pace."""
        abi = pathlib.Path(self.options.recording).name.split("-")[1][1]
        command = [self.options.host, "--plugin", self.options.plugin, "--abi", abi, "--timing",
                   "--until", str(self.until), *arguments, str(recording or self.options.recording)]
        process = subprocess.Popen(command, cwd=self.place, env=self.environment(**variables),
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                   start_new_session=True)
        self.processes.append(process)
        return process

    def start_python(self, script, **variables):
        """A process that has the plugin, without NCCL: `plugin` is the library. It must print."""
        text = f"import ctypes, os, time\nplugin = ctypes.CDLL({str(self.options.plugin)!r})\n{script}"
        process = subprocess.Popen([self.options.python, "-c", text], cwd=self.place, text=True,
                                   env=self.environment(**variables), stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, start_new_session=True)
        self.processes.append(process)
        line = process.stdout.readline()
        require(line.strip() == "ready", f"the process says {line!r}")
        return process

    def end(self):
        self.until.touch()
        for process in self.processes:
            if process.stdin:
                process.stdin.close()
            require(process.wait(60) == 0, f"{process.args[:2]} returned {process.returncode}")
        self.processes.clear()
        require(not list(self.rings.iterdir()), f"left: {list(self.rings.rglob('*'))}")

    def kill(self):
        for process in self.processes:
            try:
                os.killpg(process.pid, signal.SIGKILL)  # nccl_host has a child for each file
            except ProcessLookupError:
                pass
            process.wait()
        self.processes.clear()

    def sockets(self):
        return sorted(self.rings.glob("*.rings/control"))

    def wait_for_sockets(self, count):
        wait_for(lambda: len(self.sockets()) >= count, f"{count} sockets")

    def run(self, *arguments, status=0, user=None, variables=None):
        """`ringside`, with what it says on stdout and stderr."""
        done = subprocess.run([self.options.ringside, *map(str, arguments)], capture_output=True,
                              env=self.environment(**(variables or {})), cwd=self.place, text=True,
                              timeout=60, check=False, user=user)
        require(done.returncode == status, f"ringside {arguments} returned {done.returncode}, not "
                                           f"{status}:\n{done.stdout}{done.stderr}")
        return done.stdout, done.stderr

    def ctl(self, *arguments, status=0):
        """The answers of `ringside ctl`, by process, and standard error."""
        out, said = self.run("ctl", *arguments, "--format", "json", status=status)
        return json.loads(out)["processes"] if out else [], said

    def windows(self):
        self.run("lint", "--closed", self.traces)
        return [Windows(path) for path in sorted(self.traces.glob("*.json"))
                if ".dump" not in path.name]


def connect(path, seconds=10):
    connection = socket.socket(socket.AF_UNIX)
    with_directory = os.open(path.parent, os.O_PATH)
    try:
        connection.connect(f"/proc/self/fd/{with_directory}/{path.name}")
    finally:
        os.close(with_directory)
    connection.settimeout(seconds)
    return connection


def answer(connection):
    """A line, or an empty text if the other side has closed."""
    text = b""
    while not text.endswith(b"\n"):
        got = connection.recv(65536)
        if not got:
            break
        text += got
    return json.loads(text) if text else {}


def ask(path, text):
    with connect(path) as connection:
        connection.sendall(text if isinstance(text, bytes) else json.dumps(text).encode() + b"\n")
        return answer(connection)
