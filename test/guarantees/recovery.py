# SPDX-License-Identifier: Apache-2.0
"""Recoveries that meet trouble of their own: nothing is removed before all of it is in a trace."""
import contextlib
import json
import os
import random
import resource
import signal
import subprocess
import time

from house import MIB, Failure, House, require

OPERATION = b'"args":{"op":'  # as its line has it


def wait_written(house, process, operations, least_bytes=0):
    """Until so many operations, and bytes, are in the traces there are, the flight recorder's among
    them: as long as that takes a slow machine, or a sanitizer."""
    give_up = time.monotonic() + 60
    while True:
        found = written_bytes = 0
        for path in (*house.trace_files(), *house.rings.glob("*/*.json")):
            with contextlib.suppress(FileNotFoundError):  # an old segment, gone since
                text = path.read_bytes()
                found += text.count(OPERATION)
                written_bytes += len(text)
        if found >= operations and written_bytes >= least_bytes:
            return
        if process.poll() is not None or time.monotonic() > give_up:
            raise Failure(f"{found} operations, {written_bytes} bytes written: {house.said()}")
        time.sleep(0.02)


def wait_known(house, said):
    """Until the journal of the program that runs says the same as its trace, a moment later."""
    give_up = time.monotonic() + 60
    elsewhere = house.root / "elsewhere"
    elsewhere.mkdir()
    while said not in (known := recover(house, "--running", "--output", str(elsewhere)).stdout):
        require(time.monotonic() < give_up, f"not {said}: {known}")
        for path in elsewhere.iterdir():
            path.unlink()


def killed(house, operations=1, least_bytes=0, **variables):
    """A process that is killed while it records, and has written so much; its ring directory."""
    process = house.begin_recording("never", 10**9, 500, **variables)
    wait_written(house, process, operations, least_bytes)
    process.kill()
    process.communicate(timeout=30)
    (rings,) = house.rings.iterdir()
    return rings


def recover(house, *arguments, most_bytes=None):
    """If no file may have more than most_bytes, writing fails and later lines fit again."""
    def limit():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, most_bytes))
    return subprocess.run([house.options.ringside, "recover", *arguments, str(house.rings)],
                          capture_output=True, text=True, timeout=90, check=False,
                          preexec_fn=limit if most_bytes else None)


def whole(house):
    house.recover()
    account = house.account()
    returned = house.called(2)
    produced = {name: of["produced"] for name, of in account["by_type"].items()}
    require(all(produced.get(name, 0) >= number for name, number in returned.items()),
            f"{produced} in the account, {returned} returned")
    require(house.sum(account, "dropped_kill") <= 2, f"lost: {account}")
    house.lint()


def without_room(options):
    with House(options) as house:
        killed(house, least_bytes=2 * MIB)
        before = {path: path.stat().st_size for path in house.trace_files()}
        done = recover(house, most_bytes=MIB)
        require(done.returncode == 1 and "File too large" in done.stderr, f"{done}")
        require({path: path.stat().st_size for path in house.traces.iterdir()} == before,
                f"what the process had written is not as it was: {list(house.traces.iterdir())}")
        elsewhere = house.root / "elsewhere"
        elsewhere.mkdir()
        done = recover(house, "--output", str(elsewhere), most_bytes=MIB)
        require(done.returncode == 1 and not list(elsewhere.iterdir()),
                f"{done}, {list(elsewhere.iterdir())}")
        whole(house)


def flight_without_room(options):
    """Some of the flight recorder's segments are copied, then there is no room."""
    with House(options) as house:
        # More than two of its segments.
        rings = killed(house, least_bytes=2 * MIB, RINGSIDE_FLIGHT_BYTES="4M")
        segments = sorted(path.stat().st_size for path in rings.glob("*.json"))
        done = recover(house, most_bytes=max(segments) - 4096)
        require(done.returncode == 1 and "File too large" in done.stderr, f"{done}")
        require(len(list(rings.glob("*.json"))) == len(segments) > 2, f"{segments}: not all are there")
        house.recover()
        require(len(house.trace_files()) == len(segments), f"{house.trace_files()}")
        house.lint()


def nothing_written(options):
    """Killed before the first line was written: the trace says since when it was recorded."""
    with House(options) as house:
        house.traces.mkdir()
        process = house.begin_recording("never", 10**9, 500, LD_PRELOAD=options.slow_write,
                                        SLOW_WRITE_IN=house.traces, SLOW_WRITE_MS=60_000)
        time.sleep(0.3)
        process.kill()
        process.communicate(timeout=30)
        require(not any(path.stat().st_size for path in house.trace_files()), "the trace has been written")
        whole(house)
        window = house.last_line("ringside_window")
        require(window["window"] == 1 and "Coll" in window["events"], f"{window}")
        communicator = house.last_line("ringside_communicator")
        require(communicator["name"] == "guarantee", f"{communicator}")


