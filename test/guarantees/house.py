# SPDX-License-Identifier: Apache-2.0
"""A place to run guarantee_host in, and what can be asked of it afterwards."""
import collections
import json
import os
import pathlib
import struct
import subprocess
import tempfile

TYPES = ("Group Coll P2p ProxyOp ProxyStep ProxyCtrl KernelCh NetPlugin GroupApi CollApi P2pApi "
         "KernelLaunch CeColl CeSync CeBatch KernelPhase Unknown").split()
MIB = 1 << 20
WHOLE_OR_PART = (0, 4)  # of an answer: lines that a limit or a kill has taken are missing
ROW = 2 + 2 * len(TYPES)  # 64-bit integers of a row (caller.h)


class Failure(Exception):
    pass


def require(condition, message):
    if not condition:
        raise Failure(message)


class House:
    """Directories for traces and rings, which go away at the end."""

    def __init__(self, options, abi=6):
        self.options = options
        self.abi = abi
        self.temporary = tempfile.TemporaryDirectory(prefix="ringside-guarantees-")
        self.root = pathlib.Path(self.temporary.name)
        self.traces = self.root / "traces"
        # In memory, as the rings are by default: the journal must not wait for a disk.
        shm = pathlib.Path("/dev/shm")
        self.rings_temporary = tempfile.TemporaryDirectory(
            prefix="ringside-guarantees-", dir=shm if os.access(shm, os.W_OK) else None)
        self.rings = pathlib.Path(self.rings_temporary.name)
        self.sockets = self.root / "sockets"  # of processes without a ring directory
        self.sockets.mkdir()
        self.counts = self.root / "counts"
        self.errors = self.root / "stderr"
        self.command = [options.host]  # what runs the program; its arguments come behind it
        self.processes = []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.processes:
            if process.poll() is None:  # where something has failed
                process.kill()
                process.wait()
        self.temporary.cleanup()
        self.rings_temporary.cleanup()

    def begin(self, *arguments, errors=None, **variables):
        """Standard error is a file that said() reads, or `errors`."""
        environment = {key: value for key, value in os.environ.items()
                       if not key.startswith("RINGSIDE_")}
        environment.update(RINGSIDE_DIR=str(self.traces), RINGSIDE_RING_DIR=str(self.rings),
                           TMPDIR=str(self.sockets),
                           RINGSIDE_EVENTS="coll,p2p,proxy,steps",
                           GUARANTEE_COUNTS=str(self.counts))
        environment.update({key: str(value) for key, value in variables.items()})
        if self.options.sanitized:
            environment.setdefault("RINGSIDE_EXIT_SECONDS", "60")  # it writes ten times as slowly
        with open(self.errors, "wb") as said:
            self.processes.append(subprocess.Popen(
                [*self.command, self.options.plugin, str(self.abi), *map(str, arguments)],
                env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=said if errors is None else errors, text=True))
        return self.processes[-1]

    def begin_recording(self, how, *arguments, **variables):
        """A program that records from now on, as long as `way_out` lets it."""
        process = self.begin("way_out", how, *arguments, **variables)
        require(process.stdout.readline() == "recording\n", "the program does not begin")
        return process

    def run(self, *arguments, result=0, **variables):
        """Runs the program; its result must be what it is without the plugin. Returns its JSON."""
        process = self.begin(*arguments, **variables)
        said, _ = process.communicate(timeout=90)
        require(process.returncode == result,
                f"{arguments} ended with {process.returncode}, not {result}: {self.said()}")
        lines = [line for line in said.splitlines() if line[:1] in "{["]
        return json.loads(lines[-1]) if lines else None

    def said(self):
        return self.errors.read_text(errors="replace")

    def warnings(self, at_most=1, at_least=0):
        lines = [line for line in self.said().splitlines() if "ringside[" in line
                 and " warning: " in line]
        require(at_least <= len(lines) <= at_most,
                f"{len(lines)} warnings, not {at_least} to {at_most}: {self.said()[:2000]}")
        return lines

    def rows(self):
        """Returns the calls of each thread: tid, begun and returned by type, longest ns."""
        data = self.counts.read_bytes()
        numbers = struct.unpack(f"{len(data) // 8}Q", data)
        for at in range(0, len(numbers), ROW):
            row = numbers[at:at + ROW]
            yield (row[0], dict(zip(TYPES, row[1:1 + len(TYPES)])),
                   dict(zip(TYPES, row[1 + len(TYPES):1 + 2 * len(TYPES)])), row[-1])

    def called(self, which=1, rows=64):
        total = collections.Counter()
        for row in list(self.rows())[:rows]:
            total.update(row[which])
        return +total

    def longest_ns(self):
        return max(row[3] for row in self.rows())

    def trace_files(self):
        return sorted(self.traces.glob("ringside.*.json"))

    def account(self, path=None):
        """The last account of the only trace; it must add up."""
        files = self.trace_files()
        require(path or len(files) == 1, f"{len(files)} traces")
        found = self.last_line("ringside_account", path or files[0])
        for name, numbers in found["by_type"].items():
            parts = sum(number for key, number in numbers.items() if key != "produced")
            require(parts == numbers.get("produced", 0),
                    f"the account of {name} does not add up: {numbers}")
        return found

    def last_line(self, name, path=None):
        """Returns the args of the last line of that name, in this trace or in the first."""
        found = None
        with open(path or self.trace_files()[0], encoding="utf-8") as lines:
            for line in lines:
                if f'"{name}"' in line:
                    found = json.loads(line.strip().rstrip(",]"))["args"]
        require(found is not None, f"no {name} in the trace")
        return found

    def whole_account(self, rows=64):
        """The account of a trace of which nothing is open: all calls of the program are in it."""
        account = self.account()
        self.has_all(account, rows)
        left = {name: numbers for name, numbers in account["by_type"].items()
                if numbers.get("held", 0) or numbers.get("in_rings", 0)}
        require(not left, f"left over: {left}")
        return account

    def has_all(self, account, rows=64):
        """The account has NCCL's calls that the program counts, and the application's marks beside them."""
        produced = {name: numbers["produced"] for name, numbers in account["by_type"].items()
                    if name not in ("Mark", "Range")}
        called = dict(self.called(rows=rows))
        require(produced == called, f"produced {produced}, called {called}")

    def sum(self, account, key):
        return sum(numbers.get(key, 0) for numbers in account["by_type"].values())

    def lint(self, path=None):
        done = subprocess.run([self.options.ringside, "lint", str(path or self.traces)],
                              capture_output=True, text=True, timeout=90, check=False)
        require(done.returncode == 0, f"lint: {(done.stdout + done.stderr)[:2000]}")

    def summary(self, path):
        """Returns the output of `ringside summary` for that trace, or for those there."""
        done = subprocess.run([self.options.ringside, "summary", "--format", "json", str(path)],
                              capture_output=True, text=True, timeout=60, check=False)
        require(done.returncode in WHOLE_OR_PART, f"ringside summary ends with {done.returncode}: {done.stderr}")
        return json.loads(done.stdout)

    def operations(self):
        """How many of them are in the only trace."""
        (trace,) = self.trace_files()
        return self.summary(trace)["inputs"]["operations"]

    def readable(self):
        """For traces that lack lines, or hold values that the linter has much to say of."""
        (trace,) = self.trace_files()
        json.loads(trace.read_text(encoding="utf-8"))
        done = subprocess.run([self.options.ringside, "summary", str(trace)], capture_output=True,
                              timeout=60, check=False)
        require(done.returncode in WHOLE_OR_PART, f"ringside summary ends with {done.returncode}")

    def ctl(self, *arguments):
        """`ringside ctl` for the program that runs."""
        return subprocess.run([self.options.ringside, "ctl", *arguments],
                              env={**os.environ, "RINGSIDE_RING_DIR": str(self.rings),
                                   "TMPDIR": str(self.sockets)},
                              capture_output=True, text=True, timeout=60, check=False)

    def recover(self):
        # As a shell does it that is asked for the directory and for all that is in it.
        done = subprocess.run([self.options.ringside, "recover", str(self.rings),
                               *map(str, sorted(self.rings.iterdir()))],
                              capture_output=True, text=True, timeout=90, check=False)
        require(done.returncode == 0, f"recover: {done.stdout}{done.stderr}")
        require(not list(self.rings.iterdir()), "recover leaves rings")
        return done.stdout + done.stderr

    def no_rings(self):
        require(not list(self.rings.iterdir()), f"rings are left: {list(self.rings.iterdir())}")
