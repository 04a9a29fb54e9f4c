# SPDX-License-Identifier: Apache-2.0
"""The machine, the programs, and jobs of collectives_bench with a time limit each."""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tarfile
import time

from results import Failure, require

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "test/emulated_gpu/driver"))
import traces  # noqa: E402  pylint: disable=wrong-import-position
from harness import is_alive  # noqa: E402  pylint: disable=wrong-import-position

# A machine that is lent gives back so many files at most, each with so many bytes at most.
MOST_KEPT_FILES = 5
MOST_KEPT_BYTES = 10 << 20

# NCCL's kernels of two processes take turns on one GPU, and wait for each other by spinning: small
# jobs, few channels, and sockets over loopback, which is all that hosts of their own can use here.
# With the last one NCCL reports the execution of broadcasts, too (docs/troubleshooting.md).
NCCL_VARIABLES = {
    "NCCL_NET": "Socket", "NCCL_NET_PLUGIN": "none", "NCCL_IB_DISABLE": "1",
    "NCCL_SOCKET_IFNAME": "lo", "NCCL_MNNVL_ENABLE": "0", "NCCL_NVLS_ENABLE": "0",
    "NCCL_RAS_ENABLE": "0", "NCCL_MAX_NCHANNELS": "2", "NCCL_DEBUG": "WARN",
    "NCCL_ALLGATHERV_ENABLE": "0",
}


def joined(directories):
    """Before those that the caller has the loader look into: the driver's may be among them."""
    return ":".join(filter(None, (directories, os.environ.get("LD_LIBRARY_PATH"))))


class Machine:
    """The programs of the checks, with their paths and the way to run them."""

    def __init__(self, arguments):
        self.emulated = bool(arguments.emulated)
        self.plugin = arguments.plugin
        self.ringside = arguments.ringside
        self.bench = arguments.bench
        self.nccl = arguments.nccl
        self.python = sys.executable
        self.has_torch = not self.emulated and arguments.has_torch
        self.emulator = arguments.emulated
        self.out = pathlib.Path(arguments.out).resolve()
        self.work = pathlib.Path(arguments.work).resolve()
        self.library_path = arguments.library_path
        self.own_libraries = arguments.own_libraries
        self.results = None
        self.jobs = []
        self.kept = 0

    def environment(self, directory, variables):
        foreign = ("NCCL_", "RINGSIDE_", "SLURM_", "OMPI_", "PMI_", "TORCH_")
        own = {k: v for k, v in os.environ.items() if not k.startswith(foreign) and k != "RANK"}
        own.update(NCCL_VARIABLES)
        own.update({"NCCL_PROFILER_PLUGIN": str(self.plugin),
                    "RINGSIDE_DIR": str(directory / "traces"),
                    "RINGSIDE_RING_DIR": str(directory / "rings"),
                    "RINGSIDE_LOG": str(directory / "ringside.log")})
        own.setdefault("CUDA_VISIBLE_DEVICES", "0")
        if self.library_path:
            own["LD_LIBRARY_PATH"] = joined(self.library_path)
        own.update(variables)
        return {k: v for k, v in own.items() if v is not None}

    def new_directory(self, name):
        directory = self.work / f"{len(self.jobs) + 1:02}-{name}"
        (directory / "rings").mkdir(parents=True)
        return directory

    def analyzer(self, *arguments, expected=(0,), limit_s=60, errors=False):
        """Standard output of the command line tool; `errors`: and what it says besides."""
        environment = dict(os.environ)
        if self.own_libraries:
            environment["LD_LIBRARY_PATH"] = joined(self.own_libraries)
        command = [str(self.ringside), *map(str, arguments)]
        said = subprocess.run(command, capture_output=True, text=True, timeout=limit_s, check=False,
                              env=environment)
        require(said.returncode in expected,
                f"ringside {' '.join(command[1:])}: exit status {said.returncode}: "
                f"{(said.stdout + said.stderr)[-600:]}")
        return said.stdout + (said.stderr if errors else "")

    def keep(self, job, name):
        """A job's traces and logs, for a closer look, as one file, where there is room for it."""
        if self.kept == MOST_KEPT_FILES or job.is_kept:
            return
        name = re.sub(r"[^A-Za-z0-9._-]+", "-", name)
        path = self.out / f"traces-{name}.tar.gz"
        with tarfile.open(path, "w:gz") as archive:
            for pattern in ("traces/*", "times.*", "log", "ringside.log"):
                for file in sorted(job.directory.glob(pattern)):
                    archive.add(file, arcname=f"{name}/{file.name}")
        if path.stat().st_size > MOST_KEPT_BYTES:
            path.unlink()
        else:
            self.kept += 1
            job.is_kept = True

    def keep_failed(self, name):
        """Keeps the files of the last job: it is the one that failed."""
        if self.jobs:
            self.keep(self.jobs[-1], f"failed-{name}")


