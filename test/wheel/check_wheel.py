#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The Python package as users install it: a wheel, with --target, with uv, in a read-only environment,
editable, and from the source distribution; and python/tests on every Python from 3.9 on.

usage: check_wheel.py SOURCE BUILD      the plugin and the tool of a build directory, in a wheel made here
       check_wheel.py SOURCE WHEEL      a wheel of scripts/build_wheel.sh, not editable

RINGSIDE_WHEEL=on does all of it, which takes minutes; RINGSIDE_WHEEL=off nothing. Otherwise it is
the wheel, a fresh environment, --target, mypy, and on this Python alone the tests and the notebook
of examples/: of pip's index they need what is fetched at the beginning, and nothing later.

Nothing is compiled here. The source distribution is compared with git's files: it must have all
that the compiler reads. Exit status 77: pip's index cannot be reached.
"""
import concurrent.futures
import glob
import os
import pathlib
import re
import shutil
import sqlite3
import subprocess
import sys
import tarfile
import tempfile
import urllib.request
import zipfile

OLDEST = (3, 9)
# Another mypy finds other things.
BUILD_TOOLS = ["scikit-build-core>=0.11", "build", "mypy==2.4.1", "pytest"]
NOTEBOOK_TOOLS = ["pyarrow", "nbclient", "ipykernel"]
# An index that does not answer is one that cannot be reached.
PIP_VARIABLES = {"PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_RETRIES": "1", "PIP_DEFAULT_TIMEOUT": "30"}

# scripts/build_wheel.sh links these into the programs, or compiles them into these.
LINKED = [f"{name}.txt" for name in (
    "zlib", "simdjson", "sqlite3", "pugixml", "libmicrohttpd", "libmicrohttpd-COPYING",
    "libcli11-dev", "nlohmann-json3-dev", "node-d3", "nvtx", "llvm-libcxx",
    "llvm-libcxxabi", "llvm-libunwind", "zig", "glibc")]
# As NCCL writes it to NCCL_TOPO_DUMP_FILE.
TOPOLOGY = """<system version="1"><cpu numaid="0">{}</cpu></system>""".format("".join(
    f"""<pci busid="0000:0{gpu}:00.0" class="0x030200"><gpu dev="{gpu}" sm="90" rank="{gpu}">
        <nvlink target="0000:0{1 - gpu}:00.0" count="18" tclass="0x030200"/></gpu></pci>"""
    for gpu in (0, 1)))
# As NCCL does: python/tests/caller.py.
RECORDS = "import caller; caller.Communicator().all_reduce(1024)"


class Failure(Exception):
    """A check that does not hold; the text says which."""


def require(condition, text):
    if not condition:
        raise Failure(text)


def run(*command, status=0, **variables):
    environment = {key: value for key, value in os.environ.items()
                   if not key.startswith(("NCCL_", "RINGSIDE_", "PYTHON", "VIRTUAL_ENV"))}
    environment.update({key: str(value) for key, value in variables.items()})
    done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, env=environment, cwd=variables.get("PWD"),
                          universal_newlines=True)
    require(done.returncode == status,
            f"{' '.join(map(str, command))} ended with {done.returncode}:\n{done.stdout[-6000:]}")
    return done.stdout


def pythons():
    """Every Python that is there, by its version."""
    roots = [*glob.glob(os.path.expanduser("~/.pyenv/versions/*/bin/python3")),
             *(shutil.which(f"python3.{minor}") or "" for minor in range(9, 20)),
             "/usr/bin/python3", sys.executable]
    found = {}
    for path in filter(os.path.exists, roots):
        answer = subprocess.run(
            [path, "-c", "import sys, venv, ensurepip; print(*sys.version_info[:2])"],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, universal_newlines=True)
        if answer.returncode == 0:
            version = tuple(map(int, answer.stdout.split()))
            if version >= OLDEST:
                found.setdefault(version, path)
    return found


class Package:
    """The files that are built once, and the ways to install them."""

    def __init__(self, source, build, place, is_whole):
        self.source, self.build, self.place, self.is_whole = source, build, place, is_whole
        self.tools = place / "tools" / "bin"
        self.wheel = None

    def make_tools(self):
        """False if pip's index cannot be reached, or there is no pip."""
        if subprocess.call([sys.executable, "-c", "import ensurepip, venv"]) != 0:
            print("skipped: this Python has no venv")
            return False
        run(sys.executable, "-m", "venv", self.place / "tools")
        needed = BUILD_TOOLS + (["uv"] if self.is_whole else NOTEBOOK_TOOLS)
        try:
            done = subprocess.run([self.tools / "pip", "-q", "install", *needed],
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  universal_newlines=True, timeout=240)
        except subprocess.TimeoutExpired:
            print("skipped: pip has not fetched what the test needs in four minutes")
            return False
        if done.returncode != 0:
            print("skipped: pip cannot install what the test needs:", done.stdout[-300:])
        return done.returncode == 0

    def built(self):
        return f"--config-settings=cmake.define.RINGSIDE_BUILT={self.build}"

    def make_wheel(self):
        """The source distribution is whole, and gives the wheel."""
        run(self.tools / "python", "-m", "build", "--no-isolation", "--sdist",
            "--outdir", self.place / "dist", self.source)
        (archive,) = (self.place / "dist").glob("nccl_ringside-*.tar.gz")
        with tarfile.open(archive) as file:
            names = {name.split("/", 1)[1] for name in file.getnames() if "/" in name}
        wanted = run("git", "-C", self.source, "ls-files", "plugin", "analyzer", "launch", "live",
                     "simulate", "include", "cmake", "python", "CMakeLists.txt", "LICENSE").split()
        missing = [name for name in wanted if name not in names]
        require(not missing, f"the source distribution lacks {missing}")
        extra = sorted(name for name in names if name.startswith(("test/", "build/", "shared/")))
        require(not extra, f"the source distribution has {extra[:5]}")
        run(self.tools / "pip", "wheel", "--no-deps", "--no-build-isolation", self.built(),
            "--wheel-dir", self.place / "dist", archive)
        (self.wheel,) = (self.place / "dist").glob("*.whl")
        require(re.match(r"nccl_ringside-[\d.]+-py3-none-linux_\w+\.whl$", self.wheel.name),
                f"the wheel is named {self.wheel.name}")
        self.check_wheel()

    def check_wheel(self):
        """The wheel has what it is for, and needs no more of a machine than its name says."""
        with zipfile.ZipFile(self.wheel) as file:
            names = {re.sub(r"-[\d.]+\.(data|dist-info)/", r".\1/", name)
                     for name in file.namelist()}
        for name in ("nccl_ringside/lib/libnccl-profiler-ringside.so", "nccl_ringside/py.typed",
                     "nccl_ringside.data/scripts/ringside", "nccl_ringside.dist-info/METADATA"):
            require(name in names, f"the wheel lacks {name}: {sorted(names)}")
        promised = re.search(r"manylinux_(\d+)_(\d+)_", self.wheel.name)
        print(run(sys.executable, pathlib.Path(__file__).parent / "check_symbols.py", self.wheel,
                  *(["--glibc", ".".join(promised.groups())] if promised else [])), end="")
        with zipfile.ZipFile(self.wheel) as file:
            licences = {info.filename.rpartition("/")[2]: info.file_size
                        for info in file.infolist() if "/licenses/" in info.filename}
        missing = [name for name in ("LICENSE", *(LINKED if promised else ()))
                   if licences.get(name, 0) < 400]
        require(not missing, f"the wheel has no licence of {missing}: {licences}")

    def environment(self, name, python=None):
        run(python or sys.executable, "-m", "venv", self.place / name)
        return self.place / name / "bin"


