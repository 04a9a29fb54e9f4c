# SPDX-License-Identifier: Apache-2.0
"""Reads a trace by docs/trace-format.md alone: independent of the analyzer, which is under test."""

import json


class Trace:
    def __init__(self, path):
        self.path = path
        text = path.read_text(encoding="utf-8")
        self.closed = text.endswith("]\n") or text.endswith("]")
        if self.closed:
            lines = json.loads(text)
        else:
            whole = text[: text.rfind("\n")].rstrip(",\n") if "\n" in text else "["
            lines = json.loads(whole + "]")
        if not lines or lines[0].get("name") != "ringside_trace":
            raise ValueError(f"{path}: does not begin with a ringside_trace line")
        self.lines = lines
        self.process = lines[0]["args"]
        self.communicators = {}
        self.account = {}
        self.operations = []
        self.marks = {}
        self.clock_offset_ns = None
        for line in lines:
            arguments = line.get("args", {})
            if line["ph"] == "M" and line["name"] == "ringside_communicator":
                self.communicators[arguments["context"]] = arguments
            elif line["ph"] == "M" and line["name"] == "ringside_account":
                self.account = arguments
            elif line["ph"] == "M" and line["name"] == "ringside_mark":
                self.marks[arguments["mark"]] = arguments
            elif line["ph"] == "M" and line["name"] == "ringside_clock":
                # The time line is CLOCK_MONOTONIC plus a constant.
                self.clock_offset_ns = arguments["ts_ns"] - int(arguments["monotonic_ns"], 16)
            elif line["ph"] == "b" and line.get("cat") == "op" and "op" in arguments:
                self.operations.append(arguments)

    @property
    def rank(self):
        return self.process.get("launcher_rank")

    def communicator_name(self, operation):
        return self.communicators.get(operation["context"], {}).get("name")

    def dropped(self):
        """Lost callbacks by type and reason, as the account has them."""
        return {f"{event}.{reason}": count
                for event, counts in self.account.get("by_type", {}).items()
                for reason, count in counts.items() if reason.startswith("dropped_") and count}

    def account_errors(self):
        """Event types whose produced callbacks are not all accounted for."""
        return {event: counts for event, counts in self.account.get("by_type", {}).items()
                if counts.get("produced", 0) !=
                sum(count for reason, count in counts.items() if reason != "produced")}