def unreadable_ring(options):
    with House(options) as house:
        rings = killed(house)
        ring = rings / "ring.0000"
        good = ring.read_bytes()
        for bad in (good[:8] + b"\x63\0\0\0" + good[12:], good[:100]):
            ring.write_bytes(bad)
            done = recover(house, "--output", str(house.root))
            require(done.returncode == 1 and "ring.0000" in done.stderr, f"{done}")
            require(ring.read_bytes() == bad, "the ring that could not be read is gone")
            for trace in house.root.glob("*.json"):
                trace.unlink()
        ring.write_bytes(good)
        # The file of a ring whose process died before it had written a word there.
        (rings / "ring.0999").write_bytes(bytes(4096))
        (rings / "ring.0998").write_bytes(b"")
        whole(house)


def cut_trace(options):
    """The file is shorter than the process had written, or gone: what else there is comes back, and it
    is said what is missing."""
    for left, said in ((100_000, "shorter than the process had written"), (0, "is not there")):
        with House(options) as house:
            process = house.begin_recording("sleep", 500, 100)
            wait_written(house, process, operations=1000)
            wait_known(house, "1000 operations in the trace, 0 recovered")
            process.kill()
            process.communicate(timeout=30)
            (trace,) = house.trace_files()
            if left:
                os.truncate(trace, left)
            else:
                trace.unlink()
            require(said in house.recover(), f"recover does not say that the trace {said}")
            account = house.account()
            require(left or not (house.sum(account, "written") or house.sum(account, "merged")),
                    f"a trace that is gone counts as written: {account}")
            end = json.loads(trace.read_text(encoding="utf-8").splitlines()[-2])["args"]
            require(end["recovered"] and end["operations"] == 1000 and "marks_lost" not in end,
                    f"{end}")
            known = house.summary(trace)
            missing = end["operations"] - known["inputs"]["operations"]
            require(0 < missing == known["completeness"]["operations_lost"], f"{missing} are missing")
            require(known["completeness"]["files_losses_not_known"], "marks lost are said to be known")
            house.lint()


def flight_in_memory(options):
    """A flight recorder that has no room in files ends with its process, and so do its callbacks."""
    with House(options) as house:
        process = house.begin_recording("sleep", 500, 100, RINGSIDE_FLIGHT_BYTES="512G")
        wait_known(house, "1000 operations in the trace, 0 recovered")
        live = house.account(*(house.root / "elsewhere").glob("*.json"))
        called = sum(house.called(2).values())
        require(house.sum(live, "held") == called, f"{called} callbacks are in its memory: {live}")
        process.kill()
        process.communicate(timeout=30)
        require("is not there" in house.recover(), "recover does not say that the trace is gone")
        account = house.account()
        require(house.sum(account, "dropped_kill") == called, f"{called} callbacks are lost: {account}")


def twice(options):
    """With --keep it can be done again, and gives the same."""
    with House(options) as house:
        killed(house)
        texts = []
        for arguments in (["--keep"], ["--keep"], []):
            done = recover(house, *arguments)
            require(done.returncode == 0 and not done.stderr, f"{done}")
            (trace,) = house.trace_files()
            texts.append(trace.read_bytes())
        require(texts[0] == texts[1] == texts[2], "it is not the same the next time")
        house.no_rings()
        house.lint()


def remains(options):
    """A recovery that was killed while it removed what it had recovered: its trace stays as it is."""
    with House(options) as house:
        rings = killed(house)
        recover(house, "--keep")
        (trace,) = house.trace_files()
        whole_text = trace.read_bytes()
        (rings / "journal").unlink()  # the first that goes
        require("remains" in house.recover(), "recover does not say that these are remains")
        # The directory of a process that was killed before it had made its journal.
        begun = house.rings / rings.name
        begun.mkdir()
        require("journal" in recover(house).stderr and begun.exists(), "a directory just made is gone")
        # While it allocated its journal: nothing says where its trace was to be.
        (begun / "journal").write_bytes(bytes(MIB))
        done = recover(house, "--dir", str(house.traces))
        require(done.returncode == 0 and not begun.exists(), f"a journal in the making stays: {done}")
        begun.mkdir()
        os.utime(begun, (0, 0))
        require("remains" in house.recover(), "a directory without a journal stays for ever")
        require(trace.read_bytes() == whole_text, "the trace was made anew, of less")
        house.lint()


