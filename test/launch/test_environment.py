# SPDX-License-Identifier: Apache-2.0
"""The environment of the command, and the same as text."""
import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import stat
import subprocess
import sys
import time

from place import require

ODD = "a 'b' \"c\" $HOME `id` \\ \n two\ttabs; * ~ #!"


def environment(place):
    """The command and its children have the variables; the directory is new, and private."""
    plugin = os.path.realpath(place.options.plugin)
    out, _ = place.ringside("run", "--", "sh", "-c", "sh -c 'exec env -0'",
                            preexec=lambda: os.umask(0))
    seen = dict(entry.split("=", 1) for entry in out.split("\0") if entry)
    require(seen["NCCL_PROFILER_PLUGIN"] == plugin, seen["NCCL_PROFILER_PLUGIN"])
    directory = pathlib.Path(seen["RINGSIDE_DIR"])
    require(directory.parent == place.work
            and re.fullmatch(r"ringside-\d{8}-\d{6}", directory.name), str(directory))
    require(not directory.exists(), "an empty directory of a run without a trace is left")
    require(seen["RINGSIDE_JOB"] == "job", seen["RINGSIDE_JOB"])
    require("RINGSIDE_EVENTS" not in seen and "RINGSIDE_START" not in seen, str(seen))
    require(seen["RINGSIDE_HANG_SECONDS"] == "120", str(seen))
    for value in ("0", "7.5", ""):
        require(place.seen_by(RINGSIDE_HANG_SECONDS=value)["RINGSIDE_HANG_SECONDS"] == value, value)

    seen = place.seen_by("--dir", "deep/run-17", "--events", "coll,p2p", "--start-off",
                         "--sample", "coll:1/16", "--markers", "cross_node")
    directory = pathlib.Path(seen["RINGSIDE_DIR"])
    require(directory == place.work / "deep/run-17", str(directory))
    for made in (directory, directory.parent):
        require(stat.S_IMODE(made.stat().st_mode) == 0o700, f"{made}: {made.stat().st_mode:o}")
    require(seen["RINGSIDE_EVENTS"] == "coll,p2p" and seen["RINGSIDE_START"] == "0", str(seen))
    require(seen["RINGSIDE_SAMPLE"] == "coll:1/16", str(seen))
    require(seen["RINGSIDE_MARKERS"] == "cross_node", str(seen))
    # The same on all nodes, and so on all that the nodes are told.
    require(seen["RINGSIDE_JOB"] == "run-17", seen["RINGSIDE_JOB"])
    require(place.seen_by("--dir", "x", SLURM_JOB_ID=42)["RINGSIDE_JOB"] == "42", "Slurm's number")
    require(place.seen_by("--dir", "x", RINGSIDE_JOB="mine", SLURM_JOB_ID=42)["RINGSIDE_JOB"]
            == "mine", "RINGSIDE_JOB")
    require(place.seen_by(RINGSIDE_DIR="from/variable")["RINGSIDE_DIR"]
            == str(place.work / "from/variable"), "RINGSIDE_DIR is made absolute")

    # Several at once, in one second, never share a directory.
    code = "import os, time; print(os.environ['RINGSIDE_DIR']); time.sleep(1)"
    running = [place.start("run", *place.python(code)) for _ in range(5)]
    names = {process.communicate(timeout=60)[0] for process in running}
    require(len(names) == 5, f"5 runs, {names}")

    _, err = place.ringside("run", "--", "true", NCCL_PROFILER_PLUGIN="other\x1b[2J.so")
    require("NCCL_PROFILER_PLUGIN was other?[2J.so" in err, repr(err))
    _, err = place.ringside("run", "--", "true", RINGSIDE_RING_BYTES="banana")
    require("RINGSIDE_RING_BYTES=banana is not used" in err, err)
    # One of many tasks leaves it to the first to speak.
    _, err = place.ringside("run", "--dir", "shared", "--", "true", RANK=3)
    require(err == "", err)
    _, err = place.ringside("run", "--", "true", RANK=0)
    require("--dir DIR puts all traces into one directory" in err, err)
    beside(place)


def beside(place):
    """The plugin of an installation, and none."""
    tree = place.root / "tree"
    (tree / "bin").mkdir(parents=True)
    ringside = tree / "bin" / "ringside"
    shutil.copy(place.options.ringside, ringside)

    def dry_run():
        return subprocess.run([ringside, "run", "--dry-run", "--", "true"], capture_output=True,
                              text=True, env=place.environment(), check=False, timeout=60)
    done = dry_run()
    require(done.returncode == 125 and "--plugin FILE" in done.stderr, str(done))
    (tree / "lib").mkdir()
    plugin = tree / "lib" / pathlib.Path(place.options.plugin).name
    shutil.copy(place.options.plugin, plugin)
    done = dry_run()
    require(f"NCCL_PROFILER_PLUGIN='{os.path.realpath(plugin)}'" in done.stdout, str(done))


