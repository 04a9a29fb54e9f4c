# SPDX-License-Identifier: Apache-2.0
"""The output of `ringside run` at the end, for a program that the plugin records."""
import os
import pathlib
import re
import stat

from place import require


def traces_in(directory):
    return sorted(pathlib.Path(directory).glob("ringside.*.json"))


def summed_up(err, count=1):
    """The summary is there, of so many traces; gives the directory that is named last."""
    require(f"Read: {count} trace" in err and "Communicator " in err, f"no summary: {err}")
    found = re.search(rf"ringside run: {count} trace files? in (.*)\n\Z", err)
    require(found, f"the end does not say where the traces are: {err}")
    return pathlib.Path(found.group(1))


def traces(place):
    """The summary covers what the command made, whatever else is in the directory."""
    job = place.program("way_out exit 100 20")
    out, err = place.ringside("run", *job)
    require(out == "recording\n", f"standard output is not the command's alone: {out}")
    directory = summed_up(err)
    require(stat.S_IMODE(directory.stat().st_mode) == 0o700, f"{directory.stat().st_mode:o}")
    (trace,) = traces_in(directory)
    require(trace.name.startswith("ringside.job."), trace.name)

    _, err = place.ringside("run", "--no-summary", *job)
    require("Read:" not in err and re.search(r"\nringside run: 1 trace file in \S+\n\Z", err), err)

    for number in range(2):
        _, err = place.ringside("run", "--dir", "shared", *job)
        require(summed_up(err) == place.work / "shared", err)
        require(("left out, since they were there before: 1 file" in err) == (number == 1),
                err)
    _, err = place.ringside("run", "--dir", "shared", *job, RINGSIDE_JOB="odd/ name")
    summed_up(err)
    require("Job odd/ name;" in err, err)
    # Traces that another job writes there meanwhile are not of this one.
    another = f'RINGSIDE_JOB=another "{place.options.host}" "$NCCL_PROFILER_PLUGIN" 6 way_out exit 9 9; '
    _, err = place.ringside("run", "--dir", "shared", *place.program("way_out exit 100 20", another))
    summed_up(err)
    require(len(traces_in(place.work / "shared")) == 5, "5 programs have run there")

    together(place)
    top(place)
    _, err = place.ringside("run", *job, RINGSIDE_FLIGHT_BYTES="8M")
    require("flight recorder" in err, err)
    killed(place)


def together(place):
    """The same command twice at a time, as on two nodes: whoever ends last has all traces."""
    both_began = "touch began.$$; until [ $(ls began.* | wc -l) = 2 ]; do sleep 0.01; done; "
    running = [place.start("run", "--dir", "together", *place.program("way_out exit 100 20", both_began))
               for _ in range(2)]
    said = [process.communicate(timeout=60)[1] for process in running]
    require(all(process.returncode == 0 for process in running), str(said))
    require(len(traces_in(place.work / "together")) == 2, "two programs have run")
    require(any("Read: 2 traces" in err for err in said), f"nobody has both: {said}")


def top(place):
    """--top keeps the rows of the most time, and says how many it left out."""
    cases = pathlib.Path(__file__).resolve().parent.parent / "diff" / "cases"
    copy = "\n".join(f"cp '{path}' \"$RINGSIDE_DIR/ringside.job.h.{number}.1.json\""
                     for number, path in enumerate(sorted(cases.glob("summary-4-ranks/traces/*"))))
    rows = {}
    for number in (0, 1, 2):
        _, err = place.ringside("run", "--top", number, "--", "sh", "-ec", copy)
        rows[number] = re.findall(r"^  (\w+) .* (?:gpu|proxy|enqueue)$", err, re.MULTILINE)
        left_out = re.search(r"^  (\d+) more rows? left out \(--top shows more\)$", err, re.MULTILINE)
        require((int(left_out.group(1)) if left_out else 0) == len(rows[0]) - len(rows[number]), err)
    require(len(rows[0]) > 2 and len(rows[1]) == 1 and len(rows[2]) == 2, str(rows))
    require(rows[1][0] in rows[2], str(rows))


def killed(place):
    """Rings of processes that died are recovered, and only those of this run."""
    elsewhere = place.work / "elsewhere"
    another = (f'RINGSIDE_DIR="{elsewhere}" "{place.options.host}" "$NCCL_PROFILER_PLUGIN" 6 '
               "way_out abort 500 1000; ")
    _, err = place.ringside("run", *place.program("way_out abort 500 1000", "ulimit -c 0; " + another),
                            status=134)
    (left,) = os.listdir(place.rings)
    require(left.replace(".rings", ".json") in os.listdir(elsewhere), f"{left} is left, {err}")
    require(re.search(r"recovered \(\d+ in flight\).*; rings removed\n", err), err)
    require("Recovered after their process had died: " in err, err)
    require("signal 6 ended the command" in err, err)


LAUNCHER = """
import os, signal, subprocess, time
def until(holds):
    deadline = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.01)
def watched():
    fds = f"/proc/{os.getppid()}/fd"
    found = 0
    for fd in os.listdir(fds):
        try:
            found += os.readlink(f"{fds}/{fd}") == "anon_inode:[pidfd]"
        except FileNotFoundError:
            pass
    return found
ranks = [subprocess.Popen([os.environ["HOST"], os.environ["NCCL_PROFILER_PLUGIN"], "6", "way_out",
                           "sleep", "100", "100"], stdout=subprocess.PIPE,
                          env={**os.environ, "RANK": str(rank)}) for rank in range(2)]
for rank in ranks:
    assert rank.stdout.readline()
until(lambda: watched() == 2)
for rank, number in ((1, signal.SIGKILL), (0, signal.SIGTERM)):
    left = watched()
    ranks[rank].send_signal(number)
    until(lambda: watched() == left - 1)
    time.sleep(0.05)  # ends that are closer than 1 ms are one
for rank in ranks:
    rank.wait()
"""


def ends(place):
    """Who ended first, when and by what signal, is the first sentence; `summary` knows it later."""
    _, err = place.ringside("run", *place.python(LAUNCHER), HOST=place.options.host)
    said = (r"Rank 1 \(.*\) ended first, at [0-9:.]+ UTC, by SIGKILL; the other ended .* later, "
            r"by SIGTERM\.\n")
    require(re.search(r"rings removed\n" + said, err), err)
    out, _ = place.ringside("summary", summed_up(err, 2), status=4)  # each of its two jobs lacks a rank
    require(re.match(said, out), out)


CASES = {"ends": ends, "traces": traces}
