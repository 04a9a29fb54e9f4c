# SPDX-License-Identifier: Apache-2.0
"""The machine, as it is and as `ringside doctor` and the driver report it."""

import json
import platform
import re
import shutil
import subprocess

from results import FIGURE, NOT_RUN, PASS, require

NO_DRIVER = "the emulation has no NVIDIA driver"


def said_by(*command):
    if not shutil.which(command[0]):
        return None
    said = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    return said.stdout.strip() if said.returncode == 0 else None


def gpus_of_driver():
    """The driver's facts through NVML (nvidia-smi): index, UUID, PCI address of each GPU."""
    said = said_by("nvidia-smi", "--query-gpu=index,uuid,pci.bus_id", "--format=csv,noheader")
    return [tuple(part.strip() for part in line.split(",")) for line in (said or "").splitlines()]


def describe(machine, results):
    """The machine, for whoever reads the figures."""
    results.add("machine", "host", FIGURE, f"{platform.platform()}, {platform.machine()}")
    if machine.emulated:
        results.add("machine", "GPU", NOT_RUN, NO_DRIVER)
        return
    gpu = said_by("nvidia-smi", "--query-gpu=name,driver_version,memory.total,clocks.sm,clocks.mem",
                  "--format=csv,noheader")
    results.add("machine", "GPU", FIGURE, gpu or "nvidia-smi does not answer")
    results.add("machine", "NCCL", FIGURE, str(machine.nccl))
    torch = said_by(machine.python, "-c", "import torch; "
                    "print(torch.__version__, torch.version.cuda, torch.cuda.nccl.version())")
    results.add("machine", "PyTorch", FIGURE, torch or "none")


def doctors_answer(machine, results):
    """It ends with an answer, and has found the plugin."""
    arguments = ["doctor", "--format", "json", "--plugin", machine.plugin]
    if machine.nccl:
        arguments += ["--nccl", machine.nccl]
    checks = json.loads(machine.analyzer(*arguments, expected=(0, 1)))["checks"]
    of_plugin = [one for one in checks if one["subject"] == "plugin"]
    require(any(one["health"] == "ok" for one in of_plugin), f"no plugin is found: {of_plugin}")
    said = "; ".join(f"{one['health']} {one['subject']}: {one['text']}" for one in checks
                     if one["health"] != "ok")
    results.add("doctor", "answers", PASS, said or "nothing to say", answer=checks)
    return checks


def doctors_gpus(machine, results, checks):
    """It counts as many GPUs as the driver."""
    if machine.emulated:
        results.add("doctor", "GPUs", NOT_RUN, NO_DRIVER)
        return
    said = " ".join(one["text"] for one in checks if one["subject"] == "gpu")
    gpus = gpus_of_driver()
    counted = re.search(r"(\d+) GPU", said)
    require(gpus and counted and int(counted[1]) == len(gpus),
            f"nvidia-smi counts {len(gpus)}; doctor says: {said}")
    results.add("doctor", "GPUs", PASS, said)


def doctor(machine, results):
    checks = results.run("doctor", "answers", lambda: doctors_answer(machine, results))
    if checks:
        results.run("doctor", "GPUs", lambda: doctors_gpus(machine, results, checks))
    else:
        results.needs("the answer of doctor", "doctor", "GPUs")


def identity(machine, results, traces):
    """The GPU that a trace names is the one that NVML names so."""
    if machine.emulated:
        results.add("NVML", "GPU in the trace", NOT_RUN, NO_DRIVER)
        return
    known = {(uuid, int(pci.split(":")[-2], 16)) for _, uuid, pci in gpus_of_driver()}
    require(known, "nvidia-smi does not say which GPUs there are")
    for trace in traces:
        for communicator in trace.communicators.values():
            gpu = communicator.get("gpu")
            require(gpu, f"rank {trace.rank}: the trace names no GPU")
            require((gpu["uuid"], int(gpu["pci"].split(":")[-2], 16)) in known,
                    f"rank {trace.rank}: {gpu} is none of {known}")
    results.add("NVML", "GPU in the trace", PASS, f"UUID and PCI bus as nvidia-smi has them: {gpu}")


def never(machine, results):
    """Lists the checks that one GPU cannot show."""
    what = "the emulation has none" if machine.emulated else "one GPU only"
    for name in ("NVLink and NVSwitch", "InfiniBand and RoCE", "copy engines, symmetric memory"):
        results.add("not here", name, NOT_RUN, what)
