#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Pickles that run something when they are unpickled, in the place of the entries of a dump: Python's own
module does run each of them (so that the test can fail), ringside runs none, and names the opcode and the
offset at which it stopped. A pickle of 64 MiB of None is an error, and takes little memory."""

import pathlib
import pickle
import pickletools
import resource
import shutil
import subprocess
import sys
import tempfile

# The opcodes that make no more than None, truth values, numbers, texts, tuples, lists and dicts.
PLAIN = {"PROTO", "FRAME", "STOP", "MARK", "NONE", "NEWTRUE", "NEWFALSE", "BININT", "BININT1", "BININT2", "LONG1",
         "LONG4", "BINFLOAT", "SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8", "EMPTY_LIST", "EMPTY_DICT",
         "EMPTY_TUPLE", "TUPLE1", "TUPLE2", "TUPLE3", "TUPLE", "APPEND", "APPENDS", "SETITEM", "SETITEMS", "BINPUT",
         "LONG_BINPUT", "MEMOIZE", "BINGET", "LONG_BINGET"}

NO_INPUT = 3  # ringside's status where no file could be read

# A module whose classes and functions make a file; extension 1 of copyreg is one of them.
MODULE = """
import copyreg, pathlib
def create(name): pathlib.Path(name).touch()
class New:
    def __new__(cls, name=None, **named): create(name or named["name"]); return object.__new__(cls)
class Build:
    def __setstate__(self, state): create(state)
for number in (1, 0x101, 0x10001): copyreg.add_extension("hostile", f"create{number}", number)
create1 = create257 = create65537 = create
"""

# Unpickles each file, and tells how that ended. Persistent identifiers, too, make a file.
CONTROL = """
import pickle, sys
sys.path.insert(0, ".")
import hostile
class Unpickler(pickle.Unpickler):
    def persistent_load(self, identifier): hostile.create(identifier)
for path in sys.argv[1:]:
    with open(path, "rb") as file:
        try: Unpickler(file).load()
        except Exception as error: print(path, repr(error))
"""


def text(value):
    data = value.encode()
    return b"X" + len(data).to_bytes(4, "little") + data


def payloads(marker):
    """By name: the protocol, and the opcodes that make the file of that name."""
    argument = b"(" + text(marker) + b"t"
    shell = b"(" + text("touch " + marker) + b"t"
    new, build = b"chostile\nNew\n", b"chostile\nBuild\n"
    return {
        "GLOBAL and REDUCE": (2, b"cos\nsystem\n" + shell + b"R"),
        "GLOBAL and REDUCE, exec": (2, b"cbuiltins\nexec\n(" + text(f"open('{marker}', 'w')") + b"tR"),
        "STACK_GLOBAL and REDUCE": (4, text("os") + text("system") + b"\x93" + shell + b"R"),
        "from the memo": (2, b"cos\nsystem\nq\x05" + b"0h\x05" + shell + b"R"),
        "INST": (2, b"(" + text("touch " + marker) + b"ios\nsystem\n"),
        "OBJ": (2, b"(cos\nsystem\n" + text("touch " + marker) + b"o"),
        "NEWOBJ": (2, new + argument + b"\x81"),
        "NEWOBJ_EX": (4, new + b")}" + text("name") + text(marker) + b"s\x92"),
        "BUILD": (2, build + b")\x81" + text(marker) + b"b"),
        "EXT1": (2, b"\x82\x01" + argument + b"R"),
        "EXT2": (2, b"\x83\x01\x01" + argument + b"R"),
        "EXT4": (2, b"\x84\x01\x00\x01\x00" + argument + b"R"),
        "PERSID": (2, b"P" + marker.encode() + b"\n"),
        "BINPERSID": (2, text(marker) + b"Q"),
    }


def dump(protocol, payload):
    """A dump whose only entry is the payload."""
    group = b"}(" + text("0") + b"}(" + text("ranks") + text("[0]") + b"uu"
    return (bytes([0x80, protocol]) + b"}(" + text("version") + text("2.10") + text("pg_config") + group
            + text("entries") + b"](" + payload + b"eu.")


def first_refused(data):
    for opcode, _, offset in pickletools.genops(data):
        if opcode.name not in PLAIN:
            return opcode.name, offset
    raise AssertionError("nothing hostile in it")


def check_large(ringside, directory):
    """What is wrong with the answer to a pickle that asks for far more memory than its size."""
    path = directory / "large" / "nccl_trace_rank_0"
    path.parent.mkdir()
    path.write_bytes(b"\x80\x02](" + b"N" * (64 << 20) + b"e.")
    result = subprocess.run([ringside, "match", path], capture_output=True, text=True, check=False)
    most_kib = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    if result.returncode == NO_INPUT and "would take too much memory" in result.stderr and most_kib < 512 << 10:
        return []
    return [f"64 MiB of None: {result.returncode}, {most_kib} KiB: {result.stderr}"]


def check_many(ringside, directory):
    """What is wrong with the answer to a sound dump that has more values than the least bound: three bytes each."""
    path = directory / "many" / "nccl_trace_rank_0"
    path.parent.mkdir()
    lists = (b"](" + b"M\x07\x00" * 1000 + b"e") * 17_500
    sound = pickle.dumps({"version": "2.10", "pg_config": {}, "pg_status": {}, "entries": []}, 2)
    path.write_bytes(sound[:-1] + b"X\x04\x00\x00\x00more](" + lists + b"es.")
    result = subprocess.run([ringside, "match", path], capture_output=True, text=True, check=False)
    return [] if "memory" not in result.stderr and "entries" in result.stderr else [
        f"17.5 million values: {result.returncode}, {result.stderr}"]


def main():
    ringside = pathlib.Path(sys.argv[1]).resolve()
    directory = pathlib.Path(tempfile.mkdtemp(prefix="ringside-hostile-"))
    (directory / "hostile.py").write_text(MODULE, encoding="utf-8")
    failures = []
    dumps = {}
    for number, name in enumerate(payloads("")):
        marker = f"ran-{number}"
        path = directory / f"dumps_{number}" / "nccl_trace_rank_0"
        path.parent.mkdir()
        path.write_bytes(dump(*payloads(marker)[name]))
        dumps[name] = (path, directory / marker)
    control = subprocess.run([sys.executable, "-c", CONTROL, *(path for path, _ in dumps.values())], cwd=directory,
                             capture_output=True, text=True, check=False)
    for name, (path, marker) in dumps.items():
        if not marker.exists():
            failures.append(f"{name}: Python has not run it: {control.stdout}{control.stderr}")
        marker.unlink(missing_ok=True)
        opcode, offset = first_refused(path.read_bytes())
        for command in ("match", "hang", "calls", "fr"):
            result = subprocess.run([ringside, command, path.parent], cwd=directory, capture_output=True, text=True,
                                    check=False)
            said = f"opcode {opcode}, which dumps do not need, is not followed: nothing of a pickle is ever run " \
                   f"(at byte {offset})"
            if said not in result.stderr or result.returncode != NO_INPUT:
                failures.append(f"{name}: {command}: {result.returncode}, not {said!r}, but "
                                f"{result.stdout}{result.stderr}")
            if marker.exists():
                failures.append(f"{name}: {command} has run it")
    failures += check_large(ringside, directory) + check_many(ringside, directory)
    shutil.rmtree(directory)
    print("\n".join(failures) or f"{len(dumps)} hostile pickles: Python runs each, ringside none")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
