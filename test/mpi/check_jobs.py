#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs ringside-mpi on generated jobs and holds it against ringside: any number of processes, hosts
with files of their own, messages in many pieces, and processes that fail.

usage: check_jobs.py [--in-turns] MPIEXEC RINGSIDE_MPI RINGSIDE GENERATE

--in-turns: one of the numbers of processes for each command, as CTest has it; else all of them
"""

import concurrent.futures
import gzip
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import mpi_runs

def group_calls(lines):
    """Calls two and two of them together."""
    return [re.sub(r'"group":(\d+)', lambda group: f'"group":{(int(group[1]) + 1) // 2}', line) for line in lines]


def drop_steps(lines):
    """Leaves the proxy operations of the network without their steps."""
    return [line for line in lines if '"cat":"step"' not in line]


def in_segments(trace):
    """Writes a trace as two segments, each with half of the operations."""
    lines = trace.read_text(encoding="utf-8").split("\n")
    rows = [i for i, line in enumerate(lines) if '"ph":"b","cat":"op"' in line]
    begins = [i for i in rows if i - 1 not in rows]  # where the wait of an operation is a row of its own, that one
    cut = begins[len(begins) // 2]
    end = lines[-3] if lines[-1] == "" else lines[-2]
    count = int(re.search(r'"operations":(\d+)', end)[1])
    head = [line.replace('"segment":1,', '"segment":2,') for line in lines[:begins[0]] if '"ph":"i"' not in line]
    own = len(begins) // 2
    first = end.replace(f'"operations":{count}', f'"operations":{own},"next_segment":2')
    second = [line.replace(f'"operations":{count}', f'"operations":{count - own}') if line is end else line
              for line in lines[cut:]]
    trace.write_text("\n".join([*lines[:cut], first, "]", ""]), encoding="utf-8")
    trace.with_name(trace.name.replace(".json", ".s000002.json")).write_text("\n".join(head + second),
                                                                            encoding="utf-8")


def add_copy(trace):
    """Writes another file of the same run, which is left out since it has fewer operations."""
    lines = trace.read_text(encoding="utf-8").split("\n")
    trace.with_name("0-" + trace.name).write_text("\n".join(lines[:len(lines) // 2]), encoding="utf-8")


def swap_times(lines):
    """Has three operations run before the one that was called before them, on this rank alone."""
    for i in (100, 200, 300):
        places = [k for k, line in enumerate(lines) if '"start_ns"' in line][i:i + 2]
        times = [re.search(r'"start_ns":\d+,"end_ns":\d+', lines[k])[0] for k in places]
        for k, own, other in zip(places, times, reversed(times)):
            lines[k] = lines[k].replace(own, other)
    return lines


# The options of ringside_generate, and commands; what is changed in each trace, or in the third. The
# analysis is that of ringside: what is tried is that a partial has all that the commands ask for.
JOBS = [
    ("--hosts 3 --ranks-per-host 2 --split 2 --iterations 30 --straggler 3:900 --truncate 1 --lose 4 --steps",
     ["summary", "stragglers --format json", "match --format json", "network --format json",
      "communicators --format json", "iterations", "critical-path", "report -o -"]),
    ("--hosts 4 --ranks-per-host 2 --iterations 20 --hang 5:6 --seed 3",
     ["hang --format json", "summary --strict", "match", "topology", "calls --func AllReduce --format csv"]),
    ("--hosts 2 --ranks-per-host 4 --iterations 40 --mismatch size:3:17 --drop 2:10 --seed 9",
     ["match", "summary --fail-on findings", "overlap --host host1", "summary --rank 77", "summary --nonsense"]),
    ("--hosts 4 --ranks-per-host 3 --split 3 --iterations 60 --jitter 0.3 --seed 5 "
     "--pattern AllReduce:1048576,AllGather:4096:split,Broadcast:4096,Reduce:65536:orthogonal",
     ["match --no-align", "match --clock-error 50us --align-report", "match --func Broadcast", "match --host host1",
      "summary --format json --align-report --strict", "summary --no-findings --intervals --nominal",
      "summary --format csv --by user-tag", "summary --by caller", "summary --by range",
      "summary --no-findings --fail-on busbw<1,straggler>5%,wait>1%,mismatch",
      "overlap --format csv --table pairs --func AllGather", "iterations --series --format json",
      "iterations --period 4 --no-align", "what-if", "critical-path --by range", "critical-path --func AllGather",
      "stragglers --by caller --no-align", "report -o - --format json --func AllGather"]),
    # Sends and receives, and a mismatch; sizes that follow the data.
    ("--hosts 4 --ranks-per-host 2 --split 2 --iterations 60 --jitter 0.3 --mismatch function:5:41 --seed 5 --pattern "
     "AllReduce:1048576,Neighbour:65536:split,AllGather:4096:orthogonal,RingShift:1024:split,AlltoAllv:9000:split",
     ["match --format json --align-report", "summary --format json", "overlap --format json", "report -o - --format json"]),
    # Times of the network, with drifting clocks.
    ("--times proxy --hosts 3 --ranks-per-host 2 --split 2 --iterations 40 --mismatch size:3:17 --straggler 4:700 "
     "--drift-ppm 20 --seed 9 --pattern AllReduce:1048576:split,Neighbour:65536:split,AllGather:65536:orthogonal",
     ["summary --format json --align-report", "network --format json --align-report", "critical-path --format json"]),
    # A rank does not make a call, and all processes are killed.
    ("--hosts 3 --ranks-per-host 2 --split 2 --iterations 20 --hang 5:6 --end killed --seed 3 "
     "--pattern AllReduce:1048576:split,AllGather:4096",
     ["match --format json --align-report", "hang", "report -o - --format json"]),
    ("--hosts 3 --ranks-per-host 2 --iterations 150 --jitter 0.2 --lose 4 --seed 6 "
     "--pattern AllReduce:1048576,Broadcast:65536,AllGather:4096",
     ["summary --format json", "iterations --series --format json"], group_calls),
    ("--full --hosts 3 --ranks-per-host 2 --iterations 30 --seed 2 --pattern AllReduce:1048576,AllGather:65536",
     ["summary --format json", "network --format json", "report -o - --format json"], drop_steps),
    ("--steps --hosts 3 --ranks-per-host 2 --iterations 40 --channels 2 --mismatch size:3:17 --seed 4 "
     "--pattern AllReduce:1048576,AllGather:65536",
     ["match --format json --align-report", "summary --format json", "network --format json"], in_segments),
    # Two files of one run.
    ("--steps --hosts 3 --ranks-per-host 2 --iterations 40 --seed 4 --pattern AllReduce:1048576,AllGather:65536",
     ["match --format json --align-report", "summary --format json"], add_copy),
    # A rank contradicts the others.
    ("--hosts 3 --ranks-per-host 2 --iterations 150 --jitter 0.2 --seed 7 "
     "--pattern AllReduce:1048576,Broadcast:65536,AllGather:4096",
     ["summary --format json", "stragglers"], swap_times),
]
troubles = []


def require(is_so, text):
    if not is_so:
        troubles.append(text)
        print("FAILED:", text)


def ringside(program, directory, words):
    result = subprocess.run([program, *words], cwd=directory, stdin=subprocess.DEVNULL, capture_output=True,
                            check=False, timeout=120, env=mpi_runs.ENVIRONMENT)
    return (result.returncode, result.stdout.decode(errors="backslashreplace"),
            result.stderr.decode(errors="backslashreplace"), "")


def make_job(generate, directory, options, change=None):
    subprocess.run([generate, str(directory), *options.split()], check=True, stdout=subprocess.DEVNULL)
    traces = sorted(directory.glob("*.json"))
    for trace in {in_segments: traces, add_copy: traces[2:3]}.get(change, []):
        change(trace)
    for trace in [] if change in (None, in_segments, add_copy) else traces[2:3] if change is swap_times else traces:
        lines = change(trace.read_text(encoding="utf-8").split("\n"))
        trace.write_text("\n".join(lines), encoding="utf-8")
    # A compressed trace, and one with bad lines.
    traces[0].with_name(traces[0].name + ".gz").write_bytes(gzip.compress(traces[0].read_bytes()))
    traces[0].unlink()
    lines = traces[1].read_bytes().splitlines(keepends=True)
    traces[1].write_bytes(b"".join(lines[:5] + [b"{broken},\n"] * 13 + lines[5:]))


def check_equal(mpi, program, directory, is_in_turns):
    """All commands with 1, 2, 3 and 7 processes, and with messages in pieces."""
    calls = [[*command.split(), f"job{i}"] for i, (_, commands, *_) in enumerate(JOBS) for command in commands]
    numbers = (1, 2, 3, 7)
    work = [(processes, words) for i, words in enumerate(calls)
            for processes in ([numbers[i % len(numbers)]] if is_in_turns else numbers)]
    # As in check_cases.py, most of the time is waiting.
    with concurrent.futures.ThreadPoolExecutor(2 * os.cpu_count()) as pool:
        results = list(pool.map(lambda one: mpi.run(one[0], directory, one[1]), work))
    for (processes, words), result in zip(work, results):
        require(result == ringside(program, directory, words), f"{processes} processes: {words}")
    words = ["summary", "job0"]
    require(mpi.run(3, directory, words, RINGSIDE_MPI_PIECE_BYTES="1000")
            == ringside(program, directory, words), "messages in pieces")
    for words in (["match", "--align-report", "job3"], ["summary", "job3"]):
        require(mpi.run(3, directory, words, RINGSIDE_MPI_PIECE_BYTES="1000")
                == ringside(program, directory, words), f"messages in pieces: {words}")
    # Two runs are read one after the other.
    for words in (["compare", "job0", "job1"], ["report", "-o", "-", "--format", "json", "job0", "job1"]):
        require(mpi.run(3, directory, words) == ringside(program, directory, words), f"two runs: {words}")
    # A partial and a trace; process 0 reads the partial.
    subprocess.run([program, "reduce", "job1", "-q", "-o", "job1.part"], cwd=directory, check=True)
    words = ["summary", "job1.part", "job2"]
    require(mpi.run(3, directory, words) == ringside(program, directory, words), "partial")


def as_hosts(directory, words, parts):
    """The parts of a run: each host's processes work in a directory of its own."""
    return [(processes, directory / host, {"RINGSIDE_MPI_HOST": host}, words) for host, processes in parts]


