#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Makes the site of docs/, with MkDocs and its theme Material from PyPI, in an environment that is kept
# in ~/.cache/ringside. A link within the site that leads nowhere is an error.
#
#   build_site.sh [DIRECTORY]     where it goes (default: build/site)
#
# Its first page is DIRECTORY/index.html.
# Exit status 0: the site is there; 2: the arguments are wrong; another one: a step failed.
set -euo pipefail

case ${1:-} in -h | --help) sed -n '3,/^[^#]/s/^# \{0,1\}//p' "$0"; exit 0 ;; esac
if [ $# -gt 1 ] || [[ ${1:-} == -* ]]; then
  echo "build_site.sh: it takes one directory, not \"$*\". Try $0 --help" >&2
  exit 2
fi
cd "$(dirname "$0")/.."
site=$(realpath -m "${1:-build/site}")
requirements=scripts/site_requirements.txt
environment=$HOME/.cache/ringside/site-$(sha256sum "$requirements" | cut -c 1-12)
if [ ! -x "$environment/bin/mkdocs" ]; then
  python3 -m venv --clear "$environment"
  "$environment/bin/pip" install --quiet --disable-pip-version-check -r "$requirements"
fi
# The theme says at each build that MkDocs 2 will be another program; the versions here are fixed.
NO_MKDOCS_2_WARNING=1 "$environment/bin/mkdocs" build --quiet --strict --site-dir "$site"
echo "$site/index.html: $(find "$site" -name '*.html' | wc -l) pages"
