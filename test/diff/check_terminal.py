#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks ringside's output on a terminal: lines that fit, colour for findings only, a pager for
text that does not fit, and no command to the terminal from a name in a trace.

usage: check_terminal.py RINGSIDE_GENERATE RINGSIDE
"""
import fcntl
import os
import pathlib
import pty
import re
import struct
import subprocess
import sys
import tempfile
import termios

BOLD_RED, END = "\x1b[1;31m", "\x1b[0m"


def on_terminal(rows, columns, *command, **variables):
    """Returns the output on a terminal of this size."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    environment = {key: value for key, value in os.environ.items()
                   if key not in ("PAGER", "LESS", "NO_COLOR", "COLUMNS")}
    environment.update({"TERM": "xterm", **variables})
    with subprocess.Popen([str(part) for part in command], stdin=theirs, stdout=theirs,
                          stderr=subprocess.DEVNULL, env=environment) as process:
        os.close(theirs)
        text = b""
        while True:
            try:
                piece = os.read(ours, 65536)
            except OSError:  # the last one has closed it
                break
            if not piece:
                break
            text += piece
    os.close(ours)
    assert process.returncode in (0, 1), process.returncode
    return text.decode().replace("\r\n", "\n")


# Columns that a narrow terminal must still show, by command: the words of the table's first line.
KEPT = {
    "summary": ({"function", "message", "median", "wait", "busbw"}, {}),
    "summary --nominal": ({"function", "message", "median", "busbw", "nominal"}, {}),
    "stragglers": ({"rank", "costs", "waiting"}, {}),
    "calls": ({"number", "function", "verdict", "ranks"}, {120: {"rank 0", "rank 3"}}),
    "network": ({"rank", "direction", "peer", "throughput", "network"}, {}),
    "iterations": ({"iteration", "duration", "waiting", "mostly for", "late by"}, {}),
    "compare": ({"function", "message", "busbw A", "busbw B"}, {}),
}


def check_widths(ringside, traces):
    """At 60, 80 and 120 columns lines fit, and the columns that matter are there."""
    for command, (kept, others) in KEPT.items():
        words = [*command.split(), traces] + ([traces] if command == "compare" else [])
        for columns in (60, 80, 120):
            text = on_terminal(500, columns, ringside, *words, NO_COLOR="1", PAGER="cat")
            lines = [line for line in text.splitlines() if not line.startswith("  See: ")]
            assert all(len(line) <= columns or line.startswith("Next: ") or " " not in line.strip()
                       for line in lines if str(traces) not in line), (command, columns, text)
            heads = [set(re.split(r"  +", line.strip())) for line in lines]
            wanted = others.get(columns, kept - {"ranks"} if others and columns == 120 else kept)
            assert any(wanted <= head for head in heads), (command, columns, wanted, text)
            # No line of units is empty.
            assert not re.search(r"\n  \S[^\n]*  \S[^\n]*\n\n  \S[^\n]*  ", text), (command, text)


def main():
    generate, ringside = (pathlib.Path(name).resolve() for name in sys.argv[1:3])
    with tempfile.TemporaryDirectory() as name:
        traces = pathlib.Path(name, "traces")
        subprocess.run([generate, traces, "--iterations", "30", "--straggler", "3:500", "--steps"],
                       check=True)
        command = (ringside, "stragglers", traces)
        plain = subprocess.run(command, capture_output=True, text=True, check=False).stdout
        assert "\nerror: Rank 3" in plain and "\x1b" not in plain, plain
        coloured = plain.replace("error:", f"{BOLD_RED}error:{END}")
        large, small = (200, 400), (200, 60)

        assert on_terminal(*large, *command) == coloured
        assert on_terminal(*large, *command, NO_COLOR="1") == plain
        assert on_terminal(*large, *command, TERM="dumb") == plain
        # Sentences are broken between words, and nothing of them is lost. The least columns of tables
        # are left out, and named.
        narrow = on_terminal(*small, *command, PAGER="cat")
        sentence = plain.splitlines()[0]
        assert " ".join(narrow.split()).startswith(sentence.rstrip()), narrow
        for line in narrow.splitlines():
            assert len(line.replace(BOLD_RED, "").replace(END, "")) <= 60, line
        title = next(line for line in plain.splitlines() if line.startswith("  rank   "))
        titles = re.split(r"  +", title.strip())
        named = " ".join(narrow.split()).split("fit this terminal are in --format csv: ")[-1]
        kept = re.split(r"  +", next(line for line in narrow.splitlines()
                                     if line.startswith("  rank   ")).strip())
        assert 3 <= len(kept) < len(titles), (kept, titles)
        assert kept == [title for title in titles if title in kept], (kept, titles)
        for title in set(titles) - set(kept):
            assert title in named, (titles, named)
        # Text that does not fit, by width or height, goes to the pager.
        marked = "".join(f"P{line}" for line in coloured.splitlines(keepends=True))
        assert on_terminal(*large, *command, PAGER="sed s/^/P/") == coloured
        assert on_terminal(*small, *command, PAGER="sed s/^/P/") == narrow
        assert on_terminal(3, 400, *command, PAGER="sed s/^/P/") == marked
        for no_pager in ("", "cat", "no-such-pager -x"):
            assert on_terminal(*small, *command, PAGER=no_pager) == narrow
        # A user who leaves the pager gets no message about a broken pipe.
        assert on_terminal(3, 60, *command, PAGER="head -n 1") == narrow.splitlines(True)[0]
        assert "\x1b" not in on_terminal(*large, *command, "--format", "json")

        # A summary says on a terminal what to do next, with the path as it was given.
        summary = (ringside, "summary", traces)
        plain = subprocess.run(summary, capture_output=True, text=True, check=True).stdout
        assert plain.startswith("Rank 3 ") and f"\n  See: ringside stragglers {traces}\n" in plain, plain
        next_line = f"\nNext: ringside report -o report.html {traces}\n"
        assert on_terminal(*large, *summary, NO_COLOR="1") == plain + next_line

        check_widths(ringside, traces)

        # Names of traces have control characters here: raw where JSON allows it, or escaped.
        for path in traces.rglob("*.json"):
            hostile = "ho\x7f\x9b31m\\\\u001b[31m\u202est\u2066".encode()
            path.write_bytes(re.sub(rb"host(?=\d)", hostile, path.read_bytes()))
        raw = "ho\x7f\x9b31m\x1b[31m\u202est\u2066"
        shown = "ho??31m?[31m?st?"
        for *command, of_file in ((ringside, "communicators", traces, "--format", "csv", raw),
                                  (ringside, "merge", traces, "-o", "-", raw[:7])):
            plain = subprocess.run(command, capture_output=True, check=True).stdout.decode()
            assert of_file in plain, plain[:500]
            on_screen = on_terminal(*large, *command)
            assert not set(on_screen) & set("\x7f\x9b\x1b\u202e\u2066"), on_screen[:500]
            assert shown[:7] in on_screen, on_screen[:500]
            assert len(on_screen) == len(plain), (len(on_screen), len(plain))
    print("ok")


if __name__ == "__main__":
    main()