def check_local(mpi, program, directory):
    """Host a has the first traces, host b the others, c none."""
    whole = directory / "whole"
    shutil.copytree(directory / "job0", whole / "traces")
    traces = sorted((whole / "traces").iterdir())
    for host, own in (("a", traces[:2]), ("b", traces[2:])):
        (directory / host / "traces").mkdir(parents=True)
        for trace in own:
            shutil.copy2(trace, directory / host / "traces")
    (directory / "c" / "traces").mkdir(parents=True)
    words = ["summary", "traces"]
    wanted = ringside(program, whole, words)
    for parts in ([("a", 1), ("b", 1)], [("b", 2), ("a", 1)], [("a", 3), ("b", 4)]):
        require(mpi.run_parts(as_hosts(directory, ["--local", *words], parts)) == wanted, f"--local {parts}")
    status, stdout, stderr, others = mpi.run_parts(as_hosts(directory, ["summary", "--local", "traces"],
                                                            [("a", 1), ("b", 1), ("c", 1)]))
    require((status, others) == (wanted[0], "") and "Could not be read: 1 file or directory\n" in stdout
            and len(set(wanted[1].splitlines()) - set(stdout.splitlines())) <= 2, f"a host without traces: {stdout}")
    require("error: traces: no Ringside traces" in stderr and "(on c)\n" in stderr, "it is named: " + stderr)
    # A directory that all hosts see counts once; the hosts are of one machine.
    for command in (["summary", "traces"], ["match", "traces", "gone"]):
        parts = [(2, whole, {"RINGSIDE_MPI_HOST": host}, [*command, "--local"]) for host in "ab"]
        require(mpi.run_parts(parts) == ringside(program, whole, command), f"hosts that see the same: {command}")
    # Two hosts have different files of one name.
    name = traces[2].name
    (directory / "a" / "traces" / name).write_bytes(traces[2].read_bytes()[:-100])
    status, _, stderr, _ = mpi.run_parts(as_hosts(directory, ["--local", *words], [("b", 1), ("a", 1)]))
    require(f"error: traces/{name}: another file on a than on b, and left out there" in stderr, "one name: " + stderr)
    # Without --local a process that does not see a file must not leave it out.
    (directory / "a" / "traces" / name).unlink()
    status, stdout, stderr, others = mpi.run_parts(as_hosts(directory, words, [("b", 1), ("a", 1)]))
    require(status != 0 and stdout == "" and "process 1 on a: traces/" in others and "say --local" in others,
            f"a file that a host does not see: {status} {stdout} {others}")


