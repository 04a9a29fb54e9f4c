#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The long truth suite: simulated jobs whose truth is known, and what `ringside` says of them.
# CI runs the same checks with few jobs (test/generate). docs/performance.md has the last figures.
#
#   truth.sh [BUILD [JOBS]]     BUILD: build/release; JOBS: for each check, 1000
#
# Exit status 0: all answers are right; 1: some are wrong; 2: the arguments are wrong, or nothing is
# built in BUILD.
set -euo pipefail

case ${1:-} in -h | --help) sed -n '3,/^[^#]/s/^# \{0,1\}//p' "$0"; exit 0 ;; esac
if [ $# -gt 2 ] || [[ ${1:-} == -* ]] || [[ ! ${2:-1000} =~ ^[0-9]+$ ]]; then
  echo "truth.sh: it takes a build directory and a number, not \"$*\". Try $0 --help" >&2
  exit 2
fi
cd "$(dirname "$0")/.."
build=${1:-build/release}
jobs=${2:-1000}
generate=$build/test/generate/ringside_generate
ringside=$build/analyzer/ringside
for program in "$generate" "$ringside"; do
  if [ ! -x "$program" ]; then
    echo "scripts/truth.sh: there is no $program; build first: cmake --build --preset release" >&2
    exit 2
  fi
done

failed=0
check() {
  echo "== $*"
  python3 "test/generate/check_$1.py" "${@:2}" || failed=1
}
check clocks "$generate" "$ringside" --seeds "$jobs" --calls
check truth "$generate" "$ringside" --seeds "$jobs"
check stragglers "$generate" "$ringside" --seeds "$jobs"
check network "$ringside" --seeds "$jobs"
check compare "$generate" "$ringside" --seeds "$jobs"
exit "$failed"
