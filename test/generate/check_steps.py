#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Trainings whose critical path is known by construction: what each step was spent on, who waited for
whom, and by how much it would be shorter if a kind of work took no time, against what
`ringside critical-path --kineto` says.

usage: check_steps.py RINGSIDE_GENERATE_STEPS RINGSIDE [--seeds N] [--first N] [--keep DIRECTORY]

The long form is --seeds 200. Half of the jobs tell no execution of NCCL's operations, so that their
times come from the profiler's kernels; a quarter is on two hosts, whose clocks differ.
"""
import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

CLOSE_NS = 50  # rounding, over the parts of a step


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("generate")
    parser.add_argument("ringside")
    parser.add_argument("--seeds", type=int, default=16)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--keep")
    return parser.parse_args()


def ask(ringside, directory, *options):
    done = subprocess.run([ringside, "critical-path", directory, "--kineto", directory + "/profiles", "--format", "json", *options],
                          capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"exit status {done.returncode}: {done.stderr}")
    tables = json.loads(done.stdout)["tables"]
    return {key: table["rows"] for key, table in tables.items()}


def cut_profiles(directory):
    """Makes two profiles of each rank's, as a schedule of torch.profiler writes them: GPU work is in the one that
    launched it, also if it ran later."""
    for path in sorted((pathlib.Path(directory) / "profiles").iterdir()):
        whole = json.loads(path.read_text(encoding="utf-8"))
        events = whole["traceEvents"]
        starts = sorted(event["ts"] for event in events if event["name"].startswith("ProfilerStep"))
        border = starts[len(starts) // 2]
        on_cpu = ("cpu_op", "user_annotation", "cuda_runtime")
        called = {event["args"]["correlation"]: event["ts"] for event in events if event["cat"] == "cuda_runtime"
                  and "correlation" in event["args"]}
        parts = ([], [])
        for event in events:
            at = event["ts"] if event["cat"] in on_cpu else called[event["args"]["correlation"]]
            parts[at >= border].append(event)
        path.unlink()
        for number, part in enumerate(parts):
            # Kineto has spaces behind colons.
            path.with_suffix(f".{number}.json").write_text(json.dumps({**whole, "traceEvents": part}), encoding="utf-8")


def as_of_two(rows):
    """What two profiles tell as well as one. How soon a kernel can begin behind its launch follows from fewer of them,
    and so do what let it begin, and the gains."""
    unsure = ("gain_", "kernel_", "copy_", "launch_")
    return [{key: value for key, value in row.items() if not key.startswith(unsure)} for row in rows]


class Check:
    def __init__(self):
        self.wrong = []
        self.sums = {"steps": 0, "waits": 0, "gains": 0, "uncertain": 0, "width_ns": 0, "gain_ns": 0}

    def expect(self, is_right, text):
        if not is_right:
            self.wrong.append(text)

    def shares(self, truth, row, close_ns):
        name = row["step"]
        self.expect(abs(row["duration_ns"] - truth["duration_ns"]) <= close_ns,
                    f"{name}: takes {row['duration_ns']}, in truth {truth['duration_ns']}")
        for kind, spent in truth["spent_ns"].items():
            self.expect(abs(row[kind + "_ns"] - spent) <= close_ns,
                        f"{name}: {kind} {row[kind + '_ns']}, in truth {spent}")
        self.expect(abs(row["unknown_ns"]) <= close_ns, f"{name}: {row['unknown_ns']} not recorded")

    def waits(self, name, truth, rows, close_ns):
        """In both the order of the path, from its end."""
        def key(wait):
            return -wait["waited_ns"], wait["seq"]
        said = [{"seq": int(row["operation"].split("#")[1]), "by": row["rank"],
                 "waits_for": row["waits_for"], "waited_ns": row["waited_ns"]}
                for row in rows if row["step"] == name]
        real = sorted(truth["waits"], key=key)
        said.sort(key=key)
        # Where two hosts' clocks leave it open by less than that, it is no wait.
        real = [wait for wait in real if wait["waited_ns"] > close_ns]
        said = [wait for wait in said if wait["waited_ns"] > close_ns]
        is_same = len(real) == len(said) and all(
            one["seq"] == other["seq"] and one["by"] == other["by"] and one["waits_for"] == other["waits_for"] and
            abs(one["waited_ns"] - other["waited_ns"]) <= close_ns for one, other in zip(real, said))
        self.expect(is_same, f"{name}: waits {said}, in truth {real}")
        self.sums["waits"] += len(real)

    def gains(self, name, truth, shares, close_ns):
        said = {row["key"]: row for row in shares}
        for kind, gain in truth["gain_ns"].items():
            least, most = ((said[kind]["gain_least_ns"], said[kind]["gain_most_ns"]) if kind in said else (0, 0))
            self.expect(least - close_ns <= gain <= most + close_ns,
                        f"{name}: without {kind} {least} to {most} shorter, in truth {gain}")
            self.sums["gains"] += 1
            self.sums["width_ns"] += most - least
            self.sums["gain_ns"] += gain

    def merged(self, ringside, directory, steps):
        """The path's rows in the merged file: its slices fill the steps, and arrows lead from rank to rank."""
        merged = pathlib.Path(directory) / "merged" / "all.json"
        merged.parent.mkdir()
        subprocess.run([ringside, "merge", directory, "--kineto", directory + "/profiles", "-o", merged,
                        "--graph-memory", "20kb"], check=True, capture_output=True)
        lint = subprocess.run([ringside, "lint", merged], check=False, capture_output=True, text=True)
        self.expect(lint.returncode == 0, f"merged: {lint.stdout}")
        events = [event for event in json.loads(merged.read_text(encoding="utf-8"))
                  if event.get("cat") == "critical_path"]
        slices = sorted((event for event in events if event["ph"] == "X" and event["tid"] > 1),
                        key=lambda event: event["ts"])
        real = sum(step["duration_ns"] for step in steps)
        said = sum(event["dur"] for event in slices) * 1000
        self.expect(abs(said - real) <= CLOSE_NS * len(steps), f"merged: the path takes {said}, in truth {real}")
        changes = sum(one["tid"] != other["tid"] for one, other in zip(slices, slices[1:]))
        starts = {event["id"] for event in events if event["ph"] == "s"}
        ends = {event["id"] for event in events if event["ph"] == "f"}
        self.expect(starts == ends and len(starts) <= changes, f"merged: {len(starts)} arrows for {changes} changes")
        self.expect(len(starts) >= sum(len(step["waits"]) for step in steps), "merged: waits without arrows")

    def job(self, ringside, directory, close_ns):
        truth = json.loads((pathlib.Path(directory) / "truth.json").read_text(encoding="utf-8"))
        tables = ask(ringside, directory)
        # Graphs that are condensed, and made again where the path passes, give the same answer.
        self.expect(tables == ask(ringside, directory, "--graph-memory", "0"), "another answer with less memory")
        self.expect(tables == ask(ringside, directory, "--graph-memory", "20kb"), "another answer with 20 kB")
        self.expect(len(tables["steps"]) == len(truth["steps"]), "another number of steps")
        if all(row["uncertain_ns"] == 0 for row in tables["steps"]):
            self.merged(ringside, directory, truth["steps"])
        for index, (real, row) in enumerate(zip(truth["steps"], tables["steps"])):
            self.sums["steps"] += 1
            if row["uncertain_ns"] == 0:
                self.shares(real, row, close_ns)
                self.waits(row["step"], real, tables["exposed"], close_ns)
            else:
                # The clocks leave open whose path it is: the length and the gains have bounds.
                self.sums["uncertain"] += 1
                self.expect(abs(row["duration_ns"] - real["duration_ns"]) <= row["uncertain_ns"] + close_ns,
                            f"{row['step']}: takes {row['duration_ns']}, in truth {real['duration_ns']}")
            self.gains(row["step"], real, ask(ringside, directory, "--instance", str(index))["shares"], close_ns)
        cut_profiles(directory)
        of_two = ask(ringside, directory)
        self.expect(of_two == ask(ringside, directory, "--graph-memory", "1"), "two profiles: another answer with less memory")
        for key in ("steps", "ranks", "exposed"):
            self.expect(as_of_two(of_two[key]) == as_of_two(tables[key]),
                        f"other {key} of two profiles of each rank: {of_two[key]}, of one: {tables[key]}")


    def without_steps(self, ringside, directory):
        """A profile without ProfilerStep has no step, whatever the others have."""
        profile = max((pathlib.Path(directory) / "profiles").iterdir())
        profile.write_text(profile.read_text(encoding="utf-8").replace("ProfilerStep#", "other "), encoding="utf-8")
        self.expect(ask(ringside, directory) == ask(ringside, directory, "--annotation", "ProfilerStep"),
                    "a profile without steps cuts those of others")


def main():
    options = parse()
    failed = []
    check = Check()
    for seed in range(options.first, options.first + options.seeds):
        with tempfile.TemporaryDirectory(prefix="ringside-steps-") as made:
            directory = options.keep or made
            more = ["--only-calls"] if seed % 2 else []
            hosts = ["--hosts", "2"] if seed % 8 == 6 else []
            subprocess.run([options.generate, directory, str(seed), *more, *hosts], check=True)
            check.wrong = []
            check.job(options.ringside, directory, CLOSE_NS)
            check.without_steps(options.ringside, directory)
        if check.wrong:
            failed.append(seed)
            print(f"seed {seed}:", *check.wrong[:8], sep="\n  ")
    sums = check.sums
    print(f"{options.seeds - len(failed)} of {options.seeds} seeds right: {sums['steps']} steps, {sums['waits']} waits "
          f"for a rank, {sums['uncertain']} of the steps on hosts whose clocks leave the path open, {sums['gains']} gains within their bounds (these are {sums['width_ns'] / 1e6:.1f} ms wide for "
          f"{sums['gain_ns'] / 1e6:.1f} ms in all)")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
