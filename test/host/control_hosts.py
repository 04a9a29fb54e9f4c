# SPDX-License-Identifier: Apache-2.0
"""`ctl` and `top` over several hosts, here directories of rings; a scenario of run_control.py."""
import json
import os
import pathlib
import signal
import subprocess
import time

from control_case import require, wait_for


def hosts(case):
    """Three hosts that answer, each with the two processes of a recording and a job of its own."""
    names = ["node1", "node2", "node3"]
    for name in names:
        rings = case.rings / name
        rings.mkdir()
        case.start_host(RINGSIDE_RING_DIR=str(rings), RINGSIDE_JOB="one")
    list_of = case.place / "hosts"
    list_of.write_text("# the job's hosts\n" + "".join(f"{name} slots=8\n" for name in names) + "node2\n",
                       encoding="utf-8")
    way = ["--hosts", list_of, "--exec", f"RINGSIDE_RING_DIR={case.rings}/{{host}}"]
    wait_for(lambda: len(list(case.rings.glob("*/*.rings/control"))) == 6, "six sockets")
    require(len(case.ctl("status", *way)[0]) == 6, "not all processes of three hosts")
    wait_for(lambda: all(process["communicators"] == 1 for process in case.ctl("status", *way)[0]),
             "a communicator each")
    # Each process does what it is asked, and only those that are meant.
    case.ctl("stop", *way)
    require({process["state"] for process in case.ctl("status", *way)[0]} == {"stopped"}, "stopped")
    case.ctl("start", *way, "--at", "+5", "--job", "one")
    wait_for(lambda: {process["state"] for process in case.ctl("status", *way)[0]} == {"recording"},
             "all recording")
    case.ctl("stop", *way, "--job", "two", status=3)
    some = case.ctl("status", *way)[0][3]["pid"]
    require([process["pid"] for process in case.ctl("mark", *way, "--pid", some, "half")[0]] == [some],
            "one process")
    out, _ = case.run("top", *way, "--once", "--interval", "0.5", "--format", "json")
    require(len({row["pid"] for row in json.loads(out)["rows"]}) == 6, f"top: {out}")
    said = case.run("ctl", "status", *way)[0]
    require(len(said.splitlines()) == 7, said)
    hosts_that_fail(case, list_of, names)
    hosts_that_differ(case)
    a_host_that_hangs(case)
    _, said = case.run("ctl", "mark", *way, "x" * 1001, status=2)
    require("the text has 1001 bytes, and a mark holds 1000" in said, said)
    case.ctl("status", *way, "--ring-dir", case.rings / "node1")
    for name in names:
        case.until.touch()
        wait_for(lambda: not list((case.rings / name).iterdir()), f"{name} to end")
        (case.rings / name).rmdir()
    case.end()


def hosts_that_fail(case, list_of, names):
    """A host that is slow, one that refuses and one without ringside: named, and not waited for."""
    odd = case.place / "odd"
    odd.write_text("\n".join([*names, "slow", "refuses", "without", "strange"]), encoding="utf-8")
    way = f"""RINGSIDE_RING_DIR={case.rings}/{{host}} sh -c 'case {{host}} in slow) sleep 60;;
        refuses) echo banner; echo "no such account" >&2; exit 255;;
        without) exec /nowhere/ringside;;
        strange) echo "ringside-relay-1 AAAA";; esac; echo motd; exec "$@"' -"""
    begin = time.monotonic()
    answers, said = case.ctl("status", "--hosts", odd, "--exec", way, "--host-timeout", "8", status=1)
    require(time.monotonic() - begin < 40, "it has waited for the slow one")
    require(len(answers) == 10 and sum(answer["ok"] for answer in answers) == 6, f"{answers}")
    require({answer["host"] for answer in answers if not answer["ok"]} ==
            {"slow", "refuses", "without", "strange"}, f"{answers}")
    table, _ = case.run("ctl", "status", "--hosts", odd, "--exec", way, "--host-timeout", "8", status=1)
    require(any(line.split()[:4] == ["-", "refuses", "-", "no"] for line in table.splitlines()), table)
    for text in ["host slow has not answered within 8.0 s",
                 "host refuses ended with status 255: no such account",
                 "host without ended with status 127", "--remote-program says where ringside is",
                 "host strange answers what is not Ringside's"]:
        require(text in said, f"{text!r} is not in {said}")
    for arguments, text in [
            (["--hosts", list_of], "--hosts needs --ssh or --exec"),
            (["--ssh"], "need --hosts FILE"),
            (["--hosts", list_of, "--ssh", "--slurm", "1"], "give one of"),
            (["--hosts", list_of, "--exec", "sh -c"], "has no {host} in it"),
            (["--hosts", case.place / "nowhere", "--ssh"], "cannot be read"),
            (["--hosts", "/dev/null", "--ssh"], "has no host"),
            (["--slurm", "x;y"], "not the number of a job"),
            (["--slurm", "12"], "scontrol")]:
        _, said = case.run("ctl", "status", *arguments, status=2)
        require(text in said, f"{arguments}: {text!r} is not in {said}")
    # Quotes would hold in the first shell only.
    marker = case.place / "marker"
    for name in ("-oProxyCommand=touch", f"x';touch${{IFS}}{marker};'", f"$(touch${{IFS}}{marker})",
                 f"`touch${{IFS}}{marker}`", "node[1-3]", "n\xf6de1", "node1\x01"):
        odd.write_text(f"node1\n{name}\n", encoding="utf-8")
        for way in (["--ssh"], ["--exec", "sh -c 'sh -c \"echo {host}\"; exec \"$@\"' -"]):
            _, said = case.run("ctl", "status", "--hosts", odd, *way, status=2)
            require("is no name of a host: it may have letters" in said, said)
    require(not marker.exists(), "a name of a host was run")
    case.run("ctl", "relay", status=2)


