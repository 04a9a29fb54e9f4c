# SPDX-License-Identifier: Apache-2.0
"""No signal that the plugin's own calls raise reaches the application, none of its lines waits for a
reader, and a handler that ends the process may interrupt any call."""
import fcntl
import os
import subprocess

from house import Failure, House, require

# Below what the journal and a ring take.
SMALL_FILE = 64 << 10
# Later versions have NCCL's logger, whose lines are NCCL's own.
WITHOUT_LOGGER = 3


def ends(process, result, what, patience_s=60):
    """Waits for the process, which must end as it does without the plugin."""
    try:
        said, _ = process.communicate(timeout=patience_s)
    except subprocess.TimeoutExpired:
        raise Failure(f"{what}: the process has not ended after {patience_s} s") from None
    require(process.returncode == result, f"{what}: ended with {process.returncode}, not {result}")
    return said


def file_limits(options):
    """SIGXFSZ, which ends a program that does not expect it: in init, at a thread's first event, at a line
    of the log, and in the C API before init."""
    for what, *steps in (("init", f"file_limit:{SMALL_FILE}", "communicator:1", "call:100"),
                         ("a new thread", "communicator:1", f"file_limit:{SMALL_FILE}", "thread:100"),
                         ("a dump", f"file_limit:{SMALL_FILE}", "dump:/nonexistent/dump.json"),
                         ("a line", "file_limit:0", "communicator:1", "call:100")):
        with House(options, abi=WITHOUT_LOGGER) as house:
            log = {"RINGSIDE_LOG": house.root / "log"} if what == "a line" else {}
            ends(house.begin("steps", *steps, **log), 0, f"a limit of file sizes at {what}")


def pipe(is_full):
    """The end to write to of a pipe, and what keeps it open: one that nobody reads any more, or one that is
    full."""
    reader, writer = os.pipe()
    if not is_full:
        os.close(reader)
        return writer, []
    flags = fcntl.fcntl(writer, fcntl.F_GETFL)
    fcntl.fcntl(writer, fcntl.F_SETFL, flags | os.O_NONBLOCK)
    try:
        while True:
            os.write(writer, b"x" * 4096)
    except BlockingIOError:
        pass
    fcntl.fcntl(writer, fcntl.F_SETFL, flags)
    return writer, [reader]


def pipes(options):
    """Standard error that nobody reads: the application neither gets SIGPIPE nor waits, whoever has
    something to say."""
    for is_full in (False, True):
        for who, variables in (("init", {}), ("a misspelt value", {"RINGSIDE_EVENTS": "nonsense"}),
                               ("the drain thread", {"RINGSIDE_DIR": "/proc/nowhere"})):
            with House(options, abi=WITHOUT_LOGGER) as house:
                errors, others = pipe(is_full)
                process = house.begin("steps", "communicator:1", "call:100", "wait:200", errors=errors, **variables)
                os.close(errors)
                ends(process, 0, f"{who}, with standard error {'full' if is_full else 'closed'}")
                if "RINGSIDE_DIR" not in variables:
                    house.whole_account()
                house.no_rings()
                for other in others:
                    os.close(other)


def handlers(options):
    """exit() in a handler of SIGTERM that comes while a call holds the session's mutex; and exit() while
    another thread stands still there, as one that a debugger has stopped."""
    for function in ("status", "stop", "start", "dump"):
        with House(options) as house:
            ends(house.begin("steps", "communicator:1", "call:100", f"exit_in:{function}",
                             LD_PRELOAD=options.in_lock), 3, f"exit in a handler within {function}")
            house.whole_account()
            house.no_rings()
            house.warnings(at_most=0)
    with House(options) as house:
        ends(house.begin("steps", "communicator:1", "call:100", "exit_beside:status",
                         LD_PRELOAD=options.in_lock, RINGSIDE_EXIT_SECONDS=1), 3, "exit beside a stopped thread")
        said = house.warnings(at_least=1)
        require("before its trace is complete" in said[0] and str(house.rings) in said[0], f"{said}")
        house.recover()
        house.whole_account()
        house.lint()


def signals(options):
    file_limits(options)
    pipes(options)
    # The sanitizers have a pthread_mutex_unlock of their own.
    if not options.sanitized and options.in_lock:
        handlers(options)
    return 0