def foreign(options):
    """Another user's rings are only read. What their journal says is the path of nothing that is not
    that user's own."""
    if os.geteuid() != 0:
        print("another user's rings: skipped, since only root can make some")
        return
    nobody = 65534
    with House(options) as house:
        rings = killed(house)
        (trace,) = house.trace_files()
        for path in (rings, *rings.iterdir()):
            os.chown(path, nobody, nobody)
        # As if it were the segment that was begun last.
        (house.traces / trace.name.replace(".json", ".s000002.json")).touch()

        def state():
            return {path: (path.stat().st_ino, path.stat().st_size)
                    for path in (*house.rings.rglob("*"), *house.traces.iterdir())}
        before = state()
        for owner, said in ((0, "is not there"), (nobody, " in the trace, ")):
            os.chown(trace, owner, owner)
            elsewhere = house.root / f"of-{owner}"
            for failed in (False, True):
                done = recover(house, "--output", str(elsewhere))
                require(done.returncode == failed, f"{done}")
                require(failed or said in done.stderr + done.stdout, f"not {said}: {done}")
                require("exists" in done.stderr or not failed, f"a file is replaced: {done}")
            require(state() == before, "something of another user's is changed")
            (made,) = elsewhere.iterdir()
            written = trace.read_bytes()
            is_copied = made.read_bytes().startswith(written[:written.index(OPERATION)])
            require(is_copied == (owner == nobody), "a file is copied that is not the owner's")
        house.lint(made)
        # Nor does a program that begins speak of them: its user cannot remove them.
        house.run("trouble", "nothing")
        require("have died" not in house.said(), house.said())


def hostile(options):
    """Files whose sizes cost another user nothing take no memory, and names of directories are no orders for
    a terminal."""
    if os.geteuid() != 0:
        return
    with House(options) as house:
        rings = killed(house)
        bad = rings.with_name("ringside.job.\x1b]0;x\x07\n.rings")
        rings.rename(bad)
        for name in ("journal", "ring.0000", "ring.0001", "ring.0002"):
            with open(bad / name, "ab") as file:
                file.truncate(800 * MIB)  # has no blocks
        for path in (bad, *bad.iterdir()):
            os.chown(path, 65534, 65534)
        for what in ("--dry-run", "--keep"):
            done = subprocess.run([options.ringside, "recover", what, "--output", str(house.root / "to"), str(house.rings)],
                                  capture_output=True, timeout=90, check=False)
            said = done.stdout + done.stderr
            require(not set(said) & {0x1b, 0x07} and b".rings" in said, f"{done}")
            require(all(line.startswith((b"ringside recover: /", b"/")) for line in said.splitlines()), f"{done}")
            require(what == "--dry-run" or (done.returncode == 1 and b"of another user" in said), f"{done}")
        # The largest child so far, of all that this test has started, in KiB.
        most_kib = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
        require(options.sanitized or most_kib < 700 * 1024, f"{most_kib} KiB of memory")


def killed_recovery(options):
    """Killed at any moment, and asked again."""
    chance = random.Random(options.seed)
    for number in range(40 if options.long else 6):
        with House(options) as house:
            killed(house, **({"RINGSIDE_FLIGHT_BYTES": "8M"} if number % 2 else {}))
            for _ in range(3):
                process = subprocess.Popen([options.ringside, "recover", str(house.rings)],
                                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                time.sleep(chance.uniform(0.005, 0.25))
                process.kill()
                process.wait()
            house.recover()
            account = house.account(house.trace_files()[-1])
            produced = {name: of["produced"] for name, of in account["by_type"].items()}
            require(all(produced.get(name, 0) >= called for name, called in house.called(2).items()),
                    f"seed {options.seed}: {produced} in the account, {house.called(2)} returned")
            odd = [path for path in house.traces.iterdir() if path.suffix != ".json"]
            require(not odd, f"seed {options.seed}: {odd} are left")
            house.lint()


def full_dump(options):
    """A dump of which a part finds no room is no dump."""
    with House(options) as house:
        process = house.begin_recording("never", 10**9, 500)
        wait_written(house, process, operations=1, least_bytes=3 * MIB)
        resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (3 * MIB // 2, resource.RLIM_INFINITY))
        path = house.root / "dump.json"
        done = house.ctl("dump", "--output", str(path))
        process.kill()
        process.communicate(timeout=30)
        require(done.returncode == 1 and "File too large" in done.stderr + done.stdout, f"{done}")
        require(not path.exists(), "a part of a dump is left")


def recovery(options):
    without_room(options)
    flight_without_room(options)
    if not options.sanitized:  # its library must come before all others
        nothing_written(options)
    unreadable_ring(options)
    cut_trace(options)
    flight_in_memory(options)
    twice(options)
    remains(options)
    foreign(options)
    hostile(options)
    killed_recovery(options)
    full_dump(options)
