#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The scripts that a reader runs first: they explain themselves, refuse what they do not know before
they do anything, and what they have readers paste is there.

    check_first_scripts.py DIRECTORY
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

# Of each script, words that it must refuse.
REFUSED = {
    "scripts/try.sh": (["no-such-story"], ["--no-such-option"], ["late", "hang"]),
    "examples/quickstart.sh": (["--no-such-option"], ["a", "b"], ["--build"], ["--build", "/nowhere"]),
}
# test.sh finds these, and neither CMake nor a compiler.
TOOLS = ("bash", "env", "dirname", "nproc")


def run(*words, **others):
    return subprocess.run(words, capture_output=True, text=True, check=False, timeout=60, **others)


def troubles_of(script, refused, work):
    helped = run(script, "--help", cwd=work)
    if helped.returncode != 0 or f"  {script.name} [" not in helped.stdout or "#" in helped.stdout:
        yield f"{script.name} --help: {helped.returncode}: {helped.stdout}{helped.stderr}"
    if helped.stdout.splitlines()[-1].rstrip()[-1] not in ".)`":
        yield f"{script.name} --help ends in the middle: {helped.stdout.splitlines()[-1]}"
    for words in refused:
        result = run(script, *words, cwd=work)
        if result.returncode != 2 or not result.stderr.endswith(f"Try {script} --help\n"):
            yield f"{script.name} {words}: {result.returncode}: {result.stdout}{result.stderr}"
    if list(work.iterdir()):
        yield f"{script.name} has written {list(work.iterdir())}"


def troubles_without_tools(root, work):
    places = os.environ["PATH"].split(":")
    for tool in TOOLS:
        (work / tool).symlink_to(next(p for place in places if (p := pathlib.Path(place, tool)).exists()))
    result = run(root / "scripts" / "test.sh", env={"PATH": str(work)})
    named = re.search(r"^  (/.*)$", result.stderr, re.MULTILINE)
    if result.returncode != 1 or not named or not os.access(named[1], os.X_OK):
        yield f"test.sh without CMake: {result.returncode}: {result.stdout}{result.stderr}"
    if "libsimdjson-dev" not in result.stderr:
        yield f"test.sh without CMake does not list what is missing: {result.stderr}"


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    troubles = []
    for name, refused in REFUSED.items():
        with tempfile.TemporaryDirectory() as work:
            troubles += troubles_of(root / name, refused, pathlib.Path(work))
    with tempfile.TemporaryDirectory() as work:
        troubles += troubles_without_tools(root, pathlib.Path(work))
    print(*troubles, f"{len(troubles)} troubles", sep="\n")
    return 1 if troubles else 0


if __name__ == "__main__":
    sys.exit(main())
