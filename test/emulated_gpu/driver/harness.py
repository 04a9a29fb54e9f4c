# SPDX-License-Identifier: Apache-2.0
"""Runs jobs on emulated GPUs with the plugin, and the analyzer on what they leave behind."""

import json
import os
import pathlib
import resource
import shutil
import signal
import subprocess
import sys
import time

import traces

# A job that hangs is ended by nccl_ranks itself; this is for the case that nccl_ranks hangs.
GRACE_SECONDS = 20


class Failure(Exception):
    """A check that does not hold; the text says which."""


class Skipped(Exception):
    """The test cannot run here; the text says why."""


def check(condition, text):
    if not condition:
        raise Failure(text)


def is_alive(pid):
    """False also once nothing is left of a process but its status, for a parent to fetch: until the
    last of its threads has ended, it holds its files and locks.
    """
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            state = file.read().rpartition(")")[2].split()[0]
        return state not in "ZX" or len(os.listdir(f"/proc/{pid}/task")) > 1
    except (FileNotFoundError, ProcessLookupError):
        return False

# Where these are set, kernel channels are recorded with all releases.
KERNELS_ARE_SAFE = {"NCCL_ALLGATHERV_ENABLE": "0", "NCCL_COMM_SPLIT_SHARE_RESOURCES": "0",
                    "NCCL_COMM_SHRINK_SHARE_RESOURCES": "0"}


class Setup:
    """The paths of the programs, and a fresh directory for one test."""

    def __init__(self, arguments):
        self.ranks_program = arguments.ranks_program
        self.bench_program = arguments.bench_program
        self.nccl_folder = arguments.nccl_folder
        # The newest version of the interface that this NCCL and Ringside have.
        self.interface = 7 if self.nccl_folder else 6
        self.plugin = arguments.plugin
        self.analyzer = arguments.analyzer
        self.nvtx_listener = arguments.nvtx_listener
        self.in_lock = arguments.in_lock
        self.torch = arguments.torch
        self.torch_stubs = arguments.torch_stubs
        self.long = arguments.long
        self.seed = arguments.seed
        name = f"nvidia-{arguments.test}" if self.nccl_folder else arguments.test
        self.test_directory = pathlib.Path(arguments.work) / name
        shutil.rmtree(self.test_directory, ignore_errors=True)
        self.jobs = []
        self.start_anew("")

    def start_anew(self, name):
        """The next job of the test has a directory of its own."""
        self.directory = self.test_directory / name
        self.directory.mkdir(parents=True)
        self.rings = self.directory / "rings"
        self.rings.mkdir()

    def environment(self, variables):
        """The caller's environment without what would change the test, and with `variables`."""
        foreign = ("NCCL_", "RINGSIDE_", "RECORDER_", "EMUGPU_", "TORCH_", "SLURM_", "OMPI_", "PMI_")
        ours = {k: v for k, v in os.environ.items() if not k.startswith(foreign) and k != "RANK"}
        ours.update({"RINGSIDE_DIR": str(self.directory / "traces"),
                     "RINGSIDE_RING_DIR": str(self.rings),
                     "NCCL_DEBUG": "INFO", "NCCL_DEBUG_SUBSYS": "INIT,PROFILE",
                     "NCCL_DEBUG_FILE": str(self.directory / "nccl.%p.log")})
        if self.nccl_folder:
            ours["LD_LIBRARY_PATH"] = self.nccl_folder
        ours.update(variables)
        return ours

    def end(self):
        """No job outlives its test: it would take the cores from the tests that follow."""
        for job in self.jobs:
            job.kill()

    def run_analyzer(self, *arguments, expected=(0,)):
        command = [self.analyzer, *map(str, arguments)]
        result = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        check(result.returncode in expected,
              f"{' '.join(command)}: exit status {result.returncode}\n"
              f"{result.stdout[-3000:]}{result.stderr[-3000:]}")
        return result.stdout


