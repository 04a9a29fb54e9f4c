# SPDX-License-Identifier: Apache-2.0
"""Ring directories whose sockets answer what no process does; a part of run_exporter.py. Whatever they
answer, `ringside exporter` serves a page that Prometheus takes, and all of it but the series of
whoever answers is as before."""
import copy
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import threading

from exporter import get, require, samples

NOBODY = 65534
# A line of a page: a comment, or a sample.
LINE = re.compile(r'# (HELP|TYPE|UNIT) [a-zA-Z_]\w* .+|'
                  r'[a-zA-Z_]\w*(\{(\w+="([^"\\\n]|\\["\\n])*"(,(?!\}))?)+\})? -?(\d\S*|NaN|[+-]Inf)|# EOF')


class Forger:
    """A directory as a process's, whose socket answers each request with `reply`."""

    def __init__(self, rings, name):
        self.place = rings / name
        self.place.mkdir()
        # As if its process lived: the lock of a thread of this process would not count as another's.
        self.lock = subprocess.Popen(
            [sys.executable, "-c", "import fcntl, sys; file = open(sys.argv[1], 'wb');"
             "fcntl.lockf(file, fcntl.LOCK_EX); print(flush=True); sys.stdin.read()", self.place / "journal"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.lock.stdout.readline()
        self.reply = b""
        self.listener = socket.socket(socket.AF_UNIX)
        with_directory = os.open(self.place, os.O_PATH)
        self.listener.bind(f"/proc/self/fd/{with_directory}/control")
        os.close(with_directory)
        self.listener.listen(8)
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            with connection:
                connection.settimeout(30)
                try:
                    connection.recv(65536)
                    connection.sendall(self.reply)
                except OSError:
                    pass  # who asked has heard enough

    def end(self):
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self.lock.communicate()
        shutil.rmtree(self.place)


def ask_live(path):
    with socket.socket(socket.AF_UNIX) as connection:
        with_directory = os.open(path, os.O_PATH)
        connection.connect(f"/proc/self/fd/{with_directory}/control")
        os.close(with_directory)
        connection.sendall(b'{"version":1,"verb":"live","series":1}\n')
        text = b""
        while not text.endswith(b"\n"):
            text += connection.recv(1 << 20)
    return json.loads(text)


def changed(answer, change):
    made = copy.deepcopy(answer)
    change(made)
    return json.dumps(made).encode() + b"\n"


def forgeries(answer):
    """What no process answers, by name."""
    yield "text", b"# HELP ringside_recording x\nringside_recording 0\n"
    yield "no line", b"x" * (9 << 20)
    yield "text as metrics", json.dumps({**{key: value for key, value in answer.items() if key != "series"},
                                         "metrics": "evil{x=\"\n garbage\n# EOF\n"}).encode() + b"\n"
    yield "refusal", b'{"version":1,"ok":false,"error":"verb","message":"evil\\n"}\n'
    for name, change in {
            "text for a number": lambda of: of["account"].update(produced='1} 1\nevil 1'),
            "negative": lambda of: of["series"][0].update(operations=-1),
            "huge": lambda of: of["series"][0].update(durations=[1 << 63] * len(of["series"][0]["durations"])),
            "too few buckets": lambda of: of["series"][0].update(durations=[1]),
            "bounds that fall": lambda of: of["duration_bounds_ns"].reverse(),
            "too many series": lambda of: of.update(series=[{**of["series"][0], "func": str(number)}
                                                            for number in range(1000)]),
            "too many communicators": lambda of: of.update(live=1001 * [
                {**of["series"][0], "in_flight_operations": 0, "in_flight_bytes": 0}]),
            "no series": lambda of: of.pop("series"),
            "a text for the series": lambda of: of.update(series="evil 1")}.items():
        yield name, changed(answer, change)


def lines_of_true(text):
    """Without what changes from scrape to scrape, and the exporter's own."""
    return [line for line in text.splitlines() if line.startswith("ringside_") and
            not line.startswith(("ringside_exporter_", "ringside_watch_", "ringside_written_",
                                 "ringside_drain_", "ringside_trace_bytes", "ringside_callbacks",
                                 "ringside_quiet_"))]


def check_page(text, what, check_with_promtool):
    strange = [line for line in text.splitlines() if not LINE.fullmatch(line)]
    require(not strange, f"{what}: {strange[:3]}")
    require(len(set(re.findall(r"^# TYPE (\S+)", text, re.MULTILINE))) == text.count("# TYPE "),
            f"{what}: a family stands twice")
    check_with_promtool(text)


def check_forged(jobs, exporter, check_with_promtool):
    address = exporter.address
    answer = ask_live(min(path for path in jobs.rings.iterdir()))
    before = lines_of_true(get(address))
    forger = Forger(jobs.rings, "ringside.job.vm.4242.1-1.rings")
    errors = samples(get(address), "ringside_exporter_errors_total")
    for what, reply in forgeries(answer):
        forger.reply = reply
        text = get(address)
        check_page(text, what, check_with_promtool)
        require(lines_of_true(text) == before and "evil" not in text, f"{what} is in the metrics")
        states = exporter.states(text)
        require(states == {"answered": 2, "failed": 1}, f"{what}: {states}")
        now = samples(text, "ringside_exporter_errors_total")
        require(sum(now.values()) == sum(errors.values()) + 1, f"{what}: {errors}, then {now}")
        errors = now
    # A process may call itself what it likes; its owner is the kernel's word.
    evil = 'a"} 1\nringside_evil{x="\\ \x1b[31m\u2028\x00' + "x" * 100_000
    forger.reply = changed(answer, lambda of: of.update(
        host=evil, job=evil, ringside_version=evil, pid=4242, uid=0,
        series=[{**of["series"][0], "name": evil, "func": evil, "comm": evil, "algo": evil}]))
    for accept in (None, "application/openmetrics-text"):
        text = get(address, accept=accept)
        check_page(text, "texts", check_with_promtool if accept is None else lambda text: None)
        require(all(line in text for line in before), "others are not as before")
        require(not re.search(r"^ringside_evil", text, re.MULTILINE), "a series of any name")
        own = [line for line in text.splitlines() if 'pid="4242"' in line]
        require(own and all(f',uid="{os.geteuid()}"' in line and len(line) < 3000 for line in own), f"{own[:3]}")
    # No two processes have the same labels: the series of the second are left out.
    forger.reply = json.dumps(answer).encode() + b"\n"
    text = get(address)
    check_page(text, "the labels of another", check_with_promtool)
    now = samples(text, "ringside_exporter_errors_total")
    require(now['reason="double"'] == 1 and exporter.states(text) == {"answered": 2, "failed": 1},
            f"{now}")
    if os.geteuid() == 0:
        check_owners(jobs, exporter, forger, answer)
    forger.end()


def check_owners(jobs, exporter, forger, answer):
    """Another user's process has its user as a label; a directory of another user than its process none."""
    forger.reply = changed(answer, lambda of: of.update(pid=4242))
    os.chown(forger.place, NOBODY, NOBODY)
    text = get(exporter.address)
    require(exporter.states(text) == {"answered": 2, "failed": 1} and "4242" not in text,
            f"of another user than its directory: {exporter.states(text)}")
    jobs.rings.chmod(0o1777)
    for path in (jobs.rings, *jobs.rings.parents):
        if path.is_relative_to(jobs.place):
            path.chmod(path.stat().st_mode | 0o011)
    script = ("import os, socket, sys; os.umask(0); os.setgroups([]);"
              f"os.setgid({NOBODY}); os.setuid({NOBODY});"
              "listener = socket.socket(socket.AF_UNIX); os.chdir(sys.argv[1]);"
              "listener.bind('control'); listener.listen(8); print(flush=True)\n"
              "reply = sys.stdin.buffer.read()\n"
              "while True:\n  connection, _ = listener.accept()\n  connection.recv(65536)\n"
              "  connection.sendall(reply)\n  connection.close()\n")
    place = jobs.rings / "ringside.job.vm.4243.1-1.rings"
    place.mkdir()
    os.chown(place, NOBODY, NOBODY)
    with subprocess.Popen([sys.executable, "-c", script, place], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE) as other:
        other.stdout.readline()
        other.stdin.write(changed(answer, lambda of: of.update(pid=4243)))
        other.stdin.close()
        text = get(exporter.address)
        other.kill()
    shutil.rmtree(place)
    own = [line for line in text.splitlines() if 'pid="4243"' in line]
    require(own and all(f',uid="{NOBODY}"' in line for line in own), f"{own[:3]}")
