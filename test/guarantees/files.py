# SPDX-License-Identifier: Apache-2.0
"""Systems that say no, and files that are not to be touched."""
import ctypes
import gzip
import json
import os
import signal
import stat
import subprocess
import time

from house import MIB, House, require


def affected(house, status):
    """The trace lacks something: the status says so, and one warning."""
    require(status["trouble"] == 1, f"the status knows of no trouble: {status}")
    house.warnings(at_least=1)


def unaffected(house, status, warnings):
    require(status["trouble"] == 0, f"trouble with the trace: {status}")
    house.whole_account()
    house.lint()
    house.warnings(at_most=warnings)


def give_up_rights(house):
    """Root may write everywhere: the program runs without that right, if it can be had so."""
    rights = "-dac_override,-dac_read_search"
    command = f"setpriv --bounding-set {rights} --inh-caps {rights}"
    can = subprocess.run(["sh", "-c", command + " true"], capture_output=True, check=False)
    if can.returncode != 0:
        print("unwritable directory: skipped, root and no setpriv here")
        return False
    run_by(house, f"exec {command} {house.options.host}")
    return True


def unwritable_traces(options):
    with House(options) as house:
        house.traces.write_text("a file where the directory should be")
        affected(house, house.run("trouble", "nothing"))
    with House(options) as house:
        affected(house, house.run("trouble", "nothing", RINGSIDE_DIR="/proc/no/such/place"))
    with House(options) as house:
        house.traces = house.root / "made" / "for" / "it"
        unaffected(house, house.run("trouble", "nothing"), warnings=0)
    with House(options) as house:
        house.traces.mkdir(mode=0o500)
        if os.geteuid() != 0 or give_up_rights(house):
            affected(house, house.run("trouble", "nothing"))


def unusable_rings(options):
    for ring_directory in ("/proc/no/such/place", __file__, "/proc"):
        with House(options) as house:
            unaffected(house, house.run("trouble", "nothing", RINGSIDE_RING_DIR=ring_directory),
                       warnings=1)


def limits(options):
    # Without descriptors UndefinedBehaviorSanitizer cannot look at memory, and calls it invalid.
    if not options.sanitized:
        with House(options) as house:
            affected(house, house.run("trouble", "descriptors_at_load"))
        with House(options) as house:
            unaffected(house, house.run("trouble", "descriptors_later"), warnings=1)
    with House(options) as house:
        affected(house, house.run("trouble", "file_size"))
        account = house.whole_account()
        require(house.sum(account, "dropped_write") > 0, "nothing is counted as not written")
        require(account["by_type"]["Coll"]["written"] >= 500,
                f"writing did not go on: {account['by_type']['Coll']}")
        end = house.last_line("ringside_end")
        lost = (end.get("marks_lost"), end.get("ranges_lost"))
        require(lost == (7, 3), f"7 marks and 3 ranges were not written, the trace says {lost}")
        house.lint()


def run_by(house, command):
    """This shell command runs the program, with its arguments behind."""
    house.command = ["sh", "-c", f'{command} "$@"', "sh"]


def can_mount(what):
    can = subprocess.run(["unshare", "-Urm", "true"], capture_output=True, check=False)
    if can.returncode != 0:
        print(f"{what}: skipped, no mount namespaces here")
    return can.returncode == 0


def wrap_host(house, script):
    """The program runs in a mount namespace of its own, as a command of this script."""
    run_by(house, f"exec unshare -Urm sh -c '{script}' {house.options.host}")


def full_disk(options):
    """A file system of 32 megabytes that is full, until a file in it is removed."""
    if not can_mount("full disk"):
        return
    with House(options) as house:
        house.traces.mkdir()
        script = ('mount -t tmpfs -o size=32m none "$RINGSIDE_DIR" || exit 76; '
                  'head -c 32000000 /dev/zero > "$RINGSIDE_DIR/filler"; '
                  '"$0" "$@" "$RINGSIDE_DIR/filler"; result=$?; '
                  'cp "$RINGSIDE_DIR"/*.json "$KEPT"; exit $result')
        kept = house.root / "kept"
        kept.mkdir()
        wrap_host(house, script)
        status = house.run("trouble", "disk_full", KEPT=kept)
        affected(house, status)
        house.traces = kept
        account = house.whole_account()
        require(house.sum(account, "dropped_write") > 0, "nothing is counted as not written")
        require(account["by_type"]["Coll"]["written"] >= 500,
                f"writing did not go on after the disk was full: {account['by_type']['Coll']}")
        house.lint()


