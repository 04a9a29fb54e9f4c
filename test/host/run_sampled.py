#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plays recordings of several ranks to plugins that sample: all ranks have the same operations, chosen
by the documented formula, with all that belongs to them; the account adds up; the analyzer scales."""
import argparse
import collections
import json
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

import expected
from run_replay import Failure, Run, require

WORD = (1 << 64) - 1


def is_kept(name, number, of):
    """docs/trace-format.md, Sampling."""
    hashed = 0xCBF29CE484222325
    for byte in name.encode():
        hashed = ((hashed ^ byte) * 0x100000001B3) & WORD
    hashed = (hashed + number // of + 0x9E3779B97F4A7C15) & WORD
    hashed = ((hashed ^ (hashed >> 30)) * 0xBF58476D1CE4E5B9) & WORD
    hashed = ((hashed ^ (hashed >> 27)) * 0x94D049BB133111EB) & WORD
    return number % of == (hashed ^ (hashed >> 31)) % of


def check_account(trace):
    left_out = 0
    for name, numbers in trace.account["by_type"].items():
        parts = sum(number for key, number in numbers.items() if key != "produced")
        require(parts == numbers["produced"], f"account of {name} does not add up: {numbers}")
        require(not numbers.get("held") and not any(key.startswith("dropped") for key in numbers),
                f"account of {name}: {numbers}")
        left_out += numbers.get("sampled_out", 0)
    require(left_out > 0, "nothing is counted as sampled out")


def identities(operations):
    """Returns the facts of a collective that all ranks of a communicator report alike."""
    return collections.Counter((args["comm"], args["func"], args["seq"], args["bytes"])
                               for args in operations if args["kind"] == "coll")


def rows_refer_to(trace):
    """Operations that have rows: proxy operations, steps, channels."""
    return {event["args"]["op"] for category in ("proxy", "step", "gpu")
            for event in trace.begins(category) if "op" in event["args"]}


def chosen(trace):
    """Without what is there only since it is in flight: a send to itself of which NCCL tells no end."""
    return [args for args in trace.operations.values() if not args.get("sampled_out")]


def sampled(run, whole, all_sends, of):
    for file in run.trace_files():
        file.unlink()
    run.host(RINGSIDE_SAMPLE=f"coll:1/{of}")
    run.lint()
    traces = list(run.traces_by_pid().values())
    require(len(traces) == len(run.files), f"{len(traces)} traces")
    colls = collections.Counter()
    for trace in traces:
        require(trace.first["sampling"] == {"coll_of": of}, "the first line lacks the rate")
        check_account(trace)
        operations = chosen(trace)
        require(rows_refer_to(trace) <= set(trace.operations), "rows of an operation left out")
        for args in operations:
            if args["kind"] == "coll":
                require(is_kept(args["func"], args["seq"], of), f"{args} is not to be kept")
                require(args.get("sample_of", 1) == of, "sample_of is wrong")
        colls += identities(operations)
    # Over all ranks: what one of them lacks comes less often.
    wanted = collections.Counter({key: times for key, times in whole.items()
                                  if is_kept(key[1], key[2], of)})
    require(colls and colls == wanted, f"{colls} instead of {wanted}")
    sends = sum(args["func"] == "Send" for trace in traces for args in chosen(trace))
    require(sends == all_sends, f"{sends} of {all_sends} sends are kept")
    summary = json.loads(analyse(run))
    for communicator in summary["communicators"]:
        verdicts = communicator["verdicts"]
        require(verdicts["matched"] == communicator["operations"], f"verdicts are {verdicts}")
        for row in communicator["rows"]:
            if row["function"] == "AllReduce":
                require(row["count_scaled"] == row["count"] * of, f"not scaled: {row}")


def analyse(run):
    done = subprocess.run([run.options.ringside, "summary", "--format", "json", str(run.traces)],
                          capture_output=True, text=True, timeout=100, check=False)
    require(done.returncode == 0, f"summary: {done.returncode} {done.stderr}")
    return done.stdout


def same_on_all_ranks(run):
    run.host()
    whole, sends = collections.Counter(), 0
    for trace in run.traces_by_pid().values():
        whole += identities(trace.operations.values())
        sends += sum(args["func"] == "Send" for args in chosen(trace))
    require(sends, "this recording has no sends")
    for of in (2, 16):
        sampled(run, whole, sends, of)


def says_what_it_cannot(run):
    """NCCL's numbers do not begin together: all is kept."""
    run.files = run.files[:1]
    run.host(RINGSIDE_SAMPLE="coll:1/1000")
    require(run.stderr.count("collectives are all kept") == 1, run.stderr)
    run.lint()
    (trace,) = run.traces_by_pid().values()
    unsampled = [line.get("unsampled") for line in trace.by_name["ringside_communicator"]]
    require(unsampled and all(line == ["coll"] for line in unsampled), f"unsampled are {unsampled}")
    colls = sum(args["kind"] == "coll" for args in trace.operations.values())
    require(colls > 10, f"{colls} collectives are kept")


def killed(run):
    """Recovery goes on with the choice of the process: each arrow has both ends."""
    run.files = run.files[:1]
    calls = len(expected.Recording(run.files[0]).calls)
    chance = random.Random(run.options.seed)
    for number in range(12):
        for file in run.trace_files():
            file.unlink()
        after = chance.randrange(calls // 10, calls)
        # The plugin gets to decide what is left out, but not to finish all that is begun.
        run.host("--speed", "5", "--kill-after", str(after), RINGSIDE_SAMPLE="coll:1/3")
        done = subprocess.run([run.options.ringside, "recover", str(run.rings)], text=True,
                              capture_output=True, timeout=60, check=False)
        require(done.returncode == 0, f"recover: {done.stdout}{done.stderr}")
        try:
            run.lint()
            for trace in run.traces_by_pid().values():
                for name, numbers in trace.account["by_type"].items():
                    parts = sum(value for key, value in numbers.items() if key != "produced")
                    require(parts == numbers["produced"], f"account of {name}: {numbers}")
        except Failure as failure:
            raise Failure(f"death {number} after {after} of {calls} calls: {failure}") from None


def dumped(run):
    """A dump while an enqueue is open: each arrow has both ends, chosen or not."""
    run.files = run.files[:1]
    begun = [event.number for event in expected.Recording(run.files[0]).of_type("Coll", "P2p")]
    dumps = [f"{after}:{run.traces}/dump{after}.json" for after in begun[::4]]
    run.host("--speed", "5", *(word for dump in dumps for word in ("--dump-at", dump)),
             RINGSIDE_SAMPLE="coll:1/3")
    require(len(run.trace_files()) == len(dumps) + 1, f"{len(run.trace_files())} traces and dumps")
    run.lint()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--host", required=True)
    parser.add_argument("--plugin", required=True)
    parser.add_argument("--ringside", required=True)
    parser.add_argument("--partly", action="store_true", help="where it cannot be done")
    parser.add_argument("--killed", action="store_true", help="the process dies at random moments")
    parser.add_argument("--dumped", action="store_true", help="dumps while enqueues are open")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("recording")
    options = parser.parse_args()
    options.timing = False
    options.abi = int(pathlib.Path(options.recording).name.split("-")[1][1])
    directory = tempfile.mkdtemp(prefix="ringside-sampled-")
    try:
        scenario = (killed if options.killed else dumped if options.dumped
                    else says_what_it_cannot if options.partly else same_on_all_ranks)
        scenario(Run(options, directory))
    except Failure as failure:
        print(f"{failure}\nfiles are in {directory}")
        return 1
    shutil.rmtree(directory)
    return 0


if __name__ == "__main__":
    sys.exit(main())
