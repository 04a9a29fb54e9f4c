#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Breaks the paragraphs of Markdown files at 100 columns; tables, headings and code stay as they are.

    scripts/wrap_docs.py docs/*.md docs/guides/*.md
"""

import pathlib
import re
import sys
import textwrap

COLUMNS = 100
WHOLE = ("|", "#", "<!--", "![", "</")  # such lines are not broken
ITEM = re.compile(r"(- |\d\d?\. |)(.*)", re.DOTALL)
# Blanks within code and links are none at which a line ends.
UNBROKEN = re.compile(r"`[^`]*`|\[[^\]]*\]\([^)]*\)")


def wrapped(lines):
    """A paragraph, or an item of a list."""
    lead, text = ITEM.match(" ".join(line.strip() for line in lines)).groups()
    text = UNBROKEN.sub(lambda match: match[0].replace(" ", "\0"), text)
    broken = textwrap.wrap(text, COLUMNS - len(lead), break_long_words=False, break_on_hyphens=False)
    return [(" " * len(lead) if number else lead) + line.replace("\0", " ")
            for number, line in enumerate(broken)]


def wrap(text):
    made, paragraph, in_code = [], [], False
    for line in [*text.split("\n"), None]:
        is_fence = line is not None and line.startswith("```")
        is_code = in_code or is_fence or (line or "").startswith("    ") and not paragraph
        begins = line is None or not line.strip() or is_code or line.startswith(WHOLE)
        if paragraph and (begins or re.match(r"- |\d\d?\. ", line)):
            made += wrapped(paragraph)
            paragraph = []
        in_code = in_code != is_fence
        if not begins:
            paragraph.append(line)
        elif line is not None:
            made.append(line)
    return "\n".join(made)


def main():
    for path in map(pathlib.Path, sys.argv[1:]):
        before = path.read_text(encoding="utf-8")
        after = wrap(before)
        if "".join(before.split()) != "".join(after.split()):
            sys.exit(f"{path}: a word would be lost")
        path.write_text(after, encoding="utf-8")


if __name__ == "__main__":
    main()
