#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes docs/columns.md: the tables, columns and kinds of findings that the commands have.

    list_columns.py RINGSIDE [--check]

Each golden case (test/diff/cases) runs with --format json, and the page lists what came out. No case
has all kinds of findings, so these also come from where the analyzer's source makes findings. With
--check nothing is written, and the exit status is 1 if the page is not what it would be.
"""

import collections
import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import textwrap

ROOT = pathlib.Path(__file__).resolve().parent.parent
CASES = ROOT / "test" / "diff" / "cases"
PAGE = ROOT / "docs" / "columns.md"
COMMANDS = ("summary", "match", "calls", "communicators", "hang", "stragglers", "what-if", "network",
            "overlap", "critical-path", "iterations", "dependencies", "compare", "topology", "ras")
CHOICES = ("--format", "--table", "--top")
# Columns that are named for a rank, a GPU or a function of the job.
NUMBERED = re.compile(r"^(rank|GPU)([_ ])\d+$")
FUNCTIONS = ("AllGather", "AllReduce", "Broadcast", "Reduce", "ReduceScatter", "AlltoAll")
# How the source makes findings: with their severities, or with one that is decided elsewhere.
KIND = r'"([a-z]+(?:[-_][a-z]+)*)"'
OF_SEVERITY = re.compile(
    rf"Severity::k(\w+)(?: : (?:report::)?Severity::k(\w+))?, (?:\w+ \? {KIND} : )?{KIND}")
OF_TOPOLOGY = re.compile(rf"findings\.push_back\( ?{{{KIND},[^;]*?\b(true|false)\b")
OF_HANG = re.compile(r"cause_name\(Cause cause\) {[^}]*{([^}]*)}")
OF_MATCH = re.compile(r"kind_of\(Verdict verdict\) {((?:[^{}]|{[^{}]*})*)}")
OF_OTHERS = re.compile(rf"\bseverity, {KIND}")
HEAD = """# Columns and keys

