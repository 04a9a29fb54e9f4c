# SPDX-License-Identifier: Apache-2.0
"""No memory for a thread of the plugin's, at one allocation of it or from one on: the program does not
notice, and the trace can be read."""
import concurrent.futures
import json
import random
import re
import subprocess
import sys
import time

from house import Failure, House, require

STEPS = ("communicator:1", "pace:4", "communicator:2", "call:50", "thread:10", "stop:", "start:", "call:20", "mark:",
         "wait:700", "call:100", "close:2", "wait:200")


def readable(house):
    """The trace is absent, or the analyzer reads it and its accounts add up. Returns the last."""
    traces = [path for path in house.trace_files() if ".dump" not in path.name]
    if not traces:
        return None
    done = subprocess.run([house.options.ringside, "summary", str(house.traces)], capture_output=True, text=True,
                          timeout=60, check=False)
    require(done.returncode in (0, 4), f"ringside summary ends with {done.returncode}: {done.stderr[:500]}")
    text = traces[0].read_text(encoding="utf-8")
    if text.endswith("]\n"):
        json.loads(text)
    return house.account(traces[0]) if "ringside_account" in text else None


def run(options, thread, number, for_ever, steps=STEPS):
    """One run, in which allocation `number` of the thread fails. Returns how many it makes."""
    with House(options) as house:
        variables = {"LD_PRELOAD": options.no_memory, "NO_MEMORY_THREAD": thread, "NO_MEMORY_FROM": number}
        if for_ever:
            variables["NO_MEMORY_FOR_EVER"] = 1
        process = house.begin("steps", *steps, **variables)
        if thread == "ringside-ctl":
            limit = time.monotonic() + 1
            while not list(house.rings.glob("*/control")) and time.monotonic() < limit:
                time.sleep(0.01)
            for request in ("status",), ("mark", "text"), ("dump",):
                house.ctl(*request)  # it may get no answer
        process.communicate(timeout=60)
        require(process.returncode == 0, f"ended with {process.returncode}: {house.said()[:1000]}")
        account = readable(house)
        if account is not None and not for_ever:
            house.has_all(account)
        if list(house.rings.iterdir()):
            house.recover()  # memory was too short to end the trace
            require(readable(house) is not None or for_ever, "nothing is recovered")
        return int(re.findall(r"no_memory: (\d+) allocations", house.said())[-1])


# Calls init of version 6. Python is a program in C, and so are many that use NCCL.
PROGRAM_IN_C = """
import ctypes, sys, time
plugin = ctypes.CDLL(sys.argv[1])
table = (ctypes.c_void_p * 6).in_dll(plugin, "ncclProfiler_v6")
init = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_void_p, ctypes.c_char_p,
                        ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_void_p)(table[1])
context, mask = ctypes.c_void_p(), ctypes.c_int()
init(ctypes.addressof(context), 1, ctypes.addressof(mask), b"world", 1, 2, 0, None)
"""


def program_in_c(options):
    """The C library takes memory for the thread-local variables of a libstdc++ that is loaded later, and
    ends the process where there is none: an exception is enough."""
    with House(options) as house:
        house.command = [sys.executable, "-c", PROGRAM_IN_C]
        house.run(LD_PRELOAD=options.no_memory, NO_MEMORY_THREAD="ringside", NO_MEMORY_FROM=1, NO_MEMORY_FOR_EVER=1)


def memory(options):
    if options.sanitized or options.no_memory is None:
        print("memory: skipped, a sanitizer has an allocator of its own")
        return 77
    program_in_c(options)
    with House(options) as house:  # the end of the last thread of the program is noticed without memory
        house.run("main_ends", LD_PRELOAD=options.no_memory, NO_MEMORY_THREAD="ringside", NO_MEMORY_FROM=1,
                  NO_MEMORY_FOR_EVER=1)
    chance = random.Random(options.seed)

    def one(thread, most, number, for_ever):
        try:
            run(options, thread, number, for_ever)
        except Failure as failure:
            raise Failure(f"{thread}, allocation {number} of {most}, for_ever {for_ever}, seed {options.seed}: "
                          f"{failure}") from None

    steps = ("init_alone:1", "call:10")
    most = run(options, "init_alone", 0, False, steps)
    require(most > 100, f"init makes only {most} allocations")
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for done in [pool.submit(run, options, "init_alone", number, False, steps)
                     for number in range(1, most + 1, 1 if options.long else 5)]:
            done.result()
    runs = most
    for thread in ("ringside", "ringside-ctl"):
        most = run(options, thread, 0, False)
        require(most > (200 if thread == "ringside" else 5), f"only {most} allocations of {thread}")
        few = sorted({*range(1, 13), *(chance.randint(13, max(most, 13)) for _ in range(12))})
        numbers = range(1, most + 1) if options.long else few
        chosen = numbers if thread == "ringside" else range(1, min(most, 12) + 1)
        with concurrent.futures.ThreadPoolExecutor(4) as pool:  # they wait, as a rule
            begun = [pool.submit(one, thread, most, number, for_ever) for number in chosen
                     for for_ever in (False, True)]
            for done in begun:
                done.result()
        runs += len(begun)
    print(f"memory: {runs} runs")
    return 0
