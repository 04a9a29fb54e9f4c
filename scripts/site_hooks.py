# SPDX-License-Identifier: Apache-2.0
"""Hooks of MkDocs: pages that lie elsewhere in the project are pages of the site, too."""

import pathlib
import posixpath
import re

from mkdocs.structure.files import File

# Their place in the repository -> their name on the site.
ELSEWHERE = {"python/README.md": "python.md", "test/emulated_gpu/README.md": "emulated-gpu.md",
             "CONTRIBUTING.md": "contributing.md"}
LINK = re.compile(r"\]\((?![a-z]+:|#)([^)#\s]+)(#[^)\s]*)?\)")


def on_files(files, config):
    root = pathlib.Path(config.config_file_path).parent
    for path, page in ELSEWHERE.items():
        files.append(File.generated(config, page, abs_src_path=str(root / path)))
    return files


def on_page_markdown(markdown, page, config, files):
    """Links between those pages and docs/ are paths in the project: here they become the site's."""
    names = {page: path for path, page in ELSEWHERE.items()}
    own = names.get(page.file.src_uri, "docs/" + page.file.src_uri)

    def link(match):
        path = posixpath.normpath(posixpath.join(posixpath.dirname(own), match[1]))
        if path in ELSEWHERE:
            target = ELSEWHERE[path]
        elif path.startswith("docs/"):
            target = path[len("docs/"):]
        else:  # a file of the project that is no page
            return "]"
        here = posixpath.dirname(page.file.src_uri)
        return f"]({posixpath.relpath(target, here or '.')}{match[2] or ''})"

    return LINK.sub(link, markdown)
