#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The plugin's promises (docs/guarantees.md) against a program that must not be hurt.

usage: run.py --host H --plugin P --ringside R [--long] [--sanitized S] [CASE...]

--long makes what the tests in CI make shorter: 10 million callbacks, 1,000 loads, 4,096 threads,
200 kills. Without a CASE all are run.
"""
import argparse
import collections
import ctypes
import json
import os
import pathlib
import random
import signal
import socket
import sys
import time

import disk
import dumps
import exit_time
import files
import memory
import nvml
import recovery
import shared_memory
import signals
from house import Failure, House, require


def storm(options):
    """The drain looks once a second, rings hold 1,000 records: most events are lost, and counted."""
    calls = 10_000_000 if options.long else 1_000_000
    operations = calls // 2 // 12
    with House(options) as house:
        status = house.run("storm", 2, operations, RINGSIDE_DRAIN_MS=1000, RINGSIDE_RING_BYTES="64K")
        account = house.whole_account()
        dropped = house.sum(account, "dropped_ring_full") + house.sum(account, "dropped_parent")
        require(dropped > calls // 2, f"only {dropped} callbacks were lost")
        require(status["dropped"] == dropped, f"status {status}, account {dropped}")
        # A preempted thread can be away for long; what waits for the drain would be a second.
        require(options.sanitized or house.longest_ns() < 500_000_000,
                f"a callback of {house.longest_ns()} ns")
        house.warnings(at_most=1)
        house.lint()
        print(f"{sum(house.called().values())} callbacks, {dropped} dropped, longest "
              f"{house.longest_ns()} ns")


def no_growth(options, growth, rss_kib):
    for what in ("descriptors", "tasks", "maps"):
        # Allocators of threads map and unmap; that is bounded, and is not the plugin's.
        require(options.sanitized or growth[what] <= (8 if what == "maps" else 0),
                f"{what} grow by {growth[what]}")
    require(options.sanitized or growth["rss_kib"] <= rss_kib,
            f"memory grows by {growth['rss_kib']} KiB")


def cycles(options):
    count, communicators = (1000, 500) if options.long else (200, 200)
    with House(options) as house:
        growth = house.run("cycles", count, communicators)
        # The facts of a communicator are kept for dumps: about 2.4 KiB each.
        no_growth(options, growth, 4 * (count + communicators))
        house.whole_account()
        house.no_rings()
        house.warnings(at_most=0)
        house.lint()
        print(f"{count} loads, {communicators} communicators: grows by {growth}")


def threads(options):
    count, batch = (4096, 64) if options.long else (1024, 64)
    with House(options) as house:
        # The batch's rings and some more: a ring goes to a new thread once it is drained.
        growth = house.run("short_threads", count, batch, RINGSIDE_RING_BYTES="64K")
        no_growth(options, {**growth, "maps": 0}, 64 * 1024)
        require(options.sanitized or growth["maps"] <= 3 * batch, f"maps grow by {growth['maps']}")
        house.whole_account()
        house.no_rings()
        house.warnings(at_most=0)
        house.lint()
        print(f"{count} threads: grows by {growth}")


def no_ring(options):
    """More threads at once than there can be rings."""
    if options.sanitized:
        return 77
    with House(options) as house:
        status = house.run("many_threads", 4196, RINGSIDE_RING_BYTES="64K", RINGSIDE_RING_DIR="none")
        account = house.whole_account()
        lost = house.sum(account, "dropped_no_ring")
        # Each thread makes one operation, of 12 callbacks.
        require(lost == 100 * 12, f"{lost} callbacks lost for want of a ring")
        require(status["dropped"] == lost, f"status {status}")
        house.warnings(at_most=0)
        house.lint()
    with House(options) as house:
        # A ring of 32 MiB has no room in the 16 MiB that are left, for 2000 operations of 12 callbacks.
        house.run("short_of_memory", 2000, RINGSIDE_RING_BYTES="32M", RINGSIDE_RING_DIR="none")
        account = house.whole_account()
        lost = house.sum(account, "dropped_no_ring") - 2000 * 12
        require(0 <= lost < 1024, f"with memory again, {lost} callbacks are lost for want of a ring")
        house.warnings(at_most=0)
        house.lint()
    return 0


def lines_of(house, name):
    """The arguments of all lines of this name, in the order of the trace and its segments."""
    found = []
    for trace in sorted(house.trace_files(), key=lambda path: (".s0" in path.name, path.name)):
        with open(trace, encoding="utf-8") as lines:
            found += [json.loads(line.strip().strip("[").rstrip(","))["args"] for line in lines
                      if f'"name":"{name}"' in line]
    return found


def marks_are_there(house, marks, lost):
    """All marks of the program that were not lost are in the trace; returns its ranges."""
    found = {mark["mark"]: mark for mark in lines_of(house, "ringside_mark")}
    ranges = [mark for mark in found.values() if mark.get("range")]
    require(len(ranges) == 1 + 2 * marks - lost["ranges_lost"], f"{len(ranges)} ranges, {lost}")
    require(len(found) - len(ranges) == marks - lost["marks_lost"], f"{len(found)}, {lost}")
    return ranges


def killed_notes(options):
    """Killed while its marks still wait, in a range: those that had room are in the recovered trace."""
    marks = 3_000  # with their ranges, so many fit into a ring
    with House(options) as house:
        told = house.run("notes", marks, 0, 20, "kill", result=-signal.SIGKILL, RINGSIDE_DRAIN_MS=1000)
        require(told["marks_lost"] == told["ranges_lost"] == 0, f"no room for {marks} marks: {told}")
        said = house.recover()
        require("missing" not in said, f"recover says: {said}")
        ranges = marks_are_there(house, marks, told)
        account = house.account()["by_type"]
        require(account["Mark"] == {"produced": marks, "written": marks}, f"{account['Mark']}")
        require(account["Range"]["produced"] == 4 * marks + 1, f"{account['Range']}")
        require("dropped_kill" not in account["Range"], f"{account['Range']}")
        still_open = [mark["name"] for mark in ranges if "end_ns" not in mark]
        require(still_open == ["around all"], f"open are {still_open[:9]}")
        end = lines_of(house, "ringside_end")[-1]
        require(end.get("recovered") and end["marks_lost"] == end["ranges_lost"] == 0, f"{end}")
        house.lint()


def notes(options):
    """Marks, ranges and windows in a loop, while the drain looks once a second."""
    marks, windows = (1_000_000, 100_000) if options.long else (200_000, 20_000)
    with House(options) as house:
        # With a sanitizer texts of 900 bytes are not written within the five seconds for which the end of
        # the process waits.
        told = house.run("notes", marks, windows, 20 if options.sanitized else 900,
                         RINGSIDE_DRAIN_MS=1000)
        require(options.sanitized or told["rss_kib"] < 150 * 1024, f"memory grows: {told}")
        end = lines_of(house, "ringside_end")[-1]
        for what in ("marks_lost", "ranges_lost"):
            require(0 < told[what] == end.get(what), f"{what}: {told}, the trace says {end}")
        ranges = marks_are_there(house, marks, told)
        require(all("end_ns" in mark for mark in ranges), "the end of a range is lost")
        account = house.account()["by_type"]
        require(account["Mark"]["dropped_ring_full"] == told["marks_lost"], f"{account['Mark']}")
        # The end of a range that is lost is not recorded either; all others are.
        require(account["Range"]["dropped_ring_full"] == account["Range"]["dropped_parent"]
                == told["ranges_lost"], f"{account['Range']}")
        opened = {}
        for window in lines_of(house, "ringside_window"):
            opened[window["window"]] = window
        require(told["starts_refused"] > 0, f"no start was refused: {told}")
        require(told["windows"] == 1 + windows - told["starts_refused"] == len(opened),
                f"{len(opened)} windows in the trace, {told}")
        still_open = [number for number, window in opened.items() if "end_ns" not in window]
        require(len(still_open) <= told["started"], f"windows without an end: {still_open[:9]}")
        house.warnings(at_most=0)
        house.lint()
        known = house.summary(house.trace_files()[0])["completeness"]
        require(known["callbacks_dropped"] == 0 and known["marks_lost"] == told["marks_lost"]
                and known["ranges_lost"] == told["ranges_lost"], f"the summary says {known}")
        print(f"{told}")
    with House(options) as house:
        # More threads than a process can have open ranges.
        house.run("steps", "communicator:1", "call:1", "leave_open:4200")
        left = {mark["mark"]: mark for mark in lines_of(house, "ringside_mark") if mark["name"] == "left open"}
        require(len(left) == 4200 and all("end_ns" in mark for mark in left.values()),
                f"{len(left)} ranges, {sum('end_ns' not in mark for mark in left.values())} without an end")
        house.lint()
    killed_notes(options)


def fork(options):
    if "thread" in options.sanitized:
        print("fork: skipped, ThreadSanitizer supports no fork of a process with several threads")
        return 77
    for how in ("exit", "_exit", "exec", "go_on"):
        with House(options) as house:
            house.run("fork", how)
            house.whole_account(rows=2)
            house.no_rings()
            # Each of the six children that goes on says why it records nothing.
            told = house.warnings(at_most=6 if how == "go_on" else 0, at_least=6 if how == "go_on" else 0)
            require(all("nothing is recorded in this process" in line for line in told), f"{told}")
            house.lint()
    # A child whose only thread ends hangs with AddressSanitizer (GCC 12) now and then: the thread's
    # end returns memory to the sanitizer's allocator, and at the fork the drain thread may have held
    # a lock of that, which no handler of a fork takes.
    for how in ("_Fork",) if "address" in options.sanitized else ("_Fork", "fork_thread"):
        with House(options) as house:
            has_none = {"LD_PRELOAD": options.no_memory, "NO_MEMORY_THREAD": "child", "NO_MEMORY_FROM": "1",
                        "NO_MEMORY_FOR_EVER": "1"}
            house.run("fork_without_atfork", how,
                      **(has_none if how == "_Fork" and not options.sanitized else {}))
            # Rows 2 and 3 are the children's.
            called = [row[1] for number, row in enumerate(house.rows()) if number in (0, 1, 4, 5)]
            produced = collections.Counter()
            for name, numbers in house.account()["by_type"].items():
                produced[name] += numbers["produced"]
                require(numbers.get("held", 0) + numbers.get("in_rings", 0) == 0, f"left: {numbers}")
            require(+produced == +sum(map(collections.Counter, called), collections.Counter()),
                    f"{how}: produced {produced}, called {called}")
            house.no_rings()
            # A child says why it records nothing, although it has no memory.
            told = house.warnings(at_most=6, at_least=6)
            require(all("nothing is recorded in this process" in line for line in told), f"{told}")
            house.lint()
    with House(options) as house:
        house.run("fork", "outlive", result=-signal.SIGKILL)
        house.recover()
        require(house.sum(house.account(), "dropped_kill") == 0, "records are lost")
        house.lint()
        time.sleep(3.2)  # its children end, and write nothing
        require(len(house.trace_files()) == 1, "a child wrote a trace")
        house.no_rings()
    return 0


def deaths(options):
    """SIGKILL at any moment: what had returned by then is in the recovered trace."""
    chance = random.Random(options.seed)
    recovered = lost = 0
    for number in range(200 if options.long else 10):
        pause_us = chance.choice((0, 20, 100))
        wait_ms = chance.randrange(1, 150 if pause_us == 0 else 600)
        with House(options, abi=chance.choice((2, 6, 7))) as house:
            process = house.begin_recording("never", 10**9, pause_us)
            time.sleep(wait_ms / 1000)
            process.send_signal(signal.SIGKILL)
            process.communicate(timeout=30)
            where = f"kill {number}, seed {options.seed}, pause {pause_us} us after {wait_ms} ms: "
            try:
                house.recover()
                account = house.account()
                produced = {name: of["produced"] for name, of in account["by_type"].items()}
                begun, returned = house.called(1), house.called(2)
                for name in begun | returned:
                    require(returned[name] <= produced.get(name, 0) <= begun[name],
                            f"{name}: {returned[name]} returned, {begun[name]} begun, "
                            f"{produced.get(name, 0)} in the account")
                killed = house.sum(account, "dropped_kill")
                # A callback that had not returned is counted before it is stored.
                under_way = sum(begun.values()) - sum(returned.values())
                require(pause_us == 0 or killed <= under_way,
                        f"{killed} records lost by the kill, {under_way} callbacks were under way")
                # Calls without a pause follow each other by less than Perfetto can tell apart; what is
                # written and what is recovered do not know of each other's.
                found = house.operations()
                if pause_us != 0:
                    house.lint()
                    # Each has one Coll, of a start and a stop. A ring is full where the drain got no
                    # processor for long enough, and the account says what that has cost.
                    full = sum(number for reason, number in account["by_type"].get("Coll", {}).items()
                               if reason in ("dropped_ring_full", "dropped_parent"))
                    least = sum(row[2]["Coll"] // 2 for row in house.rows()) - full
                    most = sum((row[1]["Coll"] + 1) // 2 for row in house.rows())
                    require(least <= found <= most, f"{found} operations, not {least} to {most}")
            except Failure as failure:
                raise Failure(where + str(failure)) from None
            recovered += sum(produced.values())
            lost += killed
    print(f"{number + 1} kills: {recovered} callbacks accounted for, {lost} lost by the kill")


def exits(options):
    for how, result in (("exit", 0), ("finalize_early", 0), ("_exit", 0),
                        ("abort", -signal.SIGABRT), ("segfault", -signal.SIGSEGV)):
        with House(options) as house:
            house.run("way_out", how, 1000, 20, result=result)
            if how in ("exit", "finalize_early"):
                house.whole_account()
                house.no_rings()
            else:
                house.recover()
                account = house.whole_account()
                require(house.sum(account, "dropped_kill") == 0, f"{how} loses records")
            found = house.operations()
            require(found == 2 * 1000, f"{how}: {found} operations of two threads")
            house.warnings(at_most=0)
            house.lint()
    if "thread" in options.sanitized:
        return  # ThreadSanitizer has a thread of its own, which goes on
    # LeakSanitizer takes what the C library allocates in pthread_exit() for a leak.
    leaks = {"ASAN_OPTIONS": "detect_leaks=0"} if "address" in options.sanitized else {}
    with House(options) as house:
        house.run("main_ends", **leaks)  # it would run for ever
        house.whole_account()
        house.no_rings()
        require(house.operations() == 1000, f"{house.operations()} operations of the thread that goes on")
        house.lint()


def idle(options):
    """While nothing happens the plugin's threads take next to nothing of a core."""
    def spent_ns(process):
        tasks = pathlib.Path(f"/proc/{process.pid}/task").iterdir()
        ours = [task for task in tasks if (task / "comm").read_text().startswith("ringside")]
        require(len(ours) == 2, f"{len(ours)} threads of the plugin")
        return sum(int((task / "schedstat").read_text().split()[0]) for task in ours)

    if not pathlib.Path("/proc/self/schedstat").exists():
        print("idle: skipped, this kernel does not tell what a thread takes")
        return 77
    with House(options) as house:
        process = house.begin_recording("sleep", 1000, 20)
        time.sleep(5)  # what it has recorded is written, and given up waiting for
        shares = []
        for asked in ("status", "stop"):
            done = house.ctl(asked)
            require(done.returncode == 0, f"{done}")
            time.sleep(0.5)
            before, begun = spent_ns(process), time.monotonic_ns()
            time.sleep(2)
            shares.append((spent_ns(process) - before) / (time.monotonic_ns() - begun))
        process.kill()
        process.communicate(timeout=30)
        require(options.sanitized or max(shares) < 0.01, f"idle threads take {shares} of a core")
        print(f"idle: {shares[0]:.3%} of a core while recording, {shares[1]:.3%} when stopped")
    return 0


