#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes inputs for fuzz_partial from partials: what their sections hold, as fuzz_partial.cc wants it.

    partial_seeds.py RINGSIDE CASES CORPUS     from the inputs of the golden cases of that directory

They are to be made again after each change of the format (docs/dev/partial-format.md).
"""

import pathlib
import struct
import subprocess
import sys
import tempfile
import zlib

OPERATIONS = 2
END = 5


def sections(partial: bytes):
    at = 16
    while at < len(partial):
        kind, _, stored, _ = struct.unpack_from("<IIQQ", partial, at)
        content = partial[at + 32 : at + 32 + stored]
        yield kind, content if kind == OPERATIONS else zlib.decompress(content)
        at += 32 + stored


def main() -> None:
    ringside, cases, corpus = sys.argv[1:]
    for seed in pathlib.Path(corpus).iterdir():
        words = pathlib.Path(cases, seed.name, "cmd").read_text().split()
        inputs = pathlib.Path(cases, seed.name, words[-1] if words[-1].startswith("..") else "traces")
        with tempfile.TemporaryDirectory() as directory:
            partial = pathlib.Path(directory, "partial")
            subprocess.run([ringside, "reduce", "--quiet", inputs, "-o", partial], check=False)
            text = b""
            for kind, content in sections(partial.read_bytes()):
                if kind != END and len(content) < 1 << 16:
                    text += struct.pack(">HB", len(content), kind - 1) + content
            seed.write_bytes(text)


main()
