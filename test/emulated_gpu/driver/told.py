# SPDX-License-Identifier: Apache-2.0
"""The analyzer's account of each operation's caller, held against what the rank asked.

The truth of names and numbers is PyTorch's own: asked.py's log has the line and the function, the
Flight Recorder the group's description and the sequence number.
"""

import collections
import json
import sqlite3

from harness import check

OF_OBJECTS = ("all_gather_object", "broadcast_object_list")
BATCHES = {"batch_isend_irecv": ("batch_isend_irecv", "isend", "irecv")}


def rows_of(setup):
    """Each call of NCCL that the database of `ringside export` has, by rank and number in the trace."""
    path = setup.directory / "all.db"
    setup.run_analyzer("export", "--sqlite", path, setup.directory / "traces")
    with sqlite3.connect(path) as database:
        database.row_factory = sqlite3.Row
        return {(row["launcher_rank"], row["op"]): row for row in database.execute(
            "SELECT p.launcher_rank, o.function AS function_of_all, k.* FROM calls k"
            " JOIN operations o ON o.id = k.operation_id JOIN memberships m ON m.id = k.membership_id"
            " JOIN processes p ON p.id = m.process_id")}


def check_call(call, rows, description, entries, coalesced):
    """The rows of one call of torch.distributed."""
    name = call["within"] or call["call"]
    functions = BATCHES.get(name, (name,))
    in_manager = call["line"] == coalesced
    if in_manager:
        functions = (name, "coalescing_manager")
    for row in rows:
        line, _, function = (row["called_by"] or "").partition(" torch.")
        check(function in functions and (line == call["line"] or function == "coalescing_manager"),
              f"{call} is called by {row['called_by']}")
        check(row["process_group"] == description, f"{call} is of the group {row['process_group']}")
    numbers = {row["torch_seq"] for row in rows}
    has_number = not (in_manager or name in (*OF_OBJECTS, *BATCHES, "send", "recv"))
    check(len(numbers) == 1 and (None not in numbers) == has_number, f"{call} has numbers {numbers}")
    if has_number:
        entry = entries.get((call["group"], *numbers))
        lines = [f"{frame['filename']}:{frame['line']}" for frame in entry["frames"]] if entry else []
        check(call["line"] in lines, f"{call} is in the Flight Recorder, under {numbers}, {entry}")
    if name == "all_to_all_single":
        wanted = "AlltoAllv" if "input_split_sizes" in call else "AlltoAll"
        check({row["function_of_all"] for row in rows} == {wanted} and
              len({row["operation_id"] for row in rows}) == 1,
              f"{call} is not one {wanted}: {[tuple(row) for row in rows]}")
    return has_number


def check_told(setup, compared, dumps, coalesced, implementation):
    """`compared`: of each rank, calls of torch.distributed with their operations in the trace."""
    # nccl2 calls NCCL once for each of them when the manager ends, and not in a group of NCCL's.
    is_one = implementation == "legacy"
    rows = rows_of(setup)
    for rank, calls in compared.items():
        dump, counts, groups = dumps[rank], collections.Counter(), set()
        entries = {(entry["process_group"][0], entry["collective_seq_id"]): entry
                   for entry in dump["entries"]
                   if not entry["is_p2p"] and entry["profiling_name"] != "nccl:coalesced"}
        for call, operations in calls:
            described = dump["pg_config"][call["group"]]["desc"]
            has_number = check_call(call, [rows[rank, operation["op"]] for operation in operations],
                                    described, entries, coalesced)
            counts["numbered"] += has_number
            if call["line"] == coalesced:
                counts["coalesced"] += 1
                groups |= {operation["group"] for operation in operations}
        check(counts["coalesced"] == 3 and len(groups) == (1 if is_one else 3)
              and counts["numbered"] > 20,
              f"rank {rank}: {dict(counts)}, coalesced in groups {groups}")
    summary = json.loads(setup.run_analyzer("summary", "--format", "json",
                                            setup.directory / "traces"))
    functions = {row["function"] for each in summary["communicators"] for row in each["rows"]}
    check(("group of 3 AllReduce" in functions) == is_one,
          f"the coalesced calls are {'not ' * is_one}one in {functions}")