def masks(options):
    """Start and stop with several NCCLs in the process, of which some are unloaded."""
    with House(options) as house:
        house.run("several_nccls")
        house.whole_account()
        house.no_rings()
        house.warnings(at_most=0)
        house.lint()
    with House(options) as house:
        process = house.begin("foreign_mask", RINGSIDE_DRAIN_MS=1)
        require(process.stdout.readline() == "changed\n", f"the program does not begin: {house.said()}")

        def status(verb="status"):
            done = house.ctl(verb, "--format", "json")
            require(done.returncode == 0, f"{done}")
            return json.loads(done.stdout)["processes"][0]

        until = time.monotonic() + 20
        while status()["state"] == "recording" and time.monotonic() < until:
            time.sleep(0.05)
        masked = status()
        require(masked["state"] == "masked" and masked["mask_changed"] is True, f"{masked}")
        started = status("start")
        require(started["state"] == "recording" and started["mask_changed"] is False, f"{started}")
        process.communicate(timeout=60)
        require(process.returncode == 0, f"{house.said()}")
        (line,) = house.warnings(at_least=1)
        require("activation mask" in line, line)
        ended = [window for window in lines_of(house, "ringside_window") if "mask_changed" in window]
        require(len(ended) == 1 and "end_ns" in ended[0], f"{ended}")
        house.whole_account()
        house.lint()


