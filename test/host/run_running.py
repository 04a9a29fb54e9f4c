#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Copies the trace of a process again and again while it records, with a journal so
small that it turns several times a second: `ringside recover --running`. Each copy must be a sound
trace; what is in it twice, or in no account, `ringside lint` finds."""
import argparse
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

COPIES = 30


def ringside(options, *arguments):
    return subprocess.run([options.ringside, *map(str, arguments)], capture_output=True, text=True,
                          timeout=100, check=False)


def watch(options, directory):
    traces, rings, copies = (directory / name for name in ("traces", "rings", "copies"))
    for made in (traces, rings):
        made.mkdir()
    environment = {key: value for key, value in os.environ.items()
                   if not key.startswith("RINGSIDE_")}
    environment.update(RINGSIDE_DIR=str(traces), RINGSIDE_RING_DIR=str(rings),
                       RINGSIDE_EVENTS="all", RINGSIDE_JOURNAL_BYTES="8M",
                       RINGSIDE_RING_BYTES="4M")
    recording = sorted(pathlib.Path(options.recording).glob("*.jsonl.gz"))[0]
    command = [options.host, "--plugin", options.plugin, "--speed", "300", "--repeat", "100000",
               str(recording)]
    with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL, start_new_session=True) as process:
        try:
            limit = time.monotonic() + 60
            while not list(traces.iterdir()) and time.monotonic() < limit:
                time.sleep(0.05)
            made = 0
            until = time.monotonic() + 45  # a busy machine makes fewer copies
            for _ in range(COPIES):
                if made > 0 and time.monotonic() > until:
                    break
                shutil.rmtree(copies, ignore_errors=True)
                copied = ringside(options, "recover", "--running", "--output", copies, rings)
                if "changes faster" in copied.stderr or "had no room" in copied.stderr:
                    continue  # says so
                checked = ringside(options, "lint", copies)
                if copied.returncode != 0 or checked.returncode != 0:
                    return "\n".join((copied.stdout + copied.stderr + checked.stdout +
                                      checked.stderr).splitlines()[:20])
                made += 1
            if process.poll() is not None:
                return "the process is over: the test tests nothing"
            if made == 0:  # a slow drain has losses to tell, soon
                return f"only {made} of {COPIES} copies could be made"
            print(f"{made} copies")
        finally:
            os.killpg(process.pid, signal.SIGKILL)  # its children are the ranks
    return ""


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--host", required=True, help="nccl_host")
    parser.add_argument("--plugin", required=True)
    parser.add_argument("--ringside", required=True)
    parser.add_argument("recording", help="a folder of test/data/transcripts")
    options = parser.parse_args()
    directory = tempfile.mkdtemp(prefix="ringside-running-")
    wrong = watch(options, pathlib.Path(directory))
    if wrong:
        print(f"{wrong}\nfiles are in {directory}")
        return 1
    shutil.rmtree(directory)
    return 0


if __name__ == "__main__":
    sys.exit(main())