def check_run(tool, plugin, **variables):
    """`ringside run` finds the plugin by itself, and the command gets it."""
    seen = run(tool, "run", "--dir", tempfile.mkdtemp(), "--", sys.executable, "-c",
               "import os; print('PLUGIN', os.environ['NCCL_PROFILER_PLUGIN'])",
               NCCL_ALLGATHERV_ENABLE=1, **variables)
    found = re.search(r"^PLUGIN (.*)$", seen, re.M)
    require(found and os.path.realpath(found.group(1)) == os.path.realpath(plugin),
            f"the command gets {found and found.group(1)}, and the plugin is {plugin}")


def check_installed(binaries, **variables):
    """The tool, the module and the plugin of an environment belong together."""
    plugin = pathlib.Path(run(binaries / "python", "-m", "nccl_ringside", "--plugin-path",
                              **variables).strip())
    require(plugin.is_file(), f"{plugin} is no file")
    check_run(binaries / "ringside", plugin, **variables)
    return plugin


def check_features(package, tool, place):
    """Tests the parts that need libraries of the wheel: a database, a page, XML, metrics by HTTP."""
    traces = place / "traces"
    run(tool, "run", "--dir", traces, "--", sys.executable, "-c", RECORDS,
        NCCL_ALLGATHERV_ENABLE=1, PYTHONPATH=package.source / "python/tests")
    run(tool, "export", "--sqlite", place / "all.db", traces)
    with sqlite3.connect(place / "all.db") as database:
        require(database.execute("SELECT count(*) FROM operations").fetchone() == (1,), "the database")
    run(tool, "report", traces, "-o", place / "report.html")
    require("d3js.org" in (place / "report.html").read_text(encoding="utf-8"), "the page has no D3")
    if "manylinux" in package.wheel.name:  # other builds need no pugixml
        (place / "system.xml").write_text(TOPOLOGY, encoding="ascii")
        said = run(tool, "topology", place / "system.xml")
        require("18 NVLinks between any two" in said, f"topology says {said} of 18 NVLinks")
    exporter = subprocess.Popen([str(tool), "exporter", "--listen", "127.0.0.1:0", "--ring-dir",
                                 str(place)], stderr=subprocess.PIPE, universal_newlines=True)
    try:
        said = exporter.stderr.readline()
        address = re.search(r"http://\S+", said)
        require(address, f"the exporter says {said}")
        with urllib.request.urlopen(address.group(0), timeout=60) as answer:
            require("ringside_exporter" in answer.read().decode(), "the exporter's metrics")
    finally:
        exporter.terminate()
        exporter.communicate(timeout=60)