def open_socket(options):
    """A child that has the control socket open keeps nobody waiting, once its parent is gone."""
    for how in ("exit", "kill"):
        with House(options) as house:
            process = house.begin("fork_and_stay")
            require(process.stdout.readline() == "recording\n", f"{house.said()}")
            until = time.monotonic() + 20
            while not list(house.rings.glob("*/control")) and time.monotonic() < until:
                time.sleep(0.02)
            client = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            client.connect(str(next(house.rings.glob("*/control"))))
            client.settimeout(10)
            client.sendall(b'{"version":1,"verb":"status"}\n')
            require(b'"ok":true' in client.recv(65536), "no status")
            process.stdin.write("\n")
            process.stdin.flush()
            child = int(process.stdout.readline())
            try:
                if how == "exit":
                    process.communicate(timeout=30)
                    require(client.recv(1) == b"", "the connection of a process that has ended is open")
                else:
                    process.kill()
                    process.wait(timeout=30)
                    begun = time.monotonic()
                    done = house.ctl("status", "--timeout", "20")
                    require("has died" in done.stderr, f"{done}")
                    require(time.monotonic() - begun < 15, "ctl waits for a process that has died")
                    house.recover()
            finally:
                os.kill(child, signal.SIGKILL)


def early(options):
    """Before the first communicator, and while it is opened."""
    for how in ("marks", "dump"):
        with House(options) as house:
            process = house.begin("api_only", how)
            require(process.stdout.readline() == "called\n", f"{house.said()}")
            require(how == "dump" or not list(house.rings.iterdir()), "rings without a communicator")
            process.communicate(timeout=60)
            require(process.returncode == 0, f"{house.said()}")
            house.no_rings()
            require("have died" not in house.said(), house.said())
    for how in ("silent", "fork", "_Fork", "grandchild"):
        with House(options) as house:
            house.run("fork_before_init", how, RINGSIDE_START="1" if how == "silent" else "0")
            house.no_rings()
            house.warnings(at_most=0)
            require(house.operations() == 100, f"{how}: {house.operations()} operations")
            require(not lines_of(house, "ringside_mark"), f"{how}: the parent's range is in the trace")
            # The orders to its parent hold for the child.
            (window,) = lines_of(house, "ringside_window")
            require(("P2p" in window["events"]) == (how == "silent"), f"{how}: {window}")
            house.lint()
    open_socket(options)
    with House(options) as house:
        house.run("cancelled", house.root / "dump.json")
        house.whole_account()
        house.account(house.root / "dump.json")
        house.no_rings()
        house.warnings(at_most=0)
        house.lint()
    with House(options) as house:
        house.run("logger_calls")
        house.no_rings()
        house.lint()