def full_rings(options):
    """The rings' file system has not a byte more than they take, from soon after they are made on."""
    if not can_mount("full rings"):
        return
    with House(options) as house:
        wrap_host(house, 'mount -t tmpfs -o size=600m none "$RINGSIDE_RING_DIR" || exit 76; exec "$0" "$@"')
        # The records go round in the rings and the journal several times.
        status = house.run("trouble", "rings_full", house.rings, RINGSIDE_RING_BYTES="1M",
                           RINGSIDE_JOURNAL_BYTES="2M")
        unaffected(house, status, warnings=1)
        (warning,) = house.warnings(at_least=1)
        require("no room for a ring" in warning, warning)
        # The rings are small here: a drain that waits for the processor may find one full. The lost
        # records are counted, and are no effect of the full file system.
        account = house.account()
        for reason in ("dropped_no_ring", "dropped_write", "dropped_memory", "dropped_kill"):
            require(house.sum(account, reason) == 0, f"{reason}: {account}")
        require(status["dropped"] < status["callbacks"] // 2, f"most records are lost: {status}")


def read_only(options):
    """A file system that takes nothing, for the traces, then for the rings."""
    if not can_mount("read-only file systems"):
        return
    with House(options) as house:
        house.traces.mkdir()
        wrap_host(house, 'mount -t tmpfs -o ro none "$RINGSIDE_DIR" || exit 76; exec "$0" "$@"')
        affected(house, house.run("trouble", "nothing"))
    with House(options) as house:
        wrap_host(house, 'mount -t tmpfs -o ro none "$RINGSIDE_RING_DIR" || exit 76; exec "$0" "$@"')
        unaffected(house, house.run("trouble", "nothing"), warnings=0)


def small_rings(options):
    """Less shared memory than any container has: it is left to NCCL."""
    if not can_mount("small rings"):
        return
    with House(options) as house:
        wrap_host(house, 'mount -t tmpfs -o size=20m none "$RINGSIDE_RING_DIR" || exit 76; exec "$0" "$@"')
        unaffected(house, house.run("trouble", "nothing"), warnings=0)
        said = [line for line in house.said().splitlines() if "has 20 MiB free" in line]
        require(len(said) == 1 and "rings in memory" in said[0] and "control socket in" in said[0],
                f"not said once: {house.said()}")


def without_streams(options):
    """A daemon's process: what it prints goes to the numbers of files that it opened later, by mistake.
    None of these is ours."""
    closed = "<&- >&- 2>&-"
    with House(options) as house:
        run_by(house, f"exec {house.options.host} {closed}")
        house.run("notes", 1000, 100, 20)  # prints at its end
        account = house.account()
        require(house.sum(account, "dropped_write") == 0, f"{account}")
        house.lint()
        house.no_rings()
    with House(options) as house:
        run_by(house, f"exec {house.options.host} {closed}")
        process = house.begin("way_out", "never", 10**9, 100, RINGSIDE_MAX_BYTES="nonsense")
        time.sleep(1)
        process.kill()
        process.communicate(timeout=30)
        house.recover()
        house.account()
        house.lint()


def standard_numbers(options):
    """Nothing that the plugin opens has the number of a standard stream, also not for a moment: what another
    thread prints meanwhile would be in it. And what cannot be opened leaves no file."""
    if options.sanitized or options.standard_numbers is None:
        return
    # With files and in memory.
    for variables in ({}, {"RINGSIDE_RING_DIR": "none", "RINGSIDE_FLIGHT_BYTES": "4M"}):
        with House(options) as house:
            run_by(house, f"exec {house.options.host} <&- 2>&-")
            dump = house.root / "dump.json"
            house.run("steps", "communicator:1", "call:100", "thread:100", f"dump:{dump}", "close_descriptor:1",
                      "thread:100", "mark:", f"dump:{house.root / 'another.json'}",
                      LD_PRELOAD=options.standard_numbers, RINGSIDE_LOG=house.root / "log", **variables)
            house.account(dump)
            house.lint(dump)
    for free in range(5):
        with House(options) as house:
            dumps_to = house.root / "dumps"
            dumps_to.mkdir()
            house.run("steps", "communicator:1", "pace:5", f"leave_descriptors:{free}", "close_descriptor:2",
                      f"dump:{dumps_to / 'dump.json'}")
            require([path.name for path in dumps_to.iterdir()] in ([], ["dump.json"]),
                    f"with {free} descriptors: {list(dumps_to.iterdir())}")


def own_files(options):
    """A program closes all descriptors and opens files of its own, which then have the numbers of ours."""
    if options.sanitized == "thread":  # which calls that a race, and so it is: the program's
        return
    for variables in ({}, {"RINGSIDE_JOURNAL_BYTES": "128K"}, {"RINGSIDE_FLIGHT_BYTES": "4M"}):
        for end in (), ("kill:",):
            with House(options) as house:
                own, log = house.root / "own", house.root / "log"
                own.mkdir()
                house.run("steps", "communicator:1", "pace:5", f"own_files:{own}", "pace:5", "thread:100", *end,
                          result=-signal.SIGKILL if end else 0, RINGSIDE_LOG=log, RINGSIDE_MAX_BYTES="nonsense",
                          **variables)
                if end:
                    house.recover()
                house.no_rings()
                traces = house.trace_files()
                require(traces or ("RINGSIDE_FLIGHT_BYTES" in variables and not end), "there is no trace")
                if traces:
                    house.has_all(house.account(traces[-1]))
                    house.lint()
                written = {path.name: path.read_bytes()[:500] for path in own.iterdir() if path.stat().st_size}
                require(not written, f"written to files of the program: {written}")
                require(log.stat().st_size > 0, "nothing was logged before")


def no_descriptors(options):
    """A thread's buffer cannot be a file, and the process is killed: what that costs is counted."""
    with House(options) as house:
        house.run("steps", "communicator:1", "call:100", "leave_descriptors:0", "thread:5000", "kill:",
                  result=-signal.SIGKILL)
        house.recover()
        house.whole_account()


def relative_directories(options):
    """A program goes to another directory after its start."""
    with House(options) as house:
        elsewhere = house.root / "from" / "here" / "they" / "are" / "not" / "found"
        elsewhere.mkdir(parents=True)
        house.run("steps", "communicator:1", "call:100", f"chdir:{elsewhere}", "thread:100",
                  RINGSIDE_DIR=os.path.relpath(house.traces), RINGSIDE_RING_DIR=os.path.relpath(house.rings))
        house.whole_account()
        house.no_rings()


def without_zlib(options):
    """Compression is asked for, and what it needs is not there when the trace is closed."""
    try:
        ctypes.CDLL("libz.so.1")
        has_zlib = True
    except OSError:
        has_zlib = False
    with House(options) as house:
        house.run("trouble", "nothing", RINGSIDE_COMPRESS=1)
        compressed = list(house.traces.glob("*.json.gz"))
        require(len(compressed) == (1 if has_zlib else 0), f"compressed: {compressed}")
    if options.sanitized or options.no_zlib is None:
        return  # their runtime wants to be loaded first
    with House(options) as house:
        status = house.run("trouble", "nothing", RINGSIDE_COMPRESS=1, LD_PRELOAD=options.no_zlib)
        unaffected(house, status, warnings=1)
        (warning,) = house.warnings(at_least=1)
        require("libz.so.1 cannot be loaded" in warning, warning)
        require(len(list(house.traces.iterdir())) == 1, "there is more than the plain trace")


def operations_in(paths):
    return [event["args"] for path in paths for event in json.loads(path.read_text(encoding="utf-8"))
            if event["ph"] == "b" and event.get("cat") == "op" and "op" in event.get("args", {})]


def refused_late(options):
    """A file system that takes all, and says only when a file is closed that there is no room."""
    if options.sanitized or options.slow_write is None:
        return
    with House(options) as house:
        house.traces.mkdir()
        status = house.run("steps", "communicator:1", "pace:60", "trouble", "pace:5", RINGSIDE_MAX_BYTES="24M",
                           LD_PRELOAD=options.slow_write, REFUSED_LATE_IN=house.traces, CLOSES=1)
        affected(house, status)
        (warning,) = house.warnings(at_least=1)
        require("Disk quota exceeded" in warning, warning)
        paths = sorted(house.trace_files(), key=lambda path: (".s0" in path.name, path.name))
        require(len(paths) > 2 and paths[0].stat().st_size == 0, f"{paths}: the first is not the one without text")
        # Operations are written half a second later, their proxy operations at once.
        of = house.account(paths[-1])["by_type"]["ProxyOp"]
        found = sum(event["ph"] == "b" and event.get("cat") == "proxy"
                    for path in paths[1:] for event in json.loads(path.read_text(encoding="utf-8")))
        require(of["dropped_write"] > 0 and of["written"] == found, f"{found} lines, the account says {of}")
    with House(options) as house:
        house.traces.mkdir()
        dump = house.root / "dumps" / "dump.json"
        dump.parent.mkdir()
        process = house.begin("steps", "communicator:1", "pace:5", f"dump:{dump}", LD_PRELOAD=options.slow_write,
                              REFUSED_LATE_IN=dump.parent, CLOSES=1)
        said, _ = process.communicate(timeout=60)
        io_error = -3
        require(f"dump {io_error} 0 " in said, f"a dump that is not on the disk: {said}")
        require(not list(dump.parent.iterdir()), f"left: {list(dump.parent.iterdir())}")


def takes_nothing(options):
    """A file system whose writes succeed without a byte: the drain must not try for ever."""
    if options.sanitized or options.slow_write is None:
        return
    with House(options) as house:
        house.traces.mkdir()
        affected(house, house.run("steps", "communicator:1", "pace:5", "trouble", LD_PRELOAD=options.slow_write,
                                  NO_WRITE_IN=house.traces))


def trouble(options):
    unwritable_traces(options)
    unusable_rings(options)
    limits(options)
    full_disk(options)
    full_rings(options)
    read_only(options)
    small_rings(options)
    without_streams(options)
    standard_numbers(options)
    own_files(options)
    no_descriptors(options)
    relative_directories(options)
    without_zlib(options)
    refused_late(options)
    takes_nothing(options)


def mode(path):
    return stat.S_IMODE(os.lstat(path).st_mode)


def private_files(options):
    with House(options) as house:
        process = house.begin_recording("never", 10**9, 100)
        deadline = time.monotonic() + 30
        found = []
        # The trace may be there before the ring of the first thread.
        while len(found) < 6 and time.monotonic() < deadline:
            time.sleep(0.1)
            found = [house.traces, *house.trace_files()]
            for rings in house.rings.iterdir():
                found += [rings, *rings.iterdir()]
        process.kill()
        process.communicate(timeout=30)
        require(len(found) >= 6, f"only {found}")
        house.recover()
        for path in found:
            if path.exists():
                wanted = 0o700 if path.is_dir() else 0o600
                require(mode(path) == wanted, f"{path} has mode {mode(path):o}")


def dumps(options):
    with House(options) as house:
        victim = house.root / "victim"
        victim.write_text("precious")
        link = house.root / "link"
        link.symlink_to(victim)
        dangling = house.root / "dangling"
        dangling.symlink_to(house.root / "nowhere")
        good = house.root / "good.json"
        results = house.run("dump", victim, link, dangling, good, good, house.root / "no/place", "")
        exists, io_error, argument = -2, -3, -1
        require(results[:-1] == [exists, exists, exists, 0, exists, io_error, argument],
                f"ringside_dump returned {results}")
        require(victim.read_text() == "precious", "a file was overwritten")
        require(not (house.root / "nowhere").exists(), "a link was followed")
        require(mode(good) == 0o600, "a dump is not private")
        house.account(good)
        # With a name of its own it goes beside the trace, and the log does not follow links either.
        log = house.root / "log"
        log.symlink_to(victim)
        house.run("dump", "-", RINGSIDE_LOG=log)
        require(victim.read_text() == "precious", "the log followed a link")


def names(options):
    for job in ("../../escape", "/etc/x", "a/../../b", "..", "x" * 10000, "a\nb\x01\x1b[2J", "ä\udcff"):
        with House(options) as house:
            house.run("dump", RINGSIDE_JOB=job)
            (trace,) = house.trace_files()
            require(len(trace.name) < 250 and trace.name.isascii() and trace.name.isprintable(),
                    f"{trace.name!r}")
            outside = [path for path in house.root.iterdir()
                       if path not in (house.traces, house.counts, house.errors, house.sockets)]
            require(not outside, f"{job!r} made {outside}")
            house.account()
            house.lint()


def compressed(options):
    """Many times the bound, but for its compression, and most of it is written when the process ends."""
    with House(options) as house:
        house.run("way_out", "exit", 4000, 0, RINGSIDE_COMPRESS="1", RINGSIDE_MAX_BYTES="4M",
                  RINGSIDE_RING_BYTES="8M", RINGSIDE_DRAIN_MS="1000")
        plain_bytes = sum(len(gzip.decompress(path.read_bytes())) for path in house.traces.iterdir())
        require(plain_bytes > 6 * MIB, f"only {plain_bytes} bytes")
        found = house.summary(house.traces)["inputs"]["operations"]
        require(found == 8000, f"{found} operations are left of 8000")
        house.lint()


def newest_at_any_rate(options):
    """The program calls as fast as it can, and its trace may have little room: the last calls are there."""
    calls = 8_000  # their callbacks fit into a ring: however slow the drain is, none is lost
    for bound in (4 * MIB, 8 * MIB):
        with House(options) as house:
            house.run("steps", "communicator:1", f"call:{calls}", RINGSIDE_MAX_BYTES=bound,
                      RINGSIDE_RING_BYTES="64M")
            paths = sorted(house.trace_files(), key=lambda path: (".s0" in path.name, path.name))
            numbers = [operation["seq"] for operation in operations_in(paths)]
            account = house.account(paths[-1])
            require(house.sum(account, "dropped_write") == 0, f"not written: {account}")
            require(len(numbers) > 100 and sorted(numbers) == list(range(calls - len(numbers) + 1, calls + 1)),
                    f"{len(numbers)} operations of {calls}: {sorted(numbers)[:3]} to {sorted(numbers)[-3:]}")
            require(sum(path.stat().st_size for path in paths) <= bound, "more than the bound")
            house.lint()


def files(options):
    private_files(options)
    dumps(options)
    names(options)
    compressed(options)
    newest_at_any_rate(options)
