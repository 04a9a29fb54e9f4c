# SPDX-License-Identifier: Apache-2.0
"""The time that recording adds to a collective."""

import statistics

from machine import bench
from results import FIGURE, require

# With rings where they are by default, which is memory: a disk would be part of what is measured.
CONFIGURATIONS = (
    ("no plugin", {"NCCL_PROFILER_PLUGIN": "none"}),
    ("default", {"RINGSIDE_EVENTS": "default"}),
    ("all", {"RINGSIDE_EVENTS": "all"}),
)


def times_of(job):
    """Microseconds a call, by function and size, as the program prints them."""
    times = {}
    for line in job.log().splitlines():
        words = line.split()
        if len(words) == 6 and words[1].isdigit():
            times[words[0], int(words[1])] = float(words[3])
    require(times, f"the program printed no times: {job.log()[-300:]}")
    return times


def one_round(machine, measured):
    for name, variables in CONFIGURATIONS:
        job = bench(machine, "cost", "--iterations", 20 if machine.emulated else 100, "--min-bytes",
                    65536, "--max-bytes", 1 << (18 if machine.emulated else 20), "--collectives",
                    "AllReduce,AllGather", RINGSIDE_RING_DIR=None, **variables).wait()
        if name != "no plugin":
            job.traces()
        for key, time_us in times_of(job).items():
            measured.setdefault((name, *key), []).append(time_us)
    return True


def added_time(machine, results):
    """Configurations alternate, round by round: a machine is not equally quick all the time."""
    measured, rounds = {}, 0
    for _ in range(1 if machine.emulated else 5):
        if not results.run("added time", "round", lambda: one_round(machine, measured), least_s=30):
            break
        rounds += 1
    for name, _ in CONFIGURATIONS[1:] if rounds else ():
        texts, values = [], {}
        for _, function, size in [key for key in measured if key[0] == name]:
            plain = measured["no plugin", function, size]
            added = statistics.median(with_it - without for with_it, without
                                      in zip(measured[name, function, size], plain))
            texts.append(f"{function} {size}: {statistics.median(plain):.1f} us, {added:+.1f} us")
            values[f"{function} {size}"] = added
        results.add("added time", f"{name} ({rounds} rounds, alternating)", FIGURE,
                    "; ".join(texts), added_us=values)