def check_received(mpi, program, generate, directory):
    """Process 0 gets partials, which are far smaller than the traces."""
    options = "--operations-only --hosts 2 --ranks-per-host 8 --iterations 400 --pattern AllReduce:1048576"
    subprocess.run([generate, str(directory / "alike"), *options.split()], check=True, stdout=subprocess.DEVNULL)
    traces = sorted((directory / "alike").glob("*.json"))
    statistics = mpi.run(2, directory, ["--stats", "summary", "alike"])[2]
    heads, *lines = [line for line in statistics.splitlines() if "process" in line or line.strip()[:1] in ("0", "1")]
    own = next(re.split(r"  +", line.strip()) for line in lines if line.split()[0] == "0")
    place = re.split(r"  +", heads.strip()).index("received")
    number, unit = own[place].split()
    received = float(number) * {"B": 1, "KiB": 1024, "MiB": 1 << 20}[unit]
    there = sum(trace.stat().st_size for trace in traces) / 2  # process 1 reads the other half
    require(0 < received < there / 20, f"process 0 gets {received} of {there} bytes")
    # Ranks of one host in processes of several, and hosts with files of their own.
    for i, trace in enumerate(traces):
        place = directory / f"part{i % 3}" / "alike"
        place.mkdir(parents=True, exist_ok=True)
        shutil.copy2(trace, place)
    for command in ("match", "summary"):
        words = [command, "--align-report", "alike"]
        require(mpi.run_parts(as_hosts(directory, ["--local", *words], [("part0", 1), ("part1", 2), ("part2", 1)]))
                == ringside(program, directory, words), f"{command} --local")


