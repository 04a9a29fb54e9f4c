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


# The options of ringside_generate, and commands; what is changed in each trace, or in the third.
JOBS = [
    ("--hosts 3 --ranks-per-host 2 --split 2 --iterations 30 --straggler 3:900 --truncate 1 --lose 4 --steps",
     ["summary", "stragglers --format json", "match --format json", "network --format json",
      "communicators --format json", "iterations", "critical-path", "report -o -"]),
    ("--hosts 4 --ranks-per-host 2 --iterations 20 --hang 5:6 --seed 3",
     ["hang --format json", "summary --strict", "match", "topology", "calls --func AllReduce --format csv"]),
    ("--hosts 2 --ranks-per-host 4 --iterations 40 --mismatch size:3:17 --drop 2:10 --seed 9",
     ["match", "summary --fail-on findings", "overlap --host host1", "summary --rank 77", "summary --nonsense"]),
    # All ranks made the same calls: `match` leaves the rows where they were read.
    ("--hosts 4 --ranks-per-host 3 --split 3 --iterations 60 --jitter 0.3 --seed 5 "
     "--pattern AllReduce:1048576,AllGather:4096:split,Broadcast:4096,Reduce:65536:orthogonal",
     ["match --format json --align-report", "match --no-align", "match --clock-error 50us --align-report",
      "match --func Broadcast", "match --host host1", "communicators --format json", "summary", "summary --no-align",
      "summary --format json --align-report --strict", "summary --no-findings --intervals --nominal",
      "summary --format csv --by user-tag", "summary --by caller --clock-error 50us", "summary --by range",
      "summary --no-findings --fail-on busbw<1,straggler>5%,wait>1%,mismatch", "stragglers --format json",
      "overlap --format json", "overlap --no-align", "overlap --format csv --table pairs --func AllGather",
      "iterations --series --format json", "iterations --period 4 --no-align",
      "critical-path --format json --align-report", "critical-path --by caller --no-align",
      "what-if", "critical-path --by range", "critical-path --func AllGather",
      "stragglers --by caller --no-align", "stragglers --by range", "report -o -", "report -o - --no-align",
      "report -o - --format json --func AllGather"]),
    # Sends and receives, and a mismatch: rows of their communicators alone go to process 0.
    ("--hosts 4 --ranks-per-host 2 --split 2 --iterations 60 --jitter 0.3 --seed 5 --pattern AllReduce:1048576,"
     "Neighbour:65536:split,AllGather:4096:orthogonal,RingShift:1024:split,AlltoAll:512:orthogonal,Broadcast:4096",
     ["match --format json --align-report", "communicators --format json", "summary --format json", "stragglers",
      "overlap --format json --align-report", "iterations --format json", "critical-path --format json",
      "report -o - --format json"]),
    ("--hosts 2 --ranks-per-host 4 --split 2 --iterations 40 --mismatch size:3:17 --mismatch function:5:41 --seed 9 "
     "--pattern AllReduce:1048576,AllGather:4096:split,Broadcast:4096,Reduce:65536:orthogonal",
     ["match --format json", "summary --format json", "stragglers --format json", "overlap --format json",
      "iterations --format json", "critical-path --by user-tag --format json", "report -o - --format json"]),
    # A late rank's waits cascade through sends and receives. Some ranks contradict each other, or the others.
    ("--operations-only --hosts 2 --ranks-per-host 4 --split 2 --iterations 150 --late-random 5:3:20 --persistence 0.5 "
     "--seed 8 --pattern AllReduce:1048576:split,Neighbour:65536:split,ReduceScatter:65536:orthogonal,"
     "RingShift:4096:orthogonal,AllReduce:4096",
     ["summary --format json --align-report", "stragglers --format json", "summary --no-findings --intervals",
      "critical-path --format json", "report -o - --format json"]),
    ("--hosts 3 --ranks-per-host 2 --split 3 --iterations 100 --mismatch size:3:17 --mismatch function:5:41 "
     "--straggler 4:700:20 --lose 2 --seed 9 "
     "--pattern AllReduce:1048576:split,AllGather:4096,Broadcast:4096:orthogonal,AlltoAllv:9000:split",
     ["summary --format json", "stragglers", "summary --by caller --no-align", "report -o - --format json"]),
    ("--hosts 3 --ranks-per-host 2 --split 2 --iterations 150 --jitter 0.2 --seed 7 "
     "--pattern AllReduce:1048576,Neighbour:65536:split,AllGather:4096",
     ["summary --format json", "stragglers", "report -o - --format json"], swap_times),
    # A rank does not make a call, and all processes are killed.
    ("--hosts 3 --ranks-per-host 2 --split 2 --iterations 20 --hang 5:6 --end killed --seed 3 "
     "--pattern AllReduce:1048576:split,AllGather:4096",
     ["match --format json --align-report", "summary", "network", "overlap", "iterations",
      "critical-path", "report -o - --format json"]),
    # Each process sums up some of the operations: one communicator, a late rank, and roots.
    ("--hosts 3 --ranks-per-host 2 --iterations 200 --jitter 0.2 --straggler 4:700:20 --seed 6 "
     "--pattern AllReduce:1048576,Broadcast:65536,AllGather:4096",
     ["summary --format json", "stragglers --format json", "summary --fail-on straggler>1%"]),
    # Operations of several communicators run side by side, and a late rank's waits cascade.
    ("--operations-only --hosts 2 --ranks-per-host 4 --split 2 --iterations 150 --late-random 5:3:20 --persistence 0.5 "
     "--seed 8 --pattern AllReduce:1048576:split,ReduceScatter:65536:orthogonal,AllReduce:4096:split",
     ["summary --format json", "stragglers --format json", "summary --no-findings", "overlap --format json",
      "iterations --format json", "critical-path --format json", "report -o - --format json"]),
    # Nothing repeats, so that the page shows who was late by time.
    ("--hosts 3 --ranks-per-host 2 --split 2 --iterations 1 --straggler 4:700 --seed 6 --pattern "
     "AllReduce:1048576,AllGather:4096:split,ReduceScatter:65536:orthogonal,Neighbour:4096,Broadcast:9000,AllReduce:512",
     ["report -o - --format json"]),
    ("--hosts 3 --ranks-per-host 2 --iterations 150 --jitter 0.2 --lose 4 --seed 6 "
     "--pattern AllReduce:1048576,Broadcast:65536,AllGather:4096",
     ["summary --format json", "stragglers", "overlap", "iterations --series --format json", "critical-path",
      "report -o - --format json"], group_calls),
    # Calls of one group, some of which do not match.
    ("--hosts 3 --ranks-per-host 2 --split 2 --iterations 80 --jitter 0.2 --mismatch size:3:17 --straggler 4:700 "
     "--seed 6 --pattern AllReduce:1048576,Broadcast:65536:split,AllGather:4096:split,ReduceScatter:65536:orthogonal",
     ["iterations --series --format json", "overlap --format json", "summary --format json",
      "report -o - --format json"], group_calls),
    # Rows of the network: alike, beside sends and receives and a mismatch, and without steps.
    ("--steps --hosts 6 --ranks-per-host 1 --split 3 --iterations 60 --channels 2 --slow-link 1:2:1:3 --seed 4 "
     "--pattern AllReduce:1048576,AllGather:65536:split,ReduceScatter:1048576:orthogonal",
     ["match --format json --align-report", "communicators --format json", "summary --format json --align-report",
      "summary --no-align", "summary --no-findings", "stragglers --format json", "network --format json",
      "network --format json --no-align", "network --format csv --table matrix", "network --func AllGather",
      "report -o - --format json"]),
    ("--times proxy --hosts 3 --ranks-per-host 2 --split 2 --iterations 40 --mismatch size:3:17 --straggler 4:700 "
     "--drift-ppm 20 --seed 9 --pattern AllReduce:1048576:split,Neighbour:65536:split,AllGather:65536:orthogonal",
     ["match --format json --align-report", "summary --format json --align-report", "stragglers",
      "network --format json --align-report", "overlap --format json",
      "iterations --format json", "critical-path --format json", "report -o - --format json"]),
    ("--full --hosts 3 --ranks-per-host 2 --iterations 30 --seed 2 --pattern AllReduce:1048576,AllGather:65536",
     ["match", "summary --format json", "network --format json", "overlap --format json", "iterations",
      "critical-path", "report -o - --format json"], drop_steps),
    # Traces in two segments each; where ranks differ, process 0 matches them.
    ("--steps --hosts 3 --ranks-per-host 2 --iterations 40 --channels 2 --seed 4 "
     "--pattern AllReduce:1048576,AllGather:65536",
     ["match --format json --align-report", "communicators --format json", "summary --format json --align-report",
      "stragglers --format json", "network --format json", "overlap", "iterations",
      "critical-path", "report -o - --format json"], in_segments),
    ("--hosts 3 --ranks-per-host 2 --iterations 40 --mismatch size:3:17 --seed 9 --pattern AllReduce:1048576",
     ["match --format json", "summary --format json"], in_segments),
    # Two files of one run.
    ("--steps --hosts 3 --ranks-per-host 2 --iterations 40 --seed 4 --pattern AllReduce:1048576,AllGather:65536",
     ["match --format json --align-report", "communicators", "summary --format json", "stragglers", "network",
      "report -o - --format json"], add_copy),
    # Ranks contradict each other, so one process gets all rows.
    ("--hosts 3 --ranks-per-host 2 --iterations 150 --jitter 0.2 --seed 7 "
     "--pattern AllReduce:1048576,Broadcast:65536,AllGather:4096",
     ["summary --format json", "stragglers", "overlap", "iterations", "critical-path --format json",
      "report -o - --format json"], swap_times),
]
# Operations are shared out for these.
SHARED_OUT = ("summary", "stragglers", "overlap", "iterations", "critical-path", "report -o - --format json")
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


