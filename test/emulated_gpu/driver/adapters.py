#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a sysfs with the GPUs and network adapters of a machine (machines/*.json), for
RINGSIDE_SYSFS.

usage: adapters.py MACHINE DIRECTORY [HOST]
"""

import json
import pathlib
import sys

COUNTERS = {"counters/link_downed": 0, "counters/symbol_error": 0, "counters/port_rcv_errors": 0,
            "counters/port_xmit_data": 1 << 60, "hw_counters/out_of_sequence": 0}


def bus_id(gpu):
    return f"0000:{0x18 + gpu * 0x10:02x}:00.0"


def add_device(root, address, gpu):
    """Two GPUs are behind one root port, and half of them on one node."""
    bridge = f"0000:{gpu // 2:02x}:01.0"
    place = pathlib.PurePosixPath(f"devices/pci0000:{gpu // 2:02x}") / bridge / address
    (root / place).mkdir(parents=True, exist_ok=True)
    (root / place / "numa_node").write_text(f"{gpu // 4}\n", encoding="ascii")
    link = root / "bus/pci/devices" / address
    link.parent.mkdir(parents=True, exist_ok=True)
    link.symlink_to(pathlib.Path("../../..") / place)
    return place


def write_sysfs(machine, root, host=None):
    root = pathlib.Path(root)
    for gpu in range(machine["gpus"]):
        add_device(root, bus_id(gpu), gpu)
    adapters = machine.get("adapters", {"count": 0})
    for number in range(adapters["count"]):
        gpu = number * machine["gpus"] // adapters["count"]
        place = add_device(root, f"0000:{0x1a + gpu * 0x10:02x}:00.0", gpu)
        adapter = root / "class/infiniband" / f"mlx5_{number}"
        port = adapter / "ports/1"
        for directory in ("counters", "hw_counters"):
            (port / directory).mkdir(parents=True)
        (adapter / "device").symlink_to(pathlib.Path("../../..") / place)
        slow = machine.get("slow_adapter", {})
        is_slow = slow and slow["adapter"] == number and slow["host"] == host
        for name, text in (("rate", slow["rate"] if is_slow else adapters["rate"]),
                           ("state", "4: ACTIVE"), ("link_layer", adapters["link_layer"]),
                           *COUNTERS.items()):
            (port / name).write_text(f"{text}\n", encoding="ascii")


def main():
    machine = json.loads(pathlib.Path(sys.argv[1]).read_text(encoding="utf-8"))
    write_sysfs(machine, sys.argv[2], sys.argv[3] if len(sys.argv) > 3 else None)


if __name__ == "__main__":
    main()
