# SPDX-License-Identifier: Apache-2.0
"""Cases of `ringside reduce`, and of files that begin as a partial. check_partials.py tests that
partials give the same output as traces."""

import gzip
import struct
import zlib

TRACE = 1
END = 5


def start(version=5):
    made = b"\x89RSP\r\n\x1a\n" + struct.pack("<I", version)
    return made + struct.pack("<I", zlib.crc32(made))


def section(kind, content):
    stored = zlib.compress(content)
    made = struct.pack("<IIQQI", kind, zlib.crc32(stored), len(stored), len(content), 0)
    return made + struct.pack("<I", zlib.crc32(made)) + stored


def cases():
    empty = start() + section(END, b"\x00")
    return {
        "help-reduce": ("reduce --help", {}),
        "reduce-no-output": ("reduce traces", {}),
        "reduce-nothing": ("reduce nowhere -o none.part", {}),
        "reduce-exists": ("reduce job.part -o job.part", {"job.part": empty}),
        "partial-merge": ("merge -o - job.part", {"job.part": empty}),
        "partial-lint": ("lint job.part", {"job.part": empty}),
        "partial-empty": ("summary job.part", {"job.part": empty}),
        "partial-newer": ("summary job.part", {"job.part": start(7) + section(END, b"\x00")}),
        "partial-start-damaged": ("summary job.part", {"job.part": start()[:-1] + b"?"}),
        "partial-compressed": ("summary job.part", {"job.part": gzip.compress(empty, mtime=0)}),
        "partial-cut-off": ("summary job.part", {"job.part": empty[:-3]}),
        "partial-no-end": ("summary job.part", {"job.part": start()}),
        "partial-lost-trace": ("summary job.part", {"job.part": start() + section(END, b"\x01")}),
        "partial-more": ("summary job.part", {"job.part": empty + empty}),
        "partial-nonsense": ("summary job.part",
                             {"job.part": start() + section(TRACE, b"nonsense") + section(END, b"\x01")}),
    }