def absurd(options):
    for abi in range(1, 8):
        with House(options, abi) as house:
            house.run("absurd", RINGSIDE_EVENTS="all")
            house.whole_account()
            house.warnings(at_most=1)  # that kernel channels can hurt
            house.readable()
    with House(options) as house:
        # As long as a name can be, and longer.
        house.run("steps", "named:85", "call:10", "named:30000", "call:10")
        house.lint()
        names = {line["name"]: line.get("name_cut") for line in lines_of(house, "ringside_communicator")}
        require(list(names.values()) == [True] and list(names) == ["\u20ac" * 85], f"{names}")


def clock(options):
    """The processor's counter steps back by two seconds against CLOCK_MONOTONIC: one warning and one line say
    so, and the calls before and behind it are two seconds apart."""
    if options.sanitized or options.stepping_clock is None:
        return 77
    with House(options) as house:
        house.run("steps", "communicator:1", "pace:40", LD_PRELOAD=options.stepping_clock, STEP_AFTER_MS=400,
                  STEP_MS=2000)
        house.whole_account()
        house.lint()
        lines = json.loads(house.trace_files()[0].read_text(encoding="utf-8"))
        if lines[0]["args"]["clock"] == "clock_gettime":
            return 77
        warning = house.warnings(at_least=1)[0]
        require("stepped back by 2000 ms" in warning or "stepped back by 1999 ms" in warning, warning)
        clocks = [line["args"] for line in lines if line["name"] == "ringside_clock"]
        (step,) = [clock for clock in clocks if "step_ns" in clock]
        require(abs(step["step_ns"] + 2e9) < 1e7, f"{step}")
        starts = [line["args"]["enqueue_start_ns"] for line in lines if "enqueue_start_ns" in line.get("args", {})]
        gap_ns, end_ns = max((after - before, after) for before, after in zip(starts, starts[1:]))
        require(1.99e9 < gap_ns < 2.3e9, f"calls are {gap_ns} ns apart")
        require(step["step_after_ns"] < end_ns < step["ts_ns"] + 1e9, f"{step}, but the gap ends at {end_ns}")
    with House(options) as house:
        # The wall clock is set back by an hour. A drain thread that waited by it would come in an hour, and
        # a ring has room for a half of these records.
        status = house.run("steps", "communicator:1", "pace:60", LD_PRELOAD=options.stepping_clock,
                           STEP_AFTER_MS=100, WALL_STEP_MS=3_600_000)
        require(status["dropped"] == 0, f"the wall clock is set back, and records are lost: {status}")
        house.whole_account()
    return 0


