#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The packages as users install them: the programs say what they have, a replay of NCCL's calls is
recorded, and its summary has every operation.

usage: check_packages.py SOURCE BUILD           an archive and a .deb made of a build directory's
                                                programs, unpacked into empty directories
       check_packages.py SOURCE --all OUTPUT    those of scripts/build_packages.sh for x86-64 and aarch64,
                                                installed into an older and a newer Debian; as root

The distributions are made once, in OUTPUT/roots, by mmdebstrap with the mirror of this machine's apt.
aarch64 runs under emulation, so its packages are unpacked. Exit status 77: something is not to be had.
"""
import glob
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "host"))
import expected  # noqa: E402

# Its name has the release of NCCL, for nccl_host.
NAME = "2.30.7-v6-mix-n2"
RECORDING = f"test/data/transcripts/{NAME}"
PLUGIN = "lib/libnccl-profiler-ringside.so"
# Libraries of glibc 2.28, and names that rpm itself understands.
FROM_GLIBC = re.compile(r"(lib(c|m|dl|rt|pthread)\.so\.6?|libpthread|libdl|librt|ld-linux|rpmlib|rtld)")
SUITES = ("bullseye", "trixie")


class Failure(Exception):
    """A check that does not hold; the text says which."""


def require(condition, text):
    if not condition:
        raise Failure(text)


def run(*command, statuses=(0,), **options):
    environment = {key: value for key, value in os.environ.items()
                   if not key.startswith(("NCCL_", "RINGSIDE_", "LD_", "TMPDIR"))}
    done = subprocess.run([str(part) for part in command], text=True, check=False,
                          env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options)
    require(done.returncode in statuses,
            f"{' '.join(map(str, command))} ended with {done.returncode}:\n{done.stdout[-4000:]}")
    return done.stdout


def operations_of(source):
    return sum(len(expected.Recording(path).operations())
               for path in (source / RECORDING).glob("*.jsonl.gz"))


class Place:
    """A place where a package is installed: `enter` goes before a command, paths are as they are in there."""

    def __init__(self, enter, prefix, work, outside):
        self.enter, self.prefix, self.work, self.outside = enter, prefix, work, outside

    def use(self, name, host, operations):
        """All that a user does first."""
        def ringside(*arguments, **options):
            return run(*self.enter, f"{self.prefix}/bin/ringside", *arguments, **options)

        version = ringside("--version").strip()
        # It exits with 1 where a job would not be profiled: there is no NCCL here.
        doctor = ringside("doctor", "--plugin", f"{self.prefix}/{PLUGIN}", statuses=(0, 1))
        require(re.search(rf"^ok +plugin +{self.prefix}/{PLUGIN} loads", doctor, re.M), doctor)
        found = ringside("run", "--dry-run", "--", "true")
        require(f"NCCL_PROFILER_PLUGIN='{self.prefix}/{PLUGIN}'" in found, found)
        traces = f"{self.work}/traces"
        shutil.rmtree(f"{self.outside}{traces}", ignore_errors=True)
        if self.enter and "chroot" not in self.enter:  # the emulator cannot start a child
            os.mkdir(f"{self.outside}{traces}")
            run(*self.enter, "-E", f"RINGSIDE_DIR={traces}", "-E", "RINGSIDE_SAMPLE=",
                host, "--plugin", f"{self.prefix}/{PLUGIN}", f"{self.work}/{NAME}")
        else:
            said = ringside("run", "--dir", traces, "--", host, "--plugin",
                            f"{self.prefix}/{PLUGIN}", f"{self.work}/{NAME}")
            require("2 trace files in " in said, said)
        summary = json.loads(ringside("summary", "--format", "json", traces))
        require(summary["inputs"]["operations"] == operations and summary["inputs"]["ranks"] == 2,
                f"{summary['inputs']}, not {operations} operations of 2 ranks")
        ringside("lint", "--closed", traces)
        print(f"{name}: {version}; doctor, replay and summary: {operations} operations of 2 ranks")


def unpack(package, root):
    """The files of a package, without the package's own program."""
    root.mkdir(parents=True)
    if package.suffix == ".deb":
        run("dpkg-deb", "-x", package, root)
        return "/usr"
    if package.suffix == ".rpm":
        run("bash", "-c", f"cd '{root}' && rpm2archive - < '{package}' | tar -xz")
        return "/usr"
    run("tar", "-xzf", package, "-C", root)
    (top,) = root.iterdir()
    return f"/{top.name}"


