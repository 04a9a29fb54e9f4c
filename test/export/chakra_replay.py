# SPDX-License-Identifier: Apache-2.0
"""A small simulator of Chakra's execution traces: a node begins when all that it depends on is over, and takes
its duration; a collective's data flow once the ranks are there that each rank needs, a receive's once the send is."""

import collections

from chakra_schema import attributes


class Deadlock(Exception):
    pass


def partners(ranks, is_strict):
    """By node (rank and id): the nodes that must have begun before its data flow. Collectives of a group pair by
    order of id, sends and receives by both ranks and tag. is_strict: all of a collective wait for all, and sends wait
    for receives, as in a simulator without buffers."""
    calls = collections.defaultdict(list)
    for rank, nodes in ranks.items():
        counts = collections.Counter()
        for node in sorted(nodes.values(), key=lambda node: node.id):
            values, _ = attributes(node)
            if node.type == 7:
                group = values["pg_name"]
                calls["collective", group, counts[group]].append(((rank, node.id), values))
                counts[group] += 1
            elif node.type in (5, 6):
                key = values["comm_src"], values["comm_dst"], values["comm_tag"]
                assert values["comm_src" if node.type == 5 else "comm_dst"] == rank, (rank, key)
                calls["pair", *key].append(((rank, node.id), {**values, "is_send": node.type == 5}))
    needed = {}
    for key, members in calls.items():
        everybody = [node for node, _ in members]
        if key[0] == "pair":
            assert sorted(values["is_send"] for _, values in members) == [False, True], (key, members)
            assert len({values["comm_size"] for _, values in members}) == 1, members
        else:
            assert len({values["function"] for _, values in members}) == 1, members
            assert len(members) == members[0][1]["comm_nranks"], (key, members)
        for node, values in members:
            is_root = values.get("root") == values["comm_rank"]
            if is_strict or values["function"] in ("AllReduce", "AllGather", "ReduceScatter", "AlltoAll"):
                needed[node] = everybody
            elif values["function"] in ("Broadcast", "Scatter"):
                needed[node] = [other for other, theirs in members if theirs["root"] == theirs["comm_rank"]]
            elif values["function"] in ("Reduce", "Gather"):
                needed[node] = everybody if is_root else [node]
            elif values["function"] == "Recv":
                needed[node] = [other for other, theirs in members if theirs["is_send"]]
            else:
                needed[node] = [node]
    return needed


def replay(ranks, is_strict=False):
    """ranks: the nodes of each rank, by id. Returns the microsecond at which each node ends, from the first."""
    needed = partners(ranks, is_strict)
    waits, behind = {}, collections.defaultdict(list)

    def after(step, before):
        waits[step] = len(before)
        for one in before:
            behind[one].append(step)

    for rank, nodes in ranks.items():
        for node in nodes.values():
            key = rank, node.id
            after(("begin", key), [("end", (rank, one)) for one in node.data_deps])
            after(("end", key), [("begin", key), *(("begin", one) for one in needed.get(key, []) if one != key)])
    ready = collections.deque(step for step, count in waits.items() if count == 0)
    times, earliest = {}, collections.defaultdict(int)
    while ready:
        step = ready.popleft()
        what, (rank, number) = step
        times[step] = earliest[step] + (ranks[rank][number].duration_micros if what == "end" else 0)
        for later in behind[step]:
            earliest[later] = max(earliest[later], times[step])
            waits[later] -= 1
            if waits[later] == 0:
                ready.append(later)
    if len(times) < len(waits):
        raise Deadlock(f"{len(waits) - len(times)} of {len(waits)} steps never come: "
                       f"{sorted(set(waits) - set(times))[:4]}")
    return {key: time for (what, key), time in times.items() if what == "end"}