def text(place):
    """--dry-run and env, read back by a real shell; nothing is made."""
    odd_directory = place.work / "a 'directory'\nin two lines"
    variables = {"RINGSIDE_LOG": ODD, "RINGSIDE_RING_BYTES": "1M"}
    command = ["sh", "-c", "exit", "x\ntouch bad\n", "'; touch bad; '"]
    before = set(os.listdir(place.work))
    exports, _ = place.ringside("run", "--dry-run", "--dir", str(odd_directory), "--", *command,
                                **variables)
    shell = subprocess.run(
        ["sh", "-ec", exports + "\n" + shlex.join([sys.executable, "-c",
                                                   "import json, os; print(json.dumps(dict(os.environ)))"])],
        capture_output=True, text=True, cwd=place.work, timeout=60, check=False,
        env={"PATH": os.environ["PATH"]})
    require(shell.returncode == 0, shell.stderr)
    seen = json.loads(shell.stdout)
    expected = {"NCCL_PROFILER_PLUGIN": os.path.realpath(place.options.plugin),
                "RINGSIDE_DIR": str(odd_directory), "RINGSIDE_JOB": odd_directory.name,
                "RINGSIDE_RING_DIR": str(place.rings), "RINGSIDE_HANG_SECONDS": "120", **variables}
    for name, value in expected.items():
        require(seen.get(name) == value, f"{name} is {seen.get(name)!r}, not {value!r}")
    require({name for name in seen if "RINGSIDE" in name or "NCCL" in name} == set(expected),
            f"more than expected: {seen}")
    require(set(os.listdir(place.work)) == before, f"something was made: {os.listdir(place.work)}")

    def env(form, *options, **extra):
        return place.ringside("env", "--format", form, "--dir", str(odd_directory), *options,
                              **{**variables, **extra})[0]
    require(env("shell") == exports[:exports.rindex("# sh")], "env differs from --dry-run")
    require(json.loads(env("json")) == expected, env("json"))
    for form, option in (("mpirun", "-x"), ("docker", "-e")):
        words = shlex.split(env(form))
        require(words[::2] == [option] * len(expected), str(words))
        require(dict(word.split("=", 1) for word in words[1::2]) == expected, str(words))
    plain, _ = place.ringside("env", "--format", "mpirun", "--dir", "/plain/run-17")
    require("'" not in plain and '"' not in plain and len(plain.splitlines()) == 1,
            f"plain values are quoted: {plain}")
    place.ringside("env", "--format", "nonsense", status=2)
    place.ringside("env", "stray", status=2)
    _, err = place.ringside("env", "--format", "json", status=70, RINGSIDE_LOG=b"\xff".decode(
        errors="surrogateescape"))
    require("RINGSIDE_LOG is not UTF-8" in err, err)
    place.ringside("env", "--plugin", "nowhere.so", status=125)
    require(set(os.listdir(place.work)) == before, f"something was made: {os.listdir(place.work)}")


def kernels(place, library):
    """Kernel channels are recorded where NCCL's variables make them safe, and the user wants them."""
    safe = ("NCCL_ALLGATHERV_ENABLE", "NCCL_COMM_SPLIT_SHARE_RESOURCES",
            "NCCL_COMM_SHRINK_SHARE_RESOURCES")

    def seen_with(*options, version=22907, **variables):
        given = {safe[0]: None, "LAUNCH_TEST_VERSION": version, **variables}
        options = ("--nccl", library, *options)
        _, err = place.ringside("run", *options, "--", "true", **given)
        seen = place.seen_by(*options, **given)
        return [seen.get(name) for name in (*safe, "RINGSIDE_EVENTS")], err

    with_kernels, err = seen_with()
    first = err.splitlines()[0]
    require(with_kernels == ["0", "0", "0", "default,steps"], f"{with_kernels}")
    require("kernel channels are recorded" in first and "--light" in first, first)
    require(seen_with(**{safe[0]: "0"})[0] == with_kernels, "the variable is what it would be")
    for options, variables, wanted in (
            (["--light"], {}, ["0", None, None, None]),
            (["--start-off"], {}, ["0", None, None, None]),
            (["--events", "coll"], {}, ["0", None, None, "coll"]),
            ([], {"RINGSIDE_EVENTS": "p2p"}, ["0", None, None, "p2p"]),
            ([], {"RINGSIDE_START": "0"}, ["0", None, None, None]),
            ([], {"version": 22901}, [None, None, None, None]),
            ([], {safe[1]: "1"}, ["0", "1", None, None])):
        seen, err = seen_with(*options, **variables)
        require(seen == wanted, f"{options} {variables}: {seen}")
        require("kernel channels are recorded" not in err, err)
    require(f"{safe[1]}=1 is set" in err, err)
    out, _ = place.ringside("env", "--nccl", library,
                            **{safe[0]: None, "LAUNCH_TEST_VERSION": 22907})
    require("RINGSIDE_EVENTS" not in out and safe[1] not in out, out)


