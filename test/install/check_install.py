#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`cmake --install` installs all that a user needs, wherever it is moved to. A project builds
against it with find_package and with pkg-config, and runs with the plugin loaded. Then `uninstall`.

usage: check_install.py SOURCE BUILD CMAKE
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile


class Failure(Exception):
    """A check that does not hold; the text says which."""


def require(condition, text):
    if not condition:
        raise Failure(text)


def run(*command, **variables):
    environment = {key: value for key, value in os.environ.items()
                   if not key.startswith(("NCCL_", "RINGSIDE_", "PYTHON", "PKG_CONFIG", "DESTDIR"))}
    environment.update({key: str(value) for key, value in variables.items()})
    done = subprocess.run([str(part) for part in command], env=environment, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    require(done.returncode == 0,
            f"{' '.join(map(str, command))} ended with {done.returncode}:\n{done.stdout[-4000:]}")
    return done.stdout


def files_below(directory):
    return {str(path.relative_to(directory)) for path in directory.rglob("*")
            if not path.is_dir()}


def check_files(source, prefix, files):
    """Each document, header and recipe of the sources is there, and nothing of a build is."""
    def tracked(*paths):
        return run("git", "-C", source, "ls-files", "--", *paths).split()

    wanted = {"bin/ringside", *tracked("include")}
    wanted |= {f"share/doc/ringside/{name}"
               for name in [*tracked("docs"), "LICENSE", "README.md", "CHANGELOG.md"]}
    wanted |= {f"share/ringside/{name}" for name in tracked("python/nccl_ringside")}
    wanted |= {f"share/ringside/{name.removeprefix('docs/')}" for name in tracked("docs/monitoring")}
    wanted |= {f"share/ringside/{name}" for name in tracked("examples")
               if not re.search(r"CMakeLists|/check_|/gpu/|quickstart", name)}
    wanted |= {"share/bash-completion/completions/ringside", "share/zsh/site-functions/_ringside",
               "share/fish/vendor_completions.d/ringside.fish"}
    help_text = run(prefix / "bin/ringside", "--help")
    commands = re.findall(r"^  ([a-z-]+) {2,}", help_text.split("Options:")[0], re.M)
    require("summary" in commands and len(commands) > 15, f"commands: {commands}")
    wanted |= {f"share/man/man1/ringside{name}.1"
               for name in ["", *(f"-{command}" for command in commands), "-ctl-start"]}
    missing = sorted(wanted - files)
    require(not missing, f"these are not installed: {missing}")
    extra = [name for name in files if "__pycache__" in name or name.endswith(".pyc")]
    require(not extra, f"these are installed: {extra}")


def check_man_page(prefix):
    """Every option that `summary --help` has is in its page."""
    page = (prefix / "share/man/man1/ringside-summary.1").read_text(encoding="utf-8")
    options = re.findall(r"^  (?:-\w, )?(--[a-z-]+)",
                         run(prefix / "bin/ringside", "help", "summary"), re.M)
    missing = [name for name in options if name.replace("-", "\\-") not in page]
    require(len(options) > 15 and not missing, f"ringside-summary.1 lacks {missing} of {options}")
    for heading in ("NAME", "SYNOPSIS", "OPTIONS", "EXAMPLES", "EXIT STATUS"):
        require(f"\n.SH {heading}\n" in page, f"ringside-summary.1 has no {heading}")


def check_bash(prefix, place):
    """The words that a TAB offers."""
    script = prefix / "share/bash-completion/completions/ringside"

    def offered(*words):
        return set(run("bash", "-c", 'source "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); '
                       'compopt() { :; }; cd "$PLACE"; _ringside; printf "%s\\n" "${COMPREPLY[@]}"',
                       script, *words, PLACE=place).split())

    (place / "a trace.json").touch()
    for words, wanted in ((("ringside", "summ"), {"summary"}),
                          (("ringside", "ctl", "st"), {"status", "start", "stop"}),
                          (("ringside", "ctl", "start", "--oper"), {"--operations"}),
                          (("ringside", "summary", "--fo"), {"--format"}),
                          (("ringside", "summary", "--format", "j"), {"json"}),
                          (("ringside", "env", "--format", "m"), {"mpirun"})):
        require(offered(*words) == wanted, f"{' '.join(words)}: {offered(*words)}, not {wanted}")
    require("true" in offered("ringside", "run", "--", "tru"), "ringside run -- tru")


def check_other_shells(prefix, place):
    """Shells that are not on every machine read their files, at least."""
    for shell, name in (("zsh", "share/zsh/site-functions/_ringside"),
                        ("fish", "share/fish/vendor_completions.d/ringside.fish")):
        if shutil.which(shell):
            run(shell, "-n", prefix / name, HOME=place)
            print(f"{shell} reads {name}")


def check_consumers(source, prefix, place, cmake):
    """A program in C, built in both ways; it loads the plugin, and makes a dump."""
    example = source / "examples/c/linked.c"
    run(cmake, "-G", "Ninja", "-S", source / "test/install/consumer", "-B", place / "consumer",
        f"-DCMAKE_PREFIX_PATH={prefix}", f"-DSOURCE={example}")
    run(cmake, "--build", place / "consumer")
    found = (place / "consumer/plugin").read_text(encoding="utf-8")
    require(pathlib.Path(found).is_relative_to(prefix), f"find_package has found {found}")
    programs = {"find_package": (place / "consumer/consumer", found)}
    if shutil.which("pkg-config"):
        def ask(*question):
            return run("pkg-config", *question, "ringside",
                       PKG_CONFIG_PATH=prefix / "share/pkgconfig").split()

        (plugin_directory,) = ask("--variable=plugindir")
        run("cc", example, "-o", place / "with-pkg-config", *ask("--cflags", "--libs"),
            f"-Wl,-rpath,{plugin_directory}")
        programs["pkg-config"] = (place / "with-pkg-config", *ask("--variable=plugin"))
    for way, (program, plugin) in programs.items():
        dump = place / f"{way}.json"
        said = run(program, dump, NCCL_PROFILER_PLUGIN=plugin, RINGSIDE_DIR=place / way)
        require("recording, 0 operations" in said, f"{way}: {said}")
        run(prefix / "bin/ringside", "lint", dump)
        require(len(run("ldd", program).split(str(prefix))) > 1, f"{way}: links another library")
        print(f"{way}: {said.splitlines()[0]}")
    return plugin


def check(source, build, cmake, place):
    run(cmake, "--install", build, "--prefix", place / "first")
    prefix = place / "moved"
    (place / "first").rename(prefix)
    check_files(source, prefix, files_below(prefix))
    check_man_page(prefix)
    check_bash(prefix, place)
    check_other_shells(prefix, place)
    plugin = check_consumers(source, prefix, place, cmake)
    found = run(sys.executable, "-m", "nccl_ringside", "--plugin-path", PYTHONDONTWRITEBYTECODE=1,
                PYTHONPATH=prefix / "share/ringside/python").strip()
    require(os.path.samefile(found, plugin), f"the Python module has found {found}")
    said = run(prefix / "bin/ringside", "run", "--dry-run", "--", "true")
    require(f"NCCL_PROFILER_PLUGIN='{os.path.realpath(plugin)}'" in said, said)

    prefix.rename(place / "first")
    (place / "first/share/doc/of-another").touch()
    print(run(cmake, "--build", build, "--target", "uninstall").strip().splitlines()[-1])
    left = [str(path.relative_to(place / "first")) for path in (place / "first").rglob("*")
            if "ringside" in path.name or not path.is_dir()]
    require(left == ["share/doc/of-another"], f"uninstall leaves {left}")


def main():
    source, build = (pathlib.Path(name).resolve() for name in sys.argv[1:3])
    manifest = build / "install_manifest.txt"
    kept = manifest.read_bytes() if manifest.exists() else None
    with tempfile.TemporaryDirectory(prefix="install-") as name:
        try:
            check(source, build, sys.argv[3], pathlib.Path(name).resolve())
        except Failure as error:
            print(error, file=sys.stderr)
            return 1
        finally:
            if kept is not None:
                manifest.write_bytes(kept)
    return 0


if __name__ == "__main__":
    sys.exit(main())
