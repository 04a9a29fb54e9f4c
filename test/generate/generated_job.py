# SPDX-License-Identifier: Apache-2.0
"""A job of ringside_generate, with its truth, and what `ringside` says of it."""
import json
import math
import pathlib
import random
import subprocess

BASE_S = 1_790_857_026


class Failure(Exception):
    """Something is not as it must be."""


def require(condition, text):
    if not condition:
        raise Failure(text)


def smooth_ns(truth, host, at_ns):
    """The host's clock without its steps at a true time, both since the job's base."""
    elapsed = at_ns - truth["job_start_ns"]
    wander = host["wander_ns"] * math.sin(2 * math.pi * elapsed / host["wander_period_ns"])
    return at_ns + host["offset_ns"] + host["drift_ppb"] * 1e-9 * elapsed + wander


def own_ns(truth, host, at_ns):
    """The host's clock at a true time, both since the job's base."""
    steps = [step for step in host["steps"] if at_ns > step["at_ns"]]
    stood_ns = sum(min(max(-step["size_ns"], 0), at_ns - step["at_ns"]) for step in steps)
    return smooth_ns(truth, host, at_ns - stood_ns) + sum(max(step["size_ns"], 0) for step in steps)


def true_ns(truth, host, shown_ns):
    """A clock never goes back; a time that it steps over is the end of the step."""
    for behind in range(len(host["steps"]), -1, -1):
        steps = host["steps"][:behind]
        smooth = shown_ns - sum(max(step["size_ns"], 0) for step in steps)
        at = smooth - host["offset_ns"]
        for _ in range(20):
            at -= smooth_ns(truth, host, at) - smooth
        at += sum(max(-step["size_ns"], 0) for step in steps)
        over = max((step["at_ns"] + max(-step["size_ns"], 0) for step in steps), default=-math.inf)
        if at >= over:
            break
    return max(at, over)


class GeneratedJob:
    """`options` has the paths of both programs. The traces are in a folder of `directory`."""

    def __init__(self, options, seed, directory):
        self.options = options
        self.seed = seed
        self.random = random.Random(seed)
        self.traces = pathlib.Path(directory) / "traces"
        self.arguments = ["--seed", seed]
        self.truth = None
        self.hosts_by_name = {}

    def __str__(self):
        return " ".join(map(str, self.arguments))

    def generate(self, *arguments):
        self.arguments += arguments
        self.run(self.options.generate, self.traces, *self.arguments)
        self.truth = json.loads((self.traces / "truth.txt").read_text(encoding="utf-8"))
        self.hosts_by_name = {host["host"]: host for host in self.truth["hosts"]}

    def ringside(self, *arguments, statuses=(0, 1)):
        """The document of a command of `ringside`."""
        return json.loads(self.run(self.options.ringside, *arguments, "--format", "json",
                                   self.traces, statuses=statuses))

    def export(self, tables):
        self.run(self.options.ringside, "export", "--csv", tables, self.traces)

    def lines_with(self, rank, *words):
        """The `args` of those lines of a rank's trace, one of truth["ranks"], that have these words."""
        for line in (self.traces / rank["file"]).read_text(encoding="utf-8").splitlines():
            if all(word in line for word in words):
                yield json.loads(line.strip("[,]"))["args"]

    def true_ns(self, host, shown_ns):
        return true_ns(self.truth, self.hosts_by_name[host], shown_ns)

    def clock_errors(self, found, behind=None):
        """Each host with a bounded clock in a document with --align-report, but for the reference: its
        row, and by how many nanoseconds the offset in it is off. Also the reference, and the common
        clock: that of the reference, which goes on as after `behind` of its steps."""
        rows = {row["host"]: row for row in found["tables"]["clocks"]["rows"]}
        reference = next((self.hosts_by_name[name] for name, row in rows.items()
                          if row["set_by"] == "the reference"), None)
        common = reference and (reference if behind is None else dict(
            reference, steps=[dict(step, at_ns=0) for step in reference["steps"][:behind]]))
        errors = []
        for name, row in rows.items():
            host = self.hosts_by_name[name]
            if row["uncertainty_ns"] is not None and host is not reference:
                shown_ns = row["at_ns"] - BASE_S * 1_000_000_000
                offset_ns = own_ns(self.truth, common, self.true_ns(name, shown_ns)) - shown_ns
                errors.append((name, row, abs(offset_ns - row["offset_ns"])))
        return errors, reference, common

    @staticmethod
    def run(*command, statuses=(0,)):
        done = subprocess.run([str(part) for part in command], capture_output=True, text=True,
                              timeout=120, check=False)
        require(done.returncode in statuses,
                f"{command} returned {done.returncode}: {done.stderr[:500]}")
        return done.stdout
