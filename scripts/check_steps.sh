#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The long run of generate-steps: 200 simulated trainings whose critical paths are known.
#
#   check_steps.sh [BUILD [SEEDS]]     BUILD: build/release; SEEDS: how many trainings, 200
#
# Exit status 0: all paths are right; 1: one is wrong; 2: the arguments are wrong.
set -euo pipefail

case ${1:-} in -h | --help) sed -n '3,/^[^#]/s/^# \{0,1\}//p' "$0"; exit 0 ;; esac
if [ $# -gt 2 ] || [[ ${1:-} == -* ]] || [[ ! ${2:-200} =~ ^[0-9]+$ ]]; then
  echo "check_steps.sh: it takes a build directory and a number, not \"$*\". Try $0 --help" >&2
  exit 2
fi
cd "$(dirname "$0")/.."
build=${1:-build/release}
exec python3 test/generate/check_steps.py "$build/test/generate/ringside_generate_steps" \
  "$build/analyzer/ringside" --seeds "${2:-200}"
