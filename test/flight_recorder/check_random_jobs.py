#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds `ringside match` and `ringside hang` against random jobs that are simulated here: each rank makes its calls,
a communicator runs them in their order, and a call ends when all that take part have come to it. One rank does
something else near the end. Then the rings of the ranks keep their last entries, each as many as it likes. A clean
job must accuse nobody, and in the others the first finding must be the fault. --seeds FIRST LAST tries others."""

import argparse
import pathlib
import random
import re
import sys
import tempfile

import check_verdicts
import dump_sets

FUNCTIONS = ["all_reduce", "broadcast", "reduce"]
FAULTS = ["clean", "function", "size", "left out", "stops", "order"]


class Simulated(dump_sets.Job):
    """A job of one process group of nccl2, which has one communicator."""

    def __init__(self, ranks):
        super().__init__(ranks, backend="nccl2")
        self.queues = {rank: [] for rank in self.ranks}

    def issue(self, rank, call):
        kind, *rest = call
        if kind == "collective":
            name, size = rest
            self.add(rank, "0", name, [[size]], [[size]], "scheduled", "Float", 1)
        else:
            peer, size = rest
            arrow = "->" if kind == "send" else "<-"
            tensors = ([[size]], []) if kind == "send" else ([], [[size]])
            self.add(rank, "0", f"{kind} {rank}{arrow}{peer}", *tensors, "scheduled", "Float", 1, True)
        self.queues[rank].append((call, self.entries[rank][-1]))

    def finish_some(self):
        """Ends each call to which all that take part have come; False if there is none."""
        heads = {rank: queue[0][0] for rank, queue in self.queues.items() if queue}
        done = []
        if len(heads) == len(self.ranks) and len(set(heads.values())) == 1 and heads[0][0] == "collective":
            done = list(heads)
        for rank, (kind, *rest) in heads.items():
            if kind == "send" and heads.get(rest[0]) == ("recv", rank, rest[1]):
                done = [rank, rest[0]]
        for rank in done:
            self.now += 1
            _, entry = self.queues[rank].pop(0)
            entry.update(state="completed", retired=True,
                         time_discovered_completed_ns=dump_sets.BEGIN_NS + self.now * 1_000_000)
        return bool(done)

    def run(self, programs, waits):
        """`waits`: a rank makes no call before its last one has ended. True if the job ends."""
        programs = {rank: list(calls) for rank, calls in programs.items()}
        moves = True
        while moves:
            moves = False
            for rank, calls in programs.items():
                while calls and not (waits and self.queues[rank]):
                    self.issue(rank, calls.pop(0))
                    moves = True
            while self.finish_some():
                moves = True
        return not any(self.queues.values()) and not any(programs.values())


def make(seed, fault):
    """The job, the rank that does something else, and the number of that call."""
    chance = random.Random(seed)
    ranks = chance.choice([2, 3, 4])
    count = chance.randint(12, 40)
    calls = [("collective", chance.choice(FUNCTIONS), chance.choice([4, 8, 16])) for _ in range(count)]
    if chance.random() < 0.3:  # as a training loop
        calls = [calls[place % 4] for place in range(count)]
    place = chance.randint(count - 6, count - 3)
    bad = chance.randrange(ranks)
    programs = {rank: list(calls) for rank in range(ranks)}
    _, name, size = calls[place]
    if fault == "function":
        programs[bad][place] = ("collective", FUNCTIONS[FUNCTIONS.index(name) - 1], size)
    elif fault == "size":
        programs[bad][place] = ("collective", name, size + 1)
    elif fault == "left out":
        del programs[bad][place]
    elif fault == "stops":
        del programs[bad][place:]
    elif fault == "order":
        other = (bad + 1) % ranks
        programs[bad].insert(place, ("send", other, 8))
        programs[other].insert(place + 1, ("recv", bad, 8))
    job = Simulated(ranks)
    ends = job.run(programs, waits=chance.random() < 0.5)
    assert ends == (fault == "clean"), (seed, fault, ends)
    is_cut = chance.random() < 0.7
    for rank in range(ranks if is_cut else 0):
        job.cut(**{f"rank_{rank}": max(0, len(job.entries[rank]) - chance.randint(12, 20))})
    return job, bad, place + 1, is_cut


def trouble_of(fault, bad, number, ranks, is_cut, match, hang, status):
    """What is wrong with the answers; empty: nothing."""
    first = next((finding["text"] for finding in match["findings"] if finding["severity"] == "error"), "")
    answer = hang["sentences"][0]
    if fault == "clean":
        is_open = status == 4 and answer.startswith("All ranks have called ")
        return first or ("" if is_open or (status == 0 and "Nothing is seen to be stuck" in answer) else answer)
    # Whether a send and its receive belong together is not known where a ring has lost calls.
    if status != 1 and not (is_cut and fault == "order" and status == 4):
        return f"status {status}: {answer}"
    if fault == "order":
        return "" if is_cut or "wait for each other" in answer else answer
    if fault == "stops":
        is_right = answer.startswith(f"Rank {bad} has not joined ") and f" #{number} " in answer
        is_undecided = any(row["verdict"] == "undecided" for row in match["tables"]["sides"]["rows"])
        return "" if is_right and not first and not is_undecided else f"{first} {answer}"
    if fault == "left out" and not first:  # the rank made no call behind it, or alike ones only
        return "" if answer.startswith(f"Rank {bad} has not joined") else answer
    named = re.match(r"Rank (\d+) .*?#(\d+)(?: to #(\d+))?", first)
    # Of two ranks, either may be the one that is wrong. Calls behind one that was left out may be alike.
    is_right = (named and (int(named[1]) == bad or ranks == 2)
                and (int(named[2]) <= number <= int(named[3] or named[2])
                     or (fault == "left out" and int(named[2]) > number)))
    return "" if is_right else f"{first or 'match finds nothing'}; {answer}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("ringside")
    parser.add_argument("--seeds", type=int, nargs=2, default=(0, 30))
    arguments = parser.parse_args()
    failed = 0
    tried = 0
    for seed in range(*arguments.seeds):
        for fault in FAULTS:
            job, bad, number, is_cut = make(seed, fault)
            with tempfile.TemporaryDirectory() as directory:
                job.write(pathlib.Path(directory))
                match, _ = check_verdicts.run(arguments.ringside, "match", directory)
                hang, status = check_verdicts.run(arguments.ringside, "hang", directory)
            trouble = trouble_of(fault, bad, number, len(job.ranks), is_cut, match, hang, status)
            tried += 1
            if trouble:
                failed += 1
                print(f"FAILED seed {seed}, {fault}, rank {bad}, number {number}, rings "
                      f"{'turned' if is_cut else 'whole'}: {trouble}")
    print(f"{tried - failed} of {tried} jobs are answered rightly")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
