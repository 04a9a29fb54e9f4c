# SPDX-License-Identifier: Apache-2.0
"""The command is run as if it had been started directly."""
import os
import pathlib
import pty
import signal
import time

from place import Failure, require

# Writes the name of each signal that it gets to stdout, until the file "quit" is there. Not by print,
# which a signal must not interrupt.
LISTENER = """
import os, signal, time

def got(number, _):
    os.write(1, signal.Signals(number).name.encode() + b"\\n")
for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2"):
    if signal.getsignal(getattr(signal, name)) != signal.SIG_IGN:
        signal.signal(getattr(signal, name), got)
os.write(1, b"ready\\n")
while True:
    time.sleep(0.02)
    try:
        open("quit").close()
        break
    except FileNotFoundError:
        pass
"""


def status(place):
    """Exit statuses, streams and arguments are the command's; each mistake has its own status."""
    run = place.ringside
    run("run", "--", "true")
    run("run", "--", "sh", "-c", "exit 7", status=7)
    run("run", "--", "sh", "-c", "exit 255", status=255)
    _, err = run("run", "--", "sh", "-c", "kill -TERM $$", status=143)
    require("signal 15 ended the command" in err, err)
    run("run", "--", "sh", "-c", "kill -KILL $$", status=137)

    _, err = run("run", "--", "no-such-program", status=127)
    require("no-such-program: No such file" in err, err)
    plain = place.work / "plain"
    plain.write_text("no program\n", encoding="utf-8")
    run("run", "--", "./plain", status=126)
    run("run", "--", str(place.rings), status=126)

    for wrong in (["run"], ["run", "--"], ["run", "--", ""], ["run", "true"],
                  ["run", "--no-such-option", "--", "true"], ["run", "--dir", "", "--", "true"],
                  ["run", "--top", "x", "--", "true"], ["run", "--dir", "--", "true"]):
        _, err = run(*wrong, status=2)
        require("ringside run --help" in err, f"{wrong}: {err}")
    _, err = run("run", "--events", "coll,nonsense", "--", "touch", "began", status=2)
    require("'nonsense' is no event" in err, err)
    _, err = run("run", "--sample", "coll:16", "--", "touch", "began", status=2)
    require("'coll:16' is not coll:1/N with N from 1 to 1000000" in err, err)
    _, err = run("run", "--sample", "coll:1/16,min:4K", "--", "touch", "began", status=2)
    require("only collectives can be sampled" in err, err)
    _, err = run("run", "--plugin", "nowhere.so", "--", "touch", "began", status=125)
    require("nowhere.so" in err, err)
    _, err = run("run", "--dir", "plain/below", "--", "touch", "began", status=125)
    require("plain" in err and "Not a directory" in err, err)
    run("run", "--dir", "plain", "--", "touch", "began", status=125)
    require(sorted(os.listdir(place.work)) == ["plain"],
            f"what was not started left {os.listdir(place.work)}")

    out, err = run("run", "--", "sh", "-c", "cat; echo problem >&2", text="what comes in\n")
    require(out == "what comes in\n", f"standard output is not the command's alone: {out!r}")
    require("problem\n" in err, err)
    require("no trace was made" in err and "ringside doctor" in err, err)
    words = ["", "two words", "a\nline", "'", '"', "--", "--dir", "-h", "$HOME", "\\"]
    out, _ = run("run", *place.python("import sys; print(sys.argv[1:])", *words))
    require(out == f"{words}\n", f"{out} instead of {words}")


def ready(process):
    line = process.stdout.readline()
    require(line == "ready\n", f"the command did not begin: {line!r}, {process.poll()}")


def end(place, process):
    (place.work / "quit").touch()
    out, err = process.communicate(timeout=30)
    (place.work / "quit").unlink()
    return out.split(), err


def child_of(process):
    path = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children")
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        children = path.read_text("utf-8").split()
        if children:
            return int(children[0])
        time.sleep(0.01)
    raise Failure("ringside run has no child")


def wait_for_state(pid, wanted):
    deadline = time.monotonic() + 10
    while True:
        state = pathlib.Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()[0]
        if state in wanted:
            return
        require(time.monotonic() < deadline, f"process {pid} is {state}, not in {wanted}")
        time.sleep(0.01)


def signals(place):
    """Each signal to ringside reaches the command, once."""
    names = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2"]
    # A shell's job in the background has SIGINT ignored.
    process = place.start("run", *place.python(LISTENER), preexec=lambda: [
        signal.signal(getattr(signal, name), signal.SIG_DFL) for name in names])
    ready(process)
    for name in names:
        process.send_signal(getattr(signal, name))
        line = process.stdout.readline()
        require(line == name + "\n", f"{name} arrives as {line!r}")
    got, err = end(place, process)
    require(got == [] and process.returncode == 0, f"more than once: {got}, {err}")

    process = place.start("run", *place.python(LISTENER), preexec=lambda: signal.signal(
        signal.SIGHUP, signal.SIG_IGN))
    ready(process)
    process.send_signal(signal.SIGHUP)
    process.send_signal(signal.SIGUSR1)
    line = process.stdout.readline()
    got, _ = end(place, process)
    require(line == "SIGUSR1\n" and got == [], f"with SIGHUP ignored, as nohup does: {line!r}, {got}")

    process = place.start("run", "--", "sleep", "60")
    wait_for_state(child_of(process), "S")
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=30)
    require(process.returncode == 128 + signal.SIGTERM, f"{process.returncode} of SIGTERM")

    process = place.start("run", *place.python(LISTENER), preexec=os.setpgrp)
    ready(process)
    child = child_of(process)
    process.send_signal(signal.SIGTSTP)
    wait_for_state(child, "T")
    wait_for_state(process.pid, "T")
    process.send_signal(signal.SIGCONT)
    wait_for_state(child, "SR")
    wait_for_state(process.pid, "SR")
    end(place, process)
    require(process.returncode == 0, f"{process.returncode} after a stop")

    # The command inherits nothing of how ringside waits; and a caller that ignores SIGCHLD is none
    # of its business.
    out, _ = place.ringside("run", "--", "grep", "SigBlk", "/proc/self/status")
    require(int(out.split()[1], 16) == 0, f"signals are blocked in the command: {out}")
    place.ringside("run", "--", "sh", "-c", "exit 9", status=9, preexec=lambda: signal.signal(
        signal.SIGCHLD, signal.SIG_IGN))


def terminal(place):
    """Ctrl-C and Ctrl-\\ of a terminal reach the command once: the terminal sends them to both."""
    for key, name in ((b"\x03", "SIGINT"), (b"\x1c", "SIGQUIT")):
        pid, master = pty.fork()
        if pid == 0:
            os.chdir(place.work)
            os.execve(place.options.ringside,
                      [place.options.ringside, "run",
                       *place.python(LISTENER + "print('over', flush=True)\n")],
                      place.environment())
        said = b""

        def read_until(word, wanted=master):
            nonlocal said
            while word not in said:
                try:
                    said += os.read(wanted, 4096)
                except OSError:
                    break

        read_until(b"ready")
        os.write(master, key)
        read_until(name.encode())
        time.sleep(0.3)  # a second one would be on its way
        (place.work / "quit").touch()
        read_until(b"over")
        require(said.count(name.encode()) == 1, f"{name} of a terminal: {said!r}")
        read_until(b"not to be found")
        _, ended = os.waitpid(pid, 0)
        os.close(master)
        (place.work / "quit").unlink()
        require(os.waitstatus_to_exitcode(ended) == 0, f"status {ended}: {said!r}")


CASES = {"status": status, "signals": signals, "terminal": terminal}
