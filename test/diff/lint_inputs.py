# SPDX-License-Identifier: Apache-2.0
"""Inputs of the cases of `ringside lint`: one for each rule, a good trace with one thing wrong."""

import copy

from trace_writer import Number, Trace, encode

# Past 2^43 us, day 101.8, a double of microseconds no longer tells nanoseconds apart.
START_NS = 110 * 86_400 * 10**9


def good():
    trace = Trace(0).communicator(nranks=2)
    trace.operation("AllReduce", 1024, seq=0, root=0)
    trace.operation("Send", 1024, kind="p2p", peer=1, algo=None, proto=None)
    trace.events.append({"ph": "C", "pid": 100, "tid": 100, "ts": Number(5_000_000),
                         "name": "world busbw", "args": {"GB/s": 1.5}})
    trace.events.append({"ph": "i", "cat": "mark", "pid": 100, "tid": 7, "ts": Number(5_000_000),
                         "name": "step 1", "s": "t", "args": {}})
    return trace


def find(trace, phase, name, /):
    return next(e for e in trace.events if e["ph"] == phase and e["name"] == name)


def changed(change, closed=True):
    """The text of a good trace after change(trace)."""
    trace = good()
    change(trace)
    return trace.text(closed)


def replaced(old, new, count=1):
    text = good().text()
    assert old in text, old
    return text.replace(old, new, count)


def setting(phase, name, /, **keys):
    """Sets keys of one event; None removes a key."""
    def change(trace):
        event = find(trace, phase, name)
        for key, value in keys.items():
            event[key] = value
            if value is None:
                del event[key]
    return changed(change)


def arguments(phase, name, /, **keys):
    def change(trace):
        args = find(trace, phase, name)["args"]
        for key, value in keys.items():
            args[key] = value
            if value is None:
                del args[key]
    return changed(change)


def slices(*spans):
    def change(trace):
        for i, (start, length) in enumerate(spans):
            trace.events.append({"ph": "X", "cat": "api", "pid": 100, "tid": 9,
                                 "ts": Number(start), "dur": Number(length), "name": "call",
                                 "args": {"type": "CollApi", "id": 50 + i, "context": 1}})
    return changed(change)


def rounded(time_ns):
    """Returns Perfetto's value of a time that is written in microseconds."""
    return round(float(repr(Number(time_ns))) * 1000)


def touching():
    """Two slices that touch, and overlap once their times have been rounded."""
    return next(((start, length), (start + length, 1000))
                for start in range(START_NS, START_NS + 1000) for length in range(1000, 1100)
                if rounded(start) + rounded(length) > rounded(start + length))


def asyncs(*edges, closed=True):
    def change(trace):
        for phase, name, time_ns in edges:
            trace.events.append({"ph": phase, "cat": "proxy", "id2": {"local": "0x99"},
                                 "pid": 100, "tid": 100, "ts": Number(time_ns), "name": name})
    return changed(change, closed)


def second_start(trace):
    event = copy.deepcopy(find(trace, "X", "AllReduce"))
    event["tid"] = 8
    event["args"]["id"] = 77
    trace.events.append(event)


def same_operation_id(trace):
    find(trace, "b", "Send")["args"]["op"] = 1
    find(trace, "X", "Send")["args"]["op"] = 1


