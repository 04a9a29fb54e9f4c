#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Scalars of a running job, for TensorBoard or Weights & Biases.

In the training, on one rank of each host, with `state` as your loop counts:

    log_scalars(torch.utils.tensorboard.SummaryWriter("runs").add_scalar, lambda: state.step)
    log_scalars(lambda name, value, step: wandb.log({name: value}, step=step), lambda: state.step)

As a program it prints them once: python3 scalars.py [OPTIONS OF ringside top].
"""

import json
import subprocess
import sys
import threading
import time


def scalars(*options, interval_s=2):
    """Busbw, the share of communication that was waiting, and the rank that the others waited for."""
    said = subprocess.run(["ringside", "top", "--once", "--interval", str(interval_s), "--format",
                           "json", *options], stdout=subprocess.PIPE, check=False).stdout
    rows = [row for row in json.loads(said or '{"rows": []}')["rows"] if row.get("busbw_bytes_per_s")]
    if not rows:
        return {}
    # A rank's own time includes waiting: the last to come has the least of it, and the most busbw.
    busbw = {row["rank"]: row["busbw_bytes_per_s"] for row in rows if row["name"] == rows[0]["name"]}
    worst, mean = max(busbw, key=busbw.get), sum(busbw.values()) / len(busbw)
    return {"ringside/busbw_gb_s": mean / 1e9, "ringside/waiting_share": 1 - mean / busbw[worst],
            "ringside/worst_rank": worst}


def log_scalars(add_scalar, step_of, *options, every_s=10):
    """A thread adds them every so many seconds, with the time of a step since the last time."""
    def run():
        step, at_s = step_of(), time.monotonic()
        while True:
            time.sleep(every_s)
            found = scalars(*options)
            steps, seconds = step_of() - step, time.monotonic() - at_s
            step, at_s = step + steps, at_s + seconds
            if steps > 0:
                found["ringside/step_time_s"] = seconds / steps
            for name, value in found.items():
                add_scalar(name, value, step)
    threading.Thread(target=run, daemon=True).start()


if __name__ == "__main__":
    print(json.dumps(scalars(*sys.argv[1:])))
