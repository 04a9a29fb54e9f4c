#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes inputs of golden cases with the plugin itself: recordings of NCCL's calls
(test/data/transcripts) are cut, so that a rank leaves something out or comes no further, and played
to the plugin; its traces are the inputs. Times differ from run to run, so this is run by hand, and
run_cases.py --update after it.

usage: record_inputs.py --host NCCL_HOST --plugin PLUGIN --ringside RINGSIDE [CASE ...]
"""

import argparse
import collections
import gzip
import json
import os
import pathlib
import socket
import subprocess
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
TRANSCRIPTS = HERE.parent / "data" / "transcripts"
NEW, OLD = "2.30.7-v6-mix-n2", "2.25.1-v2native-mix-n2"


class Recording:
    """The calls of one rank, as trees: what NCCL made for one group of the application."""

    def __init__(self, name, rank):
        with gzip.open(TRANSCRIPTS / name / f"rank{rank}.jsonl.gz", "rt") as file:
            self.calls = sorted(map(json.loads, file), key=lambda call: call["t"])
        self.rank = rank
        parents = {}
        for call in self.calls:
            if call["cb"] == "startEvent":
                parents[call["h"]] = call.get("parent")
        self.root_of = {}
        for handle in parents:
            root = handle
            while parents.get(root) is not None:
                root = parents[root]
            self.root_of[handle] = root

    def root(self, call):
        return self.root_of.get(call.get("h"))

    def operations(self, func, context=1):
        return [call for call in self.calls if call["cb"] == "startEvent" and
                call.get("type") in ("Coll", "P2p") and call.get("ctx") == context and
                call.get("func") == func]

    def only_world_until(self, func, number):
        """Without other communicators, and what the world calls behind that operation."""
        last = self.operations(func)[number]["t"]
        starts = {}
        for call in self.calls:
            if call["cb"] == "startEvent":
                starts.setdefault(self.root(call), call)
        kept = {root for root, call in starts.items() if call["t"] <= last and call["ctx"] == 1}
        self.calls = [call for call in self.calls
                      if (call.get("h") is None and call.get("ctx", 1) == 1) or
                      self.root(call) in kept]
        return self

    def leave_out(self, func, number):
        """The rank never makes that call: later ones have its number."""
        gone = self.operations(func)[number]
        root = self.root(gone)
        self.calls = [call for call in self.calls if call.get("h") is None or
                      self.root(call) != root]
        for call in self.operations(func):
            if call.get("seqNumber", -1) > gone.get("seqNumber", 0):
                call["seqNumber"] -= 1
        return self

    def stay_in(self, func, number):
        """The rank makes that call, and what it began never ends."""
        root = self.root(self.operations(func)[number])
        top = {call["h"] for call in self.calls if call["cb"] == "startEvent" and
               self.root(call) == root and call["type"] not in ("ProxyOp", "ProxyStep", "KernelCh")}
        self.calls = [call for call in self.calls if self.root(call) != root or call["h"] in top or
                      call["cb"] == "startEvent" and call["type"] == "KernelCh"]
        return self

    def write(self, directory):
        path = directory / f"rank{self.rank}.jsonl.gz"
        with gzip.open(path, "wt") as file:
            file.writelines(json.dumps(call) + "\n" for call in self.calls)
        return path


def thinned(text):
    """Without what tells of the machine on which it was written."""
    host = socket.gethostname()
    lines = text.replace(f'"host":"{host}"', '"host":"node0"').replace(
        f' on {host}"', ' on node0"').split("\n")
    first = json.loads(lines[0][1:].rstrip(","))
    args = first["args"]
    args["boot_id"] = "b00t"
    args["config"] = {key: value for key, value in args["config"].items()
                      if "DIR" not in key and "CONTROL" not in key}
    args["environment"] = {}
    return "\n".join(["[" + json.dumps(first, separators=(",", ":")) + ","] + lines[1:])


class Player:
    def __init__(self, options):
        self.options = options

    def play(self, recording, directory, *arguments, events="coll,p2p"):
        traces = directory / f"traces{recording.rank}"
        rings = directory / f"rings{recording.rank}"
        for made in (traces, rings):
            made.mkdir()
        environment = {key: value for key, value in os.environ.items()
                       if not key.startswith("RINGSIDE_")}
        environment.update(RINGSIDE_DIR=str(traces), RINGSIDE_RING_DIR=str(rings), RINGSIDE_JOB="mix",
                           RINGSIDE_EVENTS=events, RANK=str(recording.rank))
        abi = str(recording.calls[0]["abi"])
        count = str(sum(call["cb"] not in ("dlopen", "dlclose_or_exit") for call in recording.calls))
        subprocess.run([self.options.host, "--plugin", self.options.plugin, "--abi", abi,
                        "--honour-mask", "--timing",
                        *(argument.replace("LAST", count) for argument in arguments),
                        str(recording.write(directory))],
                       env=environment, check=True, timeout=100, capture_output=True)
        if any(rings.iterdir()):
            subprocess.run([self.options.ringside, "recover", str(rings)], check=True,
                           capture_output=True)
        return sorted(traces.glob("*.json"))


def job(player, make, *arguments, name=NEW, dumps=False, **options):
    """The traces of two ranks; `make` cuts the recording of each."""
    files = {}
    with tempfile.TemporaryDirectory() as temporary:
        directory = pathlib.Path(temporary) / name  # nccl_host takes NCCL's version from it
        directory.mkdir()
        for rank in range(2):
            recording = make(Recording(name, rank))
            of_rank = [argument for argument in arguments
                       if not argument.startswith("--rank1") or rank == 1]
            of_rank = [argument.removeprefix("--rank1=") for argument in of_rank]
            for path in player.play(recording, directory, *of_rank, **options):
                text = path.read_text(encoding="utf-8")
                if ('"dump":true' in text.split("\n")[0]) == dumps:
                    files[f"traces/ringside.mix.node0.rank{rank}.json"] = thinned(text)
    return files


def leaves_out(func, number, until=7):
    def make(recording):
        recording.only_world_until("AllReduce", until)
        return recording.leave_out(func, number) if recording.rank == 1 else recording
    return make


def whole(recording):
    return recording.only_world_until("AllReduce", 7)


def does_not_receive(recording):
    """The only send of the recording that no group hides; the other rank calls nothing any more."""
    lone = collections.Counter(map(recording.root, recording.operations("Send") +
                                   recording.operations("Recv")))
    func = "Send" if recording.rank == 0 else "Recv"
    number = next(i for i, call in enumerate(recording.operations(func))
                  if lone[recording.root(call)] == 1)
    recording.only_world_until(func, number)
    return recording.stay_in(func, number) if recording.rank == 0 else recording.leave_out(
        func, number)


def killed_early(recording):
    recording.only_world_until("AllReduce", 7 if recording.rank == 0 else 4)
    return recording.leave_out("AllReduce", 2) if recording.rank == 1 else recording


def tagged(recording):
    """As version 7 tells it: AllReduces have a tag, in turn one of two, and no other call has one."""
    recording.only_world_until("AllReduce", 7)
    recording.calls[0]["abi"] = 7
    number, tags = 0, {}
    for call in recording.calls:
        if call["cb"] != "startEvent" or call["type"] not in ("CollApi", "Coll", "P2pApi", "P2p"):
            continue
        if call["type"] == "CollApi" and call["func"] == "AllReduce":
            tags[call["h"]] = ("0x2a", "0x7")[number % 2]
            number += 1
        call["userTag"] = tags.get(call["h"] if call["type"].endswith("Api") else call["parent"], "0x0")
        if call["type"] == "Coll":
            call.update(kernelVariant="RING_LL_f32", isSymColl=0)
    return recording


KILLED = ("--rank1=--death", "--rank1=kill", "--rank1=--kill-after", "--rank1=LAST")
CASES = {
    "plugin-whole": ("match traces", whole, ()),
    "plugin-missing": ("match traces", leaves_out("AllReduce", 3), ()),
    "plugin-missing-fail-on": ("summary --fail-on missing traces", leaves_out("AllReduce", 3), ()),
    "plugin-one-rank-fail-on": (
        "summary --fail-on mismatch,missing,unfinished,dropped traces/ringside.mix.node0.rank0.json",
        whole, ()),
    "plugin-one-rank-hang": ("hang traces/ringside.mix.node0.rank0.json", whole, ()),
    "plugin-one-rank-strict": ("summary --strict traces/ringside.mix.node0.rank0.json", whole, ()),
    "plugin-one-rank-chosen": ("summary --strict --rank 0 --fail-on mismatch traces", whole, ()),
    # For other cases of user tags, too. NCCL's version is that of the recording, 2.30.7.
    "plugin-user-tag": ("summary --by user-tag traces", tagged, ()),
    "plugin-called": ("summary --group-by range traces", whole, (
        "--range-at", "100:LAST:torch.all_reduce group=0 ranks=0-1 in=4 out=4")),
    "plugin-hang-send": ("hang traces", does_not_receive, ("--sleep-at", "LAST:3", "--dump-at",
                                                           "LAST:")),
    "plugin-killed": ("match traces", lambda r: r.only_world_until("AllReduce", 7 - 3 * r.rank),
                      KILLED),
    "plugin-killed-left-out": ("match traces", killed_early, KILLED),
}
EVENTS = {"plugin-user-tag": "coll,p2p,proxy"}  # others have no times
CASES_2_25 = {
    "plugin-2.25-whole": ("match traces", whole, ()),
    "plugin-2.25-missing": ("match traces", leaves_out("AllReduce", 3), ()),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--host", required=True)
    parser.add_argument("--plugin", required=True)
    parser.add_argument("--ringside", required=True)
    parser.add_argument("--suffix", default="", help="of the cases' names, for another plugin's")
    parser.add_argument("cases", nargs="*")
    options = parser.parse_args()
    for recording, cases in ((NEW, CASES), (OLD, CASES_2_25)):
        for name, (command, make, arguments) in cases.items():
            if options.cases and name not in options.cases:
                continue
            is_hang = command == "hang traces"
            files = job(Player(options), make, *arguments, name=recording, dumps=is_hang,
                        events=EVENTS.get(name, "coll,p2p,kernel" if is_hang else "coll,p2p"))
            directory = HERE / "cases" / (name + options.suffix)
            (directory / "traces").mkdir(parents=True, exist_ok=True)
            (directory / "cmd").write_text(command + "\n", encoding="utf-8")
            for path, text in files.items():
                (directory / path).write_text(text, encoding="utf-8")
            print(f"{directory.name}: {len(files)} traces")


if __name__ == "__main__":
    main()
