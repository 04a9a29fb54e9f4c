#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the commands that the reference pages show, or checks the options of those that cannot be run.

    check_commands.py DIRECTORY RINGSIDE GENERATE

A command that reads traces is run on those of a simulated job, whose directories have the names that
the pages use. Of all others, and of commands within sentences, the command and each option must be in
`ringside help COMMAND`. The guides have a script of their own (scripts/run_guides.py).
"""

import collections
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

READ_TRACES = {"summary", "match", "calls", "communicators", "hang", "stragglers", "network",
               "overlap", "what-if", "critical-path", "iterations", "compare", "topology", "report", "merge", "export", "query",
               "reduce", "lint"}
WHY_NOT = {"run": "needs a job", "ctl": "needs a job", "top": "needs a job", "ras": "needs a job",
           "exporter": "serves until it is ended", "env": "depends on the machine",
           "doctor": "depends on the machine", "recover": "needs a process that died",
           "demo": "has a test of its own", "mcp": "serves until it is ended"}
DIRECTORIES = ("traces", "before", "after", "yesterday", "today", "monday", "tuesday", "wednesday",
               "run-17")
PARTIAL = "job.part"
NCCL_TESTS = "all_reduce_perf.txt"
BLOCK = re.compile(r"^    (?:\$ )?(ringside [a-z].*(?:\\\n.*)*)$", re.MULTILINE)
SPAN = re.compile(r"`(?:\w+=\S+ )*(ringside [a-z-]+(?: [^`\n]+)?)`")


# Events of the trace format, no commands.
EVENTS = (["start"], ["stop"])


def options_of(ringside, command, known={}):
    if command not in known:
        result = subprocess.run([ringside, *command.split(), "--help"], capture_output=True,
                                text=True, check=False)
        known[command] = None if result.returncode else set(
            re.findall(r"(?<![\w-])--?[a-z][a-z-]*", result.stdout)) | {"--help", "-h"}
    return known[command]


def unknown(ringside, command):
    """The parts of the command line that the help does not have."""
    words = re.split(r" -- | --$", command + " ")[0].split()
    # "ringside env, ringside doctor": the first is enough
    name = words[1].rstrip(",")
    if name == "help" or words[1:] in EVENTS:
        return []
    if name == "ctl" and len(words) > 2:
        name += " " + words[2]
    if options_of(ringside, name) is None:
        return [name]
    given = set(re.findall(r"(?<![\w\"-])--?[a-z][a-z-]*", " ".join(words[2:])))
    return sorted(given - options_of(ringside, name))


def stand_ins(directory, root, ringside, generate):
    options = ["--hosts", "2", "--ranks-per-host", "2", "--iterations", "30", "--full", "--pattern",
               "AllReduce:1048576,AllGather:65536"]
    for number, name in enumerate(DIRECTORIES):
        if number < 2:
            subprocess.run([generate, directory / name, "--seed", str(number), *options],
                           check=True, stdout=subprocess.DEVNULL)
        else:
            (directory / name).symlink_to(DIRECTORIES[number % 2])
    (directory / NCCL_TESTS).symlink_to(root / "test" / "data" / "nccl_tests" / NCCL_TESTS)
    subprocess.run([ringside, "reduce", "--quiet", "-o", directory / PARTIAL, directory / "traces"],
                   check=True, stdout=subprocess.DEVNULL)


def run(ringside, command, directory):
    """Gives what is wrong, if something is. What a command writes is gone afterwards."""
    words = shlex.split(re.sub(r"/shared/run-\S+", "run-17", command).split("   ")[0])
    with tempfile.TemporaryDirectory() as work:
        for name in (*DIRECTORIES, NCCL_TESTS, *([PARTIAL] if "-o" not in words else [])):
            (pathlib.Path(work) / name).symlink_to(directory / name)
        result = subprocess.run([ringside, *words[1:]], cwd=work, capture_output=True, text=True,
                                check=False, timeout=60)
    # 1: there are findings; 4: something cannot be judged.
    return None if result.returncode in (0, 1, 4) else f"exit status {result.returncode}: {result.stderr}"


def can_run(command):
    """Whether it reads traces that are there, and nothing else."""
    words = command.split()
    names = any(word.rstrip("/") in (*DIRECTORIES, PARTIAL) or word.startswith("/shared/run-")
                for word in words[2:])
    return (words[1] in READ_TRACES and names and
            not re.search(r"[<>|]|\.\.\.|--kineto|mark:", command))


def main():
    root, ringside, generate = (pathlib.Path(argument).resolve() for argument in sys.argv[1:4])
    counts = collections.Counter()
    troubles = 0
    with tempfile.TemporaryDirectory() as directory:
        directory = pathlib.Path(directory)
        stand_ins(directory, root, ringside, generate)
        for page in [root / "README.md", root / "python" / "README.md",
                     *sorted((root / "docs").rglob("*.md"))]:
            text = page.read_text(encoding="utf-8")
            for command in [*BLOCK.findall(text), *SPAN.findall(text)]:
                command = command.replace("\\\n", " ")
                name = command.split()[1]
                if name == "exporter:":
                    continue  # what it prints
                if can_run(command):
                    counts["run"] += 1
                    trouble = run(ringside, command, directory)
                else:
                    counts[WHY_NOT.get(name, "names no traces")] += 1
                    trouble = ", ".join(unknown(ringside, command))
                    trouble = trouble and f"not known: {trouble}"
                if trouble:
                    troubles += 1
                    print(f"{page.relative_to(root)}: {command}: {trouble}")
    said = ", ".join(f"{count} {reason}" for reason, count in counts.items())
    print(f"{said}; {troubles} troubles")
    return 1 if troubles or counts["run"] < 10 else 0


if __name__ == "__main__":
    sys.exit(main())