def check_death(mpi, directory):
    """Process 0 waits for a pipe, and process 1 dies meanwhile: no answer."""
    os.mkfifo(directory / "pipe")
    record = f'[ "${{OMPI_COMM_WORLD_RANK:-$PMI_RANK}}" = 1 ] && echo $$ > {directory}/pid; exec "$@"'
    process = subprocess.Popen(
        [mpi.mpiexec, "-n", "3", "sh", "-c", record, "sh", mpi.program, "summary", "job0", "pipe"],
        cwd=directory, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env=mpi_runs.ENVIRONMENT)
    # Whoever opens a pipe for writing is told whether someone reads it.
    end = time.monotonic() + 60
    writer = None
    while writer is None and time.monotonic() < end:
        try:
            writer = os.open(directory / "pipe", os.O_WRONLY | os.O_NONBLOCK)
        except OSError:
            time.sleep(0.05)
    require(writer is not None, "process 0 reads the pipe")
    os.kill(int((directory / "pid").read_text(encoding="utf-8")), signal.SIGKILL)
    stdout, stderr = process.communicate(timeout=60)
    os.close(writer)
    require(process.returncode != 0, "a job with a dead process does not end well")
    require(b"Communicators" not in stdout and b"AllReduce" not in stdout, f"there is no answer: {stdout}")
    require(stderr != b"" or stdout != b"", "the starter names the dead process")


