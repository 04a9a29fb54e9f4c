#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The commands that the README gives to its readers, and where CI runs each of them.

    readme_commands.py README            a line a command, in their order: those of the stage `readme`
    readme_commands.py README --check    whether each one is known here, and nothing else is

CI takes the commands from here, so it runs what the README has, to the letter. The output that the
README shows stands in the guides, too, whose commands are run.
"""

import pathlib
import re
import sys

EVERY_RUN = "the stage readme of .ci/run"
NAMED_STAGE = "the stage packages of .ci/run, which takes an hour"
WHERE = {
    "scripts/try.sh": EVERY_RUN,
    "pip install .": NAMED_STAGE,
    "ringside run --dir traces -- torchrun --nproc-per-node 8 train.py":
        "the test torch-torchrun, on emulated GPUs",
    "scripts/install_dependencies.sh": EVERY_RUN,
    "cmake --preset release && cmake --build --preset release": EVERY_RUN,
    "cmake --install build/release --prefix /opt/ringside": EVERY_RUN,
    "scripts/test.sh": EVERY_RUN,
}


def commands_of(readme):
    """What an indented block has, without the remarks behind it."""
    lines = re.findall(r"^    (\S.*)$", readme.read_text(encoding="utf-8"), re.MULTILINE)
    return [re.sub(r"\s{2,}#.*", "", line).strip() for line in lines]


def output_of(readme):
    blocks = re.findall(r"^```text\n(.*?)^```$", readme.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    return [line for block in blocks for line in block.splitlines() if not line.startswith("$ ")]


def shown_by_guides(readme):
    """What the guides show, with a blank for each end of a line, which a terminal sets elsewhere."""
    guides = sorted((readme.parent / "docs" / "guides").glob("*.md"))
    return " ".join(word for guide in guides for word in guide.read_text(encoding="utf-8").split())


def main():
    readme = pathlib.Path(sys.argv[1])
    commands = commands_of(readme)
    if sys.argv[2:] != ["--check"]:
        print(*(command for command in commands if WHERE.get(command) == EVERY_RUN), sep="\n")
        return 0
    troubles = [f"CI does not know this command of the README: {command}"
                for command in commands if command not in WHERE]
    troubles += [f"the README no longer has this command: {command}"
                 for command in WHERE if command not in commands]
    shown = shown_by_guides(readme)
    troubles += [f"no guide shows this line of the README: {line}"
                 for line in output_of(readme) if line not in shown]
    print(*troubles, f"{len(commands)} commands, {len(troubles)} troubles", sep="\n")
    return 1 if troubles else 0


if __name__ == "__main__":
    sys.exit(main())
