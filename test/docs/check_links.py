#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds all Markdown of the project to account: links to files and headings that are there. Pages that
messages, help texts and comments of other files name are there, too.

    check_links.py DIRECTORY

Links to the web are not followed. Headings have the anchors that GitHub gives them.
"""

import pathlib
import re
import subprocess
import sys

FENCED = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
NAMED = r"docs/[a-zA-Z/-]+\.md"
LINK = re.compile(r"\]\((?![a-z]+:)([^)#\s]*)(?:#([^)\s]*))?\)")


def anchors_of(path):
    found = {}
    for title in re.findall(r"^#+ (.*)$", FENCED.sub("", path.read_text(encoding="utf-8")), re.MULTILINE):
        title = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title)
        anchor = re.sub(r"[^\w\- ]", "", title.strip().lower()).replace(" ", "-")
        found[anchor] = found.get(anchor, -1) + 1
        if found[anchor]:
            found[f"{anchor}-{found[anchor]}"] = 0
    return found


def named_elsewhere(root):
    """Each file that is no Markdown with a page that it names."""
    found = subprocess.run(["git", "grep", "--untracked", "-IoE", NAMED, "--", ":!*.md", ":!test/diff/cases"],
                           cwd=root, capture_output=True, text=True, check=True)
    return [line.split(":", 1) for line in found.stdout.splitlines()]


def main():
    root = pathlib.Path(sys.argv[1]).resolve()
    listed = subprocess.run(["git", "ls-files", "-co", "--exclude-standard", "*.md"], cwd=root,
                            capture_output=True, text=True, check=True)
    links = troubles = 0
    for name in listed.stdout.split():
        text = FENCED.sub("", (root / name).read_text(encoding="utf-8"))
        for path, anchor in LINK.findall(re.sub(r"`[^`\n]*`", "", text)):
            links += 1
            target = ((root / name).parent / path).resolve() if path else root / name
            if not target.exists():
                trouble = "no such file"
            elif anchor and target.suffix == ".md" and anchor not in anchors_of(target):
                trouble = "no such heading"
            else:
                continue
            troubles += 1
            print(f"{name}: {path}{'#' + anchor if anchor else ''}: {trouble}")
    for name, page in named_elsewhere(root):
        links += 1
        if not (root / page).exists():
            troubles += 1
            print(f"{name}: {page}: no such file")
    print(f"{links} links, {troubles} troubles")
    return 1 if troubles or links < 100 else 0


if __name__ == "__main__":
    sys.exit(main())
