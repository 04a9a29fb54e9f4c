#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Keeps the house in order (docs/architecture.md): which room may include which, how long a file, a
folder and a room may be, that a class lives in one header and one source file, and the licence in
every first line.

usage: check_rooms.py ROOT
"""
import pathlib
import re
import sys

# Room: what it may include beside itself and include/. A path is in the longest room that fits. A
# file that is a room of its own is no part of the room around it.
ROOMS = {
    "include": [],
    "plugin/posix": [],
    "plugin/record": ["plugin/posix"],
    "plugin/result": [],
    "plugin/threads": ["plugin/posix"],
    "plugin/abi": ["plugin/record"],
    "plugin/assemble": ["plugin/record", "plugin/threads"],
    "plugin/journal": ["plugin/assemble", "plugin/record", "plugin/result", "plugin/threads"],
    "plugin/export": ["plugin/posix", "plugin/assemble", "plugin/record", "plugin/result",
                      "plugin/topology/machine.h"],
    "plugin/topology": ["plugin/threads"],
    # Plain data, which the plugin writes and the analyzer reads.
    "plugin/topology/machine.h": [],
    "plugin/nvtx": ["plugin/assemble", "plugin/record"],
    "plugin/recover": ["plugin/assemble", "plugin/config/events.h", "plugin/export",
                       "plugin/journal", "plugin/record", "plugin/result"],
    "plugin/config": ["plugin/assemble", "plugin/journal", "plugin/nvtx",
                      "plugin/record", "plugin/result"],
    "plugin/drain": ["plugin/posix", "plugin/assemble", "plugin/config", "plugin/export", "plugin/journal",
                     "plugin/record", "plugin/result", "plugin/threads",
                     "plugin/topology/machine.h"],
    "plugin/session": ["plugin/posix", "plugin/assemble", "plugin/config", "plugin/drain",
                       "plugin/export", "plugin/journal", "plugin/nvtx", "plugin/record",
                       "plugin/result", "plugin/threads", "plugin/topology"],
    "plugin/doors": ["plugin/posix", "plugin/assemble", "plugin/config", "plugin/drain", "plugin/export",
                     "plugin/journal", "plugin/nvtx", "plugin/record", "plugin/result",
                     "plugin/session", "plugin/threads"],
    "plugin/process": ["plugin"],
    # Simulated jobs: a witness for the analyzer, of which it knows nothing.
    "simulate": [],
    "analyzer/model": ["plugin/topology/machine.h"],
    "analyzer/load": ["analyzer/model", "plugin/topology/machine.h", "plugin/assemble"],
    "analyzer/lint": ["plugin/topology/machine.h", "analyzer/load", "analyzer/model", "plugin/assemble"],
    "analyzer/match": ["analyzer/model", "plugin/assemble"],
    "analyzer/align": ["analyzer/match", "analyzer/model", "plugin/assemble"],
    "analyzer/facts": ["analyzer/align", "analyzer/match", "analyzer/model", "plugin/assemble"],
    "analyzer/metrics": ["analyzer/facts", "plugin/topology/machine.h", "analyzer/match", "analyzer/model", "analyzer/align", "plugin/assemble"],
    # It compares no clocks.
    "analyzer/replay": ["analyzer/facts", "analyzer/match", "analyzer/metrics", "analyzer/model",
                        "plugin/topology/machine.h"],
    "analyzer/report": ["analyzer/facts", "analyzer/replay", "plugin/topology/machine.h", "analyzer/metrics", "analyzer/match", "analyzer/model", "analyzer/align",
                        "plugin/assemble"],
    "analyzer/merge": ["analyzer/facts", "analyzer/report", "analyzer/metrics", "analyzer/match", "analyzer/load",
                       "analyzer/model", "analyzer/align", "plugin/assemble"],
    # Both write protobuf; else it knows nothing of timelines.
    "analyzer/chakra": ["analyzer/facts", "analyzer/report", "analyzer/metrics", "analyzer/match", "analyzer/load",
                        "analyzer/merge/perfetto/protobuf.h", "analyzer/model", "analyzer/align", "plugin/assemble"],
    # The plugin's own code says what it makes of the environment, and has the names of its files.
    "launch": ["analyzer/model/printable.h", "plugin/config/config.h", "plugin/config/events.h",
               "plugin/session/memory_share.h",
               "plugin/record/clock.h", "plugin/journal/journal_format.h", "plugin/assemble",
               "plugin/topology/machine.h", "plugin/topology/probe.h"],
    "live": ["launch/files.h", "launch/process_files.h", "launch/ring_holder.h", "launch/text.h", "analyzer/model/joined.h",
             "analyzer/model/printable.h", "analyzer/report", "plugin/assemble", "plugin/journal/journal_format.h"],
    "analyzer/cli": ["analyzer", "launch", "live", "simulate", "plugin/assemble",
                     "plugin/config/nearest_name.h", "plugin/journal/journal_format.h",
                     "plugin/recover"],
    # A program of its own: `ringside` is built without it.
    "analyzer/mpi": ["analyzer/cli/exit_status.h", "analyzer/cli/help.h", "analyzer/cli/run.h",
                     "analyzer/load", "analyzer/model", "analyzer/report/document/numbers.h"],
    "examples": ["plugin", "analyzer", "test"],
    "test": ["plugin", "analyzer", "launch", "live", "simulate", "examples"],
}

# Rooms that are closed even to include/, which names what others are promised.
OPEN_TO_NOTHING = ["plugin/posix", "plugin/record", "plugin/result", "plugin/topology"]
ONLY_HEADER = {"plugin/assemble": "include/ringside/trace_schema.h"}

# May be copied out of the repository, so they include what lies beside them.
STANDS_ALONE = ["examples", "test/emulated_gpu"]

# A file of more lines than the first is named; one of more than the second fails.
LONG_LINES = 400
MAX_LINES = 600
MAY_BE_LONGER = []

# How many files a folder may hold, and how many lines of C++ a room: growth is a decision.
MAX_FILES = 25
MAX_ROOM_LINES = {
    "analyzer/align": 3456, "analyzer/chakra": 2403, "analyzer/cli": 10578, "analyzer/facts": 1240, "analyzer/lint": 1734,
    "analyzer/load": 14627, "analyzer/match": 9996, "analyzer/merge": 5068, "analyzer/metrics": 12767, "analyzer/model": 2515,
    "analyzer/mpi": 1243, "analyzer/replay": 3000, "analyzer/report": 14342, "launch": 2527, "live": 6685, "plugin": 21997,
    "simulate": 1757,
}

# In these rooms a class has its methods in one source file.
CLASSES_IN = ["plugin", "launch", "live", "simulate", "analyzer"]
METHOD = re.compile(r"^(?! )[A-Za-z_:<>*& ]*?\b([A-Z][A-Za-z]+)::~?[A-Za-z_]+\(", re.MULTILINE)

TOPS = ("include", "plugin", "analyzer", "launch", "live", "simulate", "test", "examples", "cmake", "scripts")
SOURCES = {".h", ".hpp", ".c", ".cc", ".cpp", ".cu", ".py", ".sh", ".cmake"}
INCLUDE = re.compile(r'^\s*#\s*include\s*[<"]([^>"]+)[>"]')
INCLUDE_LINE = re.compile(INCLUDE.pattern, re.MULTILINE)


def is_in(path, room):
    return path == room or path.startswith(room + "/")


def room_of(path):
    return max((room for room in ROOMS if is_in(path, room)), key=len, default=None)


def included(root, path, name):
    """Path from the root of what an include names; None if it is not ours. Installed headers are
    included as users include them."""
    for base in ("", "include"):
        # name.in: CMake makes the file from it.
        if (root / base / name).is_file() or (root / base / (name + ".in")).is_file():
            return str(pathlib.PurePosixPath(base, name))
    if (root / path).parent.joinpath(name).is_file():
        return "beside"
    return None


def trouble_with_include(path, target):
    room = room_of(path)
    if room is None:
        return f"{path} is in no room that check_rooms.py knows"
    if is_in(target, room):
        return None
    if target.startswith("include/"):
        if room in OPEN_TO_NOTHING or target != ONLY_HEADER.get(room, target):
            return f"{path} ({room}) may not include {target}"
        return None
    around = target.rpartition("/")[0] if target in ROOMS else None
    if any(is_in(target, allowed) and allowed != around for allowed in ROOMS[room]):
        return None
    return f"{path} ({room}) may not include {target}"


def troubles_in(root, path):
    text = (root / path).read_text(encoding="utf-8")
    lines = text.splitlines()
    begin = [line for line in lines[:2] if not line.startswith("#!")]
    if not begin or "SPDX-License-Identifier: Apache-2.0" not in begin[0]:
        yield f"{path}: the first line is not the licence"
    if len(lines) > MAX_LINES and path not in MAY_BE_LONGER:
        yield f"{path}: {len(lines)} lines, more than {MAX_LINES}"
    elif len(lines) > LONG_LINES:
        print(f"note: {path}: {len(lines)} lines, more than {LONG_LINES}")
    for number, line in enumerate(lines, 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        target = included(root, path, match.group(1))
        if target == "beside":
            if not any(is_in(path, house) for house in STANDS_ALONE):
                yield f"{path}:{number}: includes are written from the root of the repository"
        elif target is not None:
            trouble = trouble_with_include(path, target)
            if trouble:
                yield f"{trouble} (line {number})"
        elif match.group(1).split("/")[0] in (*TOPS, "ringside"):
            yield f"{path}:{number}: there is no {match.group(1)}"


def sources(root):
    for top in TOPS:
        for file in sorted((root / top).rglob("*")):
            if file.is_file() and (file.suffix in SOURCES or file.name == "CMakeLists.txt"):
                yield str(file.relative_to(root).as_posix())


def troubles_with_classes(root, paths):
    for part in CLASSES_IN:
        files_of = {}
        for path in paths:
            if is_in(path, part) and path.endswith(".cc"):
                for name in METHOD.findall((root / path).read_text(encoding="utf-8")):
                    files_of.setdefault(name, set()).add(path)
        for name, files in sorted(files_of.items()):
            if len(files) > 1:
                yield f"{part}: the methods of {name} are cut over {', '.join(sorted(files))}"


def troubles_with_folders(root, paths):
    files_in = {}
    for path in paths:
        if any(is_in(path, part) for part in CLASSES_IN):
            files_in.setdefault(path.rpartition("/")[0], []).append(path)
    for folder, files in files_in.items():
        if len(files) > MAX_FILES:
            yield f"{folder}: {len(files)} files, more than {MAX_FILES}"
    for room, most in MAX_ROOM_LINES.items():
        lines = sum(len((root / path).read_text(encoding="utf-8").splitlines())
                    for path in paths if is_in(path, room) and path.endswith((".cc", ".h")))
        if lines > most:
            yield f"{room}: {lines} lines, more than {most}"


def sub_room(path, room):
    """The folder of a room that a file is in; None for the files that stand in the room itself."""
    parts = path[len(room) + 1:].split("/")
    return parts[0] if is_in(path, room) and len(parts) > 1 else None


def troubles_with_sub_rooms(root, paths):
    """Folders of a room include each other in one direction only. The files of the room itself, which
    put them together or have what all of them need, are free."""
    arrows = {}  # room -> folder -> folder it includes -> a file that does
    for path in paths:
        room = room_of(path)
        inner = room and sub_room(path, room)
        if not inner or room.split("/")[0] not in CLASSES_IN:
            continue
        for name in INCLUDE_LINE.findall((root / path).read_text(encoding="utf-8")):
            other = sub_room(name, room)
            if other and other != inner:
                arrows.setdefault(room, {}).setdefault(inner, {}).setdefault(other, path)
    for room, graph in sorted(arrows.items()):
        for folder, others in sorted(graph.items()):
            for other, path in sorted(others.items()):
                seen, open_ones = set(), [other]
                while open_ones:
                    last = open_ones.pop()
                    if last not in seen:
                        seen.add(last)
                        open_ones.extend(graph.get(last, {}))
                if folder in seen:
                    yield f"{path}: {room}/{folder} and {room}/{other} include each other"


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    root = pathlib.Path(sys.argv[1])
    paths = list(sources(root))
    troubles = [trouble for path in paths for trouble in troubles_in(root, path)]
    troubles.extend(troubles_with_classes(root, paths))
    troubles.extend(troubles_with_folders(root, paths))
    troubles.extend(troubles_with_sub_rooms(root, paths))
    for path in MAY_BE_LONGER:
        if path not in paths:
            troubles.append(f"{path} is listed as long, and is not there")
    for trouble in troubles:
        print(trouble)
    print(f"{len(paths)} files, {len(troubles)} troubles")
    return 1 if troubles or not paths else 0


if __name__ == "__main__":
    sys.exit(main())