def nccl(place):
    """NCCL_ALLGATHERV_ENABLE=0 for the releases that need it, unless the user has chosen."""
    name = "NCCL_ALLGATHERV_ENABLE"
    library = place.options.library

    def seen_with(version, **variables):
        given = {name: None, "LAUNCH_TEST_VERSION": version, **variables}
        _, err = place.ringside("run", "--nccl", library, "--", "true", **given)
        return place.seen_by("--nccl", library, **given).get(name), err
    value, err = seen_with(22907)
    require(value == "0" and f"NCCL 2.29.7 ({library})" in err and f"{name}=0 is set" in err, err)
    value, err = seen_with(22901)
    require(value is None and name not in err, f"2.29.1: {value}, {err}")
    value, err = seen_with(22907, **{name: "1"})
    require(value == "1" and name not in err, f"chosen: {value}, {err}")
    kernels(place, library)
    value, err = seen_with("crash")
    require(value is None and "--nccl FILE" in err, f"not known: {value}, {err}")


def names(place):
    """A RINGSIDE_ name that does not exist is named once, by the plugin and by ringside run."""
    def said(**variables):
        done = subprocess.run(
            [place.options.host, place.options.plugin, "6", "way_out", "exit", "10", "0"],
            env=place.environment(RINGSIDE_DIR=place.root / "traces", **variables), cwd=place.work,
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, check=False)
        require(done.returncode == 0 and done.stdout == "recording\n", f"{done}")
        return [line.partition("warning: ")[2] for line in done.stderr.splitlines()
                if "ringside[" in line and " warning: " in line]

    wrong = "RINGSIDE_EVENT is not a variable of Ringside; did you mean RINGSIDE_EVENTS?"
    require(said() == [], f"{said()}")
    require(said(RINGSIDE_EVENTS="coll", RINGSIDE_JOB="x", RINGSIDE_LAUNCH="1-2") == [], "right ones")
    lines = said(RINGSIDE_EVENT="coll")
    require(lines == [wrong], f"{lines}")
    _, err = place.ringside("run", "--", "true", RINGSIDE_EVENT="coll")
    require(err.count(f"ringside run: {wrong}\n") == 1, err)


PY_SPY = """#!/bin/sh
case $5 in
  {pid}) name=load_batch file=train.py ;;
  *) name=init_process_group file=distributed_c10d.py ;;
esac
echo "[{{\\"thread_name\\": \\"MainThread\\", \\"frames\\": [{{\\"name\\": \\"$name\\", \\"filename\\": \\"$file\\"}}]}}]"
"""


ENDLESS = """#!/bin/sh
trap 'echo ended >> {log}; exit' TERM
echo began >> {log}
while :; do sleep 0.1; done
"""


def no_sampler_stays(place, tools, path):
    """A signal that ends `watch` also ends the py-spys that it has started, here four that have no end."""
    log = place.root / "samplers"
    slow = tools / "slow"
    slow.mkdir()
    (slow / "py-spy").write_text(ENDLESS.format(log=log), encoding="utf-8")
    (slow / "py-spy").chmod(0o755)

    def wait_for(text):
        deadline = time.monotonic() + 60
        while log.read_text("utf-8").split().count(text) != 4:
            require(time.monotonic() < deadline, f"{arguments}: not four py-spys have {text}: {log.read_text('utf-8')}")
            time.sleep(0.02)

    for number, *arguments in ((signal.SIGTERM,), (signal.SIGINT,), (signal.SIGTERM, "--last-look")):
        log.write_text("", encoding="utf-8")
        with subprocess.Popen([place.options.ringside, "watch", "--job", "starting", "--hang-seconds", "1", *arguments],
                              env=place.environment(PATH=f"{slow}:{path}"), stdout=subprocess.DEVNULL) as watch:
            wait_for("began")
            watch.send_signal(number)
            watch.wait(60)
        wait_for("ended")