`scripts/list_columns.py` writes this page from what the commands print; a test keeps it current.
[metrics.md](metrics.md) defines the figures. [database.md](database.md) has the tables of
`ringside export`, and [report.md](report.md#the-data) has the data of the report.

With `--format json`, all commands but `summary` print `schema_version`, `tool`, `sentences` (the
answer), `findings` (`severity`, `kind`, `text`), `tables` (by key, each with `rows` and `left_out`)
and `notes` (what limits the answer). `--format csv` prints the first table, or the one that
`--table` names. A name ends in its unit. A value that cannot be known is `null`, or empty in CSV. A
rank is a number, or `host:pid` where none is known; several ranks are an array in JSON. There a
truth is `true` or `false`. Some columns are there only if the traces have something to show in
them. `--align-report` adds the table `clocks`.

Accept keys that you do not know: new ones may come at any time. `schema_version` rises when a
reader of the older version would misread the newer one. Names may change until version 1.0.
"""


def without(words, options):
    """The words less these options and their values."""
    kept = []
    is_value = False
    for word in words:
        if not is_value and word not in options and not word.startswith(tuple(f"{o}=" for o in options)):
            kept.append(word)
        is_value = not is_value and word in options
    return kept


def run(ringside, directory, words, form):
    return subprocess.run([ringside, words[0], "--format", form, *words[1:]], cwd=directory,
                          stdin=subprocess.DEVNULL, capture_output=True, timeout=60, check=False,
                          env={**os.environ, "LC_ALL": "C", "COLUMNS": "", "TMPDIR": ""}).stdout


def outputs_of(ringside, directory):
    """The command of a golden case, its JSON, and of `summary` the header of its CSV; else nothing."""
    words = without(shlex.split((directory / "cmd").read_text(encoding="utf-8")), CHOICES)
    if not words or words[0] not in COMMANDS or "--help" in words:
        return None
    try:
        document = json.loads(run(ringside, directory, words, "json"))
    except ValueError:
        return None
    header = []
    if words[0] == "summary":
        header = run(ringside, directory, words, "csv").decode().splitlines()[0].split(",")
    return words[0], document, header


def add_in_order(names, row):
    """Adds the names of a row, each behind the one that it follows there."""
    place = 0
    for name in row:
        name = "FUNCTION" if name in FUNCTIONS else NUMBERED.sub(r"\1\2N", name)
        if name in names:
            place = names.index(name) + 1
        else:
            names.insert(place, name)
            place += 1


def add_keys(keys, path, value):
    """Adds the keys of JSON objects, by the path of the object."""
    if isinstance(value, list):
        for element in value:
            add_keys(keys, path, element)
    elif isinstance(value, dict) and path != "completeness.dropped":  # its keys are data
        add_in_order(keys[path], value)
        for name, member in value.items():
            add_keys(keys, f"{path}.{name}" if path else name, member)


def line(of, names):
    text = "- " + ", ".join(f"`{name}`" for name in of) + ": " + ", ".join(f"`{name}`" for name in names)
    return textwrap.fill(text, 100, subsequent_indent="  ", break_on_hyphens=False)


def kinds_of_source():
    """The kinds of findings by severity, as far as the source has both in one place, and all kinds."""
    text = "  ".join(" ".join(path.read_text(encoding="utf-8").split())
                     for path in sorted((ROOT / "analyzer").rglob("*.cc")))
    kinds = collections.defaultdict(set)
    for one, other, kind_of_one, kind in OF_SEVERITY.findall(text):
        kinds[one.lower()].add(kind_of_one or kind)
        if other:
            kinds[other.lower()].add(kind)
    for kind, is_note in OF_TOPOLOGY.findall(text):
        kinds["note" if is_note == "true" else "warning"].add(kind)
    kinds["error"].update(re.findall(KIND, OF_HANG.search(text)[1]))
    kinds["others"].update(OF_OTHERS.findall(text))
    return kinds, set().union(*kinds.values(), re.findall(KIND, OF_MATCH.search(text)[1]))


def kinds_text(severities):
    """The lists of kinds, from what the cases print by severity and from the source."""
    kinds, named = kinds_of_source()
    printed = set().union(*severities.values())
    if not_found := printed - named:
        sys.exit(f"kinds that the source makes in a way that is not known here: {sorted(not_found)}")
    if not_shown := named - printed - set().union(*kinds.values()):
        sys.exit(f"no golden case prints these kinds, whose severity is open: {sorted(not_shown)}")
    lines = [line([severity], sorted((severities[severity] | kinds[severity]) - kinds["others"]))
             for severity in ("error", "warning", "note")]
    return [*lines, "- of any severity: " + ", ".join(f"`{kind}`" for kind in sorted(kinds["others"]))]


def page_of(outputs):
    tables = collections.defaultdict(lambda: collections.defaultdict(list))  # by command and key
    keys = collections.defaultdict(list)
    severities = collections.defaultdict(set)
    csv = []
    for command, document, header in outputs:
        for finding in document.get("findings", []):
            severities[finding["severity"]].add(finding["kind"])
        if command == "summary":
            add_keys(keys, "", document)
            add_in_order(csv, header)
        for key, table in document.get("tables", {}).items():
            for row in table["rows"] if key != "clocks" else []:
                add_in_order(tables[command][re.sub(r"_\d+$", "_N", key)], row)
    made = [HEAD]
    for command in COMMANDS[1:]:
        made.append(f"## ringside {command}\n")
        made += [*(line([key], names) for key, names in tables[command].items()), ""]
    made.append("## ringside summary\n\nThe keys of its JSON, by the path of the object:\n")
    alike = collections.defaultdict(list)
    for path, names in keys.items():
        alike[tuple(names)].append(path or "(whole)")
    made += [*(line(paths, names) for names, paths in alike.items()), ""]
    made += ["Its CSV has a line for each row of its table:\n", line(["csv"], csv), ""]
    made.append("## Kinds of findings\n")
    made += kinds_text(severities)
    return "\n".join(made) + "\n"


def main():
    ringside = pathlib.Path(sys.argv[1]).resolve()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        found = pool.map(lambda case: outputs_of(ringside, case.parent), sorted(CASES.glob("*/cmd")))
        outputs = [output for output in found if output]
    if len(outputs) < 100:
        sys.exit(f"only {len(outputs)} of the golden cases print JSON")
    text = page_of(outputs)
    if "--check" not in sys.argv[2:]:
        PAGE.write_text(text, encoding="utf-8")
    elif PAGE.read_text(encoding="utf-8") != text:
        sys.exit("docs/columns.md is not current; run: scripts/list_columns.py RINGSIDE")
    return 0


if __name__ == "__main__":
    sys.exit(main())
