# SPDX-License-Identifier: Apache-2.0
"""A call that a rank left out is missing; what a killed process had not come to is not.

The truth is what each rank wrote of its own calls (calls-RANK.jsonl).
"""

import collections
import json
import os
import random
import re
import signal
import time

from harness import Job, check, print_facts

RANKS = 3
LEFT_OUT_AT = 4
LEFT_OUT_BY = 1
# The ranks without the call: "Rank 0 made one call that ranks 1, 2 did not make", "Rank 1 did not".
ABSENT = re.compile(r"(?:that r|: r|^R)anks? ([0-9, ]+)(?: did not| left out)")


def collectives(job, rank):
    """The rank's collectives in world, in order: what they were, and how large."""
    return [(call["func"], call["bytes"]) for call in job.calls(rank)
            if call.get("comm") == "world" and "peer" not in call]


def matched(job, *arguments, expected=(0, 1, 4)):  # 4: a rank has no trace, or not all of it
    return json.loads(job.setup.run_analyzer("match", "--format", "json", *arguments,
                                             job.setup.directory / "traces", expected=expected))


def missing_of(report):
    return [one["text"] for one in report["findings"] if one["kind"] == "missing"]


def check_left_out(job):
    """`match` names the call and the rank, and no other, and --fail-on sees it."""
    others, own = collectives(job, 0), collectives(job, LEFT_OUT_BY)
    check(others == collectives(job, 2) and len(others) == len(own) + 1
          and others[:LEFT_OUT_AT] + others[LEFT_OUT_AT + 1:] == own,
          f"rank {LEFT_OUT_BY} called {own}, others {others}: the test tests nothing")
    found = missing_of(matched(job))
    check(len(found) == 1 and re.search(rf"\bAllReduce #{LEFT_OUT_AT}\b", found[0])
          and re.search(rf"\b[Rr]ank {LEFT_OUT_BY}\b", found[0]),
          f"rank {LEFT_OUT_BY} left out AllReduce #{LEFT_OUT_AT}, found: {found}")
    print(found[0])
    said = json.loads(job.setup.run_analyzer(
        "summary", "--format", "json", "--fail-on", "missing", job.setup.directory / "traces",
        expected=(1,)))
    (communicator,) = said["communicators"]
    check(communicator["verdicts"]["missing"] == 1, f"verdicts: {communicator['verdicts']}")


def leave_out_job(setup, *options, **more):
    return Job(setup, "--scenario", "burst", "--leave-out-rank", str(LEFT_OUT_BY), "--leave-out-at",
               str(LEFT_OUT_AT), *options, ranks=RANKS, timeout=40, **more)


def left_out(setup):
    """A rank leaves out an AllReduce of world and goes on; all ranks end, with complete traces."""
    job = leave_out_job(setup).wait()
    for trace in job.traces():
        check(trace.closed, f"{trace.path.name} is not closed")
    check_left_out(job)


def left_out_killed(setup):
    """The same, and all processes are killed while they wait: what a rank left out before its last
    call stays missing."""
    job = leave_out_job(setup)
    while [len(collectives(job, rank)) for rank in range(RANKS)] != [13, 12, 13]:
        check(job.process.poll() is None and time.monotonic() < job.deadline, "the job is too slow")
        time.sleep(0.01)
    job.kill()
    job.recover()
    job.traces()
    check_left_out(job)


def send_not_joined(setup):
    """A rank never sends what another one receives: `hang` names it."""
    job = Job(setup, "--scenario", "train", "--iterations", "40", "--stuck-rank", "1",
              "--stuck-at", "31", ranks=RANKS, timeout=10).wait()
    sent = [call for call in job.calls(1) if call.get("func") == "Send" and call["peer"] == 2]
    received = [call for call in job.calls(2) if call.get("func") == "Recv" and call["peer"] == 1]
    check(len(received) == len(sent) + 1,
          f"{len(sent)} sends, {len(received)} receives: the test tests nothing")
    job.recover()
    job.traces()
    report = json.loads(setup.run_analyzer("hang", "--format", "json", setup.directory / "traces",
                                           expected=(1,)))
    sentences = " ".join(report["sentences"])
    print(sentences)
    expected = r"Rank 1 \(host [^)]*\) has not joined the send from rank 1 to rank 2 "
    check(re.search(expected, sentences), f"rank 1 joins no send, found: {sentences}")


def killed_at_random(setup, number, seed):
    """One job, one kill; returns how many calls others had made that the killed had not."""
    chance = random.Random(seed)
    setup.start_anew(f"kill-{number}")
    victims = [chance.randrange(RANKS)] if chance.random() < 0.6 else list(range(RANKS))
    calls = chance.randrange(6, 60)
    # One rank is behind the others, which call up to three AllReduces before they wait for it.
    job = Job(setup, "--scenario", "train", "--iterations", "10000", "--late-rank",
              str(chance.randrange(RANKS)), "--late-us", str(chance.choice((300, 3000, 15000))),
              ranks=RANKS, timeout=40)
    while len(job.calls(0)) < calls:
        check(job.process.poll() is None and time.monotonic() < job.deadline, "the job is too slow")
        time.sleep(0.002)
    time.sleep(chance.random() * 0.3)
    if len(victims) == RANKS:
        job.kill()
    else:
        os.kill(job.processes()[victims[0]], signal.SIGKILL)
        job.wait(expected=(1,))
    job.recover()
    job.traces()

    made = {rank: collectives(job, rank) for rank in range(RANKS)}
    longest = max(made.values(), key=len)
    check(all(calls == longest[:len(calls)] for calls in made.values()),
          "a rank did leave a call out: the test tests nothing")
    behind = max(len(longest) - len(made[rank]) for rank in victims)
    # A rank that was not killed fails with the others and ends: what it did not come to, it did not
    # call, and its whole trace says so.
    found = missing_of(matched(job))
    for text in found:
        named = {int(rank) for rank in re.findall(r"\d+", ABSENT.search(text)[1])}
        check(not named & set(victims) and
              all(len(made[rank]) < len(longest) for rank in named),
              f"no rank left a call out; killed {victims} of {RANKS}, with seed {seed}; calls: "
              f"{ {rank: len(calls) for rank, calls in made.items()} }; found: {text}")
    return behind


def random_kills(setup):
    """Jobs killed at random moments: nothing is missing that a killed process had not come to."""
    kills = 20 if setup.long else 3
    first_seed = setup.seed
    behind = collections.Counter()
    for number in range(kills):
        behind[killed_at_random(setup, number, first_seed + number)] += 1
    print_facts(kills=kills, first_seed=first_seed, calls_behind=dict(behind))


TESTS = {
    "nccl-left-out": left_out,
    "nccl-left-out-killed": left_out_killed,
    "nccl-send-not-joined": send_not_joined,
    "nccl-random-kills": random_kills,
}
