# SPDX-License-Identifier: Apache-2.0
"""Rings and journals that others share the place, the process or the processor with."""
import shutil
import subprocess

from house import House, require
from files import unaffected


def recover_beside(house, living):
    """`ringside recover` beside processes that live removes nothing."""
    before = sorted(house.rings.rglob("*"))
    require(len([path for path in before if path.name == "journal"]) == living, f"{before}")
    done = subprocess.run([house.options.ringside, "recover", str(house.rings)],
                          capture_output=True, text=True, timeout=60, check=False)
    require(done.returncode == 0 and f"{living} process" in done.stderr and "running" in done.stderr,
            f"recover takes a process that lives for a dead one: {done.stdout}{done.stderr}")
    # The drain thread may make its control socket meanwhile.
    gone = set(before) - set(house.rings.rglob("*"))
    require(not gone, f"recover removes what is in use: {gone}")


def end(house, process):
    (house.root / "until").touch()
    process.communicate(timeout=60)
    require(process.returncode == 0, f"the program ends with {process.returncode}: {house.said()}")
    require("have died" not in house.said(), f"it takes itself for dead: {house.said()}")
    house.no_rings()
    house.warnings(at_most=0)
    house.lint()


def two_copies(options):
    """The wheel's and another: neither takes the other's journal for a dead process's."""
    with House(options) as house:
        second = house.root / "libsecond.so"
        shutil.copy(options.plugin, second)
        process = house.begin("copies", second, house.root / "until")
        require(process.stdout.readline() == "recording\n", house.said())
        recover_beside(house, 2)
        end(house, process)
        traces = house.trace_files()
        require(len(traces) == 2, f"{traces}")
        found = sorted(house.summary(trace)["inputs"]["operations"] for trace in traces)
        require(found == [500, 1000], f"{found} operations")
        for trace in traces:
            house.account(trace)


def reading_application(options):
    """The application opens and closes our files, which ends our lock: it is taken again."""
    with House(options) as house:
        process = house.begin("copies", f"{house.rings}/", house.root / "until")
        require(process.stdout.readline() == "recording\n", house.said())
        recover_beside(house, 1)
        end(house, process)
        require(house.operations() == 1000, f"{house.operations()} operations")


def equal_pids(options):
    """Two containers that share the directory: in each the program is process 2."""
    command = ["unshare", "-Urpf", "true"]
    if subprocess.run(command, capture_output=True, check=False).returncode != 0:
        print("equal pids: skipped, no namespaces here")
        return
    with House(options) as house:
        house.command = ["unshare", "-Urpf", "sh", "-c", f'{options.host} "$@"; exit $?', "sh"]
        processes = [house.begin("copies", "/dev/null/", house.root / "until") for _ in range(2)]
        for process in processes:
            require(process.stdout.readline() == "recording\n", house.said())
        made = [path.name for path in house.rings.iterdir()]
        require(len(made) == 2, f"one process has taken the other's name: {made}")
        pids = {name.split(".")[3] for name in made}
        require(len(pids) == 1, f"pids {pids}: the test tests nothing")
        recover_beside(house, 2)
        for process in processes:
            end_one = (house.root / "until")
            end_one.touch()
            process.communicate(timeout=60)
            require(process.returncode == 0, house.said())
        require("have died" not in house.said(), house.said())
        house.no_rings()


def interrupted(options):
    """A signal interrupts the allocation of the journal, and of each ring."""
    if options.sanitized or options.interrupted is None:
        return  # their runtime wants to be loaded first
    with House(options) as house:
        status = house.run("trouble", "nothing", LD_PRELOAD=options.interrupted)
        unaffected(house, status, warnings=0)
        require("rings in memory" not in house.said(), f"a signal took the rings: {house.said()}")


def shared_memory(options):
    two_copies(options)
    reading_application(options)
    equal_pids(options)
    interrupted(options)
