# SPDX-License-Identifier: Apache-2.0
"""An NVML that never returns costs a program nothing, at load and at exit."""
import pathlib
import statistics
import time

from house import House, require

MACHINES = pathlib.Path(__file__).resolve().parent.parent / "emulated_gpu" / "machines"
TURNS = 5
# Whoever waited for NVML would wait for ever, and whoever waited for the drain thread at exit five
# seconds; the exit waits 50 ms for a last reading.
MOST_S = 1.0


def readings(house):
    """The states of all readings of the machine, of the only trace."""
    (path,) = house.trace_files()
    return [line.split('"state":"')[1].split('"')[0]
            for line in path.read_text(encoding="utf-8").splitlines() if '"ringside_topology"' in line]


def nvml(options):
    """Programs with and without such an NVML run in turn, so that the load of the machine is that of all."""
    if options.nvml is None or options.sanitized:
        print("nvml: skipped, there is no emulated NVML, or sanitizers take the time")
        return 77
    cases = {"no NVML": {}}
    for machine in ("nvml_hangs_init", "nvml_hangs_links", "nvml_hangs_later"):
        cases[machine] = {"EMUGPU_MACHINE": MACHINES / f"{machine}.json",
                          "LD_LIBRARY_PATH": options.nvml}
    took_s = {name: [] for name in cases}
    hung = {name: 0 for name in cases}
    for _ in range(TURNS):
        for name, variables in cases.items():
            with House(options) as house:
                begin = time.monotonic()
                house.run("notes", 1000, 100, 20, **variables)
                took_s[name].append(time.monotonic() - begin)
                hung[name] += readings(house)[-1:] == ["unfinished"]
                house.account()
    medians = {name: statistics.median(of) for name, of in took_s.items()}
    print(*(f"{name}: {median * 1000:.0f} ms" for name, median in medians.items()), sep=", ")
    for name, median in medians.items():
        require(median < medians["no NVML"] + MOST_S, f"{name}: {medians}")
    require(hung["nvml_hangs_init"] > 0 and hung["nvml_hangs_links"] > 0,
            f"the NVML did not hang: {hung}")
    return 0
