#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The scripts that people run: they explain themselves, refuse what they do not know before they do
anything, and what they have readers paste is there.

    check_first_scripts.py DIRECTORY
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

# Of each script, words that it must refuse.
REFUSED = {
    "scripts/try.sh": (["no-such-story"], ["--no-such-option"], ["late", "hang"]),
    "examples/quickstart.sh": (["--no-such-option"], ["a", "b"], ["--build"], ["--build", "/nowhere"]),
    "examples/check_example.sh": ([], ["a", "b"]),
    "scripts/add_to_dist.sh": ([], ["--no-such-option"]),
    "scripts/bare_machine.sh": (["--no-such-option"], ["bookworm", "trixie"]),
    "scripts/build_packages.sh": (["--no-such-option"], ["sparc"], ["x86_64", "--x"], ["x86_64", "a", "b"]),
    "scripts/build_site.sh": (["--no-such-option"], ["a", "b"]),
    "scripts/build_wheel.sh": (["--no-such-option"], ["sparc"], ["x86_64", "--x"], ["x86_64", "a", "b"]),
    "scripts/check_steps.sh": (["--no-such-option"], ["a", "b"], ["a", "1", "2"]),
    "scripts/cross_aarch64.sh": (["--no-such-option"], ["a", "b"]),
    "scripts/fuzz.sh": (["--no-such-option"], ["1", "no-such-target"]),
    "scripts/gpu_check.sh": ([], ["--pack"], ["--no-such-option"], ["out", "--budget"]),
    "scripts/install_dependencies.sh": (["--no-such-option"], ["dev"]),
    "scripts/instructions_per_callback.sh": ([], ["--no-such-option"], ["/nowhere"]),
    "scripts/test.sh": (["--no-such-option"], ["relase"]),
    "scripts/truth.sh": (["--no-such-option"], ["a", "b"], ["a", "1", "2"]),
}
# test.sh finds these, and neither CMake nor a compiler.
TOOLS = ("bash", "env", "dirname", "nproc")


def run(*words, **others):
    return subprocess.run(words, capture_output=True, text=True, check=False, timeout=60, **others)


def troubles_of(script, refused, work):
    helped = run(script, "--help", cwd=work)
    if helped.returncode != 0 or f"  {script.name} " not in helped.stdout or "#" in helped.stdout:
        yield f"{script.name} --help: {helped.returncode}: {helped.stdout}{helped.stderr}"
    if not helped.stdout.rstrip().endswith((".", ")", "`")):
        yield f"{script.name} --help ends in the middle: {helped.stdout[-100:]}"
    for words in refused:
        result = run(script, *words, cwd=work)
        if result.returncode != 2 or result.stdout or \
                not re.fullmatch(rf".*Try {re.escape(str(script))} --help\n", result.stderr):
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


def troubles_elsewhere(root, work, manager, library):
    """Where packages are dnf's or zypper's, which are not here: a script stands for rpm."""
    for tool in ("bash", "env", "python3"):
        (work / tool).symlink_to(shutil.which(tool))
    script = str(root / "scripts" / "install_dependencies.sh")
    for name in (manager, "rpm"):
        (work / name).write_text("#!/bin/bash\n[ ${!#} = gcc-c++ ]\n", encoding="ascii")
        (work / name).chmod(0o755)
    asked = run(script, "--no-tests", "--dry-run", env={"PATH": str(work)})
    if not re.fullmatch(rf"As root: {manager} install binutils .*\b{library} .*\n", asked.stdout) or \
            "gcc-c++" in asked.stdout or "atch" in asked.stdout or asked.returncode != 0:
        yield f"{manager}: {asked.returncode}: {asked.stdout}{asked.stderr}"
    refused = run(script, env={"PATH": str(work)})
    if refused.returncode != 1 or "atch" not in refused.stderr:
        yield f"{manager}: {refused.returncode}: {refused.stdout}{refused.stderr}"
    (work / "rpm").write_text("#!/bin/bash\n", encoding="ascii")
    whole = run(script, env={"PATH": str(work)})
    if whole.returncode != 0 or "packages are there" not in whole.stdout:
        yield f"{manager}: {whole.returncode}: {whole.stdout}{whole.stderr}"


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    all_scripts = {path.relative_to(root).as_posix() for folder in ("scripts", "examples")
                   for path in (root / folder).glob("*.sh")}
    troubles = [f"{name} is not checked" for name in sorted(all_scripts - set(REFUSED))]
    for name, refused in REFUSED.items():
        with tempfile.TemporaryDirectory() as work:
            troubles += troubles_of(root / name, refused, pathlib.Path(work))
    with tempfile.TemporaryDirectory() as work:
        troubles += troubles_without_tools(root, pathlib.Path(work))
    for manager, library in (("dnf", "json-devel"), ("zypper", "nlohmann_json-devel")):
        with tempfile.TemporaryDirectory() as work:
            troubles += troubles_elsewhere(root, pathlib.Path(work), manager, library)
    print(*troubles, f"{len(troubles)} troubles", sep="\n")
    return 1 if troubles else 0


if __name__ == "__main__":
    sys.exit(main())
