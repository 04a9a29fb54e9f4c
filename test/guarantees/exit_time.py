# SPDX-License-Identifier: Apache-2.0
"""How long the exit of a process waits for its trace, and what it says of one that it gives up."""
import re
import time

from house import House, require

OPERATIONS = 2500  # one ring has room for their records, which the drain finds at the exit
SLOW_MS = 700


def run(house, options, **variables):
    """A process that ends with all its records in the rings, on a file system that takes its time for each
    write. Returns how many seconds it took."""
    begun = time.monotonic()
    house.run("steps", "communicator:1", f"call:{OPERATIONS}", LD_PRELOAD=options.slow_write,
              SLOW_WRITE_IN=house.traces, SLOW_WRITE_MS=SLOW_MS, RINGSIDE_DRAIN_MS=1000, **variables)
    return time.monotonic() - begun


def exit_time(options):
    if options.sanitized or options.slow_write is None:
        return 77
    with House(options) as house:
        took = run(house, options)
        house.whole_account()
        require(took > 5.5, f"the backlog is written in {took:.1f} s: this proves nothing")
        house.no_rings()
        house.warnings(at_most=0)
        require(house.operations() == OPERATIONS, f"{house.operations()} operations")
    with House(options) as house:
        took = run(house, options, RINGSIDE_EXIT_SECONDS=1)
        (line,) = house.warnings(at_least=1)
        said = re.search(r"RINGSIDE_EXIT_SECONDS are over: (\d+) callbacks are not in it yet; .*: ringside recover (\S+)$",
                         line)
        require(said and [said.group(2)] == list(map(str, house.rings.iterdir())), f"{line}")
        house.recover()
        account = house.whole_account()
        require(0 < int(said.group(1)) <= house.sum(account, "produced"), f"{line}, {account}")
        require(house.operations() == OPERATIONS, f"{house.operations()} operations")
        house.lint()
        print(f"given up after {took:.1f} s: {said.group(1)} of {house.sum(account, 'produced')} callbacks were left")
    return 0
