#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Builds everything and runs all tests. What fails beside other tests runs once more, alone, since a
# test of real processes can fail because others leave it no processor; more than eight failures are
# no chance.
#
#   test.sh [PRESET [CTEST_OPTION...]]     PRESET: release (default), dev, asan-ubsan, tsan
#
# RINGSIDE_TORCH=on also runs the tests with PyTorch's wheel, which is fetched (0.5 GB) into
# ~/.cache/ringside the first time; RINGSIDE_WHEEL=on all those of the Python package, of which
# otherwise some run, and none with RINGSIDE_WHEEL=off.
# Tests with the label `release` are left out: `.ci/run mpi` runs them.
# CMAKE_ARGUMENTS (separated by blanks) are passed on to CMake; TARGETS: build these only.
set -euo pipefail

cd "$(dirname "$0")/.."
preset=${1:-release}
[ $# -eq 0 ] || shift
read -r -a cmake_arguments <<< "${CMAKE_ARGUMENTS:-}"
read -r -a targets <<< "${TARGETS:-all}"
jobs=$(nproc)
failures=build/$preset/Testing/Temporary/LastTestsFailed.log

# Stops with all that is missing and the one command that installs it.
stop() {
  echo "test.sh: $1. This installs all that is needed:" >&2
  echo "  $PWD/scripts/install_dependencies.sh" >&2
  scripts/install_dependencies.sh --dry-run >&2
  exit 1
}
for tool in cmake ninja "${CXX:-c++}"; do
  command -v "$tool" > /dev/null || stop "there is no $tool here"
done

# Without these packages, the tests of NCCL and of PyTorch on emulated GPUs skip themselves. This is
# no failure.
if [[ $preset != *san ]]; then
  test/emulated_gpu/get_nccl.sh > /dev/null || [ $? -eq 77 ]
  if [ "${RINGSIDE_TORCH:-off}" = on ]; then
    test/emulated_gpu/get_torch.sh > /dev/null || [ $? -eq 77 ]
  fi
fi
cmake --preset "$preset" "${cmake_arguments[@]}" || stop "CMake found no way to build"
cmake --build --preset "$preset" --parallel "$jobs" --target "${targets[@]}"

rm -f "$failures"
# Most tests wait for something: one at a time for each processor would leave two thirds of it idle.
ctest --preset "$preset" -LE '^release$' --parallel $((2 * jobs + 1)) "$@" && exit
[ -s "$failures" ] && [ "$(wc -l < "$failures")" -le 8 ] || exit 1
echo "=== These tests failed. They run once more, without others beside them:"
cat "$failures"
# By their names: the numbers there count the tests that were chosen.
ctest --preset "$preset" --parallel 1 -R "^($(cut -d : -f 2 "$failures" | paste -s -d '|'))\$"