REVERSION = """
import base64, sys, zlib
head, text = sys.stdin.readline().split()
packed = zlib.decompress(base64.b64decode(text + "=" * (-len(text) % 4)))
size = int.from_bytes(packed[:4], "little")
packed = (3).to_bytes(4, "little") + b"9.9" + packed[4 + size:]
print(head, base64.b64encode(zlib.compress(packed)).decode().rstrip("="))
"""


def hosts_that_differ(case):
    """Two names of one machine, and other versions of ringside."""
    (case.place / "reversion.py").write_text(REVERSION, encoding="utf-8")
    odd = case.place / "odd"
    odd.write_text("node1\nalias\nold\nnewer\n", encoding="utf-8")
    way = f"""RINGSIDE_RING_DIR={case.rings}/$(echo {{host}} | sed 's/alias/node1/; s/newer/node2/') sh -c 'case "{{host}}$*" in
        old*relay) echo "unknown: relay" >&2; exit 2;; old*--version) echo ringside 0.0.9;;
        newer*relay) "$@" | {case.options.python} {case.place}/reversion.py;; *) exec "$@";; esac' -"""
    answers, said = case.ctl("status", "--hosts", odd, "--exec", way, status=1)
    require(sum(answer["ok"] for answer in answers) == 4, f"{answers} {said}")
    for text in ["alias is another name of node1: 2 processes there count once",
                 "host old has ringside 0.0.9, which cannot answer this one",
                 "newer has ringside 9.9, and this is "]:
        require(text in said, f"{text!r} is not in {said}")


def is_alive(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").split()[2] != "Z"
    except FileNotFoundError:
        return False


def a_host_that_hangs(case):
    """The looks of `watch` do not wait for it, and its commands end with the command that asks."""
    odd = case.place / "odd"
    odd.write_text("node1\nhangs\n", encoding="utf-8")
    looks, pids, healed = case.place / "looks", case.place / "pids", case.place / "healed"
    way = f"""RINGSIDE_RING_DIR={case.rings}/node1 sh -c 'case {{host}} in
        node1) echo >>{looks};; hangs) echo $$ >>{pids}; test -e {healed} || exec sleep 60;; esac; exec "$@"' -"""
    arguments = ["--hosts", odd, "--exec", way, "--all"]
    command = [case.options.ringside, "watch", *arguments, "--interval", "0.3", "--host-timeout", "4",
               "--format", "json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=case.environment(),
                          cwd=case.place) as watch:
        finding = json.loads(watch.stdout.readline())
        require(finding["finding"] == "silent" and finding["hosts"] == ["hangs"] and
                "has not answered within 4.0 s" in finding["sentence"], f"{finding}")
        before, begin = len(looks.read_text(encoding="utf-8")), time.monotonic()
        wait_for(lambda: len(looks.read_text(encoding="utf-8")) >= before + 5, "five looks")
        require(time.monotonic() - begin < 12, "each look waits for the host that hangs")
        healed.touch()
        finding = json.loads(watch.stdout.readline())
        require(finding["ends"] and finding["sentence"] == "Host hangs answers again.", f"{finding}")
        healed.unlink()
        watch.terminate()
        require(watch.wait(20) == -signal.SIGTERM, f"ended: {watch.returncode}")
    pids.write_text("", encoding="utf-8")
    with subprocess.Popen([case.options.ringside, "ctl", "status", *arguments], env=case.environment(),
                          cwd=case.place) as asks:
        wait_for(lambda: pids.read_text(encoding="utf-8").split(), "the host to be asked")
        asks.send_signal(signal.SIGINT)
        require(asks.wait(20) == -signal.SIGINT, f"interrupted: {asks.returncode}")
    wait_for(lambda: not is_alive(pids.read_text(encoding="utf-8").split()[0]), "the command to end")


def shared(case):
    """Two jobs on the hosts of a Slurm job, whose programs are played."""
    for job in ["4711", "other"]:
        case.start_host(RINGSIDE_JOB=job)
    programs = case.place / "bin"
    programs.mkdir()
    for name, text in [("squeue", "echo node1"), ("scontrol", "echo node1"),
                       ("srun", "while test $# -gt 0 && test \"$1\" != --nodelist; do shift; done; shift 2; exec \"$@\"")]:
        (programs / name).write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
        (programs / name).chmod(0o700)
    path = {"PATH": f"{programs}:{os.environ['PATH']}"}
    wait_for(lambda: len(case.sockets()) == 4, "four sockets")

    def stop(*arguments, status=0):
        out, said = case.run("ctl", "stop", "--slurm", *arguments, "--format", "json", status=status,
                             variables=path)
        return sorted(process["job"] for process in json.loads(out)["processes"]) if out else [], said

    require(stop("12", status=2)[1].count("of job") == 2, "it is not told that there are two jobs")
    jobs, said = stop("4711")
    require(jobs == ["4711"] * 2 and "2 processes of other jobs on these hosts left out" in said, f"{jobs} {said}")
    require(stop("4711", "--all")[0] == ["4711"] * 2 + ["other"] * 2, "--all")
    require(stop("4711", "--job", "other")[0] == ["other"] * 2, "--job")
    case.end()
