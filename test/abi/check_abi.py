#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds the binary interface of the plugin, its C API and NCCL's tables, against the baseline.

usage: check_abi.py PLUGIN ROOT [--update | --debug]
  ROOT: of the sources, which the baseline does not name
  --debug: the build is one with debug information; without it nothing can be compared

Exit status 0: as the baseline, or updated, 1: changed, 77: libabigail or debug information is missing.
"""
import pathlib
import shutil
import subprocess
import sys
import tempfile

BASELINE = pathlib.Path(__file__).with_name("ringside.abi.xml")


def describe(plugin, root, path):
    subprocess.run(["abidw", "--no-show-locs", "--no-corpus-path", "--no-comp-dir-path",
                    "--drop-undefined-syms", "--exported-interfaces-only", "--type-id-style", "hash",
                    "--out-file", path, plugin], check=True, timeout=100)
    text = path.read_text(encoding="utf-8").replace(f"{root}/", "")
    path.write_text(text, encoding="utf-8")
    return "<var-decl name='ncclProfiler_v1'" in text


def main():
    arguments = [argument for argument in sys.argv[1:] if not argument.startswith("--")]
    if len(arguments) != 2:
        sys.exit(__doc__)
    plugin, root = arguments
    if shutil.which("abidw") is None or shutil.which("abidiff") is None:
        print("skipped: libabigail (abidw, abidiff) is not installed")
        return 77
    with tempfile.TemporaryDirectory() as directory:
        now = pathlib.Path(directory) / "now.abi.xml"
        if not describe(plugin, root.rstrip("/"), now):
            if "--debug" in sys.argv:
                sys.exit(f"{plugin} was to have debug information with types (-g), and has none")
            print(f"skipped: {plugin} has no debug information")
            return 77
        if "--update" in sys.argv:
            BASELINE.write_text(now.read_text(encoding="utf-8"), encoding="utf-8")
            print(f"{BASELINE.name} is that of {plugin} now")
            return 0
        compared = subprocess.run(["abidiff", BASELINE, now], capture_output=True, text=True,
                                  check=False, timeout=100)
    if compared.returncode == 0:
        print("the interface is that of the baseline")
        return 0
    print(compared.stdout + compared.stderr)
    print("The interface has changed. Programs are built against the old one: members are only added, at\n"
          "the end of a struct. If that is so, and meant: check_abi.py PLUGIN ROOT --update")
    return 1


if __name__ == "__main__":
    sys.exit(main())
