#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the commands of the guides, and holds what they print against what the guides show.

    scripts/run_guides.py BUILD                 run all guides; the exit status is 1 if one has changed
    scripts/run_guides.py --write BUILD [GUIDE...]     write the output into the guides
    scripts/run_guides.py --simulated BUILD            only what is the same each time

BUILD is a build directory with `ringside`; with `collectives_bench` for
emulated GPUs, jobs of NCCL itself run, too. Each guide has a directory of its own, in which its blocks
run one after the other on a terminal of 100 columns. A block is fenced as `console`; a line that begins
with `$ ` is a command, the lines below it are its output. A comment above the block says more:

    <!-- run: first 8 -->                 the guide shows the first 8 lines of each output
    <!-- run: NCCL -->                    NCCL on emulated GPUs: times differ, so only exit statuses are
                                          compared, and words that the comment names: NCCL, says "rank 2"
    <!-- run: no, REASON -->              not run
    <!-- run: NCCL, job `COMMAND` -->     `torchrun` in this block runs COMMAND

They may stand together: `first 8, NCCL`.
"""

import argparse
import difflib
import fcntl
import os
import pathlib
import pty
import re
import select
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import time

SOURCE = pathlib.Path(__file__).resolve().parent.parent
GUIDES = SOURCE / "docs" / "guides"
COLUMNS = 100
BLOCK = re.compile(r"(?:<!-- run: (?P<how>[^\n]*) -->\n)?```console\n(?P<text>.*?)```\n", re.DOTALL)


class Terminal:
    """Runs commands as a person sees them who sits before a terminal."""

    def __init__(self, directory, build, programs):
        self.directory = directory
        self.groups = []  # one of each command: jobs in the background are in them
        self.environment = dict(
            {name: value for name, value in os.environ.items()
             if not name.startswith(("RINGSIDE_", "NCCL_", "SLURM_"))},
            PATH=os.pathsep.join([*map(str, programs), os.environ["PATH"]]), TMPDIR=str(directory),
            EMUGPU_BUILD=str(build), TZ="UTC", LC_ALL="C.UTF-8", PAGER="cat", NO_COLOR="1", TERM="xterm",
            NCCL_ALLGATHERV_ENABLE="0")

    def run(self, command, limit_s=150):
        """Gives what the command printed, and its exit status."""
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 60, COLUMNS, 0, 0))
        process = subprocess.Popen(
            ["bash", "-c", command], cwd=self.directory, env=self.environment, stdin=subprocess.DEVNULL,
            stdout=slave, stderr=slave, start_new_session=True)
        self.groups.append(process.pid)
        os.close(slave)
        end = time.monotonic() + limit_s
        output = b""
        # A job in the background may hold the terminal open: what counts is the end of the command.
        while time.monotonic() < end:
            readable = select.select([master], [], [], 0.1)[0]
            try:
                data = os.read(master, 65536) if readable else b""
            except OSError:  # nobody has the other end any more
                break
            output += data
            if not data and process.poll() is not None:
                break
        os.close(master)
        if process.poll() is None and time.monotonic() >= end:
            process.kill()
            raise SystemExit(f"still running after {limit_s} s: {command}")
        return output.decode().replace("\r\n", "\n"), process.wait()

    def end(self):
        """Ends what is left of jobs in the background: asks first, so that they remove their rings."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            self.groups = [group for group in self.groups if self.send(group, number)]
            until = time.monotonic() + 15
            while time.monotonic() < until and any(self.send(group, 0) for group in self.groups):
                time.sleep(0.1)

    @staticmethod
    def send(group, number):
        try:
            os.killpg(group, number)
        except ProcessLookupError:
            return False
        return True


def commands_of(text):
    """The commands of a block, each with its continued lines."""
    commands = []
    for line in text.splitlines():
        if line.startswith("$ "):
            commands.append(line[2:])
        elif commands and commands[-1].endswith("\\") and line.startswith("    "):
            commands[-1] += "\n" + line
    return commands


