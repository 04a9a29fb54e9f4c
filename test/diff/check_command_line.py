#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The command line itself: what every --help has, how wide it is, what is said of words that are
not known, default names of files, formats for programs that leave nothing out, and what is left of
a command that was interrupted.

usage: check_command_line.py RINGSIDE_GENERATE RINGSIDE
"""
import csv
import io
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

# CLI11's names for kinds of values that nobody has named.
NO_KIND = re.compile(r"(?<!mark:)\b(TEXT|UINT|INT|FLOAT|REQUIRED|SUBCOMMAND)\b")


class Ringside:
    def __init__(self, program, directory):
        self.program = program
        self.directory = directory

    def run(self, *words, **variables):
        environment = {key: value for key, value in os.environ.items() if key != "COLUMNS"}
        return subprocess.run([self.program, *words], cwd=self.directory, check=False, text=True,
                              capture_output=True, stdin=subprocess.DEVNULL,
                              env={**environment, **variables})

    def stdout(self, *words, **variables):
        result = self.run(*words, **variables)
        assert result.returncode == 0, (words, result)
        return result.stdout


def commands_of(help_text):
    """The names in the groups of commands: those are the blocks before "Options:"."""
    return re.findall(r"^  ([a-z][a-z-]+) +[A-Z]", help_text.split("\nOptions:\n")[0], re.MULTILINE)


def check_help(ringside):
    commands = [[name] for name in commands_of(ringside.stdout("--help"))]
    assert ["summary"] in commands and len(commands) > 20, commands
    commands += [["ctl", verb] for verb in commands_of(ringside.stdout("ctl", "--help"))]
    assert ["ctl", "dump"] in commands, commands
    for words in [[], *commands]:
        text = ringside.stdout(*words, "--help")
        assert ringside.stdout("help", *words) == text, words
        # `ctl mark TEXT` is the only one that takes a text.
        assert words == ["ctl", "mark"] or not NO_KIND.search(text), (words, NO_KIND.search(text))
        examples = text.split("\nExamples:\n")[1].split("\n\n")[0]
        assert len(re.findall(r"\bringside " + " ".join(words), examples)) >= 2, (words, examples)
        assert not words or "\nExit status:\n" in text, words
        for columns, most in ((None, 100), ("80", 80), ("95", 95), ("40", 80), ("300", 120)):
            variables = {} if columns is None else {"COLUMNS": columns}
            again = ringside.stdout(*words, "--help", **variables) if variables else text
            for line in again.splitlines():
                # An example of a command line is never broken.
                assert len(line) <= most or re.match(r"  \S", line), (words, most, line)
            assert again.split() == text.split(), (words, columns)
    alone = ringside.run()
    assert alone.returncode == 2 and not alone.stdout, alone
    assert alone.stderr.startswith(ringside.stdout("--help")), alone.stderr


def check_nearest(ringside):
    for words, meant in ((("sumary", "x"), "summary"), (("help", "sumary"), "summary"),
                         (("ctl", "stauts"), "status"),
                         (("summary", "--formt", "csv", "x"), "--format"),
                         (("summary", "--formt=csv"), "--format"),
                         (("ctl", "start", "--secnds", "3"), "--seconds")):
        result = ringside.run(*words)
        assert result.returncode == 2 and f"; did you mean {meant}?\n" in result.stderr, result


def check_report(ringside, traces):
    page, data = (ringside.directory / f"report.{end}" for end in ("html", "json"))
    result = ringside.run("report", traces, "--format", "json")
    assert result.returncode == 0 and result.stderr.startswith("report.json: "), result
    assert json.loads(data.read_text(encoding="utf-8"))["schema_version"]
    result = ringside.run("report", traces)
    if "was built without D3" in result.stderr:
        return
    assert result.returncode == 0 and result.stderr.startswith("report.html: "), result
    before = page.read_bytes()
    result = ringside.run("report", traces)
    assert result.returncode == 2 and "--force" in result.stderr, result
    assert page.read_bytes() == before


def rows(text):
    return list(csv.reader(io.StringIO(text)))


def check_whole(ringside, traces):
    """Each format for programs has all rows, unless --top says how many."""
    seen_longer = set()
    for command in ("network", "stragglers", "communicators", "overlap", "critical-path",
                    "iterations", "match", "hang"):
        def get(*words, command=command):
            result = ringside.run(command, *words, traces)
            assert result.returncode in (0, 1), result
            return result.stdout
        whole = json.loads(get("--format", "json", "--top", "0"))
        asked = json.loads(get("--format", "json"))
        assert asked == whole, command
        assert all(table["left_out"] == 0 for table in asked["tables"].values()), command
        for key, table in asked["tables"].items():
            lines = rows(get("--format", "csv", "--table", key))
            assert len(lines) == 1 + len(table["rows"]), (command, key, len(lines))
            if len(table["rows"]) > 20:
                seen_longer.add((command, key))
        if any(command == one for one, _ in seen_longer):
            assert re.search(r"\(--(top|mismatch-cap) (shows|describes) more\)", get()), command
    for table in (("network", "links"), ("stragglers", "ranks"), ("match", "sides")):
        assert table in seen_longer, (table, seen_longer)
    few = rows(ringside.stdout("network", "--format", "csv", "--top", "5", traces))
    assert len(few) == 6, len(few)


def check_interrupted(ringside):
    """A signal while traces are read, here from a pipe into which nobody writes: no file is left."""
    pipe = ringside.directory / "pipe.json"
    os.mkfifo(pipe)
    reading, writing = os.pipe()
    place = ringside.directory / "interrupted"
    outputs = [("merge", "-o", "all.json"), ("merge", "--force", "-o", "there.json"),
               ("report", "--format", "json"), ("reduce", "-o", "job.part"), ("export", "--csv", ".")]
    if "without SQLite" not in ringside.run("export", "--sqlite", "some.sqlite", "traces").stderr:
        outputs.append(("export", "--sqlite", "run.sqlite"))
    outputs.append(("export", "--csv", "tables"))  # a directory that is made
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT, signal.SIGPIPE):
        for words in outputs:
            place.mkdir()
            (place / "there.json").write_text("kept", encoding="utf-8")
            with subprocess.Popen([ringside.program, *words, "/dev/stdin"], cwd=place,
                                  stdin=reading, stderr=subprocess.PIPE) as process:
                give_up = time.monotonic() + 120
                while len(list(place.iterdir())) < 2:
                    assert process.poll() is None and time.monotonic() < give_up, words
                    time.sleep(0.005)
                process.send_signal(number)
                process.communicate()
            assert process.returncode == -number, (words, process.returncode)
            assert [path.name for path in place.iterdir()] == ["there.json"], (words, number)
            assert (place / "there.json").read_text(encoding="utf-8") == "kept"
            shutil.rmtree(place)
    os.close(reading)
    os.close(writing)
    # A limit on the size of files (ulimit -f) ends the command in the middle of the file.
    place.mkdir()
    limited = subprocess.run([ringside.program, "merge", "-o", "all.json", ringside.directory / "traces"],
                             cwd=place, check=False, capture_output=True,
                             preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)))
    assert limited.returncode == -signal.SIGXFSZ and not list(place.iterdir()), limited
    place.rmdir()
    # A signal that is ignored, as under nohup, stays so: the pipe's end is what ends the command.
    with subprocess.Popen(["sh", "-c", 'trap "" HUP; exec "$@"', "sh", ringside.program, "merge",
                           "-o", "ignored.json", pipe], cwd=ringside.directory,
                          stdin=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        with open(pipe, "w", encoding="utf-8"):  # which waits until it is read
            process.send_signal(signal.SIGHUP)
        process.communicate()
        assert process.returncode == 3, process.returncode
    assert not list(ringside.directory.glob("ignored.json*"))


def check_values(ringside):
    """A wrong value of an option is an error of the command line, in our words."""
    words = (("--top", "x", "x is no whole number"), ("--top", "-3", "-3 is below 0"),
             ("--top", "nan", "nan is no whole number"), ("--rank", "x", "x is no whole number"),
             ("--min-bytes", "a x", "a x is no size, like 65536 or 64mb"),
             ("--min-bytes", "1e400", "1e400 is no size, like 65536 or 64mb"),
             ("--format", "xml", "xml is not one of table, json, csv, markdown"))
    for option, value, said in words:
        result = ringside.run("match", option, value, "traces")
        assert result.returncode == 2 and f"match: {option}: {said}\n" in result.stderr, result
    result = ringside.run("summary", "--by", "\x1b[1mx", "traces")
    said = "summary: --by: ?[1mx is not one of caller, range, user-tag\n"
    assert result.returncode == 2 and said in result.stderr, result
    # A shell's * puts names of files there.
    for words, said in ((("ras", "a:1", "\x1b]0;x\x07"), 'ras: "?]0;x?" is one argument too many\n'),
                        (("summary", "--a\x1b]0;x\x07"), "summary: there is no option --a?]0;x?\n"),
                        (("\x1b[1mx",), "ringside: there is no command ?[1mx; ")):
        result = ringside.run(*words)
        assert result.returncode == 2 and said in result.stderr, result
    link = ringside.directory / "traces" / "ringside.gone.json"
    link.symlink_to("nowhere")
    result = ringside.run("lint", "traces")
    said = "traces/ringside.gone.json: it is a symbolic link to nothing\n"
    assert result.returncode == 1 and said in result.stderr, result
    link.unlink()
    output = "\x1b[1mx.json"
    result = ringside.run("merge", "-o", output, "traces")
    assert result.returncode == 0 and result.stderr.startswith("?[1mx.json: "), result
    (ringside.directory / output).unlink()
    for path, trouble in (("nowhere", "nowhere: No such file or directory"),
                          ("traces", "no trace of PyTorch's profiler in traces")):
        result = ringside.run("summary", "--kineto", path, "traces")
        said = f"ringside: --kineto: {trouble}\n"
        assert result.returncode == 3 and result.stderr == said and not result.stdout, result
    # A variable of a shell that is not set: never rank 0, all rows, or all jobs.
    for command, option in (("match", "--rank"), ("match", "--top"), ("match", "--comm"),
                            ("recover", "--job"), ("recover", "--dir"), ("report", "--output"),
                            ("top", "--pid"), ("top", "--interval"), ("doctor", "--dir")):
        result = ringside.run(command, option, "")
        said = f"ringside {command}: {option}: the value is empty\n"
        assert result.returncode == 2 and said in result.stderr, result
        result = ringside.run(command, option + "=", "traces")
        assert result.returncode == 2 and said in result.stderr, result
    result = ringside.run("match", "traces", "--rank")
    assert result.returncode == 2 and "--rank: it needs a value (RANK)\n" in result.stderr, result
    for words, trouble in ((("summary", "--rank", "9" * 30), f"{'9' * 30} is too large"),
                           (("what-if", "--network", "0x"), "0x is none of 2x"),
                           (("what-if", "--network", "x"), "x is none of 2x")):
        result = ringside.run(*words, "traces")
        assert result.returncode == 2 and trouble in result.stderr, result
    check_outputs_are_no_inputs(ringside)
    (ringside.directory / "above").mkdir()
    (ringside.directory / "above" / "traces").symlink_to("../traces")
    result = ringside.run("summary", "above")
    assert result.returncode == 3 and "; name above/traces, which has some\n" in result.stderr, result
    # What a choice of ranks leaves out may be what was slow.
    for command in ("stragglers", "what-if"):
        said = ringside.stdout(command, "--rank", "3", "traces").splitlines()[0]
        assert said.startswith("Who slows the job cannot be judged without the 23 traces"), said
    result = ringside.run("report", "--baseline", "nowhere", "--force", "-o", "part.html", "traces")
    assert result.returncode == 3, result
    # What was named and cannot be read is a part of the answer that is missing.
    for words in (("summary",), ("stragglers",), ("calls",), ("report", "--force", "-o", "part.html"),
                  ("export", "--force", "--csv", "part"), ("merge", "--force", "-o", "part.json")):
        result = ringside.run(*words, "traces", "nowhere")
        assert result.returncode == (1 if words == ("stragglers",) else 4), result
    assert ringside.stdout("help", "help") == ringside.stdout("--help")
    with open("/dev/full", "wb") as full:
        assert subprocess.run([ringside.program, "help"], check=False, stdout=full).returncode == 70
    result = ringside.run("report", "--format", "json", "-o", "nowhere/x", "traces")
    assert result.returncode == 2 and "report: nowhere/x cannot be made: " in result.stderr, result
    for directory in ("/proc/x", "/sys/x"):
        result = ringside.run("doctor", "--dir", directory)
        assert result.returncode == 1, result
        assert f"problem  output     traces cannot be written to {directory}" in result.stdout, result
    # Whether others have left rings or not, a job that has none is named in vain.
    (ringside.directory / "no_rings").mkdir()
    result = ringside.run("recover", "--job", "nope", "no_rings")
    assert result.returncode == 3 and "no rings are of the job" in result.stderr, result


def check_outputs_are_no_inputs(ringside):
    """Whatever is written, no file that is read is written over."""
    trace = next((ringside.directory / "traces").glob("*.json"))
    before = trace.read_bytes()
    for words in (("merge", "-o"), ("reduce", "-o"), ("report", "-o"), ("export", "--sqlite")):
        result = ringside.run(*words, str(trace), "--force", "traces")
        assert result.returncode == 2 and "is one of the files to read" in result.stderr, result
        assert trace.read_bytes() == before, words


def check_quiet(ringside):
    for words in (("merge", "-o", "loud.json"), ("reduce", "-o", "loud.part"),
                  ("report", "--format", "json", "-o", "loud_report.json")):
        loud = ringside.run(*words, "traces")
        quiet = ringside.run(*words, "--force", "-q", "traces")
        assert loud.returncode == quiet.returncode == 0 and loud.stderr and not quiet.stderr, words
    wrong = ringside.run("summary", "--quiet", "nowhere")
    assert wrong.returncode == 3 and "nowhere" in wrong.stderr, wrong


def main():
    generate, program = (pathlib.Path(name).resolve() for name in sys.argv[1:3])
    with tempfile.TemporaryDirectory() as name:
        directory = pathlib.Path(name)
        ringside = Ringside(program, directory)
        # 24 ranks: more rows than people are shown. Of one rank, 15 operations do not match.
        mismatches = [word for i in range(15) for word in ("--mismatch", f"size:3:{4 * i}")]
        subprocess.run([generate, "traces", "--hosts", "12", "--ranks-per-host", "2", "--steps",
                        "--iterations", "20", "--straggler", "3:500", *mismatches],
                       cwd=directory, check=True)
        check_help(ringside)
        check_nearest(ringside)
        check_report(ringside, "traces")
        check_whole(ringside, "traces")
        check_interrupted(ringside)
        check_quiet(ringside)
        check_values(ringside)
    print("ok")


if __name__ == "__main__":
    main()
