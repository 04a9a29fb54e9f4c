#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# From a fresh checkout to a first look: installs what is missing, builds the command `ringside` and the
# plugin, and shows what the command says of a simulated job. Takes minutes the first time, and seconds
# after that.
#
#   try.sh [STORY]     STORY: late (default), hang, mismatch, slow-link, clean: `ringside demo --list`
set -euo pipefail

root=$(cd "$(dirname "$0")/.." && pwd)
here=$PWD
case ${1:-late} in
  -h | --help)
    sed -n '3,/^[^#]/s/^# \{0,1\}//p' "$root/scripts/try.sh"
    exit 0
    ;;
  late | hang | mismatch | slow-link | clean) ;;
  *)
    echo "try.sh: there is no story $1. Try $root/scripts/try.sh --help" >&2
    exit 2
    ;;
esac
if [ $# -gt 1 ]; then
  echo "try.sh: \"$2\" is one argument too many. Try $root/scripts/try.sh --help" >&2
  exit 2
fi

cd "$root"
echo "== packages (scripts/install_dependencies.sh)"
scripts/install_dependencies.sh
log=$root/build/try.log
mkdir -p build
echo "== building (log: $log)"
if ! { cmake --preset release && cmake --build --preset release --target ringside ringside_plugin; } \
  > "$log" 2>&1; then
  tail -n 15 "$log" >&2
  echo "try.sh: the build failed; the whole log is $log" >&2
  exit 1
fi
echo "== ringside demo ${1:-late}"
cd "$here"
"$root/build/release/analyzer/ringside" demo "${1:-late}"
printf '\nNCCL itself, on emulated GPUs where there is none:\n  %s\n' "$root/examples/quickstart.sh"