def shown(output, status, first):
    """The output as a guide has it."""
    # A carriage return begins a line anew, as that of the progress does where a machine is slow.
    whole = re.sub(r"[^\n]*\r", "", output).replace("\x1b[K", "")
    lines = [line.rstrip() for line in whole.splitlines()]
    while lines and not lines[-1]:
        lines.pop()
    if first is not None and len(lines) > first:
        lines = lines[:first]
        while not lines[-1]:
            lines.pop()
        lines.append("...")
    if status != 0:
        lines.append(f"(exit status {status})")
    return "".join(line + "\n" for line in lines)


def statuses(text):
    return re.findall(r"^\(exit status \d+\)$", text, re.MULTILINE)


class Guide:
    def __init__(self, path, build, has_nccl, writing):
        self.path = path
        self.build = build
        self.has_nccl = has_nccl
        self.writing = writing
        self.problems = []

    def run(self):
        """Gives the text that the guide should have."""
        with tempfile.TemporaryDirectory(prefix="ringside-guide.") as directory:
            directory = pathlib.Path(directory)
            (directory / "work").mkdir()
            for kind in ("test", "python"):
                (directory / "work" / kind).symlink_to(SOURCE / kind)
            (directory / "bin").mkdir()
            self.torchrun = directory / "bin" / "torchrun"
            self.terminal = Terminal(directory / "work", self.build, [
                directory / "bin", self.build / "analyzer", SOURCE / "test/emulated_gpu"])
            try:
                text = BLOCK.sub(self.block, self.path.read_text(encoding="utf-8"))
            finally:
                self.terminal.end()
            # Nobody needs the paths of this machine.
            text = text.replace(str(directory / "work"), "/home/me")
            return text.replace(str(self.build), "/opt/ringside")

    def block(self, match):
        how = match["how"] or ""
        if how.startswith("no, ") or ("NCCL" in how and not self.has_nccl):
            return match[0]
        if job := re.search(r"job `([^`]*)`", how):
            self.torchrun.write_text(f"#!/bin/sh\nexec {job[1]}\n", encoding="utf-8")
            self.torchrun.chmod(0o755)
        first = re.search(r"\bfirst (\d+)", how)
        text = said = ""
        for command in commands_of(match["text"]):
            output, status = self.terminal.run(command)
            text += f"$ {command}\n" + shown(output, status, int(first[1]) if first else None)
            said += output
        for words in re.findall(r'"([^"]*)"', how):
            if words not in " ".join(said.split()):
                self.problems.append(f"no output says: {words}\n{text}")
        if "NCCL" in how and not self.writing:
            if statuses(text) != statuses(match["text"]):
                self.problems.append(f"the exit status differs:\n{text}")
            return match[0]
        comment = f"<!-- run: {how} -->\n" if how else ""
        return f"{comment}```console\n{text}```\n"

    def check(self):
        before = self.path.read_text(encoding="utf-8")
        after = self.run()
        if after != before and self.writing:
            self.path.write_text(after, encoding="utf-8")
        elif after != before:
            self.problems.append("".join(difflib.unified_diff(
                before.splitlines(True), after.splitlines(True), "the guide", "the run")))
        return self.problems


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("guides", nargs="*", type=pathlib.Path)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--simulated", action="store_true")
    arguments = parser.parse_args()
    build = arguments.build.resolve()
    has_nccl = not arguments.simulated and all((build / "emulated_gpu" / "bin" / name).exists()
                   for name in ("nccl_ranks", "collectives_bench"))
    if not has_nccl and not arguments.simulated:
        print("no NCCL on emulated GPUs in this build: its blocks are not run")
    failed = 0
    for path in arguments.guides or sorted(GUIDES.glob("*.md")):
        begin = time.monotonic()
        problems = Guide(path, build, has_nccl, arguments.write).check()
        print(f"{path.name}: {'FAILED' if problems else 'ok'}, {time.monotonic() - begin:.1f} s")
        for problem in problems:
            print(problem)
        failed += bool(problems)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
