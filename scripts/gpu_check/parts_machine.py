# SPDX-License-Identifier: Apache-2.0
"""What the machine is; what `ringside doctor` and the driver say of it."""

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
    """What the driver says through NVML (nvidia-smi): index, UUID, PCI address of each GPU."""
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
    torch = said_by(machine.python, "-c", "import torch; print(torch.__version__, torch.version.cuda,"
                    " torch.cuda.nccl.version())")
    results.add("machine", "PyTorch", FIGURE, torch or "none")


def doctor(machine, results):
    """It ends with an answer, has found plugin and GPUs, and counts as many as the driver."""
    arguments = ["doctor", "--format", "json", "--plugin", machine.plugin]
    if machine.nccl:
        arguments += ["--nccl", machine.nccl]
    answer = json.loads(machine.analyzer(*arguments, expected=(0, 1)))
    by_subject = {}
    for check in answer["checks"]:
        by_subject.setdefault(check["subject"], []).append(check)
    problems = "; ".join(f"{one['health']} {one['subject']}: {one['text']}"
                         for one in answer["checks"] if one["health"] != "ok")
    require(any(one["health"] == "ok" for one in by_subject["plugin"]),
            f"the plugin is not found: {by_subject['plugin']}")
    results.add("doctor", "answers", PASS, problems or "nothing to say", answer=answer["checks"])
    if machine.emulated:
        results.add("doctor", "GPUs", NOT_RUN, NO_DRIVER)
        return
    said = " ".join(one["text"] for one in by_subject["gpu"])
    gpus = gpus_of_driver()
    counted = re.search(r"(\d+) GPU", said)
    require(gpus and counted and int(counted[1]) == len(gpus), f"{len(gpus)} GPUs, doctor: {said}")
    results.add("doctor", "GPUs", PASS, said)


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
    """What one GPU cannot show."""
    what = "the emulation has none" if machine.emulated else "one GPU only"
    for name in ("NVLink and NVSwitch", "InfiniBand and RoCE", "copy engines, symmetric memory"):
        results.add("not here", name, NOT_RUN, what)
