# SPDX-License-Identifier: Apache-2.0
"""A disk that is full for a while, and a directory that is not there at first: the trace has all that it
needs once there is room, and what was lost meanwhile is counted."""
import concurrent.futures
import json

import files
from house import Failure, House, require


def mounted(house, megabytes):
    """The traces' directory is a file system of its own, of which the files are kept."""
    house.traces.mkdir()
    kept = house.root / "kept"
    kept.mkdir()
    script = (f'mount -t tmpfs -o size={megabytes}m none "$RINGSIDE_DIR" || exit 76; "$0" "$@"; result=$?; '
              'cp "$RINGSIDE_DIR"/*.json "$KEPT"; exit $result')
    files.wrap_host(house, script)
    return kept


def lines_of(path):
    """The events of a whole file, as any reader of JSON sees them."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise Failure(f"{path.name}: {error}") from None


def metadata(paths, name):
    return [event["args"] for path in paths for event in lines_of(path)
            if event["ph"] == "M" and event["name"] == name]


def check_files(house):
    """Each file is whole, follows the one before, and they count what the program called. Returns them."""
    paths = sorted(house.trace_files(), key=lambda path: (".s0" in path.name, path.name))
    require(paths, "there is no trace")
    for number, path in enumerate(paths):
        events = lines_of(path)
        require(events[0]["name"] == "ringside_trace", f"{path.name} begins with {events[0]}")
        end = events[-1]
        require(end["name"] == "ringside_end", f"{path.name} ends with {end}")
        segment = events[0]["args"]["segment"]
        wanted = segment + 1 if number + 1 < len(paths) else None
        require(end["args"].get("next_segment") == wanted, f"{path.name}: segment {segment} ends with {end}")
        require(number == 0 or segment == 1 + lines_of(paths[number - 1])[0]["args"]["segment"],
                f"{path.name} is segment {segment}")
        require("window" in {key for event in events if event["name"] == "ringside_window"
                             for key in event["args"]}, f"{path.name} has no window")
    account = house.account(paths[-1])
    house.has_all(account)
    written = {"Coll": 0, "ProxyOp": 0}
    for path in paths:
        for event in lines_of(path):
            if event["ph"] == "b" and event.get("cat") == "op" and "op" in event.get("args", {}):
                written["Coll"] += 1
            if event["ph"] == "b" and event.get("cat") == "proxy":
                written["ProxyOp"] += 1
    for name, number in written.items():
        of = account["by_type"][name]
        # An event whose stop found no room in its ring is written, and is counted for that stop.
        require(0 <= number - of.get("written", 0) <= of.get("dropped_ring_full", 0),
                f"{number} {name} are written, the account says {of}")
        require(of.get("held", 0) + of.get("in_rings", 0) == 0, f"left: {name} {of}")
    house.lint()
    return paths, account


def check_communicators(house, paths, hashes):
    """All communicators of events are told in their file, and the analyzer knows them."""
    told = {}
    for path in paths:
        for event in lines_of(path):
            if event["name"] == "ringside_communicator":
                told[event["args"]["context"]] = event["args"]
    found = {int(of["comm"], 16): of for of in told.values()}
    require(set(hashes) <= set(found), f"communicators {sorted(found)}, not {hashes}")
    summary = house.summary(house.traces)
    require(summary["inputs"]["operations"] > 0, "the analyzer finds no operation")
    return found


def lost(account):
    return account["by_type"]["Coll"].get("dropped_write", 0)


def full_at_start(options):
    """The first file finds no room, and is made when there is some."""
    for left in range(2):  # pages; the header has about one
        with House(options) as house:
            kept = mounted(house, 16)
            filler = house.traces / "filler"
            status = house.run("steps", f"fill:{filler}", *[f"shrink:{filler}"] * left, "communicator:1",
                               "pace:5", "communicator:2", "pace:5", "thread:10", "trouble", "wait:4500",
                               f"remove:{filler}", "wait:1500", "pace:10", "use:1", "pace:10", KEPT=kept)
            files.affected(house, status)
            house.traces = kept
            paths, account = check_files(house)
            require(0 < lost(account) <= 2020, f"{account['by_type']['Coll']}")
            require(account["by_type"]["Coll"]["written"] >= 2000, "writing did not go on")
            check_communicators(house, paths, [1, 2])


def full_in_the_middle(options):
    """Lines that the full disk did not take are written again: communicators, also one that is
    closed by then, windows, threads."""
    with House(options) as house:
        kept = mounted(house, 16)
        filler = house.traces / "filler"
        status = house.run("steps", "communicator:1", "pace:5", "wait:1000", f"fill:{filler}",
                           "communicator:2", "pace:10", "communicator:3", "pace:5", "close:3",
                           "use:2", "stop:", "start:", "thread:50", "trouble", "wait:4500", f"remove:{filler}",
                           "wait:1500", "pace:10", "use:1", "pace:10", KEPT=kept)
        files.affected(house, status)
        house.traces = kept
        paths, account = check_files(house)
        require(lost(account) > 500, f"{account['by_type']['Coll']}")
        found = check_communicators(house, paths, [1, 2, 3])
        require("finalized_ns" in found[3], f"{found[3]} was closed")
        windows = {of["window"]: of for of in metadata(paths, "ringside_window")}
        require(sorted(windows) == [1, 2] and "end_ns" in windows[1], f"{windows}")
        named = {event["tid"] for path in paths for event in lines_of(path) if event["name"] == "thread_name"}
        callers = {row[0] for row in house.rows() if row[0] != 0}
        require(len(callers) == 2 and callers <= named, f"threads {callers}, named {named}")


def full_at_rotation(options):
    """A segment is full when the disk is, with different room left for the next one's first lines and this
    one's last."""
    def one(left):
        with House(options) as house:
            kept = mounted(house, 32)
            filler = house.traces / "filler"
            status = house.run("steps", "communicator:1", "pace:2", "wait:1000", f"fill:{filler}",
                               *[f"shrink:{filler}"] * left, "pace:20", "communicator:2", "pace:10", "trouble",
                               "wait:4500", f"remove:{filler}", "wait:1500", "pace:20", "use:1", "pace:10",
                               KEPT=kept, RINGSIDE_MAX_BYTES="24M")
            files.affected(house, status)
            house.traces = kept
            paths, account = check_files(house)
            require(len(paths) > 1, f"{paths}: no second segment")
            require(lost(account) > 1000, f"{account['by_type']['Coll']}")
            check_communicators(house, paths, [1, 2])

    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        list(pool.map(one, (0, 1, 2, 3, 8) if options.long else (0, 1, 3)))


def directory_later(options):
    """Something is where the directory should be, and goes away."""
    with House(options) as house:
        house.traces.write_text("a file where the directory should be")
        status = house.run("steps", "communicator:1", "pace:5", "communicator:2", "pace:5", "trouble",
                           "wait:4500", f"remove:{house.traces}", "wait:1500", "pace:10", "use:1", "pace:10")
        files.affected(house, status)
        paths, account = check_files(house)
        require(0 < lost(account) <= 2000, f"{account['by_type']['Coll']}")
        require(account["by_type"]["Coll"]["written"] >= 2000, "writing did not go on")
        check_communicators(house, paths, [1, 2])


def disk(options):
    directory_later(options)
    if files.can_mount("a disk that is full for a while"):
        full_at_start(options)
        full_in_the_middle(options)
        full_at_rotation(options)
