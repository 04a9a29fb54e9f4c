#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs each story of `ringside demo`: what its first line says, which files are there, and that all
it has readers paste works.

    check_demo.py RINGSIDE
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

LIMIT_S = 60  # a story takes a tenth of a second

# The first line of each story.
STORIES = {
    "late": r"Rank 5 \(host1\) slows the job by about \d+\.\d % .*, since iteration 41\.",
    "hang": r"Rank 5 \(host host1, pid 1005\) has not joined AllReduce #80 of communicator world; "
            r"7 ranks have waited for 120 s\.",
    "mismatch": r"Rank 5 called AllReduce #80 of communicator world with int32; the other seven "
                r"with float32\.",
    "slow-link": r"Sends of rank 3 to rank 4 of communicator world on channel 1 reach \S+ GB/s "
                 r"in steps of at least 2 MiB, 8\.0 times less than usual.*",
    "clean": r"No problem found in 240 operations of 1 communicator\.",
}


def require(holds, text):
    if not holds:
        raise AssertionError(text)


def run(ringside, *words, directory, status=0):
    environment = {**os.environ, "PATH": "/usr/bin:/bin", "COLUMNS": "100"}
    result = subprocess.run([ringside, *words], cwd=directory, env=environment, capture_output=True,
                            text=True, check=False, timeout=LIMIT_S)
    require(result.returncode == status,
            f"{words}: exit status {result.returncode}, not {status}: {result.stdout}{result.stderr}")
    return result


def paste(command, directory, path):
    """Runs a line as a shell does that knows no `ringside`: the lines before it say where it is."""
    shell = subprocess.run(["sh", "-c", f"{path}\n{command}"], cwd=directory, capture_output=True,
                           env={"PATH": "/usr/bin:/bin"}, text=True, check=False, timeout=LIMIT_S)
    require(shell.returncode in (0, 1), f"{command}: {shell.returncode}: {shell.stderr}")
    return shell.stdout


def check_files(ringside, place, work):
    traces = sorted((place / "traces").iterdir())
    require(len(traces) == 8, f"{place}: {len(traces)} traces")
    run(ringside, "lint", place / "traces", directory=work)
    page = (place / "report.html").read_text(encoding="utf-8")
    require("</html>" in page, f"{place}: the page is not whole")
    events = json.loads((place / "timeline.json").read_text(encoding="utf-8"))
    events = events if isinstance(events, list) else events["traceEvents"]
    processes = {event["pid"] for event in events if "pid" in event}
    require(len(processes) >= 8, f"{place}: the timeline has {len(processes)} processes")


def check_story(ringside, story, first, work):
    printed = run(ringside, "demo", story, directory=work)
    lines = printed.stdout.splitlines()
    require(re.fullmatch(first, lines[0]), f"{story} begins with: {lines[0]}")
    require(printed.stderr.startswith("Simulated, not measured: "), printed.stderr)
    place = work / f"ringside-demo-{story}"
    check_files(ringside, place, work)
    pasted = lines[lines.index("To go on, paste:") + 1:]
    (path,) = (line for line in pasted if line.startswith("  export PATH="))
    commands = [line for line in pasted if line.startswith("  ringside ")]
    commands += [line.replace("  See: ", "  ") for line in lines if line.startswith("  See: ")]
    require(len(commands) >= 2, f"{story}: {pasted}")
    for command in commands:
        require(str(place) in command or "--list" in command, f"no full path: {command}")
        paste(command, "/", path)
    said = paste(f"ringside summary {place / 'traces'}", "/", path)
    require(said.splitlines()[0] == lines[0],
            f"{story}: `ringside summary` begins otherwise: {said[:200]}")


def check_directories(ringside, work):
    run(ringside, "demo", "clean", directory=work)
    require((work / "ringside-demo-clean-2" / "report.html").exists(), "no second directory")
    full = work / "full"
    full.mkdir()
    (full / "mine").write_text("mine", encoding="utf-8")
    refused = run(ringside, "demo", "late", "-o", full, directory=work, status=2)
    require("is not empty" in refused.stderr, refused.stderr)
    require([file.name for file in full.iterdir()] == ["mine"], "a foreign directory was changed")
    run(ringside, "demo", "-o", "a b/c", directory=work)
    check_files(ringside, work / "a b" / "c", work)


def check_words(ringside, work):
    listed = run(ringside, "demo", "--list", directory=work).stdout.splitlines()
    require([line.split()[0] for line in listed] == list(STORIES), f"--list: {listed}")
    wrong = run(ringside, "demo", "lat", directory=work, status=2)
    require("is not one of late, hang," in wrong.stderr, wrong.stderr)
    quiet = run(ringside, "demo", "--quiet", "-o", "quiet", directory=work)
    require(quiet.stderr == "", quiet.stderr)


def main():
    ringside = pathlib.Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as work:
        work = pathlib.Path(work)
        for story, first in STORIES.items():
            check_story(ringside, story, first, work)
        check_directories(ringside, work)
        check_words(ringside, work)
    print(f"{len(STORIES)} stories")


if __name__ == "__main__":
    main()
