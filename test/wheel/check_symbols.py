#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that the binaries of a wheel need only a glibc of a version at most, and nothing else.

usage: check_symbols.py WHEEL [--glibc 2.28]

With --glibc, every version of a symbol that is needed is held against it, and every library that is
needed is one of glibc's. Without it, only what NCCL's loader needs is asked: that the plugin exports
NCCL's tables and Ringside's functions, and nothing else, and that it waits by CLOCK_MONOTONIC.
"""
import argparse
import pathlib
import re
import subprocess
import sys
import tempfile
import zipfile

# In glibc 2.28 these are libraries of their own.
GLIBC = re.compile(r"(libc|libm|libdl|libpthread|librt|ld-linux-[\w-]+)\.so\.\d+$")
EXPORTED = re.compile(r"(ncclProfiler_v[1-7]|ringside_\w+)$")


def readelf(*arguments):
    return subprocess.run(["readelf", "--wide", *arguments], stdout=subprocess.PIPE, check=True,
                          universal_newlines=True).stdout


def number(version):
    return [int(part) for part in version.split(".")]


def needs(path, glibc):
    """Returns errors in the needs of a binary, and the newest glibc that it needs."""
    wrong = []
    libraries = re.findall(r"\(NEEDED\).*\[(.*)\]", readelf("--dynamic", path))
    wrong += [f"{path.name} needs {one}" for one in libraries if not GLIBC.match(one)]
    needed = re.search(r"\.gnu\.version_r'(.*?)(?:\n\n|\Z)", readelf("--version-info", path), re.S)
    versions = set(re.findall(r"Name: (\S+)", needed.group(1) if needed else ""))
    newest = [0]
    for version in versions:
        if not version.startswith("GLIBC_") or not version[6:7].isdigit():
            wrong.append(f"{path.name} needs a symbol of {version}")
            continue
        newest = max(newest, number(version[6:]))
        if number(version[6:]) > number(glibc):
            wrong.append(f"{path.name} needs a symbol of {version}, which glibc {glibc} has not")
    if newest == [0]:
        wrong.append(f"{path.name} needs no glibc at all, which cannot be")
    return wrong, ".".join(map(str, newest))


def waits(path):
    """Waits of the plugin follow CLOCK_MONOTONIC. The C++ library for a glibc before 2.30 waits by the wall
    clock, and says nothing of it."""
    imported = {line.split()[7].split("@")[0] for line in readelf("--dyn-syms", path).splitlines()
                if " UND " in line and len(line.split()) >= 8}
    if "pthread_cond_timedwait" in imported and "pthread_condattr_setclock" not in imported:
        return [f"{path.name} waits by the wall clock, which may be set back"]
    return []


def exports(path):
    names = set()
    for line in readelf("--dyn-syms", path).splitlines():
        part = line.split()
        if len(part) >= 8 and part[4] in ("GLOBAL", "WEAK") and part[6] != "UND":
            names.add(part[7].split("@")[0])
    wrong = [f"{path.name} exports {name}" for name in sorted(names) if not EXPORTED.match(name)]
    wrong += [f"{path.name} does not export {name}"
              for name in ["ringside_start", *(f"ncclProfiler_v{n}" for n in range(1, 8))]
              if name not in names]
    return wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("wheel", type=pathlib.Path)
    parser.add_argument("--glibc")
    options = parser.parse_args()
    wrong = []
    with tempfile.TemporaryDirectory() as name:
        zipfile.ZipFile(options.wheel).extractall(name)
        binaries = [path for path in sorted(pathlib.Path(name).rglob("*"))
                    if path.is_file() and path.open("rb").read(4) == b"\x7fELF"]
        if sorted(path.name for path in binaries) != ["libnccl-profiler-ringside.so", "ringside"]:
            wrong.append(f"the wheel has {[path.name for path in binaries]}")
        for path in binaries:
            if path.suffix == ".so":
                wrong += exports(path) + waits(path)
            if options.glibc:
                trouble, newest = needs(path, options.glibc)
                wrong += trouble
                print(f"{path.name}: {path.stat().st_size >> 10} KiB, glibc {newest}")
    for one in wrong:
        print(one, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
