# SPDX-License-Identifier: Apache-2.0
"""Dumps to a slow file system while events come fast: no record is lost for them, what is not wanted any
more leaves no file, and what is deleted meanwhile is in them all the same."""
import json

from house import Failure, House, require

OK, TIMEOUT = 0, -5


class Lost(Failure):
    """Records were dropped: for the dump, or because a busy machine let the drain stand still."""


def up_to_three_times(case, options):
    """A dump that keeps the drain from the rings does so each time; a busy machine hardly ever three times."""
    for tries_left in (2, 1, 0):
        try:
            return case(options)
        except Lost as lost:
            if tries_left == 0:
                raise
            print(f"dumps, {case.__name__}: {lost}; once more")


def run(house, milliseconds, *steps, **variables):
    """Runs the steps; each write to a dump takes so long. Returns what was said of each dump."""
    slow = house.root / "slow"
    slow.mkdir()
    process = house.begin("steps", *[step.replace("SLOW", str(slow)) for step in steps],
                          LD_PRELOAD=house.options.slow_write, SLOW_WRITE_IN=slow, SLOW_WRITE_MS=milliseconds,
                          RINGSIDE_RING_BYTES="2M", **variables)
    said, _ = process.communicate(timeout=120)
    require(process.returncode == 0, f"{steps} ended with {process.returncode}: {house.said()}")
    status = json.loads(said.splitlines()[-1])
    if status["dropped"] != 0:
        raise Lost(f"records were lost: {status}")
    results = {}
    for line in said.splitlines():
        if line.startswith("dump "):
            _, result, is_there, seconds, path = line.split(" ")
            results[path.rsplit("/", 1)[1]] = (int(result), int(is_there), float(seconds))
    return slow, results


def check_dump(house, path):
    """A whole trace, whose account says what is in it. Returns the produced callbacks."""
    events = json.loads(path.read_text(encoding="utf-8"))
    require(events[0]["args"].get("dump") and events[-1]["name"] == "ringside_end", f"{path.name} is not whole")
    house.account(path)
    account = [event for event in events if event["name"] == "ringside_account"][-1]["args"]["by_type"]
    found = [event["args"] for event in events
             if event["ph"] == "b" and event.get("cat") == "op" and "op" in event.get("args", {})]
    # Each is of a start and a stop, of which those that are held are in flight, or wait for more. One may be
    # called just then.
    callbacks = sum(account["Coll"].get(what, 0) for what in ("written", "merged", "held"))
    require(0 <= 2 * len(found) - callbacks <= 1, f"{path.name}: {len(found)} operations, of {callbacks} callbacks")
    require(events[-1]["args"]["operations"] == len(found), f"{path.name}: {events[-1]} of {len(found)}")
    house.lint(path)
    house.summary(path)
    return sum(of["produced"] for of in account.values())


def large(options):
    """Two dumps, one behind the other, of a trace that grows on."""
    with House(options) as house:
        slow, results = run(house, 100, "communicator:1", "pace:100", "dump_begin:SLOW/one.json",
                            "pace:25", "dump_begin:SLOW/two.json", "pace:100", "dump_end:")
        sizes = [(slow / name).stat().st_size for name in ("one.json", "two.json")]
        require(min(sizes) > 20_000_000, f"small dumps: {sizes}")
        require({result[:2] for result in results.values()} == {(OK, 1)} and len(results) == 2, f"{results}")
        one, two = (check_dump(house, slow / name) for name in ("one.json", "two.json"))
        require(one < two, f"the first dump has {one} callbacks, the second {two}")
        require([path.name for path in sorted(slow.iterdir())] == ["one.json", "two.json"], "more than the dumps")
        house.whole_account()
        house.lint()
        print(f"dumps of {sizes} bytes: {results}")


def timed_out(options):
    """After ten seconds it is given up, and there is nothing of it; the next one is as any."""
    with House(options) as house:
        slow, results = run(house, 600, "communicator:1", "pace:80", "dump:SLOW/late.json", "pace:10", "wait:1500")
        require(results["late.json"][:2] == (TIMEOUT, 0), f"{results}")
        require(10 <= results["late.json"][2] < 20, f"it took {results}")
        require(not list(slow.iterdir()), f"left: {list(slow.iterdir())}")
        house.whole_account()


def rotated(options):
    """All that the dump is of is deleted before it is written."""
    for compress in ("0", "1"):
        with House(options) as house:
            slow, results = run(house, 100, "communicator:1", "pace:60", "dump_begin:SLOW/dump.json", "pace:60",
                                "dump_end:", RINGSIDE_MAX_BYTES="8M", RINGSIDE_COMPRESS=compress)
            require(results["dump.json"][:2] == (OK, 1), f"{results}")
            check_dump(house, slow / "dump.json")
            house.lint()


def dumps(options):
    if options.sanitized or options.slow_write is None:
        print("dumps: skipped, a sanitizer wants to be loaded first")
        return 77
    for case in (large, timed_out, rotated):
        up_to_three_times(case, options)
    return 0