def start_up(place):
    """A rank that has made no communicator is named, and no shell or launcher that has started it: what a
    rank does before NCCL loads the plugin only its process shows."""
    variables = {"NCCL_PROFILER_PLUGIN": place.options.plugin, "RINGSIDE_JOB": "starting",
                 "RINGSIDE_DIR": str(place.root), "SLURM_PROCID": "7"}
    waiting = "import os, sys; os.fork() and print(flush=True); sys.stdin.read()"
    ranks = [subprocess.Popen(["sh", "-c", f'RANK={rank} sh -c \'"$@"; true\' sh "$@"; true', "sh", sys.executable,
                               "-c", waiting], env=place.environment(**variables), text=True,
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE) for rank in (5, 6)]
    pids = []
    for rank in ranks:
        rank.stdout.readline()
        chain = [rank.pid]
        while children := pathlib.Path(f"/proc/{chain[-1]}/task/{chain[-1]}/children").read_text("utf-8").split():
            chain.append(int(children[0]))
        pids.append(chain[-2])  # the last is a worker of the rank
    deadline = time.monotonic() + 60
    said = ""
    while "rank 6" not in said:
        require(time.monotonic() < deadline, f"not named within a minute: {said}")
        _, said = place.ringside("ctl", "status", "--job", "starting", status=3)
    require(f"None of 2 processes has a communicator; rank 5 (pid {pids[0]}), rank 6 (pid {pids[1]}) have been in "
            "start-up for up to " in said and said.count("rank ") == 2, said)
    _, other = place.ringside("hang", "--job", "another", status=3)
    require("rank 5" not in other, other)
    tools = place.root / "tools"
    tools.mkdir()
    (tools / "py-spy").write_text(PY_SPY.format(pid=pids[0]), encoding="utf-8")
    (tools / "py-spy").chmod(0o755)
    hosts = place.root / "hosts"
    hosts.write_text("node1\nnode2\n", encoding="utf-8")
    way = "sh -c 'test {host} = node1 || exit 9; exec \"$@\"' -"
    # On a busy machine there are fewer samples than five.
    sampled = (rf"Rank 5 \(process {pids[0]}\) was in all \d samples in load_batch \(train.py\) \(by py-spy; it used ",
               rf"Rank 5 \(process {pids[0]}\) is in no call of the start-up of NCCL or torch.distributed, in which "
               "1 rank waits")
    path = f"{tools}:{os.environ['PATH']}"
    _, said = place.ringside("hang", "--job", "starting", "--hosts", hosts, "--exec", way, status=3, PATH=path)
    require(f"rank 5 (pid {pids[0]}, node1), rank 6" in said and
            all(re.search(one, said) for one in sampled), said)
    out, _ = place.ringside("watch", "--job", "starting", "--hang-seconds", "1", "--until-finding", "--format", "json",
                            status=1, PATH=path)
    found, stacks = map(json.loads, out.splitlines())
    require(found["finding"] == "start_up" and found["sentence"].startswith("None of 2 processes has"), out)
    require(stacks["finding"] == "verdict" and
            all(any(re.search(text, one["text"]) for one in stacks["evidence"]) for text in sampled), out)
    no_sampler_stays(place, tools, path)
    ranks[1].communicate()
    _, said = place.ringside("hang", "--job", "starting", status=3, PATH=path)
    require(re.search(sampled[0], said) and "waits" not in said and "others" not in said, said)
    ranks[0].communicate()


DYING = """
import glob, os, subprocess, sys, time

def is_watched(pid):
    for path in glob.glob(f"/proc/{os.getppid()}/fdinfo/*"):
        try:
            if f"Pid:\\t{pid}\\n" in open(path).read():
                return True
        except OSError:
            pass
    return False

ranks = [subprocess.Popen(["sleep", "1000"], env={**os.environ, "RANK": str(rank)}) for rank in (0, 1)]
while not all(is_watched(rank.pid) for rank in ranks):
    time.sleep(0.05)
ranks[1].kill()
while is_watched(ranks[1].pid):
    time.sleep(0.05)
ranks[0].terminate()
for rank in ranks:
    rank.wait()
print(ranks[1].pid)
sys.exit(1)
"""


def dies_in_start_up(place):
    """`run` says which rank ended first, and how, though NCCL has not loaded the plugin."""
    out, said = place.ringside("run", *place.python(DYING), status=1)
    require(f"rank 1 (pid {out.strip()}) ended first, by SIGKILL, before NCCL loaded the plugin" in said and
            "Perhaps" not in said, said)
    _, said = place.ringside("run", *place.python("raise SystemExit(1)"), status=1)
    require("Perhaps" in said, said)


CASES = {"start-up": start_up, "dies-in-start-up": dies_in_start_up, "names": names, "environment": environment, "text": text, "nccl": nccl}
