# SPDX-License-Identifier: Apache-2.0
"""`ctl` and `top` over several hosts, here directories of rings; a scenario of run_control.py."""
import json
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
    odd.write_text("-oProxyCommand=touch\n", encoding="utf-8")
    _, said = case.run("ctl", "status", "--hosts", odd, "--ssh", status=2)
    require("is no name of a host" in said, said)
    case.run("ctl", "relay", status=2)
