#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs the golden cases (run_cases.py) with partials: what a case names is given to `ringside reduce`
first, and its command must say of the partials what is expected of the traces, to the byte. The
commands of findings have the inputs as they were given; none of them is `merge`, which takes no
partials. Two messages differ: `reduce` tells which files of a directory are none of its traces, so the
command does not tell it again, and a case that names nothing that can be read has nothing to reduce."""

import pathlib
import re
import shlex
import sys
import tempfile

import run_cases

COMMANDS = {"summary", "topology", "match", "communicators", "hang", "stragglers", "network", "overlap", "critical-path",
            "iterations", "compare", "report", "export"}
WITH_VALUE = {"-o", "--output", "--csv", "--sqlite", "--kineto", "--baseline"}


def inputs_of(words, directory):
    """Places of the words that name something to read."""
    return [i for i in range(1, len(words))
            if not words[i].startswith("-") and words[i - 1] not in WITH_VALUE and (directory / words[i]).exists()]


def reduce(ringside, directory, words, temporary):
    """The words with partials in place of what they name, and what `reduce` told; nothing where there
    is nothing to reduce."""
    told = set()
    changed = list(words)
    for i in inputs_of(words, directory):
        partial = temporary / f"{i}.part"
        status, _, stderr = run_cases.run_words(ringside, directory, ["reduce", words[i], "-o", str(partial)])
        told.update(stderr.splitlines())
        if status == 0:
            changed[i] = str(partial)
    return (None, told) if changed == words else (changed, told)


def as_given(text, words, changed):
    """The text, with what the case names in place of the partials in the commands that findings have."""
    lines = text.splitlines(keepends=True)
    for given, partial in zip(words, changed):
        for one, other in ((partial, given), (in_markdown(partial), in_markdown(given))):
            lines = [line.replace(one, other) if "ringside " in line else line for line in lines]
    return "".join(lines)


def without_merge(text):
    """JSON without the commands that make timelines, which stand alone or behind other commands."""
    return re.sub(r'\n *"merge_command": "ringside merge [^\n]*,|,\n *"timeline": "ringside merge [^\n]*"', "", text)


def in_markdown(name):
    """A temporary directory's name may have an underscore."""
    return name.replace("_", "\\_")


def run(ringside, directory):
    """Returns ringside's output for a case's partials, and that of `reduce`; None if it has none."""
    words = shlex.split((directory / "cmd").read_text(encoding="utf-8"))
    # The answers of NCCL's RAS that lie beside traces are in no partial.
    if directory.name in ("hang-ras-beside", "hang-ras-diagnostics"):
        return None, set()
    # A command that may write over its traces is left alone.
    if not words or words[0] not in COMMANDS or "--force" in words:
        return None, set()
    with tempfile.TemporaryDirectory() as temporary:
        changed, told = reduce(ringside, directory, words, pathlib.Path(temporary))
        if changed is None:
            return None, told
        status, stdout, stderr = run_cases.run_words(ringside, directory, changed)
    return {"stdout": as_given(stdout, words, changed), "stderr": stderr, "status": f"{status}\n"}, told


def tells_what_is_missing(ringside):
    """A missing file is in no partial, so `reduce` must not end as if all was well."""
    with tempfile.TemporaryDirectory() as temporary:
        partial = pathlib.Path(temporary) / "some.part"
        status, _, stderr = run_cases.run_words(ringside, run_cases.CASES / "summary-strict",
                                                ["reduce", "gone.json", "traces", "-o", str(partial)])
        return status == 4 and "gone.json: No such file" in stderr and partial.exists()


def of_one_file(note):
    """`reduce` may say of several files what a command, which is given some of them, says of one."""
    return re.sub(r" and \d+ more files?(?=: )", "", note.rstrip("\n"))


def main():
    program = pathlib.Path(sys.argv[1]).resolve()
    directories = sorted(path.parent for path in run_cases.CASES.glob("*/cmd"))
    if sys.argv[2:]:
        directories = [run_cases.CASES / name for name in sys.argv[2:]]
    checked = failed = 0
    for directory, (actual, told) in run_cases.on_all_cores(lambda case: run(program, case), directories):
        if actual is None:
            continue
        expected = run_cases.expected(directory)
        expected["stdout"] = without_merge(expected["stdout"])
        expected["stderr"] = "".join(
            line for line in expected["stderr"].splitlines(keepends=True)
            if not (line.startswith("note: ") and of_one_file(line) in map(of_one_file, told)))
        checked += 1
        failed += not run_cases.is_same(directory, expected, actual)
    if not tells_what_is_missing(program):
        failed += 1
        print("reduce does not tell that a file is missing")
    print(f"{checked} cases with partials, {failed} failed")
    return 1 if failed or checked == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
