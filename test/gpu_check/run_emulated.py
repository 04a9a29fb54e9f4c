#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs scripts/gpu_check.sh on emulated GPUs, and looks at what it says that it did.

usage: run_emulated.py SCRIPT BUILD_DIRECTORY OUT BUDGET_S
"""

import json
import pathlib
import re
import shutil
import subprocess
import sys

# A check that the emulation cannot make never passes.
NEVER = {("PyTorch", "DDP under torch.profiler"),
         ("CUDA graphs", "replays of a captured AllReduce"), ("GPU clock", "against torch.profiler's kernels"), ("NVML", "GPU in the trace"),
         ("doctor", "GPUs"), ("machine", "GPU"), ("not here", "NVLink and NVSwitch")}
RAN = {"doctor", "GPU clock", "bandwidth", "events", "faults"}


def main():
    script, build, out, budget = sys.argv[1:]
    out = pathlib.Path(out)
    shutil.rmtree(out, ignore_errors=True)
    status = subprocess.run([script, str(out), "--emulated", build, "--budget", budget, "--work",
                             f"{out}/work"], check=False).returncode
    files = [path for path in out.iterdir() if path.is_file()]
    result = json.loads((out / "result.json").read_text(encoding="utf-8"))
    rows = result["rows"]
    outcomes = {(row["part"], row["name"]): row["outcome"] for row in rows}
    table = (out / "result.md").read_text(encoding="utf-8")
    checks = {
        f"exit status {status}": status == 0 == result["exit_status"],
        "says that the GPUs are emulated": result["emulated"] is True and "EMULATED" in table,
        "counts its rows": sum(result["counts"].values()) == len(rows),
        "has a line for each row": table.count("\n| ") == len(rows) + 1,
        "no failure": "fail" not in outcomes.values(),
        "each part has run": RAN <= {row["part"] for row in rows if row["outcome"] == "pass"},
        "what cannot be shown is not run": all(outcomes.get(key) == "not run" for key in NEVER),
        "few files of plain names": len(files) <= 8 and all(
            re.fullmatch(r"[A-Za-z0-9._-]+", path.name) and path.stat().st_size <= 16 << 20
            for path in files),
    }
    wrong = [what for what, holds in checks.items() if not holds]
    print("passed" if not wrong else f"FAILED: {'; '.join(wrong)}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
