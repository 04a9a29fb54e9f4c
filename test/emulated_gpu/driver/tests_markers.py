# SPDX-License-Identifier: Apache-2.0
"""A tool that takes NVTX sees what NCCL is asked for, and what it executes."""

import collections
import json

from harness import Job, check, print_facts


def read_lines(text):
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


def ranges(setup):
    """Ranges of calls against the application's own account."""
    check(setup.nvtx_listener, "this test needs --nvtx-listener")
    job = Job(setup, "--scenario", "mix", NVTX_INJECTION64_PATH=setup.nvtx_listener,
              NVTX_LISTENER_DIR=str(setup.directory)).wait()
    for trace in job.traces():
        seen = read_lines((setup.directory / f"nvtx.{trace.process['pid']}.jsonl")
                          .read_text(encoding="utf-8"))
        begun = {line["range"]: line for line in seen if line["what"] == "start"}
        ended = [line["range"] for line in seen if line["what"] == "end"]
        check(sorted(begun) == sorted(ended), f"{len(begun)} ranges, {len(ended)} ends")
        payloads = [line["payload"] for line in begun.values()]
        called = collections.Counter(
            (call["comm"], call["func"], call["count"], call["datatype"])
            for call in job.calls(trace.rank)
            if "func" in call and call["nranks"] > 1)  # NCCL tells of no others
        found = collections.Counter(
            (p["comm_name"], p["func"], p["count"], p["datatype"].replace("Unknown", "ncclUint8"))
            for p in payloads if p["type"] in ("CollApi", "P2pApi"))  # NCCL has no name for it
        check(found == called, f"too many: {found - called}, missing: {called - found}")
        for payload in payloads:
            gpu = trace.communicators[payload["context"]]["gpu"]
            check(payload["device"] == gpu["index"] and payload["gpu_serial"] == gpu["uuid"] != "",
                  f"{payload} is not of {gpu}")
        executed = [p for p in payloads if p["type"] == "Coll"]
        print_facts(rank=trace.rank, ranges=len(begun), calls=sum(called.values()),
                    collectives=len(executed))


TESTS = {"nccl-markers": ranges}
