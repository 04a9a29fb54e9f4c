#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Sets of Flight Recorder dumps of jobs whose truth is known, since they are made here: a job is a list of
calls, as its ranks made them. Their fields are those of genuine dumps (test/data/flight_recorder)."""

import dataclasses
import json
import pickle

BEGIN_NS = 1_795_375_256_000_000_000
FRAMES = [{"name": "step", "filename": "/srv/job/train.py", "line": 17}]


@dataclasses.dataclass
class Truth:
    kind: str  # clean, type, different, size, dtype, state, missing, order, unknown
    at: str = ""  # the operation, as "all_reduce #4"
    ranks: str = ""  # who did not join
    number: int = 0  # PyTorch's number of the operation; 0: it has none that tells it

    def __str__(self):
        words = {"type": "ranks called different functions", "different": "ranks wait in different calls",
                 "size": "sizes disagree",
                 "dtype": "datatypes disagree", "state": "finished on one rank only",
                 "missing": "not joined", "order": "two groups in opposite order",
                 "unknown": "cannot be known", "clean": "clean"}
        return ": ".join(filter(None, [words[self.kind], self.at])) + (f", rank {self.ranks}" if self.ranks else "")


def after_three(function, kind):
    """The truth of jobs whose fourth call of the world goes wrong."""
    return Truth(kind, f"{function} #4", number=4)


class Job:
    def __init__(self, ranks=2, groups=None, backend="nccl", version="2.10"):
        self.ranks, self.backend = range(ranks), backend
        self.versions = {rank: version for rank in self.ranks}
        self.groups = {"0": ("default_pg", list(range(ranks))), **(groups or {})}
        self.entries = {rank: [] for rank in self.ranks}
        self.numbers = {}
        self.records = {rank: 0 for rank in self.ranks}
        self.top = {}  # values of dumps that are not as they should be, by rank
        self.now = 0

    def _number(self, rank, group, kind, step):
        key = (rank, group, kind)
        self.numbers[key] = self.numbers.get(key, 0) + step
        return self.numbers[key]

    def add(self, rank, group, name, ins, outs, state, types, step, is_p2p=False):
        self.now += 1
        created = BEGIN_NS + self.now * 1_000_000
        done = created + 700_000 if state == "completed" else None
        is_end = name.endswith("coalesced") and not ins  # it has the op_id of the last call in it
        self.entries[rank].append({
            "frames": list(FRAMES), "record_id": self.records[rank],
            "pg_id": sorted(self.groups).index(group), "process_group": (group, self.groups[group][0]),
            "thread_name": "python", "thread_id": "1",
            "collective_seq_id": self._number(rank, group, "collective", 0 if is_p2p else step),
            "p2p_seq_id": self._number(rank, group, "p2p", step if is_p2p else 0),
            "op_id": self._number(rank, group, "operation", 0 if is_end else 1),
            "profiling_name": f"{self.backend}:{name}", "time_created_ns": created, "input_sizes": ins,
            "input_dtypes": [types] * len(ins), "output_sizes": outs, "output_dtypes": [types] * len(outs),
            "state": state, "time_discovered_started_ns": None, "time_discovered_completed_ns": done,
            "retired": state == "completed", "timeout_ms": 600_000, "is_p2p": is_p2p})
        self.records[rank] += 1

    def call(self, name="all_reduce", ins=((4,),), outs=None, group="0", ranks=None, state="completed",
             types="Float", step=1):
        """One collective, called alike by these ranks (else by all of the group)."""
        for rank in self.groups[group][1] if ranks is None else ranks:
            self.add(rank, group, name, [list(i) for i in ins],
                     [list(o) for o in (ins if outs is None else outs)], state, types, step)
        return self

    def done(self, count=3):
        for _ in range(count):
            self.call()
        return self

    def send(self, source, target, size=8, got=None, ends="sr", state="completed", step=1, group="0"):
        """A send and its receive; `ends` has r or s only where the other one was not called."""
        members = self.groups[group][1]
        if "s" in ends:
            self.add(members[source], group, f"send {source}->{target}", [[size]], [], state, "Float", step, True)
        if "r" in ends:
            self.add(members[target], group, f"recv {target}<-{source}", [], [[size if got is None else got]], state,
                     "Float", step, True)
        return self

    def coalesced(self, of_rank, state="completed", group="0"):
        """Sends and receives of one group, as ProcessGroupNCCL lists them: (kind, peer, size) by rank."""
        for rank, ops in of_rank.items():
            for i, (kind, peer, size) in enumerate(ops):
                arrow = "->" if kind == "send" else "<-"
                self.add(rank, group, f"{kind} {rank}{arrow}{peer}", [[size]], [[size]], "scheduled", "Float",
                         0 if i else 1, True)
            self.add(rank, group, "coalesced", [], [], state, "Float", 0)
        return self

    def together(self, calls, of_rank=None, end="coalesced", state="completed"):
        """Collectives of one group, as versions from 2.7 on list them: (name, sizes)."""
        for rank in self.ranks:
            for i, (name, sizes) in enumerate((of_rank or {}).get(rank, calls)):
                self.add(rank, "0", name, sizes, sizes, "scheduled", "Float", 0 if i else 1)
            self.add(rank, "0", end, [], [], state, "Float", 0)
        return self

    def cut(self, **first):
        """The ring has lost what was before these places: rank_0=3."""
        for key, count in first.items():
            rank = int(key[5:])
            self.entries[rank] = self.entries[rank][count:]
        return self

    def lose(self, rank, first, count):
        """The dump has lost these entries from its middle."""
        del self.entries[rank][first:first + count]
        return self

    def renumber(self, rank):
        """The records of the dump follow each other, as if none were lost."""
        for record, entry in enumerate(self.entries[rank]):
            entry["record_id"] = record
        return self

    def damage(self, rank, place, **values):
        """Sets values of one entry; None takes the key away."""
        for key, value in values.items():
            if value is None:
                del self.entries[rank][place][key]
            else:
                self.entries[rank][place][key] = value
        return self

    def double(self, rank, place):
        """The dump has one entry twice."""
        self.entries[rank].insert(place, dict(self.entries[rank][place]))
        return self

    def empty(self, rank, status):
        """The dump has lost all its entries, and has this pg_status."""
        self.entries[rank] = []
        self.top[rank] = {"pg_status": status}
        return self

    def list_ranks(self, group, **listed):
        """pg_config of these dumps lists the ranks of the group so: rank_0="[0, 0]"."""
        for key, ranks in listed.items():
            rank = int(key[5:])
            config = self.dump(rank)["pg_config"]
            config[group]["ranks"] = ranks
            self.top[rank] = {"pg_config": config}
        return self

    def dump(self, rank):
        config = {name: {"name": name, "desc": desc, "ranks": str(members)}
                  for name, (desc, members) in self.groups.items() if rank in members}
        return {"version": self.versions[rank], "pg_config": config, "comm_lib_version": "2.29.7",
                "pg_status": {}, "entries": self.entries[rank], **self.top.get(rank, {})}

    def write(self, directory, form="pickle", without=()):
        for rank in self.ranks:
            if rank not in without:
                path = directory / f"nccl_trace_rank_{rank}"
                path.write_bytes(pickle.dumps(self.dump(rank), 2) if form == "pickle"
                                 else json.dumps(self.dump(rank)).encode())


def versions(job, *of_ranks):
    job.versions = dict(enumerate(of_ranks))
    return job


PAIRS = {"1": ("evens", [0, 2]), "2": ("odds", [1, 3])}
TWO = {"1": ("data", [0, 1]), "2": ("tensor", [0, 1])}
CLEAN = Truth("clean")
WAIT = "scheduled"


def sums(*sizes):
    """An all_to_all_single in which rank i gives sizes[i][0] elements and takes sizes[i][1]."""
    job = Job(len(sizes)).done()
    for rank, (given, taken) in enumerate(sizes):
        job.call("all_to_all", [[given]], [[taken]], ranks=[rank], state=WAIT)
    return job


def cut_unlike():
    """Rank 0 has a group of its own beside, so that its ring turns earlier."""
    job = Job(2, {"1": ("alone", [0])})
    for _ in range(8):
        job.call(group="1").call()
    return job.cut(rank_0=10, rank_1=2)


def begun_at_zero():
    job = Job(3, {"1": ("tp", [0, 1, 2])}).done().call(group="1").call("broadcast", group="1")
    for entry in job.entries[1][3:]:
        entry["collective_seq_id"] -= 1
    return job


def many_groups(count):
    job = Job(2, {str(group): ("tp", [0, 1]) for group in range(1, count)})
    for _ in range(2):
        for group in range(count):
            job.call(group=str(group))
    return job


def lost_in_flight():
    """All have called the broadcast. The ring of rank 2, which has a group of its own beside, begins behind it."""
    job = Job(3, {"1": ("alone", [2])}).done(4).call("broadcast", state=WAIT)
    for _ in range(12):
        job.call(group="1")
    return job.call(state=WAIT).call(state=WAIT).cut(rank_0=1, rank_2=6)


def counted_batches():
    """PyTorch before 2.6 counted a batch of sends and receives as a collective of the ranks that made it."""
    job = versions(Job(3).done(4), "2.4", "2.4", "2.4")
    for rank in (0, 1):
        job.numbers[rank, "0", "collective"] += 1
    for name in ("broadcast", "all_reduce", "reduce", "all_reduce", "broadcast"):
        job.call(name)
    return job.cut(rank_0=4, rank_1=5, rank_2=4)


def anew():
    """The process group was made again under its name, and rank 0 has kept less of the first one."""
    job = Job(2).done(9)
    job.numbers.clear()
    return job.done(4).cut(rank_0=6, rank_1=2)


def many(wrong):
    job = Job(2).done()
    for number in range(wrong):
        job.call(ins=[[4]], ranks=[0]).call(ins=[[8 + number]], ranks=[1])
    return job


def opposite():
    return (Job(2, TWO).call(group="1").call(group="2")
            .call(group="1", ranks=[0], state=WAIT).call(group="2", ranks=[1], state=WAIT))


def chain():
    """Rank 3 does not join the second call of its pair, so that rank 1 does not come to the world's."""
    return (Job(4, PAIRS).done().call(group="2").call(group="1").call(group="2", ranks=[1], state=WAIT)
            .call(ranks=[0, 2], state=WAIT))