def fresh(package):
    binaries = package.environment("fresh")
    run(binaries / "pip", "-q", "install", package.wheel)
    plugin = check_installed(binaries)
    require("summary" in run(binaries / "ringside", "--help"), "ringside --help")
    check_features(package, binaries / "ringside", package.place / "fresh")
    # PyTorch and NCCL are neither needed nor brought along.
    require(run(binaries / "pip", "list", "--format", "freeze").count("nccl") == 1, "dependencies")
    require(package.place / "fresh" in plugin.parents, f"the plugin is {plugin}")


def target(package):
    place = package.place / "target"
    run(package.tools / "pip", "-q", "install", "--no-deps", "--target", place, package.wheel)
    plugin = run(sys.executable, "-m", "nccl_ringside", "--plugin-path", PYTHONPATH=place,
                 PWD=package.place).strip()
    require(plugin == str(place / "nccl_ringside/lib/libnccl-profiler-ringside.so"), plugin)
    check_run(place / "bin" / "ringside", pathlib.Path(plugin))


def with_uv(package):
    place = package.place / "uv"
    run(package.tools / "uv", "-q", "venv", "--python", sys.executable, place)
    run(package.tools / "uv", "-q", "pip", "install", "--offline", "--no-index",
        "--python", place / "bin/python", package.wheel)
    check_installed(place / "bin")


def read_only(package):
    binaries = package.environment("locked")
    run(binaries / "pip", "-q", "install", package.wheel)
    place = package.place / "locked"
    run("chmod", "-R", "a-w", place)
    before = {path: path.stat().st_mtime_ns for path in place.rglob("*")}
    try:
        check_installed(binaries, PYTHONDONTWRITEBYTECODE=1)
        after = {path: path.stat().st_mtime_ns for path in place.rglob("*")}
        require(before == after, "something was written into a read-only environment")
    finally:
        run("chmod", "-R", "u+w", place)


def editable(package):
    binaries = package.environment("editable")
    run(binaries / "pip", "-q", "install", "scikit-build-core>=0.11")
    run(binaries / "pip", "-q", "install", "--no-build-isolation", package.built(), "--editable",
        package.source)
    check_installed(binaries)
    where = run(binaries / "python", "-c", "import nccl_ringside; print(nccl_ringside.__file__)")
    require(str(package.source / "python") in where, f"the module is {where}")


