#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each row of the tables in other_tools.md names tests, and each of these exists: one of ctest, one of
pytest, or a golden case of test/diff.

usage: check_named_tests.py SOURCE BUILD CTEST
"""

import pathlib
import re
import subprocess
import sys


def main():
    source, build, ctest = sys.argv[1:]
    listed = subprocess.run([ctest, "--test-dir", build, "-N"], stdout=subprocess.PIPE, check=True,
                            universal_newlines=True).stdout
    known = set(re.findall(r"Test +#\d+: (\S+)", listed))
    text = (pathlib.Path(source) / "test" / "docs" / "other_tools.md").read_text(encoding="utf-8")
    rows, troubles = 0, []
    for line in text.splitlines():
        if not line.startswith("| ") or line.startswith("| there "):
            continue
        rows += 1
        tests = re.findall(r"`([^`]+)`", line.rstrip("| ").rpartition(" | ")[2])
        if not tests:
            troubles.append(f"no test: {line}")
        for test in tests:
            path, _, name = test.partition("::")
            file = pathlib.Path(source) / path
            # nccl-markers needs headers of NVTX.
            exists = (file.is_file() and f"\ndef {name}(" in file.read_text(encoding="utf-8") if name
                      else test in known or test == "nccl-markers"
                      or (pathlib.Path(source) / "test/diff/cases" / test / "cmd").is_file())
            if not exists:
                troubles.append(f"there is no test {test}")
    print(*troubles, f"{rows} rows, {len(troubles)} troubles", sep="\n")
    return 1 if troubles or rows < 30 else 0


if __name__ == "__main__":
    sys.exit(main())
