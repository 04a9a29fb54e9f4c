# SPDX-License-Identifier: Apache-2.0
"""A place to run ringside in, with an environment that nothing of this machine's changes."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

FOREIGN = ("NCCL_", "RINGSIDE_", "SLURM_", "OMPI_", "PMI_", "PBS_", "LSB_", "TORCHELASTIC_",
           "LAUNCH_TEST_")


class Failure(Exception):
    """A check that does not hold; the text says which."""


def require(condition, text):
    if not condition:
        raise Failure(text)


class Place:
    """A directory of its own, which goes away at the end."""

    def __init__(self, options):
        self.options = options
        self.temporary = tempfile.TemporaryDirectory(prefix="ringside-launch-")
        self.root = pathlib.Path(self.temporary.name)
        self.rings = self.root / "rings"
        self.rings.mkdir()
        self.work = self.root / "work"
        self.work.mkdir()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.temporary.cleanup()

    def environment(self, **variables):
        ours = {key: value for key, value in os.environ.items()
                if not key.startswith(FOREIGN) and key not in ("RANK", "JOB_ID", "LD_LIBRARY_PATH")}
        ours.update(RINGSIDE_RING_DIR=str(self.rings), GUARANTEE_COUNTS=str(self.root / "counts"),
                    # Looking for NCCL takes longer than the rest; the tests of that take it out.
                    NCCL_ALLGATHERV_ENABLE="1")
        ours.update(variables)
        return {key: str(value) for key, value in ours.items() if value is not None}

    def start(self, *arguments, preexec=None, variables=None, **streams):
        streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE,
                   "stderr": subprocess.PIPE, **streams}
        return subprocess.Popen(
            [str(self.options.ringside), *map(str, arguments)], text=True, cwd=self.work,
            env=self.environment(**(variables or {})), preexec_fn=preexec, **streams)

    def ringside(self, *arguments, status=0, text="", preexec=None, **variables):
        """Runs it to its end; gives what it printed."""
        process = self.start(*arguments, preexec=preexec, variables=variables,
                             stdin=subprocess.PIPE)
        out, err = process.communicate(text, timeout=60)
        require(process.returncode == status,
                f"{arguments} ended with {process.returncode}, not {status}:\n{out}{err}")
        return out, err

    def python(self, code, *arguments):
        """A command that runs code in Python."""
        return ["--", sys.executable, "-c", code, *arguments]

    def seen_by(self, *options, **variables):
        """The environment that the command gets."""
        out, _ = self.ringside("run", *options, *self.python(
            "import json, os; print(json.dumps(dict(os.environ)))"), **variables)
        return json.loads(out)

    def program(self, scenario, prefix=""):
        """A command that loads the plugin as NCCL does, and calls it."""
        return ["--", "sh", "-c",
                prefix + f'exec "{self.options.host}" "$NCCL_PROFILER_PLUGIN" 6 {scenario}']

    def doctor(self, *arguments, status, preexec=None, **variables):
        """The checks, by subject and health."""
        out, _ = self.ringside("doctor", "--format", "json", *arguments, status=status,
                               preexec=preexec, **variables)
        answer = json.loads(out)
        problems = [one for one in answer["checks"] if one["health"] == "problem"]
        require(answer["schema_version"] == 1 and answer["problems"] == len(problems),
                f"the answer contradicts itself: {answer}")
        require(all(one["advice"] for one in problems), f"a problem without advice: {problems}")
        return answer["checks"]


def find(checks, subject, health, *words):
    """The check must be there."""
    for one in checks:
        if one["subject"] == subject and one["health"] == health and all(
                word in one["text"] for word in words):
            return one
    raise Failure(f"no {health} of {subject} with {words} in {json.dumps(checks, indent=1)}")