def check_built(source, build, place):
    """In a few seconds: what the packages are made of, and that their programs find each other."""
    run("cmake", "-G", "Ninja", "-S", source, "-B", place / "packaging", f"-DRINGSIDE_BUILT={build}",
        "-DCMAKE_INSTALL_LIBDIR=lib")
    run("cmake", "--build", place / "packaging")
    run("cpack", "-G", "TGZ;DEB", "-B", place / "packages", cwd=place / "packaging")
    shutil.copytree(source / RECORDING, place / NAME)
    trees = {}
    for package in sorted((place / "packages").glob("ringside-*")):
        root = place / package.name.rpartition(".")[2]
        prefix = unpack(package, root)
        trees[package.suffix] = {str(path.relative_to(f"{root}{prefix}"))
                                 for path in pathlib.Path(f"{root}{prefix}").rglob("*")}
        Place([], f"{root}{prefix}", place, "").use(
            package.name, build / "test/host/nccl_host", operations_of(source))
    require(sorted(trees) == [".deb", ".gz"] and trees[".deb"] == trees[".gz"],
            f"they differ: {[sorted(tree)[:5] for tree in trees.values()]}")
    # The recipe of the images copies a file of the .deb.
    recipe = (source / "Containerfile").read_text(encoding="utf-8")
    copied = re.search(r"^COPY --from=ringside /usr/(\S+) /$", recipe, re.M)
    require(copied and f"/{pathlib.Path(copied.group(1)).name}\"" in recipe, "the Containerfile")
    for wanted in (copied.group(1), PLUGIN, "share/man/man1/ringside-run.1", "lib/cmake/ringside/ringside-config.cmake"):
        require(wanted in trees[".deb"], f"the packages have no {wanted}")


def mirror():
    """Debian's mirror, as this machine's apt has it."""
    for name in ("/etc/apt/sources.list.d/debian.sources", "/etc/apt/sources.list"):
        if os.path.exists(name):
            found = re.search(r"^(?:URIs: |deb (?:\[.*\] )?)(http\S+)",
                              pathlib.Path(name).read_text(encoding="utf-8"), re.M)
            if found:
                return found.group(1)
    return None


def distribution(suite, roots):
    """A bare installation of it; False if the mirror has none."""
    root = roots / suite
    if not (root / "made").exists():
        shutil.rmtree(root, ignore_errors=True)
        roots.mkdir(exist_ok=True)
        done = subprocess.run(["mmdebstrap", "--quiet", "--variant=essential", "--include=rpm", suite,
                               root, f"deb {mirror()} {suite} main"], check=False)
        if done.returncode != 0:
            return None
        (root / "made").touch()
    return root


def chrooted(root):
    """The command that runs another below `root`, with what programs expect of a system."""
    return ["unshare", "--mount", "--pid", "--fork", "sh", "-c",
            f"mount -t proc proc '{root}/proc' && mount -t tmpfs tmpfs '{root}/dev/shm' && "
            f"exec chroot '{root}' \"$@\"", "chroot"]