def cases():
    text = good().text()
    lines = text.split("\n")
    rules = {
        "first-line": {"brace.json": text.replace("[{", "[\n{", 1),
                       "keys.json": replaced('"boot_id":"b00t",', "")},
        "one-event-a-line": {"two.json": text.replace(",\n", ",", 1),
                             "empty.json": text.replace(",\n", ",\n\n", 1),
                             "array.json": text.replace(",\n", ",\n[1],\n", 1)},
        "comma": {"none.json": text.replace(",\n", "\n", 1),
                  "last.json": text.replace("\n]", ",\n]")},
        "line-too-long": {"long.json": replaced('"environment":{}',
                                                '"environment":{"NCCL_X":"' + 65536 * "x" + '"}')},
        "end": {"no_end.json": "\n".join(lines[:-3]).rstrip(",") + "\n]\n",
                "early.json": "\n".join([lines[0], lines[-3] + ",", *lines[1:-3],
                                         lines[-3], "]", ""]),
                "no_bracket.json": text.replace("\n]", "")},
        "after-end": {"more.json": text + "{}\n"},
        "invalid-json": {"bad.json": replaced('"ph":"C",', '"ph":"C"')},
        "control-character": {"bad.json": replaced('step 1', 'step\t1')},
        "utf-8": {"bad.json": text.encode().replace(b"step 1", b"step \xff")},
        "not-a-number": {"bad.json": replaced('1.5', 'NaN')},
        "big-integer": {"bad.json": replaced('"start_ns":1000000', '"start_ns":9007199254740993')},
        "required-keys": {"tid.json": setting("X", "AllReduce", tid=None),
                          "dur.json": setting("X", "AllReduce", dur=None),
                          "id.json": setting("b", "AllReduce", id2=None),
                          "flow.json": setting("X", "AllReduce", flow_out=None)},
        "phase": {"bad.json": setting("i", "step 1", ph="B")},
        "category": {"bad.json": setting("i", "step 1", cat="other")},
        "id-range": {"tid.json": setting("i", "step 1", tid=0),
                     "pid.json": setting("i", "step 1", pid=1 << 32)},
        "time-format": {"integer.json": setting("i", "step 1", ts=5000),
                        "decimals.json": setting("i", "step 1", ts=5.25),
                        "negative.json": setting("i", "step 1", ts=-5.125),
                        "metadata.json": setting("M", "process_name", ts=Number(5))},
        "metadata-name": {"bad.json": setting("M", "process_name", name="process_labels")},
        "metadata-keys": {"bad.json": arguments("M", "ringside_communicator", created_ns=None)},
        "counter-args": {"bad.json": setting("C", "world busbw", args={"GB/s": "fast"}),
                         "none.json": setting("C", "world busbw", args={})},
        "instant-scope": {"bad.json": setting("i", "step 1", s="x")},
        "slice-category": {"bad.json": setting("X", "AllReduce", cat="gpu")},
        "slice-overlap": {"bad.json": slices((1000, 5000), (3000, 4000)),
                          "good.json": slices((1000, 5000), (6000, 4000), (7000, 3000))},
        "slice-overlap-rounded": {"bad.json": slices(*touching())},
        "async-unbalanced": {"bad.json": asyncs(("e", "send channel 0", 9000))},
        "async-overlap": {"bad.json": asyncs(("b", "send channel 0", 1000), ("b", "inner", 2000),
                                             ("e", "send channel 0", 3000), ("e", "inner", 4000))},
        "async-order": {"bad.json": asyncs(("b", "send channel 0", 2000),
                                           ("e", "send channel 0", 1000))},
        "async-unfinished": {"bad.json": asyncs(("b", "send channel 0", 2000)),
                             "not_closed.json": asyncs(("b", "send channel 0", 2000),
                                                       closed=False)},
        "flow-unmatched": {"out.json": setting("b", "AllReduce", bind_id=None, flow_in=None),
                           "in.json": setting("X", "AllReduce", bind_id=None, flow_out=None)},
        "flow-repeated": {"bad.json": changed(second_start)},
        "operation-keys": {"seq.json": arguments("b", "AllReduce", seq=None),
                           "peer.json": arguments("b", "Send", peer=None),
                           "func.json": arguments("b", "Send", func=None),
                           "bytes.json": arguments("b", "Send", bytes=None)},
        "operation-values": {"state.json": arguments("b", "AllReduce", state="done"),
                             "rank.json": arguments("b", "AllReduce", rank=2),
                             "count.json": arguments("b", "AllReduce", channels="two")},
        "operation-times": {"order.json": arguments("b", "AllReduce", end_ns=1),
                            "completed.json": arguments("b", "AllReduce", end_ns=None),
                            "started.json": arguments("b", "AllReduce", state="started"),
                            "enqueued.json": arguments("b", "AllReduce", state="enqueued"),
                            "enqueue.json": arguments("b", "AllReduce", times_from="enqueue"),
                            "call.json": arguments("b", "AllReduce", enqueue_end_ns=1)},
        "operation-bytes": {"bad.json": arguments("b", "AllReduce", bytes=1024)},
        "operation-id": {"bad.json": changed(same_operation_id)},
        "call-id": {"bad.json": arguments("X", "Send", id=1)},
        "reference": {"op.json": arguments("X", "Send", op=99),
                      "context.json": arguments("b", "Send", context=9)},
        "account-sum": {"bad.json": replaced('"merged":2', '"merged":1')},
        "account-not-counts": {"bad.json": replaced('{"produced":4,"written":2,"merged":2}', "4")},
        "operation-count": {"bad.json": replaced('"operations":2', '"operations":3')},
    }
    result = {f"lint-{rule}": ("lint " + " ".join(sorted(files)), files)
              for rule, files in rules.items()}
    result["lint-not-closed"] = ("lint --closed killed.json", {"killed.json": good().text(False)})
    result["lint-good"] = ("lint traces", {
        "traces/ringside.good.json": text,
        "traces/ringside.killed.json": good().text(False, torn='{"ph":"X","ts":1'),
        "traces/ringside.flying.json": changed(lambda trace: trace.operation(
            "AllReduce", 64, seq=1, state="started", in_flight=True, times_from="gpu"))})
    result["lint-rules"] = ("lint --rules", {})
    result["lint-nothing"] = ("lint nowhere", {})
    result["lint-many"] = ("lint many.json", {"many.json": replaced("},\n", "},\n" + 25 * "\n")})
    result["lint-garbage"] = ("lint garbage.json", {"garbage.json": b"\x00\x01\xff\n]\n\x80"})
    # A file that could not be read was not checked, whatever the others are.
    result["lint-unreadable"] = ("lint good.json gone.json", {"good.json": text})
    result["lint-hostile"] = ("lint bad.json", {"bad.json": changed(hostile)})
    return result


def hostile(trace):
    """The title of the terminal, red, and a clear screen, by the forms that terminals take."""
    find(trace, "i", "step 1")["cat"] = "\x1b]0;title\x07\x1b[31m\u009b2J\x7f"


assert encode({"a": Number(1)}) == '{"a":0.001}'
