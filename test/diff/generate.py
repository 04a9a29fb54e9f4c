#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the command and the input traces of every case. `run_cases.py --update` then writes what
is expected; look at the difference before it is committed."""

import pathlib

import compare_inputs
import export_inputs
import hang_inputs
import iterations_inputs
import lint_inputs
import marked_inputs
import match_inputs
import merge_inputs
import network_inputs
import partial_inputs
import profile_inputs
import report_inputs
import summary_inputs
import time_inputs

CASES = pathlib.Path(__file__).parent / "cases"


def write_case(name, command, files):
    directory = CASES / name
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "cmd").write_text(command + "\n", encoding="utf-8")
    for path, text in files.items():
        target = directory / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(text if isinstance(text, bytes) else text.encode())


def main():
    for module in (summary_inputs, match_inputs, compare_inputs, export_inputs, lint_inputs,
                   hang_inputs, network_inputs, iterations_inputs, merge_inputs, report_inputs,
                   marked_inputs, partial_inputs, profile_inputs, time_inputs):
        for name, (command, files) in module.cases().items():
            write_case(name, command, files)


if __name__ == "__main__":
    main()