def group_of(leader):
    """The processes of its process group that are alive."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            status = (entry / "stat").read_text(encoding="ascii", errors="replace")
        except OSError:
            continue
        if int(status.rpartition(")")[2].split()[2]) == leader and is_alive(entry.name):
            found.append(int(entry.name))
    return found


class Job:
    """One run of several ranks, and what it left behind."""

    def __init__(self, machine, name, command, ranks, limit_s, variables):
        self.machine = machine
        self.ranks = ranks
        self.is_kept = False
        self.directory = machine.new_directory(name)
        self.deadline = time.monotonic() + min(limit_s, max(1, machine.results.remaining_s()))
        self.log_path = self.directory / "log"
        if machine.emulated:
            command = [machine.emulator, "--out", str(self.directory), "--ranks", str(ranks),
                       "--", *command]
        with open(self.log_path, "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                list(map(str, command)), stdin=subprocess.DEVNULL, stdout=log,
                stderr=subprocess.STDOUT, cwd=self.directory, start_new_session=True,
                env=machine.environment(self.directory, variables))
        machine.jobs.append(self)

    def log(self):
        return self.log_path.read_text(encoding="utf-8", errors="replace")

    def kill(self):
        """SIGKILL to all processes of the job at once; they are dead when this returns."""
        patience = time.monotonic() + 30  # the driver clears up a GPU after its processes
        while running := group_of(self.process.pid):
            require(time.monotonic() < patience, f"processes {running} do not end")
            for pid in running:
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
            self.process.poll()
            time.sleep(0.05)
        self.process.wait()

    def wait(self, expected=(0,)):
        try:
            status = self.process.wait(max(0.1, self.deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            self.kill()
            raise Failure(f"not at its end in time: {self.log()[-500:]}") from None
        require(status in expected, f"exit status {status}: {self.log()[-500:]}")
        return self

    def until(self, condition, what):
        """Waits for a condition while the job runs."""
        while not condition():
            require(self.process.poll() is None, f"ended before {what}: {self.log()[-500:]}")
            if time.monotonic() > self.deadline:
                self.kill()
                raise Failure(f"no {what} in time: {self.log()[-500:]}")
            time.sleep(0.05)

    def paths(self):
        return sorted(path for path in (self.directory / "traces").glob("*.json")
                      if ".dump" not in path.name)

    def process_of(self, rank):
        """The pid of a rank, as its trace says; None before there is one."""
        for path in self.paths():
            with open(path, encoding="utf-8") as file:
                line = file.readline().strip().lstrip("[").rstrip(",")
            process = json.loads(line)["args"] if line.endswith("}") else {}
            if process.get("launcher_rank") == rank:
                return process["pid"]
        return None

    def traces(self, closed=True):
        """One of each rank; the linter says nothing, nothing was lost, and the account adds up."""
        paths = self.paths()
        require(len(paths) == self.ranks, f"{len(paths)} traces of {self.ranks} ranks: "
                                          f"{self.log()[-300:]}")
        self.machine.analyzer("lint", *(["--closed"] if closed else []), *paths)
        found = [traces.Trace(path) for path in paths]
        for trace in found:
            require(not trace.dropped(), f"rank {trace.rank} lost {trace.dropped()}")
            require(not closed or (trace.account and not trace.account_errors()),
                    f"rank {trace.rank}: the account does not add up: {trace.account_errors()}")
        return sorted(found, key=lambda trace: trace.rank)

    def report(self, command, *arguments, expected=(0,)):
        return json.loads(self.machine.analyzer(command, "--format", "json", *arguments,
                                                self.directory / "traces", expected=expected))

    def recover(self):
        self.machine.analyzer("recover", self.directory / "rings")


def bench(machine, name, *options, ranks=2, limit_s=60, **variables):
    """collectives_bench, recorded from its first call to its last."""
    return Job(machine, name, [machine.bench, "--ranks", ranks, "--record-all", *options], ranks,
               limit_s, variables)