def sends(peer):
    """The second of four sends from rank 0 to rank 1 names another peer; all sizes differ."""
    job = Job(3, backend="nccl2").done()
    for place in range(4):
        job.send(0, 1, 8 << place)
    return job.done().damage(0, 4, profiling_name=f"nccl2:send {peer}")


def gathered():
    """gather and scatter: only the root has the list."""
    return (Job(2).call("gather", [[4]], [[4], [4]], ranks=[0]).call("gather", [[4]], [[]], ranks=[1])
            .call("scatter", [[4], [4]], [[4]], ranks=[0]).call("scatter", [[]], [[4]], ranks=[1]))


def sets():
    """Name, truth, job, how it is written."""
    mixed = [("send", 1, 8), ("send", 1, 1024), ("recv", 1, 8)]
    answer = [("recv", 0, 8), ("recv", 0, 1024), ("send", 0, 8)]
    broadcasts = [("_broadcast_oop", [[4]]), ("_broadcast_oop", [[16]])]
    return [
        ("matched", CLEAN, Job(4).done(20), {}),
        ("matched by 64 ranks", CLEAN, Job(64).done(5), {}),
        ("another function on one rank of two", after_three("all_reduce", "type"),
         Job(2).done().call(ranks=[0], state=WAIT).call("broadcast", ranks=[1], state=WAIT), {}),
        ("another function on one rank of four", after_three("all_reduce", "type"),
         Job(4).done().call(ranks=[0, 1, 3], state=WAIT).call("broadcast", ranks=[2], state=WAIT), {}),
        ("input sizes of all_reduce", after_three("all_reduce", "size"),
         Job(4).done().call(ranks=[0, 2, 3], state=WAIT).call(ins=[[5]], ranks=[1], state=WAIT), {}),
        ("input sizes of all_reduce that has finished", after_three("all_reduce", "size"),
         Job(4).done().call(ranks=[0, 2, 3]).call(ins=[[5]], ranks=[1]).done(), {}),
        ("input sizes of broadcast", after_three("broadcast", "size"),
         Job(2).done().call("broadcast", [[77]], ranks=[0]).call("broadcast", [[76]], ranks=[1]), {}),
        ("output sizes of all-gather", after_three("_all_gather_base", "size"),
         Job(2).done().call("_all_gather_base", [[4]], [[8]], ranks=[0])
         .call("_all_gather_base", [[2]], [[4]], ranks=[1]), {}),
        ("sizes of reduce-scatter", after_three("_reduce_scatter_base", "size"),
         Job(2).done().call("_reduce_scatter_base", [[8]], [[4]], ranks=[0])
         .call("_reduce_scatter_base", [[12]], [[6]], ranks=[1]), {}),
        ("datatypes of the same size", after_three("all_reduce", "dtype"),
         Job(4).done().call(ranks=[0, 1, 3], types="Half").call(ranks=[2], types="BFloat16"), {}),
        ("datatypes of different sizes", after_three("all_reduce", "dtype"),
         Job(4).done().call(ranks=[0, 1, 3]).call(ranks=[2], types="Half"), {}),
        ("state", after_three("all_reduce", "state"),
         Job(2).done().call(ranks=[0]).call(ranks=[1], state=WAIT), {}),
        ("uneven all-to-all whose totals agree", CLEAN, sums((10, 6), (4, 8)), {}),
        ("uneven all-to-all whose totals disagree", after_three("all_to_all", "size"),
         sums((10, 6), (4, 9)), {}),
        ("all-to-all of version 2.3, without sizes", CLEAN,
         versions(sums((10, 6), (4, 9)), "2.3", "2.3"), {}),
        ("uneven all-gather", CLEAN, Job(2).done().call("all_gather", [[4]], [[4], [2]], ranks=[0])
         .call("all_gather", [[2]], [[4], [2]], ranks=[1]).done(), {}),
        ("gather and scatter", CLEAN, gathered(), {}),
        ("coalesced sends and receives, rule 1", CLEAN, Job(2).done().coalesced({0: mixed, 1: answer}), {}),
        ("coalesced, rule 1 broken: a receive too few",
         Truth("missing", "the send from rank 0 to rank 1", "1"),
         Job(2).done().coalesced({0: [("send", 1, 8), ("send", 1, 1024)]}, WAIT)
         .coalesced({1: [("recv", 0, 8)]}), {}),
        ("coalesced, rule 2: sends and receives in any order", CLEAN,
         Job(2).done().coalesced({0: mixed, 1: answer[2:] + answer[:2]}), {}),
        ("coalesced, rule 3 broken: the order to one rank", Truth("size", "SendRecv #0 from rank 0 to rank 1"),
         Job(2).done().coalesced({0: mixed, 1: [answer[1], answer[0], answer[2]]}, WAIT), {}),
        ("coalesced of version 2.6", CLEAN,
         versions(Job(2).done().coalesced({0: mixed, 1: answer}), "2.6", "2.6"), {}),
        ("coalesced of three ranks in a row", CLEAN, Job(3).done().coalesced(
            {0: [("send", 1, 8)], 1: [("recv", 0, 8), ("send", 2, 8)], 2: [("recv", 1, 8)]}), {}),
        ("coalesced collectives (2.7)", CLEAN, Job(2).done().together(broadcasts).done(), {}),
        ("coalesced all-gather of uneven tensors (2.7)", CLEAN,
         Job(2).done().together(broadcasts, end="ALLGATHER_coalesced").done(), {}),
        ("coalesced collectives, sizes", Truth("size", "_broadcast_oop #4", number=4), Job(2).done().together(
            broadcasts, {1: [broadcasts[0], ("_broadcast_oop", [[15]])]}, state=WAIT), {}),
        ("one rank of four has not joined", Truth("missing", "all_reduce #4", "2", 4),
         Job(4).done().call(ranks=[0, 1, 3], state=WAIT), {}),
        ("two ranks of four have not joined", Truth("missing", "all_reduce #4", "2-3", 4),
         Job(4).done().call(ranks=[0, 1], state=WAIT), {}),
        ("one rank has not joined what others run", Truth("missing", "all_reduce #4", "2", 4),
         Job(4).done().call(ranks=[0, 1, 3], state="started"), {}),
        ("one rank has left a call out and went on", after_three("all_reduce", "type"),
         Job(3).done().call("broadcast", ranks=[0, 2]).done(4), {}),
        ("a chain of two groups", Truth("missing", "all_reduce #2", "1", 2), chain(), {}),
        ("two groups in opposite order", Truth("order", "all_reduce #2"), opposite(), {}),
        ("two groups in opposite order, and callers do not wait", Truth("unknown"),
         Job(2, TWO).call(group="1").call(group="2").call(group="1", ranks=[0], state=WAIT)
         .call(group="2", state=WAIT).call(group="1", ranks=[1], state=WAIT), {}),
        ("no dump of the rank that may not have joined", Truth("unknown", "all_reduce #4", number=4),
         Job(4).done().call(ranks=[0, 1, 3], state=WAIT), {"without": (2,)}),
        ("no dump of one rank, and others disagree", after_three("all_reduce", "size"),
         Job(4).done().call(ranks=[0, 1], state=WAIT).call(ins=[[5]], ranks=[3], state=WAIT),
         {"without": (2,)}),
        ("no dump of one rank, and all has finished", Truth("unknown"), Job(4).done(5), {"without": (2,)}),
        ("no dump of one rank, last call not seen to finish", Truth("unknown", "all_reduce #4", number=4),
         Job(4).done().call(state=WAIT), {"without": (2,)}),
        ("rings that have turned alike", CLEAN, Job(2).done(12).cut(rank_0=5, rank_1=5), {}),
        ("rings that have turned by different numbers", CLEAN, Job(2).done(12).cut(rank_0=5, rank_1=3), {}),
        ("rings that have turned, a group on one rank only", CLEAN, cut_unlike(), {}),
        ("rings that have turned, sizes", Truth("size", "all_reduce #13", number=13), Job(2).done(12)
         .call(ranks=[0]).call(ins=[[5]], ranks=[1]).cut(rank_0=5, rank_1=5), {}),
        ("rings that have turned, another function", Truth("type", "all_reduce #13", number=13),
         Job(4).done(12).call(ranks=[0, 1, 3], state=WAIT).call("broadcast", ranks=[2], state=WAIT)
         .cut(rank_0=5, rank_2=3, rank_3=5), {}),
        ("rings that have turned, one rank has left a call out and went on",
         Truth("type", "broadcast #13", number=13), Job(3).done(12).call("broadcast", ranks=[0, 2], state=WAIT)
         .call("reduce", state=WAIT).call(state=WAIT).call("broadcast", state=WAIT).call("reduce", state=WAIT)
         .cut(rank_0=5, rank_1=6, rank_2=5), {}),
        ("rings that have turned within collectives that were called together", CLEAN,
         Job(3).done(4).together(broadcasts).done(4).cut(rank_0=5, rank_1=4, rank_2=3), {}),
        ("rings of version 2.4 that have turned, and batches counted as collectives", CLEAN, counted_batches(), {}),
        ("rings that have turned, numbers began anew", Truth("unknown"), anew(), {}),
        ("a send before a collective, and its receive behind it (nccl2)",
         Truth("different", "send from rank 0 to rank 1"), Job(2, backend="nccl2").done()
         .send(0, 1, ends="s", state=WAIT).call(state=WAIT).send(0, 1, ends="r", state=WAIT), {}),
        ("a send before a collective, and its receive behind it", CLEAN, Job(2).done()
         .send(0, 1, ends="s", state=WAIT).call(state=WAIT).send(0, 1, ends="r", state=WAIT), {}),
        ("a batch that is in flight on both ranks (nccl2)", CLEAN, Job(2, backend="nccl2").done()
         .send(0, 1, ends="s", state=WAIT).send(1, 0, ends="s", state=WAIT).send(1, 0, ends="r", state=WAIT)
         .send(0, 1, ends="r", state=WAIT), {}),
        ("a send that has ended, and collectives in flight before it", CLEAN,
         Job(3).done().call(state=WAIT).call("broadcast", state=WAIT).send(0, 1).call("reduce", state=WAIT), {}),
        ("a call in flight that one ring has lost", CLEAN, lost_in_flight(), {}),
        ("another function, and one rank has stopped before it", Truth("type", "broadcast #6", number=6),
         Job(4).done(5).call("broadcast", ranks=[1, 3], state=WAIT).call(ranks=[2], state=WAIT), {}),
        ("another function, and one ring begins behind it", Truth("type", "all_reduce #9", number=9),
         Job(8).done(8).call(ranks=[0, 1, 3, 4, 5, 6, 7], state=WAIT).call("broadcast", ranks=[2], state=WAIT)
         .call("reduce", state=WAIT).cut(rank_7=9), {}),
        ("a batch whose second call lacks its other end (nccl2)",
         Truth("missing", "send from rank 0 to rank 1", "0"), Job(3, backend="nccl2").done()
         .send(1, 2, ends="s", state=WAIT).send(0, 1, ends="r", state=WAIT).send(1, 2, ends="r", state=WAIT), {}),
        ("a dump that is older than the others", Truth("unknown"),
         Job(3).done(4).call(ranks=[0, 1]).call(ranks=[0, 1], state=WAIT), {}),
        ("versions 2.9 and 2.10", CLEAN, versions(Job(2).done(), "2.9", "2.10"), {}),
        ("versions 2.9 and 2.10, sizes", after_three("all_reduce", "size"), versions(
            Job(2).done().call(ranks=[0]).call(ins=[[5]], ranks=[1]), "2.9", "2.10"), {}),
        ("sends and receives (nccl2)", CLEAN, Job(3, backend="nccl2").done().send(0, 1).send(1, 2).send(0, 1, 16)
         .send(1, 2, 16).done(), {}),
        ("a send larger than its receive", Truth("size", "SendRecv #0 from rank 0 to rank 1", number=3),
         Job(2, backend="nccl2").done().send(0, 1, 16, got=8, state=WAIT), {}),
        ("a send without receive", Truth("missing", "the send from rank 0 to rank 1", "1", 3),
         Job(2, backend="nccl2").done().send(0, 1, ends="s", state=WAIT), {}),
        ("a send on one rank, a collective on the other", Truth("different", "send from rank 0 to rank 1"),
         Job(2, backend="nccl2").done().send(0, 1, ends="s", state=WAIT).call(ranks=[1], state=WAIT), {}),
        ("backends with a colon, and unknown ones", CLEAN, Job(2, backend="my:own").done().send(0, 1), {}),
        ("one of two groups disagrees", Truth("size", "all_reduce #2", number=2),
         Job(4, PAIRS).done().call(group="1").call(group="2").call(group="1")
         .call(group="2", ranks=[1]).call(ins=[[5]], group="2", ranks=[3]), {}),
        ("15 calls that disagree", Truth("size", "all_reduce #4", number=4), many(15), {}),
        ("a receive left out, and others behind it",
         Truth("missing", "SendRecv #0 from rank 0 to rank 1", "1", 3),
         Job(2, backend="nccl2").done().send(0, 1, 8, ends="s").send(0, 1, 16).send(0, 1, 32).done(), {}),
        ("records missing in the middle of a dump", Truth("unknown"),
         Job(2).done(3).call("broadcast").done(3).call("broadcast").done().lose(1, 3, 3), {}),
        ("a record missing in the middle, and the others are numbered anew", Truth("unknown"),
         Job(3).done(3).call("broadcast").done(4).lose(1, 3, 1).renumber(1), {}),
        ("the first record of a group is missing, and the others are numbered anew", Truth("unknown"),
         Job(3, {"1": ("tp", [0, 1, 2])}).done().call(group="1").call("broadcast", group="1").lose(1, 3, 1)
         .renumber(1), {}),
        ("numbers of a group that are one too small", Truth("unknown"), begun_at_zero(), {}),
        ("1,500 groups", CLEAN, many_groups(1500), {}),
        ("an entry without datatypes", Truth("unknown"),
         Job(2).done(6).damage(1, 3, input_dtypes=None, output_dtypes=None), {}),
        ("a number that is a text", Truth("unknown"), Job(2).done(6).damage(1, 3, collective_seq_id="4"), {}),
        ("a number that is negative", Truth("unknown"), Job(2).done(6).damage(1, 3, collective_seq_id=-4), {}),
        ("the first entry is there twice", Truth("unknown"), Job(3).done(4).double(1, 0), {}),
        ("an entry in the middle is there twice", Truth("unknown"), Job(3).done(4).double(1, 2), {}),
        ("no entries, and pg_status says there were some", Truth("unknown"),
         Job(3).done(4).empty(1, {"0": {"last_enqueued_collective": 4}}), {}),
        ("no entries, and pg_status is a text", Truth("unknown"), Job(3).done(4).empty(1, "x"), {}),
        ("no entries, and pg_status is empty", Truth("unknown"), Job(3).done(4).empty(1, {}), {}),
        ("no entries, since nothing was called", Truth("missing", "all_reduce #1", "1", 1),
         Job(3).call(ranks=[0, 2], state=WAIT).empty(1, {"0": {"last_enqueued_collective": -1}}), {}),
        ("a call without a name", Truth("unknown"), Job(3).done(5).damage(1, 3, profiling_name="nccl:"), {}),
        ("a call whose name is a blank", Truth("unknown"), Job(3).done(5).damage(1, 3, profiling_name="nccl: "), {}),
        ("a send to another peer than the one that waits", 
         Truth("missing", "SendRecv #0 from rank 0 to rank 2", "2", 3), sends("0->2"), {}),
        ("a send to a peer beyond the group", Truth("unknown"), sends("0->7"), {}),
        ("a send to a peer that is no number", Truth("unknown"), sends("0->1e3"), {}),
        ("a send of another rank than the dump's", Truth("unknown"), sends("99->1"), {}),
        ("a process_group that is a number", Truth("unknown"), Job(3).done(5).damage(1, 3, process_group=0), {}),
        ("a process_group of one element", Truth("unknown"), Job(3).done(5).damage(1, 3, process_group=("0",)), {}),
        ("a number that another call has", Truth("unknown"), Job(3).done(5).damage(1, 3, collective_seq_id=3), {}),
        ("lists of ranks that are damaged, and one rank has not joined",
         Truth("missing", "all_reduce #4", "3", 4), Job(5).done().call(ranks=[0, 1, 2, 4], state=WAIT)
         .list_ranks("0", rank_1="[0, ?, 2, 3, 4]", rank_2="[0, 0, 2, 3, 4]"), {}),
        ("lists of ranks that are damaged", Truth("unknown"), Job(3).done(4).list_ranks("0", rank_1="[0, 0, 1]"), {}),
        ("rings that have turned, a send in flight alone", Truth("unknown"), Job(2, backend="nccl2").done(6)
         .send(0, 1).send(0, 1, 16, ends="s", state=WAIT).cut(rank_0=3, rank_1=3), {}),
        ("a group of one rank", CLEAN, Job(2, {"1": ("alone", [1])}).done().call(group="1"), {}),
        ("JSON, sizes", after_three("all_reduce", "size"),
         Job(2).done().call(ranks=[0]).call(ins=[[5]], ranks=[1]), {"form": "json"}),
    ]
