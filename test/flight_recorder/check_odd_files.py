#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Beside genuine dumps lie pipes into which nobody writes, a symbolic link to nothing and a note, named as dumps:
ringside names them, ends with status 4, and does not wait for a pipe, also where it is named by itself and whatever
its name. A pipe without a name, as /dev/stdin, is read: it may be a trace."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

DATA = pathlib.Path(__file__).resolve().parent.parent / "data" / "flight_recorder" / "legacy-4-ddp"
TRACES = sorted((DATA.parents[2] / "diff" / "cases" / "match-all" / "traces").glob("*.json"))
BUT = "no dump of PyTorch's Flight Recorder, although it is named as the others: "
PARTLY_READ = 4  # ringside's status where some of its input could not be read


def main():
    ringside = pathlib.Path(sys.argv[1]).resolve()
    directory = pathlib.Path(tempfile.mkdtemp(prefix="ringside-odd-"))
    for rank in range(2):
        shutil.copy(DATA / f"fr_asked_{rank}", directory)
    pipe = directory / "fr_asked_2"
    other_pipe = directory / "x.json"
    for path in (pipe, directory / "fr_asked_5.json", other_pipe):
        os.mkfifo(path)
    (directory / "fr_asked_3").symlink_to("not_there")
    (directory / "fr_asked_4").write_text("see rank 1", encoding="utf-8")
    failures = []

    def check(words, wanted):
        run = subprocess.run([ringside, *words], capture_output=True, text=True, check=False, timeout=60)
        if run.returncode != PARTLY_READ or any(text not in run.stderr for text in wanted):
            failures.append(f"{words}: {run.returncode}, {run.stdout}{run.stderr}")

    for command in ("match", "hang", "fr"):
        options = ["--allow-incomplete-ranks"] if command == "fr" else []
        check([command, directory, *options], [f"{pipe} and 1 more file: {BUT}it is a pipe, which is not read",
                                               f"{directory}/fr_asked_3: {BUT}it is a symbolic link to nothing",
                                               f"{directory}/fr_asked_4: {BUT}its first bytes are not those of a dump"])
    for command in ("match", "hang"):
        for path in (pipe, directory / "fr_asked_5.json", other_pipe):
            check([command, directory / "fr_asked_0", path], [f"{path}: it is a pipe, which is not read"])
    # The trace of one rank, as another program may decompress it.
    with open(TRACES[1], "rb") as trace, subprocess.Popen(["cat"], stdin=trace, stdout=subprocess.PIPE) as cat:
        run = subprocess.run([ringside, "match", TRACES[0], "/dev/stdin"], stdin=cat.stdout, capture_output=True,
                             text=True, check=False, timeout=60)
    if run.returncode not in (0, 1) or run.stderr:
        failures.append(f"/dev/stdin: {run.returncode}, {run.stdout}{run.stderr}")
    shutil.rmtree(directory)
    print("\n".join(failures) or "pipes and a link to nothing are named, and not waited for")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
