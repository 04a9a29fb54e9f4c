# SPDX-License-Identifier: Apache-2.0
"""Holds the operations of a trace against the calls that the rank logged when it made them."""

import collections

from harness import check


def expected_calls(calls, broadcasts=True):
    """The calls that NCCL tells its profilers of: none in a communicator of one rank."""
    return [call for call in calls if "func" in call and call["nranks"] > 1
            and (broadcasts or call["func"] != "Broadcast")]


def through_numeric_types(calls):
    """The calls as NCCL's adapter for v1 shows them: it takes ncclUint8, which has no name within
    NCCL, for ncclFloat64.
    """
    return [{**call, "datatype": "ncclFloat64", "bytes": 8 * call["count"]}
            if call["datatype"] == "ncclUint8" else call for call in calls]


def describe(difference, limit=8):
    return "; ".join(f"{count} x {key}" for key, count in list(difference.items())[:limit])


def compare(trace, calls, *, named=True, detailed=True):
    """Every call is an operation of the trace, and nothing else is.

    named: the interface gives the communicator's name. detailed: it gives the user's datatype.
    """
    def key_of_call(call):
        key = {"func": call["func"], "bytes": call["bytes"], "peer": call.get("peer"),
               "root": call.get("root"), "user_tag": call.get("user_tag")}
        if named:
            key["comm"] = call["comm"]
        if detailed:
            key["datatype"] = call["datatype"]
            key["count"] = call["count"]
        return tuple(sorted((k, v) for k, v in key.items() if v is not None))

    def key_of_operation(operation):
        call = {k: operation.get(k)
                for k in ("func", "bytes", "peer", "datatype", "count", "user_tag")}
        if operation["func"] in ("Broadcast", "Reduce"):
            call["root"] = operation.get("root")
        call["comm"] = trace.communicator_name(operation)
        # NCCL has no name for this type.
        if call["datatype"] == "Unknown":
            call["datatype"] = "ncclUint8"
        return key_of_call(call)

    called = collections.Counter(map(key_of_call, calls))
    recorded = collections.Counter(map(key_of_operation, trace.operations))
    missing, extra = called - recorded, recorded - called
    check(not missing and not extra,
          f"{trace.path.name}: called but not in the trace: {describe(missing) or 'nothing'}; "
          f"in the trace but not called: {describe(extra) or 'nothing'}")


def compare_sequence(trace, calls):
    """Sequence numbers name the same calls: where NCCL gives one, the bytes agree."""
    by_number = {(c["comm"], c["func"], c["seq"]): c["bytes"] for c in calls}
    for operation in trace.operations:
        if "seq" not in operation or operation.get("kind") == "ce":
            continue
        key = (trace.communicator_name(operation), operation["func"], operation["seq"])
        check(by_number.get(key) == operation["bytes"],
              f"{trace.path.name}: {key} has {operation['bytes']} bytes in the trace, "
              f"{by_number.get(key)} in the call")


# GPU times come from another clock than the rank's own log. The plugin learns its offset from the
# callbacks, which come late, at first by as much as the machine is busy.
GPU_TOLERANCE_NS = 1_000_000
FIRST_GPU_TOLERANCE_NS = 200_000_000
FIRST_OPERATIONS = 10

# A proxy sees that its last data has left when it gets to run, and the GPU does not wait for that.
PROXY_TOLERANCE_NS = 1_000_000_000


def check_times(trace, calls):
    """No operation runs before it was called, or after the rank had waited for it.

    Returns how many operations with times were checked.
    """
    waits = [line for line in calls if "waited" in line]

    def identity(comm, entry, count):
        if entry.get("peer") is None:
            return comm, entry["func"], entry.get("seq")
        key = comm, entry["func"], entry["peer"]
        count[key] += 1
        return (*key, count[key])

    seen = collections.Counter()
    by_identity = {identity(c["comm"], c, seen): c for c in calls if "func" in c}
    seen = collections.Counter()
    checked = 0
    for operation in sorted(trace.operations, key=lambda o: o["enqueue_start_ns"]):
        name = identity(trace.communicator_name(operation), operation, seen)
        if "start_ns" not in operation or operation["times_from"] == "proxy_queue":
            continue
        call = by_identity[name]
        end_of_wait = min((w["end_ns"] for w in waits if w["waited"] == call["comm"]
                           and w["begin_ns"] >= call["end_ns"]), default=None)
        begin = operation["start_ns"] - trace.clock_offset_ns
        end = operation["end_ns"] - trace.clock_offset_ns
        tolerance = GPU_TOLERANCE_NS if checked >= FIRST_OPERATIONS else FIRST_GPU_TOLERANCE_NS
        check(call["begin_ns"] - tolerance <= begin <= end,
              f"{trace.path.name}: {name} starts {call['begin_ns'] - begin} ns before its call "
              f"(times from {operation['times_from']})")
        if operation["times_from"] == "proxy":
            tolerance = PROXY_TOLERANCE_NS
        check(end_of_wait is None or end <= end_of_wait + tolerance,
              f"{trace.path.name}: {name} ends {end - (end_of_wait or 0)} ns after the rank had "
              f"waited for it (times from {operation['times_from']})")
        checked += 1
    return checked


def check_account(trace):
    check(trace.account, f"{trace.path.name}: no ringside_account line")
    check(not trace.dropped(), f"{trace.path.name}: dropped {trace.dropped()}")
    check(not trace.account_errors(), f"{trace.path.name}: account {trace.account_errors()}")
    check(trace.account.get("final"), f"{trace.path.name}: no final account")


def is_to_self(trace, operation):
    """A send or receive within a rank: no network takes part in it."""
    return operation.get("peer") is not None and operation["peer"] == operation.get("rank")