def clock_error(options):
    """Clock lines have what the kernel says of its clock, and nothing where it does not say it."""
    libc = ctypes.CDLL(None, use_errno=True)

    def asked():
        # struct timex: modes, offset, freq, maxerror, esterror, status; the int is padded to a long.
        timex = (ctypes.c_long * 64)()
        said = libc.adjtimex(timex)
        return said, timex[3] * 1000, timex[4] * 1000, timex[5] & 0x40  # STA_UNSYNC

    with open("/proc/self/status", encoding="ascii") as status:
        is_filtered = "\nSeccomp:\t0\n" not in status.read()
    before = asked()
    with House(options) as house:
        house.run("steps", "communicator:1", "pace:40")
        after = asked()
        house.lint()
        clocks = [line["args"] for line in json.loads(house.trace_files()[0].read_text(encoding="utf-8"))
                  if line["name"] == "ringside_clock"]
    require(len(clocks) >= 2, f"{clocks}")
    if before[0] == -1 or is_filtered:
        require(not any(key in clock for clock in clocks
                        for key in ("synchronised", "estimated_error_ns", "maximum_error_ns")), f"{clocks}")
        return 0
    if before[0] != after[0] or before[3] != after[3] or after[1] < before[1]:
        return 77  # a daemon has set the clock meanwhile
    for clock in clocks:
        require(clock["synchronised"] == (before[0] != 5 and not before[3]), f"{clock}, {before}")  # TIME_ERROR
        require(before[1] <= clock.get("maximum_error_ns", 0) <= after[1], f"{clock}, {before} to {after}")
        require(clock.get("estimated_error_ns", 0) == before[2], f"{clock}, {before}")
        require(0 not in (clock.get("maximum_error_ns"), clock.get("estimated_error_ns")), f"{clock}")
    return 0