def older_glibc(package):
    """It records and reads a trace on Debian 11, the oldest that Debian's mirrors have: glibc 2.31."""
    root = package.place / "debian11"
    made = subprocess.run(["mmdebstrap", "--mode=root", "--variant=extract", "--include=python3,libc6",
                           "bullseye", str(root), "http://deb.debian.org/debian"],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True,
                          timeout=300) if os.geteuid() == 0 and shutil.which("mmdebstrap") else None
    if made is None or made.returncode != 0:
        print("not run on Debian 11:",
              made.stdout[-200:] if made else "this needs root, and mmdebstrap")
        return
    run(package.tools / "pip", "-q", "install", "--no-deps", "--no-index", "--target", root / "opt",
        package.wheel)
    shutil.copy(package.source / "python/tests/caller.py", root / "opt")
    for name in ("proc", "tmp"):
        (root / name).mkdir(exist_ok=True)

    def inside(*command):
        # The mount is gone with the command.
        return run("unshare", "--mount", "/bin/sh", "-c",
                   'mount -t proc proc "$0/proc" && exec chroot "$0" "$@"', root, *command, PATH="/opt/bin:/usr/bin:/usr/sbin:/bin", PYTHONPATH="/opt",
                   TMPDIR="/tmp", NCCL_ALLGATHERV_ENABLE="1", RINGSIDE_RING_DIR="/tmp")
    version = inside("python3", "-c", "import platform; print(platform.libc_ver()[1])").strip()
    require(version == "2.31", f"Debian 11 has glibc {version}")
    inside("ringside", "run", "--dir", "/tmp/traces", "--", "python3", "-c", RECORDS)
    require("AllReduce" in inside("ringside", "summary", "/tmp/traces"), "the summary")
    inside("ringside", "report", "/tmp/traces", "-o", "/tmp/report.html")
    inside("ringside", "export", "--sqlite", "/tmp/all.db", "/tmp/traces")
    print(f"it runs with glibc {version}")


def typed(package):
    print(run(package.tools / "mypy", "--strict", "--cache-dir", package.place / "mypy",
              package.source / "python" / "nccl_ringside", package.source / "python" / "tests"),
          end="")


def tests_on(package, version, python):
    name = "python%d.%d" % version
    binaries = package.environment(name, python)
    run(binaries / "pip", "-q", "install", package.wheel, "pytest")
    # Without it the tests of load() are skipped; the newest Pythons have none yet.
    subprocess.call([str(binaries / "pip"), "-q", "install", "--only-binary=:all:", "pyarrow"],
                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    run_tests(package, name, binaries)


def tests_and_notebook(package):
    """In the environment of the tools, since another one would fetch them again."""
    run(package.tools / "pip", "-q", "install", "--no-index", package.wheel)
    run_tests(package, "python%d.%d" % sys.version_info[:2], package.tools)
    run(package.tools / "python", package.source / "examples" / "check_notebook.py",
        JUPYTER_RUNTIME_DIR=package.place / "jupyter", IPYTHONDIR=package.place / "ipython")


def run_tests(package, name, binaries):
    out = run(binaries / "python", "-m", "pytest", "-q", "-p", "no:cacheprovider", "--basetemp",
              package.place / f"{name}-tests", package.source / "python" / "tests")
    passed = re.search(r"(\d+) passed", out)
    require(passed and int(passed.group(1)) >= 10, f"{name}: {out}")
    print(f"{name}: {out.strip().splitlines()[-1]}")


def main():
    if os.environ.get("RINGSIDE_WHEEL") == "off":
        print("skipped: RINGSIDE_WHEEL=off")
        return 77
    is_whole = os.environ.get("RINGSIDE_WHEEL") == "on"
    os.environ.update(PIP_VARIABLES)
    source, given = (pathlib.Path(name).resolve() for name in sys.argv[1:])
    failed = 0
    with tempfile.TemporaryDirectory(prefix="ringside-wheel-") as name:
        package = Package(source, given, pathlib.Path(name).resolve(), is_whole)
        os.environ["TMPDIR"] = name
        tempfile.tempdir = name
        if not package.make_tools():
            return 77
        if given.suffix == ".whl":
            package.wheel = given
            package.check_wheel()
        else:
            package.make_wheel()
        if is_whole:
            checks = {check.__name__: (check, package)
                      for check in (fresh, target, with_uv, read_only, typed,
                                    editable if given.is_dir() else older_glibc)}
            for version, python in sorted(pythons().items()):
                checks["python%d.%d" % version] = (tests_on, package, version, python)
        else:
            checks = {check.__name__: (check, package)
                      for check in (tests_and_notebook, fresh, target, typed)}
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            begun = {check: pool.submit(*call) for check, call in checks.items()}
        for check, future in begun.items():
            error = future.exception()
            if isinstance(error, Failure):
                print(f"{check}: FAILED: {error}")
            elif error is not None:
                raise error
            failed += error is not None
        print(f"{len(checks) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