def check_rows_stay(mpi, program, generate, directory):
    """Where all ranks of a communicator made the same calls, process 0 gets no rows of it, or those of its part, and
    else it gets all."""
    def statistics_of(words, process=0):
        statistics = mpi.run(2, directory, ["--stats", *words])[2]
        return next(line for line in statistics.splitlines() if line.startswith(f"      {process}  ")).split()
    def received(words, process=0):
        number, unit = statistics_of(words, process)[8:10]
        return float(number) * {"B": 1, "KiB": 1024, "MiB": 1048576}[unit]
    options = "--operations-only --hosts 2 --ranks-per-host 32 --iterations 400 --pattern AllReduce:1048576"
    for job, fault in (("alike", ""), ("differs", " --mismatch size:3:17")):
        subprocess.run([generate, str(directory / job), *(options + fault).split()], check=True,
                       stdout=subprocess.DEVNULL)
        rows = received(["calls", "--format", "csv", job])
        summed_up = received(["match", job])
        require((summed_up < rows / 2) == (fault == ""), f"{job}: {summed_up} of {rows} bytes")
        for command in SHARED_OUT:
            of_other = received([*command.split(), job], 1)
            require((of_other > rows) == (fault == ""), f"{job}: {command} gives process 1 {of_other} bytes")
    # Sends and receives are of communicators of their own. Each process has read half of the traces.
    options = ("--operations-only --hosts 2 --ranks-per-host 4 --split 2 --iterations 50 "
               "--pattern AllReduce:1048576,Neighbour:4096:split,AllGather:64:orthogonal")
    subprocess.run([generate, str(directory / "sends"), *options.split()], check=True, stdout=subprocess.DEVNULL)
    transfers = sum(len(re.findall(r'"func":"(?:Send|Recv)"', trace.read_text(encoding="utf-8")))
                    for trace in (directory / "sends").glob("*.json"))
    for command in ("match", "communicators", "network"):
        sent = int(statistics_of([command, "sends"], 1)[5])
        require(sent == transfers / 2 > 0, f"{command}: {sent} rows of {transfers} sends and receives")
    for command in SHARED_OUT:
        require(int(statistics_of([*command.split(), "sends"])[5]) > 0, f"{command}: process 0 gives rows to process 1")
    # Rows of the network stay, too, and traces in several segments.
    for job, options in (("steps", "--steps"), ("kernels", "--full"), ("segments", "--operations-only")):
        subprocess.run([generate, str(directory / job), *options.split(), "--hosts", "4", "--ranks-per-host", "2",
                        "--iterations", "30", "--pattern", "AllReduce:1048576"], check=True, stdout=subprocess.DEVNULL)
        for trace in list((directory / job).glob("*.json")) if job == "segments" else []:
            in_segments(trace)
        for command in ("match", "communicators", "network"):
            require(int(statistics_of([command, job], 1)[5]) == 0, f"{job}: {command} sends rows")
        for command in SHARED_OUT:
            require(int(statistics_of([*command.split(), job])[5]) > 0, f"{job}: {command}: process 0 gives rows to process 1")
    add_copy(next((directory / "kernels").glob("*.json")))
    require(int(statistics_of(["match", "kernels"], 1)[5]) == 0, "match sends rows where a file is left out")
    # Ranks of one host in processes of several, and hosts with files of their own.
    for i, trace in enumerate(sorted((directory / "alike").glob("*.json"))):
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
                pool.submit(check_rows_stay, mpi, program, generate, directory)]
            for check in checks:
                check.result()
    print(f"{len(troubles)} troubles")
    return 1 if troubles else 0


if __name__ == "__main__":
    sys.exit(main())