CASES = {"storm": storm, "cycles": cycles, "threads": threads, "no_ring": no_ring, "notes": notes, "fork": fork,
         "deaths": deaths, "exits": exits, "trouble": files.trouble, "disk": disk.disk,
         "memory": memory.memory, "dumps": dumps.dumps, "files": files.files,
         "recovery": recovery.recovery, "shared_memory": shared_memory.shared_memory, "idle": idle,
         "absurd": absurd, "masks": masks, "early": early, "clock": clock,
         "clock_error": clock_error, "nvml": nvml.nvml,
         "signals": signals.signals, "exit_time": exit_time.exit_time}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--host", required=True)
    parser.add_argument("--plugin", required=True)
    parser.add_argument("--ringside", required=True)
    parser.add_argument("--no-zlib", help="a library that hides zlib from a program")
    parser.add_argument("--interrupted", help="a library that has allocations interrupted")
    parser.add_argument("--in-lock", help="a library that interrupts a thread that holds a mutex")
    parser.add_argument("--no-memory", help="a library that has no memory for some threads")
    parser.add_argument("--slow-write", help="a library that makes writing slow")
    parser.add_argument("--standard-numbers", help="a library that sees what the plugin's files have as numbers")
    parser.add_argument("--stepping-clock", help="a library that has the clocks step against each other")
    parser.add_argument("--nvml", help="the directory of the emulated NVML")
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--sanitized", default="", help="sanitizers of the build, comma-separated")
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(3), "big"))
    parser.add_argument("cases", nargs="*", choices=[*CASES, []], metavar="CASE")
    options = parser.parse_args()
    results = []
    for name in options.cases or CASES:
        try:
            results.append(CASES[name](options) or 0)
        except Failure as failure:
            print(f"{name}: {failure}", file=sys.stderr)
            results.append(1)
    if 1 in results:
        return 1
    return 77 if all(result == 77 for result in results) else 0


if __name__ == "__main__":
    sys.exit(main())
