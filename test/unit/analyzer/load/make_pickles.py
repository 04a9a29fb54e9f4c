#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes pickles.inc: pickles that Python's own module made, for pickle_test.cc."""

import os
import pathlib
import pickle


class Runs:
    def __reduce__(self):
        return os.system, ("touch executed",)


def literal(data):
    lines = [data[i:i + 24] for i in range(0, len(data), 24)]
    return "\n".join('    "' + "".join(f"\\x{byte:02x}" for byte in line) + '"' for line in lines)


def main():
    numbers = [1, -1, 255, 65535, 70000, -70000, 2**31, 2**40, -(2**62), 2**63 - 1, 2**70]
    value = {"numbers": numbers, "again": numbers,
             "tuples": ((), (1,), (1, 2), (1, 2, 3), (1, 2, 3, 4)),
             "none": None, "truth": [True, False], "real": -1.5, "long": "x" * 300, "text": "é",
             "nested": [[{"deep": [[7]]}], {}], "long negative": -(2**200)}
    named = [(f"kPlain{protocol}", pickle.dumps(value, protocol)) for protocol in range(2, 6)]
    deep = []
    for _ in range(400):
        deep = [deep]
    named += [("kDeep", pickle.dumps(deep, 4))]
    named += [(f"kRuns{protocol}", pickle.dumps(Runs(), protocol)) for protocol in (2, 4)]
    named += [("kBytes", pickle.dumps(b"bytes", 4)), ("kSet", pickle.dumps({1}, 4)),
              ("kText0", pickle.dumps([1], 0))]
    text = "// SPDX-License-Identifier: Apache-2.0\n// Written by make_pickles.py.\n// clang-format off\n"
    for name, data in named:
        text += f"constexpr char {name}[] =\n{literal(data)};\n"
    pathlib.Path(__file__).with_name("pickles.inc").write_text(text, encoding="utf-8")


main()
