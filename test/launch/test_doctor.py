# SPDX-License-Identifier: Apache-2.0
"""`ringside doctor` on this machine, with faults that may occur on it."""
import os
import resource
import shutil
import subprocess
import sys

from place import find, require


def doctor(place):
    """Each trouble is named, with what to do about it; 0 only where there is none."""
    memory = {"RINGSIDE_RING_DIR": "none"}  # the rings of this place may be on a disk
    library = place.options.library
    good = place.doctor("--nccl", library, status=0, LAUNCH_TEST_VERSION=23007, **memory)
    find(good, "plugin", "ok", os.path.realpath(place.options.plugin), "v1 to v7")
    find(good, "nccl", "ok", "NCCL 2.30.7", library, "interface v6")
    find(good, "nccl", "note", "broadcast")
    find(good, "variable", "ok", "nothing is in the way")
    find(good, "rings", "note", "RINGSIDE_RING_DIR=none")
    find(good, "output", "ok" if not any(one["subject"] == "output" and one["health"] == "note"
                                         for one in good) else "note", str(place.work))
    require({"clock", "gpu", "limits"} <= {one["subject"] for one in good}, str(good))
    out, _ = place.ringside("doctor", "--nccl", library, LAUNCH_TEST_VERSION=23007, **memory)
    require(out.endswith(" notes\n") and "\n0 problems, " in out, out)

    find(place.doctor("--nccl", library, status=1, LAUNCH_TEST_VERSION=22205, **memory),
         "nccl", "problem", "2.22.5", "loads no profiler plugins")
    find(place.doctor("--nccl", library, status=1, LAUNCH_TEST_VERSION="crash", **memory),
         "nccl", "problem", "it crashed (signal 6)")
    broken = place.root / "libnccl.so.2"
    broken.write_text("no library\n", encoding="utf-8")
    find(place.doctor("--nccl", str(broken), status=1, **memory), "nccl", "problem", str(broken))

    # A copy that was broken off: whoever loads it may die where its file ends.
    cut = place.root / "cut.so"
    with open(place.options.plugin, "rb") as whole:
        data = whole.read()
    for part in (data[:len(data) // 2], data[:len(data) // 50], data[:-64]):
        cut.write_bytes(part)
        find(place.doctor("--plugin", cut, "--nccl", library, status=1, **memory), "plugin",
             "problem", str(cut), "cut off")
        out, err = place.ringside("run", "--plugin", cut, "--", "echo", "started", status=125)
        require("cut off" in err and "started" not in out, out + err)

    # A process that has NCCL's library has loaded another one that communicates.
    mapped = [place.root / "libnccl.so.2", place.root / "libnvshmem_host.so.3"]
    for path in mapped:
        path.write_bytes(b"x" * 4096)
    with subprocess.Popen([sys.executable, "-c", """
import mmap, os, sys
maps = [mmap.mmap(os.open(path, os.O_RDONLY), 0, prot=mmap.PROT_READ) for path in sys.argv[1:]]
print("mapped", flush=True)
sys.stdin.read()
""", *mapped], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        require(process.stdout.readline() == "mapped\n", "the process ended")
        found = place.doctor("--nccl", library, status=0, LAUNCH_TEST_VERSION=23007, **memory)
        process.stdin.close()
    find(found, "processes", "note", f"NVSHMEM is loaded in process {process.pid}")
    require(not any(one["subject"] == "processes" for one in good), str(good))

    # As programs find it: by the loader, and in the packages of the python3 that is in PATH.
    broken.unlink()
    shutil.copy(library, broken)
    package = place.root / "site" / "nvidia" / "nccl" / "lib"
    package.mkdir(parents=True)
    shutil.copy(library, package / "libnccl.so.2")
    programs = place.root / "programs"
    programs.mkdir()
    python = programs / "python3"
    python.write_text(f"#!/bin/sh\necho '{place.root}/site'\n", encoding="utf-8")
    python.chmod(0o755)
    found = place.doctor(status=0, LD_LIBRARY_PATH=place.root, LAUNCH_TEST_VERSION=22803,
                         PATH=f"{programs}:{os.environ['PATH']}", **memory)
    find(found, "nccl", "ok", "NCCL 2.28.3", str(broken), "the loader", "interface v5")
    find(found, "nccl", "ok", "NCCL 2.28.3", str(package), "python3")
    broken.write_text("no library\n", encoding="utf-8")
    find(place.doctor(status=1, LD_LIBRARY_PATH=place.root, **memory), "nccl", "problem",
         "libnccl.so.2")

    variables(place, {**memory, "LAUNCH_TEST_VERSION": 22703}, ["--nccl", library])
    _, err = place.ringside("doctor", "--format", "xml", status=2)
    require("--format" in err, err)
    place.ringside("doctor", "stray", status=2)


def variables(place, good, options):
    """Variables and limits that are wrong."""
    def check(health, subject, *words, preexec=None, more=(), **changed):
        status = 1 if health == "problem" else 0
        find(place.doctor(*options, *more, status=status, preexec=preexec, **{**good, **changed}),
             subject, health, *words)
    check("problem", "variable", "RINGSIDE_RING_BYTES=banana", RINGSIDE_RING_BYTES="banana")
    check("problem", "variable", "RINGSIDE_EVENT is not a variable of Ringside; did you mean "
          "RINGSIDE_EVENTS?", RINGSIDE_EVENT="coll")
    check("ok", "variable", "all RINGSIDE_ variables that are set are good",
          RINGSIDE_LAUNCH="1-2", RINGSIDE_JOB="x")
    check("problem", "variable", "another profiler plugin", place.options.library,
          NCCL_PROFILER_PLUGIN=place.options.library)
    check("problem", "variable", "cannot be loaded here", NCCL_PROFILER_PLUGIN="other")
    check("ok", "variable", "names this plugin",
          NCCL_PROFILER_PLUGIN=os.path.realpath(place.options.plugin))
    copy = place.root / "libnccl-profiler-ringside.so"
    shutil.copy(place.options.plugin, copy)
    check("note", "variable", "another copy of Ringside", NCCL_PROFILER_PLUGIN=copy)
    check("problem", "rings", "no-such-directory", RINGSIDE_RING_DIR="/no-such-directory")
    check("problem", "output", "traces cannot be written", RINGSIDE_DIR="/dev/null")
    check("problem", "output", "traces cannot be written", more=("--dir", "/dev/null/below"))
    check("problem", "plugin", "cannot be loaded", more=("--plugin", place.options.host + ".none"))
    check("problem", "plugin", "not Ringside's", more=("--plugin", place.options.library))
    check("problem", "limits", "1 MiB at most",
          preexec=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20)))
    check("note", "limits", "64 open files",
          preexec=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64)))


CASES = {"doctor": doctor}
