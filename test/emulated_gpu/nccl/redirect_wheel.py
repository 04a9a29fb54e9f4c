#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes NVIDIA's own build of NCCL run on the emulated GPUs.

usage: redirect_wheel.py LIBNCCL RUNTIME KERNELS OUTPUT

The library of the Python wheel has the CUDA runtime inside, and keeps its symbol table. OUTPUT is
a copy in which each function of that runtime that the emulated RUNTIME has, too, jumps there, and
each other one refuses by a message. The copy needs RUNTIME and KERNELS, which it looks for in
../lib, and hands KERNELS its table of device functions when it is loaded. NCCL's own code stays as
it is. Device code is left out: its place is a hole in the file.
"""
import mmap
import os
import re
import struct
import sys

# Those whose structures nccl/layout-*.tsv describe.
KNOWN = ("2.31.2", "2.32.3")
PAGE = 0x1000
RUNTIME_FUNCTION = re.compile(r"(__)?cuda[A-Z]\w*")
# A launch by the runtime has arguments of unknown size, so the runtime for applications ignores it.
REFUSED = re.compile(r"cudaLaunch(Cooperative)?Kernel(ExC)?")
# What nvcc wrote for each file of device code, not the runtime's.
NOT_RUNTIME = re.compile(r"__cudaRegisterLinkedBinary\w*|__cudaUnregisterBinaryUtil")
DEVICE_CODE = ("__nv_relfatbin", ".nv_fatbin")
# NCCL's polling threads yield to each other by these (cuda/yield.cc).
YIELDING = ("sched_yield", "recv", "send", "accept")
JUMP = b"\xff\x25"  # jmp *displacement(%rip)
LOAD, DYNAMIC, NOTE = 1, 2, 4  # types of segments
(NEEDED, STRTAB, SYMTAB, RELA, RELASZ, STRSZ, INIT, RUNPATH, VERSYM) = (
    1, 5, 6, 7, 8, 10, 12, 29, 0x6ffffff0)


class Library:
    """An ELF file's sections, segments and symbols."""

    def __init__(self, path):
        with open(path, "rb") as file:
            self.data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        if self.data[:6] != b"\x7fELF\x02\x01":
            sys.exit(f"{path} is no 64-bit ELF file")
        self.segments_at, sections_at = struct.unpack_from("<QQ", self.data, 32)
        segments, _, sections, names = struct.unpack_from("<4H", self.data, 56)
        self.segments = [list(struct.unpack_from("<IIQQQQQQ", self.data, self.segments_at + 56 * i))
                         for i in range(segments)]
        headers = [struct.unpack_from("<IIQQQQIIQQ", self.data, sections_at + 64 * i)
                   for i in range(sections)]
        self.sections = {self.text(headers[names][4] + h[0]): h for h in headers}

    def text(self, at):
        return self.data[at:self.data.find(b"\0", at)].decode()

    def bytes_of(self, section):
        _, _, _, _, at, size, *_ = self.sections[section]
        return self.data[at:at + size]

    def symbols(self, table, names):
        """Of each: name, address, size, kind and whether it is defined."""
        strings = self.sections[names][4]
        for name, info, _, index, value, size in struct.iter_unpack("<IBBHQQ", self.bytes_of(table)):
            yield self.text(strings + name), value, size, info & 15, index != 0


