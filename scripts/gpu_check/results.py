# SPDX-License-Identifier: Apache-2.0
"""The results of the parts: result.json, and the same as a table in Markdown."""

import json
import os
import time
import traceback

PASS, FAIL, FIGURE, NOT_RUN = "pass", "fail", "figure", "not run"


class Failure(Exception):
    """A check that does not hold, or a command that failed; the text says which."""


def require(condition, text):
    if not condition:
        raise Failure(text)


class Results:
    def __init__(self, out, emulated, budget_s):
        self.out = out
        self.deadline = time.monotonic() + budget_s
        self.on_failure = lambda name: None
        self.rows = []
        self.head = {"schema_version": 1, "began_unix_s": int(time.time()), "emulated": emulated,
                     "budget_s": budget_s}

    def add(self, part, name, outcome, detail, **values):
        """Written at once: what was found is not lost if this process is killed."""
        row = {"part": part, "name": name, "outcome": outcome, "detail": " ".join(detail.split())}
        if values:
            row["values"] = values
        self.rows.append(row)
        print(f"{outcome:8} {part}: {name}: {row['detail'][:300]}", flush=True)
        self.write()

    def remaining_s(self):
        return self.deadline - time.monotonic()

    def run(self, part, name, function, least_s=0):
        """Returns the function's result; None if it fails, or if less time than that is left.

        One that fails does not keep the next from running.
        """
        if self.remaining_s() < least_s:
            self.add(part, name, NOT_RUN, f"{self.remaining_s():.0f} s of the budget are left")
            return None
        try:
            return function()
        except Failure as failure:
            self.add(part, name, FAIL, str(failure))
        except Exception as error:  # pylint: disable=broad-except
            where = traceback.extract_tb(error.__traceback__)[-1]
            self.add(part, name, FAIL, f"{type(error).__name__}: {error} ({where.name}, line "
                                       f"{where.lineno})")
        self.on_failure(name)
        return None

    def needs(self, what, part, *names):
        """Checks that could not be made, since what they look at is not there."""
        for name in names:
            self.add(part, name, NOT_RUN, f"needs {what}, which did not run to its end")

    def counts(self):
        return {outcome: sum(row["outcome"] == outcome for row in self.rows)
                for outcome in (PASS, FAIL, FIGURE, NOT_RUN)}

    def exit_status(self):
        """0: all that ran passed. 1: something failed. 2: nothing could be checked."""
        counts = self.counts()
        if counts[FAIL]:
            return 1
        return 0 if counts[PASS] else 2

    def write(self):
        document = {**self.head, "took_s": int(time.time()) - self.head["began_unix_s"],
                    "counts": self.counts(), "exit_status": self.exit_status(), "rows": self.rows}
        self._store("result.json", json.dumps(document, indent=1) + "\n")
        self._store("result.md", self._markdown(document))

    def _markdown(self, document):
        where = "on a GPU"
        if document["emulated"]:
            where = "on EMULATED GPUs: says nothing of a real one"
        counts = ", ".join(f"{count} {outcome}" for outcome, count in document["counts"].items())
        lines = [f"# gpu_check {where}", "", f"{counts}; {document['took_s']} s", "",
                 "| part | what | outcome | detail |", "|---|---|---|---|"]
        for row in document["rows"]:
            cells = (row["part"], row["name"], row["outcome"], row["detail"])
            lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
        return "\n".join(lines) + "\n"

    def _store(self, name, text):
        path = self.out / name
        unfinished = path.with_suffix(".part")
        unfinished.write_text(text, encoding="utf-8")
        os.replace(unfinished, path)
