#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Keeps the pages short enough to be read: each has a limit in words, and so have all of docs/ together.

    check_lengths.py DIRECTORY

Words are what `wc -w` counts, with tables and examples. A page without a limit fails, as does a limit
without a page. Before you raise a limit: what on the page does nobody need?
"""

import pathlib
import sys

LIMITS = {
    "README.md": 700,
    "docs/analyzer.md": 4000,
    "docs/architecture.md": 1500,
    "docs/chakra.md": 800,
    "docs/columns.md": 1200,
    "docs/coming-from.md": 900,
    "docs/control.md": 1500,
    "docs/database.md": 900,
    "docs/environment.md": 2500,
    "docs/flight-recorder-verdicts.md": 300,
    "docs/for-agents.md": 350,
    "docs/glossary.md": 400,
    "docs/gpu-check.md": 500,
    "docs/guarantees.md": 1200,
    "docs/guides/hang.md": 900,
    "docs/guides/network.md": 900,
    "docs/guides/production.md": 900,
    "docs/guides/slow.md": 900,
    "docs/guides/slower.md": 900,
    "docs/guides/ten-steps.md": 900,
    "docs/index.md": 300,
    "docs/live-metrics.md": 800,
    "docs/markers.md": 500,
    "docs/metrics.md": 4000,
    "docs/mpi.md": 700,
    "docs/nccl-releases.md": 300,
    "docs/performance.md": 1500,
    "docs/profiles.md": 400,
    "docs/quickstart.md": 300,
    "docs/report.md": 700,
    "docs/run.md": 1200,
    "docs/trace-format.md": 2500,
    "docs/troubleshooting.md": 1500,
    "docs/what-is-seen.md": 450,
}
DEVELOPERS = "docs/dev/"  # these pages have one limit together
DEVELOPERS_LIMIT = 5000
ALL_LIMIT = 40000


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    paths = [root / "README.md", *sorted((root / "docs").rglob("*.md"))]
    words = {path.relative_to(root).as_posix(): len(path.read_text(encoding="utf-8").split())
             for path in paths}
    developers = {page for page in words if page.startswith(DEVELOPERS)}
    sums = [(DEVELOPERS, sum(words[page] for page in developers), DEVELOPERS_LIMIT),
            ("docs/", sum(count for page, count in words.items() if page.startswith("docs/")), ALL_LIMIT)]
    pages = [(page, count, LIMITS[page]) for page, count in words.items() if page in LIMITS]
    troubles = [f"{page} has {count} words, {count - limit} more than its limit"
                for page, count, limit in pages + sums if count > limit]
    troubles += [f"{page} has no limit" for page in words if page not in LIMITS and page not in developers]
    troubles += [f"there is no {page}" for page in LIMITS if page not in words]
    print(*troubles, f"{len(words)} pages, {sums[1][1]} words in docs/, {len(troubles)} troubles", sep="\n")
    return 1 if troubles else 0


if __name__ == "__main__":
    sys.exit(main())
