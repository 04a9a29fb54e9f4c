#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The long truth suite: simulated jobs whose truth is known, and what `ringside` says of them.
# CI runs the same checks with few jobs (test/generate). docs/performance.md has the last figures.
#
# usage: scripts/truth.sh [BUILD] [JOBS]      BUILD: build/release; JOBS: for each check, 1000
set -euo pipefail
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