class Redirection:
    def __init__(self, library, exported):
        self.library = library
        self.exported = exported
        ends = [segment for segment in library.segments if segment[0] == LOAD]
        self.file_end = max(s[2] + s[5] for s in ends)
        address = max(s[3] + s[6] for s in ends)
        # The new segment: at the same place within a page in file and memory.
        self.at = -(-self.file_end // PAGE) * PAGE
        self.address = -(-address // PAGE) * PAGE
        self.segment = bytearray()
        self.patches = []  # (place in the file, bytes)
        self.strings = bytearray(library.bytes_of(".dynstr"))
        self.symbols = bytearray(library.bytes_of(".dynsym"))
        self.versions = bytearray(library.bytes_of(".gnu.version"))
        self.relocations = bytearray(library.bytes_of(".rela.dyn"))

    def append(self, data):
        self.segment += bytes(-len(self.segment) % 16)
        place = self.address + len(self.segment)
        self.segment += data
        return place

    def string(self, text):
        place = len(self.strings)
        self.strings += text.encode() + b"\0"
        return place

    def write(self, address, data):
        """Into what the library has already."""
        for kind, _, at, start, _, size, *_ in self.library.segments:
            if kind == LOAD and start <= address and address + len(data) <= start + size:
                self.patches.append((at + address - start, data))
                return
        sys.exit(f"address {address:x} is not in the file")

    def slot(self, symbol):
        """A pointer that the dynamic linker fills with the address of the symbol."""
        place = self.append(bytes(8))
        number = len(self.symbols) // 24
        self.symbols += struct.pack("<IBBHQQ", self.string(symbol), 0x12, 0, 0, 0, 0)
        self.versions += struct.pack("<H", 1)
        self.relocations += struct.pack("<QQq", place, number << 32 | 6, 0)  # R_X86_64_GLOB_DAT
        return place

    def redirect(self, functions):
        """functions: addresses and sizes by name. Returns the names that are refused."""
        refuse = self.slot("emugpu_refuse")
        refused = []
        for name, places in sorted(functions.items()):
            known = name in self.exported and not REFUSED.fullmatch(name)
            if known:
                target = self.slot(name)
            else:
                refused.append(name)
                text = self.append(name.encode() + b"\0")
            for address, size in places:
                # lea text(%rip), %rdi
                code = b"" if known else b"\x48\x8d\x3d" + struct.pack("<i", text - address - 7)
                jump = address + len(code)
                code += JUMP + struct.pack("<i", (target if known else refuse) - jump - 6)
                # The runtime's own shorter functions are never reached.
                if size >= len(code):
                    self.write(address, code)
                elif known:
                    sys.exit(f"{name} is too short for a jump")
        return refused

    def at_load(self, release, table, unused, old_init):
        """The library's first code calls emugpu_nccl_loaded(release, table), then goes on as before.
        It takes the place of a function that nothing can reach any more."""
        slot = self.slot("emugpu_nccl_loaded")
        address = unused + 32
        code = b"\x48\x83\xec\x08"  # sub $8, %rsp
        code += b"\xbf" + struct.pack("<i", release)  # mov $release, %edi
        code += b"\x48\x8d\x35" + struct.pack("<i", table - address - len(code) - 7)  # lea, %rsi
        code += b"\xff\x15" + struct.pack("<i", slot - address - len(code) - 6)  # call *slot
        code += b"\x48\x83\xc4\x08"  # add $8, %rsp
        code += b"\xe9" + struct.pack("<i", old_init - address - len(code) - 5)
        self.write(address, code)
        return address

    def rename_yielding(self):
        for i, (name, _, _, _, defined) in enumerate(self.library.symbols(".dynsym", ".dynstr")):
            if name in YIELDING and not defined:
                struct.pack_into("<I", self.symbols, 24 * i, self.string("emugpu_" + name))
                struct.pack_into("<H", self.versions, 2 * i, 1)

    def dynamic(self, needed, init):
        section = self.library.sections[".dynamic"]
        entries = [list(entry)
                   for entry in struct.iter_unpack("<QQ", self.library.bytes_of(".dynamic"))]
        room = len(entries)
        entries = [entry for entry in entries if entry[0] != 0]
        entries = [[NEEDED, self.string(name)] for name in needed] + entries
        entries.append([RUNPATH, self.string("$ORIGIN/../lib")])
        new = {STRTAB: self.append(self.strings), STRSZ: len(self.strings),
               SYMTAB: self.append(self.symbols), VERSYM: self.append(self.versions),
               RELA: self.append(self.relocations), RELASZ: len(self.relocations), INIT: init}
        for entry in entries:
            entry[1] = new.get(entry[0], entry[1])
        if len(entries) >= room:
            sys.exit("the dynamic section has no room")
        entries += [[0, 0]] * (room - len(entries))
        self.write(section[3], b"".join(struct.pack("<QQ", *entry) for entry in entries))

    def headers(self):
        # A note gives up its place among the segments to the new one.
        number = next(i for i, segment in enumerate(self.library.segments) if segment[0] == NOTE)
        size = len(self.segment)
        new = struct.pack("<IIQQQQQQ", LOAD, 6, self.at, self.address, self.address, size, size, PAGE)
        self.patches.append((self.library.segments_at + 56 * number, new))
        self.patches.append((40, bytes(8)))  # there are no sections any more
        self.patches.append((60, bytes(4)))

    def save(self, path):
        holes = sorted((h[4], h[4] + h[5]) for name, h in self.library.sections.items()
                       if name in DEVICE_CODE)
        with open(path, "wb") as file:
            begin = 0
            for hole, end in [*holes, (self.file_end, self.file_end)]:
                file.seek(begin)
                file.write(self.library.data[begin:hole])
                begin = end
            for place, data in self.patches:
                file.seek(place)
                file.write(data)
            file.seek(self.at)
            file.write(self.segment)
        os.chmod(path, 0o755)


def main():
    if len(sys.argv) != 5:
        sys.exit(__doc__)
    library, runtime = Library(sys.argv[1]), Library(sys.argv[2])
    if ".symtab" not in library.sections:
        sys.exit("this build of NCCL has no symbol table")
    release = re.search(rb"NCCL version (\d+\.\d+\.\d+)\+cuda", library.bytes_of(".rodata"))
    if release is None or release[1].decode() not in KNOWN:
        sys.exit(f"this release of NCCL is none of {', '.join(KNOWN)}")
    exported = {name for name, _, _, _, defined in runtime.symbols(".dynsym", ".dynstr") if defined}
    functions = {}
    table = None
    for name, address, size, kind, defined in library.symbols(".symtab", ".strtab"):
        if kind == 2 and RUNTIME_FUNCTION.fullmatch(name) and not NOT_RUNTIME.fullmatch(name):
            functions.setdefault(name, []).append((address, size))
        elif name == "ncclDevFuncRowToId":
            table = address
    if table is None or not functions:
        sys.exit("this build of NCCL has no CUDA runtime inside, or no table of its functions")
    redirection = Redirection(library, exported)
    refused = redirection.redirect(functions)
    unused = functions["cudaGraphDebugDotPrint"][0][0]
    init = next(value for tag, value in struct.iter_unpack("<QQ", library.bytes_of(".dynamic"))
                if tag == INIT)
    major, minor, patch = map(int, release[1].split(b"."))
    first = redirection.at_load(10000 * major + 100 * minor + patch, table, unused, init)
    redirection.rename_yielding()
    redirection.dynamic([os.path.basename(path) for path in sys.argv[2:4]], first)
    redirection.headers()
    redirection.save(sys.argv[4])
    print(f"{len(functions) - len(refused)} functions go to the emulated runtime, "
          f"{len(refused)} are refused")


if __name__ == "__main__":
    main()
