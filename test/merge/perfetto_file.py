# SPDX-License-Identifier: Apache-2.0
"""Reads Perfetto's own format, as its .proto files have it, and compares it with the JSON of the same
merge: slices, instants, counters, arguments and flows. Nothing of the writer's is used.
"""
import collections
import json
import struct

SLICE_BEGIN, SLICE_END, INSTANT, COUNTER = 1, 2, 3, 4


def fields(data):
    """(number, value) of a message; nested messages and texts as bytes."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value
    while at < len(data):
        key = varint()
        kind = key & 7
        if kind == 0:
            yield key >> 3, varint()
        elif kind == 1:
            yield key >> 3, data[at:at + 8]
            at += 8
        elif kind == 2:
            size = varint()
            assert at + size <= len(data), "a message that is cut off"
            yield key >> 3, data[at:at + size]
            at += size
        else:
            raise AssertionError(f"wire type {kind}")


def message(data):
    found = collections.defaultdict(list)
    for number, value in fields(data):
        found[number].append(value)
    return found


class PerfettoFile:
    def __init__(self, path):
        self.names, self.categories, self.keys, self.texts = {}, {}, {}, {}
        self.tracks = {}
        self.events = []  # (time, order, TrackEvent)
        for number, packet in fields(path.read_bytes()):
            assert number == 1
            self._take(message(packet))
        self.events.sort(key=lambda event: event[:2])

    def _take(self, packet):
        assert packet[10] == [1], "another sequence"
        for interned in packet[12]:
            for table, field, text in ((self.categories, 1, 2), (self.names, 2, 2),
                                       (self.keys, 3, 2), (self.texts, 29, 2)):
                for entry in message(interned)[field]:
                    parts = message(entry)
                    assert parts[1][0] not in table, "interned twice"
                    table[parts[1][0]] = parts[text][0].decode()
        for track in packet[60]:
            parts = message(track)
            self.tracks[parts[1][0]] = parts
        for event in packet[11]:
            self.events.append((packet[8][0], len(self.events), message(event)))

    def owner(self, uuid):
        """(pid, tid) of a track; tid 0 if it is of a process or in one; None if of neither."""
        track = self.tracks[uuid]
        if track[4]:
            thread = message(track[4][0])
            return thread[1][0], thread[2][0]
        if track[3]:
            return message(track[3][0])[1][0], 0
        return self.owner(track[5][0]) if track[5] else None

    def value(self, annotation):
        if annotation[11]:
            return dict(self.argument(entry) for entry in annotation[11])
        if annotation[12]:
            return [self.value(message(item)) for item in annotation[12]]
        for field, made in ((2, bool), (3, int), (6, bytes.decode), (17, self.texts.get),
                            (4, lambda value: value - (1 << 64) if value >> 63 else value),
                            (5, lambda value: struct.unpack("<d", value)[0])):
            if annotation[field]:
                return made(annotation[field][0])
        return None

    def argument(self, data):
        annotation = message(data)
        return self.keys[annotation[1][0]], self.value(annotation)

    def shown(self):
        """Returns the events that a viewer shows: slices, others, and flows between them."""
        slices, others = [], []
        open_slices = collections.defaultdict(list)
        flows, ends = {}, []
        for time, _, event in self.events:
            track = event[11][0]
            owner = self.owner(track)
            if owner is None:
                continue
            if event[9][0] == SLICE_END:
                open_slices[track].pop()["end"] = time
                continue
            if event[9][0] == COUNTER:
                name = self.tracks[track][2][0].decode()
                others.append((owner[0], "C", name, time,
                               struct.unpack("<d", event[44][0])[0]))
                continue
            args = dict(self.argument(data) for data in event[4])
            what = (*owner, self.names[event[10][0]], time, json.dumps(args, sort_keys=True))
            if event[9][0] == SLICE_BEGIN:
                made = {"what": what, "end": None}
                slices.append(made)
                open_slices[track].append(made)
            else:
                others.append(what)
            for flow in event[47]:
                assert flow not in flows, "a flow that begins twice"
                flows[flow] = what
            ends += [(flow, what) for flow in event[48]]
        # An end may come before its begin where a job's clocks say so.
        bound = collections.Counter((flows[flow], what) for flow, what in ends)
        return (collections.Counter((one["what"], one["end"]) for one in slices),
                collections.Counter(others), bound)


def ns(text):
    whole, part = text.split(".")
    return int(whole) * 1000 + int(part)


def shown_of_json(path):
    """The same, of Chrome's JSON."""
    slices, others = [], []
    open_slices = collections.defaultdict(list)
    outs, ins = {}, []
    events = json.loads(path.read_text(encoding="utf-8"))
    raw = json.loads(path.read_text(encoding="utf-8"), parse_float=str)
    times = [ns(event["ts"]) if event["ph"] != "M" else 0 for event in raw]
    # Stable, as a viewer sorts. X begin together with what is around them: order does not matter.
    for index in sorted((i for i, event in enumerate(events) if event["ph"] != "M"),
                        key=times.__getitem__):
        event, time = events[index], times[index]
        phase = event["ph"]
        # A row that is no thread is a track of its process.
        on_thread = (phase == "X" and event["tid"] < 10_000_000) or event.get("s") == "t"
        key = (event["pid"], event.get("cat"), event.get("id2", {}).get("local"))
        if phase == "e":
            open_slices[key].pop()["end"] = time
            continue
        if phase == "C":
            for unit, value in event["args"].items():
                others.append((event["pid"], "C", f"{event['name']} ({unit})", time, value))
            continue
        what = (event["pid"], event["tid"] if on_thread else 0, event["name"], time,
                json.dumps(event.get("args", {}), sort_keys=True))
        if phase in "bX":
            made = {"what": what, "end": None}
            slices.append(made)
            if phase == "b":
                open_slices[key].append(made)
            else:
                made["end"] = time + ns(raw[index]["dur"])
        else:
            others.append(what)
        if event.get("flow_out"):
            outs[event["bind_id"]] = what
        elif event.get("flow_in"):
            ins.append((event["bind_id"], what))
    flows = collections.Counter((outs[bind_id], what) for bind_id, what in ins)
    return (collections.Counter((one["what"], one["end"]) for one in slices),
            collections.Counter(others), flows)


def order(path):
    """Names of the processes, in the order in which they are to be shown."""
    tracks = [track for track in PerfettoFile(path).tracks.values() if track[3]]
    tracks.sort(key=lambda track: track[12][0])
    return [message(track[3][0])[6][0].decode() for track in tracks]


def compare(json_path, perfetto_path):
    """Why they do not show the same; empty if they do."""
    for what, wanted, found in zip(("slices", "instants and counters", "flows"),
                                   shown_of_json(json_path), PerfettoFile(perfetto_path).shown()):
        if wanted != found:
            missing, more = wanted - found, found - wanted
            return (f"{what}: of {wanted.total()}, {missing.total()} missing, {more.total()} more: "
                    f"{list(missing)[:2]}, {list(more)[:2]}")
    return ""