def check_command_line(mpi, program, directory, library):
    help_text = pathlib.Path(__file__).with_name("help.txt").read_text(encoding="utf-8")
    for words in (["--help"], ["help"]):
        require(mpi.run(2, directory, words) == (0, help_text, "", ""), f"{words}")
    version = mpi.run(1, directory, ["--version"])
    number = ringside(program, directory, ["--version"])[1].split()[1]
    require(version[0] == 0 and version[1].startswith(f"ringside-mpi {number}, ") and library in version[1],
            f"--version: {version}")
    refused = ("merge", "lint", "recover", "reduce", "export", "query", "mcp", "demo", "run", "env", "doctor", "ctl", "top", "watch", "ras",
               "exporter")
    for command in re.findall(r"^  ([a-z-]+)  ", ringside(program, directory, ["--help"])[1].split("Options:")[0], re.M):
        require((command in refused) != (f" {command}," in help_text or f" {command}\n" in help_text),
                f"{command}: it is either in the help or refused")
    for command in refused:
        status, stdout, stderr, others = mpi.run(1, directory, [command, "job0"])
        require((status, stdout, others) == (2, "", "") and f"`ringside {command}`" in stderr,
                f"{command} is refused: {status} {stderr}")
    status, _, stderr, _ = mpi.run(1, directory, [])
    require(status == 2 and "say which command" in stderr, "no command")
    status, _, stderr, _ = mpi.run(2, directory, ["summary", "--local", "--kineto", "job0", "job0"])
    require(status == 2 and "--kineto" in stderr, "--kineto with --local")
    status, stdout, stderr, others = mpi.run(3, directory, ["--stats", "summary", "job0"])
    wanted = ringside(program, directory, ["summary", "job0"])
    rows = [line.split() for line in stderr.removeprefix(wanted[2]).splitlines()]
    require((status, stdout, others) == (wanted[0], wanted[1], "") and stderr.startswith(wanted[2]), "--stats")
    require([row[0] for row in rows] == ["process", "0", "1", "2"], f"--stats: {stderr}")
    require(sum(int(row[2]) for row in rows[1:]) == len(list((directory / "job0").glob("*.json*"))),
            f"each file is read by one process: {stderr}")
    require(all(row[-1] == "MiB" and float(row[-2]) > 1 for row in rows[1:]), f"memory: {stderr}")
    # A starter of another MPI starts processes that are all alone.
    other = "PMI_SIZE" if "Open MPI" in library else "OMPI_COMM_WORLD_SIZE"
    alone = subprocess.run([mpi.program, "summary", "job0"], cwd=directory, capture_output=True, check=False,
                           env={**mpi_runs.ENVIRONMENT, other: "2"}, timeout=60)
    require(alone.returncode == 2 and b"this one is alone" in alone.stderr and alone.stdout == b"", f"alone: {alone}")
    # Open MPI gives process 0 a terminal: no colours, no pager.
    plain = subprocess.run([mpi.mpiexec, "-n", "2", mpi.program, "summary", "job0"], cwd=directory,
                           stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False,
                           env={**mpi_runs.ENVIRONMENT, "TERM": "xterm"}, timeout=60)
    require(plain.stdout.decode().startswith(wanted[1]), f"through the starter: {plain.stdout}")


def main():
    is_in_turns = sys.argv[1] == "--in-turns"
    mpiexec, mpi_program, program, generate = sys.argv[1 + is_in_turns:]
    mpi = mpi_runs.Mpi(mpiexec, mpi_program)
    program = str(pathlib.Path(program).resolve())
    library = subprocess.run([mpiexec, "--version"], capture_output=True, text=True, check=True).stdout
    with tempfile.TemporaryDirectory() as temporary:
        directory = pathlib.Path(temporary)
        for i, (options, _, *change) in enumerate(JOBS):
            make_job(generate, directory / f"job{i}", options, *change)
        # Side by side, since Open MPI waits two seconds at the end of each run that did not end with 0.
        with concurrent.futures.ThreadPoolExecutor() as pool:
            checks = [
                pool.submit(check_command_line, mpi, program, directory, "Open MPI" if "Open" in library else "MPICH"),
                pool.submit(check_local, mpi, program, directory),
                pool.submit(check_death, mpi, directory),
                pool.submit(check_equal, mpi, program, directory, is_in_turns),
                pool.submit(check_received, mpi, program, generate, directory)]
            for check in checks:
                check.result()
    print(f"{len(troubles)} troubles")
    return 1 if troubles else 0


if __name__ == "__main__":
    sys.exit(main())
