#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Fuzzes all targets with libFuzzer, AddressSanitizer and UndefinedBehaviorSanitizer, two at a time.
#
#   fuzz.sh [SECONDS [TARGET...]]     default: 600 seconds for each of trace, load, partial,
#     dump, inspector, example, ras, topology, kineto, nccl_tests, recover, request, abi
#
# Findings are left in build/fuzz/findings. New inputs stay in build/fuzz/corpus; --merge=1 of
# libFuzzer takes those from them that test/fuzz/corpus should have.
# Exit status 0: there is no finding; 1: there is one; 2: the arguments are wrong.
set -euo pipefail

case ${1:-} in -h | --help) sed -n '3,/^[^#]/s/^# \{0,1\}//p' "$0"; exit 0 ;; esac
cd "$(dirname "$0")/.."
all=(trace load partial dump inspector example ras topology kineto nccl_tests recover request abi)
seconds=${1:-600}
[ $# -eq 0 ] || shift
targets=("$@")
[ ${#targets[@]} -gt 0 ] || targets=("${all[@]}")
wrong() {
  echo "fuzz.sh: $1. Try $0 --help" >&2
  exit 2
}
[[ $seconds =~ ^[0-9]+$ ]] || wrong "\"$seconds\" is no number of seconds"
for target in "${targets[@]}"; do
  [[ " ${all[*]} " == *" $target "* ]] || wrong "there is no target $target, only ${all[*]}"
done
build=build/fuzz
CC=clang-14 CXX=clang++-14 cmake -S . -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo \
  -DCMAKE_CXX_FLAGS_RELWITHDEBINFO="-O1 -g1 -DNDEBUG" \
  -DRINGSIDE_FUZZ=ON -DRINGSIDE_SANITIZE=address,undefined -DRINGSIDE_BUILD_EXAMPLES=OFF > /dev/null
cmake --build "$build" --parallel "${JOBS:-$(nproc)}" --target "${targets[@]/#/fuzz_}"

mkdir -p "$build/findings"
run() {
  mkdir -p "$build/corpus/$1"
  "$build/test/fuzz/fuzz_$1" -max_total_time="$seconds" -max_len=16384 -rss_limit_mb=2048 -timeout=20 \
    -print_final_stats=1 -artifact_prefix="$build/findings/$1-" "$build/corpus/$1" \
    "test/fuzz/corpus/$1" > "$build/$1.log" 2>&1
}
status=0
for ((i = 0; i < ${#targets[@]}; i += 2)); do
  jobs=()
  for target in "${targets[@]:i:2}"; do
    run "$target" &
    jobs+=("$!:$target")
  done
  for job in "${jobs[@]}"; do
    if wait "${job%%:*}"; then
      result="no finding"
    else
      result="FOUND: see $build/${job#*:}.log"
      status=1
    fi
    executions=$(sed -n 's/^stat::number_of_executed_units: *//p' "$build/${job#*:}.log")
    echo "${job#*:}: ${executions:-?} inputs in $seconds s, $result"
  done
done
exit "$status"