def calls_of(setup, rank):
    """The calls that a rank has logged, with --log-calls."""
    path = setup.directory / f"calls-{rank}.jsonl"
    if not path.exists():
        return []
    whole_lines = path.read_text(encoding="utf-8").split("\n")[:-1]
    return [json.loads(line) for line in whole_lines]


class Job:
    """One run of nccl_ranks with the plugin."""

    def __init__(self, setup, *options, ranks=2, plugin=None, timeout=60, command=(), errors=subprocess.STDOUT,
                 limits=(), **variables):
        """`errors` is standard error; `limits` are resources and values as for setrlimit."""
        self.setup = setup
        self.ranks = ranks
        self.deadline = time.monotonic() + timeout + GRACE_SECONDS
        self.log_path = setup.directory / "log"
        # A program of its own is not under nccl_ranks' deadline, nor does it have its options.
        arguments = [setup.ranks_program, "--out", str(setup.directory), "--ranks", str(ranks),
                     "--plugin", plugin or setup.plugin, "--timeout", str(timeout), "--log-calls",
                     *options, *(("--", *command) if command else ())]
        with open(self.log_path, "w", encoding="utf-8") as log:
            self.process = subprocess.Popen(
                arguments, stdin=subprocess.DEVNULL, stdout=log, stderr=errors,
                preexec_fn=lambda: [resource.setrlimit(which, (most, most)) for which, most in limits],
                env=setup.environment(variables), cwd=setup.directory, start_new_session=True)
        setup.jobs.append(self)

    def processes(self):
        """The processes that nccl_ranks has started: the ranks, in their order."""
        try:
            with open(f"/proc/{self.process.pid}/task/{self.process.pid}/children",
                      encoding="ascii") as file:
                return [int(pid) for pid in file.read().split()]
        except FileNotFoundError:
            return []

    def kill(self):
        """SIGKILL to all of the job's processes at once; they are dead when this returns."""
        ranks = self.processes()
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        while any(map(is_alive, ranks)):
            time.sleep(0.005)

    def wait(self, expected=(0,)):
        try:
            status = self.process.wait(max(0.1, self.deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            self.kill()
            raise Failure(f"the job hangs\n{self.log()[-3000:]}") from None
        check(status in expected, f"the job failed with {status}\n{self.log()[-3000:]}")
        return self

    def recover_what_is_left(self):
        """As recover(), where it depends on timing whether a process was killed."""
        if list(self.setup.rings.iterdir()):
            self.recover()
        return self

    def recover(self):
        """Makes whole traces of what processes that were killed have left."""
        said = self.setup.run_analyzer("recover", self.setup.rings)
        check(not list(self.setup.rings.iterdir()), f"recover leaves rings: {said}")
        print(said, end="")
        return said

    def log(self):
        return self.log_path.read_text(encoding="utf-8", errors="replace")

    def nccl_log(self):
        """Returns NCCL's own log, all processes together."""
        return "".join(path.read_text(encoding="utf-8", errors="replace")
                       for path in sorted(self.setup.directory.glob("nccl.*.log")))

    def calls(self, rank):
        """The log that the rank wrote of its own calls, as far as it got."""
        return calls_of(self.setup, rank)

    def traces(self, expected_files=None):
        """All traces, after the linter has seen each; closed ones must be JSON as they are."""
        directory = self.setup.directory / "traces"
        paths = sorted(directory.glob("*.json"))
        count = self.ranks if expected_files is None else expected_files
        check(len(paths) == count, f"{len(paths)} traces in {directory} instead of {count}")
        self.setup.run_analyzer("lint", *paths)
        return [traces.Trace(path) for path in paths]

    def summary(self, expected=(0,)):
        text = self.setup.run_analyzer("summary", "--format", "json",
                                       self.setup.directory / "traces", expected=expected)
        return json.loads(text)


def print_facts(**facts):
    """For whoever reads the log of a test that passed."""
    print(", ".join(f"{name} {value}" for name, value in facts.items()))
    sys.stdout.flush()