def check_installed(suite, root, packages, operations):
    """Each kind of package, installed, used and removed; nothing is left."""
    enter = chrooted(root)
    for package in packages:
        shutil.copy(package, root / "work")
        inside = f"/work/{package.name}"
        prefix = "/usr"
        if package.suffix == ".deb":
            run(*enter, "dpkg", "-i", inside)
        elif package.suffix == ".rpm":
            needs = set(run(*enter, "rpm", "-qp", "--requires", inside).split("\n"))
            foreign = [one for one in needs if one and not FROM_GLIBC.match(one)]
            require(needs and not foreign, f"{package.name} needs {foreign}")
            run(*enter, "rpm", "-i", "--nodeps", inside)
        else:
            prefix = f"/opt/{package.name.removesuffix('.tar.gz')}"
            run("tar", "-xzf", package, "-C", root / "opt")
        release = re.search(r'PRETTY_NAME="(.*)"', (root / "etc/os-release").read_text()).group(1)
        Place(enter, prefix, "/work", str(root)).use(
            f"{release}, {package.name}", "/work/nccl_host", operations)
        if package.suffix == ".deb":
            run(*enter, "dpkg", "-P", "ringside")
        elif package.suffix == ".rpm":
            run(*enter, "rpm", "-e", "ringside")
        else:
            shutil.rmtree(f"{root}{prefix}")
        left = [path for path in glob.glob(f"{root}/usr/**/*ringside*", recursive=True)]
        require(not left, f"{suite}: {package.name} leaves {left}")


def compile_host(source, output, machine, target):
    """test/host's nccl_host, by the compiler that the wheel was built with."""
    work = output / machine
    files = sorted(path for path in (source / "test/host").glob("*.cc"))
    run(work / "bin/c++", "-std=c++20", "-O1", "-rdynamic", f"-I{source}", f"-I{source}/include",
        "-isystem", output / "headers/usr/include", "-isystem", work / "prefix/include", *files,
        work / "prefix/lib/libsimdjson.a", work / "prefix/lib/libz.a", "-lpthread", "-ldl",
        "-o", target)


def check_all(source, output, place):
    operations = operations_of(source)
    os.environ["ZIG_GLOBAL_CACHE_DIR"] = os.environ["ZIG_LOCAL_CACHE_DIR"] = str(output / "zig")
    for machine in ("x86_64", "aarch64"):
        packages = sorted((output / machine / "packages").glob("ringside-*"))
        require(len(packages) == 3, f"{machine}: {[package.name for package in packages]}")
        for package in packages:
            print(f"{package.name}: {package.stat().st_size / 1e6:.1f} MB")
        compile_host(source, output, machine, place / f"nccl_host-{machine}")
    for suite in SUITES:
        root = distribution(suite, output / "roots")
        if root is None:
            print(f"skipped: mmdebstrap cannot make {suite}")
            return 77
        shutil.rmtree(root / "work", ignore_errors=True)
        (root / "work").mkdir()
        shutil.copy(place / "nccl_host-x86_64", root / "work/nccl_host")
        shutil.copytree(source / RECORDING, root / "work" / NAME)
        check_installed(suite, root, sorted((output / "x86_64/packages").glob("ringside-*")),
                        operations)
    shutil.copytree(source / RECORDING, place / NAME)
    for package in sorted((output / "aarch64/packages").glob("ringside-*")):
        root = place / f"unpacked-{package.suffix}"
        prefix = unpack(package, root)
        Place(["qemu-aarch64-static", "-L", "/usr/aarch64-linux-gnu"], f"{root}{prefix}", place, "").use(
            f"emulated aarch64, {package.name}", place / "nccl_host-aarch64", operations)
    return 0


def main():
    source = pathlib.Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory(prefix="packages-") as name:
        place = pathlib.Path(name).resolve()
        try:
            if sys.argv[2] == "--all":
                missing = [tool for tool in ("mmdebstrap", "rpm2archive", "qemu-aarch64-static")
                           if not shutil.which(tool)]
                if missing or os.geteuid() != 0:
                    print(f"skipped: it needs root and {missing}")
                    return 77
                return check_all(source, pathlib.Path(sys.argv[3]).resolve(), place)
            check_built(source, pathlib.Path(sys.argv[2]).resolve(), place)
        except Failure as error:
            print(error, file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
