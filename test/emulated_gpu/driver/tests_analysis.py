# SPDX-License-Identifier: Apache-2.0
"""The analyzer names what went wrong in jobs of which that is known."""

import json
import re
import time

from harness import Job, check, print_facts


def analysed(job, command, *arguments, expected=(0,)):
    text = job.setup.run_analyzer(command, "--format", "json", *arguments,
                                  job.setup.directory / "traces", expected=expected)
    return json.loads(text)


def late_rank(setup):
    """One rank sleeps before each collective: it is the straggler, and no other is."""
    job = Job(setup, "--scenario", "train", "--iterations", "40", "--late-rank", "2", "--late-us",
              "20000", ranks=3).wait()
    found = [one["text"] for one in analysed(job, "stragglers", expected=(1,))["findings"]
             if one["kind"] == "straggler"]
    check(len(found) == 1 and found[0].startswith("Rank 2 "), f"rank 2 is late, found: {found}")
    path = analysed(job, "critical-path")
    check("Rank 2 (" in " ".join(path["sentences"]), f"critical path: {path['sentences']}")
    print(found[0])
    print("\n".join(path["sentences"]))


def late_neighbour(setup):
    """Two hosts of two ranks, and rank 1 is late. Rank 2 gets its data over the network, and sends
    nothing there: it is not blamed for them."""
    job = Job(setup, "--scenario", "train", "--iterations", "20", "--late-rank", "1", "--late-us",
              "100000", "--ranks-per-host", "2", ranks=4).wait()
    answer = analysed(job, "stragglers", expected=(1,))
    found = [(one["kind"], one["text"]) for one in answer["findings"]]
    check(len(found) == 1 and found[0][1].startswith("Rank 1 "), f"rank 1 is late, found: {found}")
    print(found[0])


def stuck_rank(setup):
    """One rank never joins a collective; the job is killed, and its traces are recovered."""
    job = Job(setup, "--scenario", "train", "--iterations", "40", "--stuck-rank", "1",
              "--stuck-at", "30", ranks=3, timeout=100)

    def waits():
        out = setup.run_analyzer("top", "--once", "--interval", "0.2", "--format", "json", "--ring-dir", setup.rings,
                                 expected=(0, 1, 3))
        rows = json.loads(out)["rows"] if out else []
        return sum(row.get("oldest_func") == "AllGather" and row.get("oldest_seq") == 5 and
                   row["oldest_age_ns"] > 1_500_000_000 for row in rows) == 2

    while not waits():
        check(job.process.poll() is None and time.monotonic() < job.deadline, f"nobody waits: {job.log()[-2000:]}")
    job.kill()
    job.recover()
    sentences = " ".join(analysed(job, "hang", expected=(1,))["sentences"])
    check(re.search(r"Rank 1 \(.*\) has not joined AllGather #5 of communicator world; "
                    r"2 ranks have waited", sentences), f"rank 1 is stuck, found: {sentences}")
    print(sentences)


def killed_rank(setup):
    """One rank is killed; NCCL makes the others fail, and they end."""
    job = Job(setup, "--scenario", "train", "--iterations", "100", "--kill-rank", "1", "--kill-at",
              "60", ranks=3, timeout=40).wait()
    job.recover()
    # The others fail soon, and what the killed one was in itself may have been on its way. What it
    # was in before may not have ended either, for its proxy thread ends it later than its GPU does.
    sentences = " ".join(analysed(job, "hang", "--min-age", "0.05", expected=(1,))["sentences"])
    check(re.search(r"(AllGather #10|ReduceScatter #9) of communicator world", sentences)
          and re.search(r"[Rr]ank 1 \(", sentences), f"rank 1 was killed, found: {sentences}")
    print(sentences)


def sweep(setup):
    """Bandwidth against what the program measures itself, as nccl-tests does: the mean of calls in
    a row, with their launches."""
    job = Job(setup, "--scenario", "sweep", "--iterations", "20", "--warmup", "3", ranks=2).wait()
    measured = {}
    for line in job.log().splitlines():
        numbers = line.split()
        if len(numbers) == 7 and numbers[0].isdigit():
            measured[int(numbers[0])] = float(numbers[4])
    check(len(measured) == 7, f"the program measured {measured}")
    (communicator,) = job.summary()["communicators"]
    times = {row["bytes"]: row["time_median_us"] for row in communicator["rows"]}
    check(times.keys() == measured.keys(), f"sizes {sorted(times)}, measured {sorted(measured)}")
    for size, time_us in times.items():
        print_facts(bytes=size, measured_us=measured[size], median_us=time_us)
        least = 0.85 if size >= 65536 else 0
        check(least < time_us / measured[size] < 1.15,
              f"{size} bytes take {time_us} us, measured as {measured[size]} us")


TESTS = {
    "nccl-late-rank": late_rank,
    "nccl-late-neighbour": late_neighbour,
    "nccl-stuck-rank": stuck_rank,
    "nccl-killed-rank": killed_rank,
    "nccl-sweep": sweep,
}
