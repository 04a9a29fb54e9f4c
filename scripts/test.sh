#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Builds everything and runs all tests, several at once. Up to eight tests that fail run once more, one
# at a time: a test of real processes can fail because others leave it no processor. More failures have
# another reason.
#
#   test.sh [PRESET [CTEST_OPTION...]]     PRESET: release (default), dev, asan-ubsan, tsan
#
# Exit status 0: all tests passed; 2: there is no such preset; another one: something needed is missing,
# the build failed, or a test failed.
# RINGSIDE_TORCH=on also runs the tests with PyTorch's wheel, which is fetched (0.5 GB) into
# ~/.cache/ringside the first time; RINGSIDE_NVIDIA_NCCL=on those with NVIDIA's newest NCCL (0.3 GB),
# likewise; RINGSIDE_WHEEL=on all those of the Python package, of which
# otherwise some run, and none with RINGSIDE_WHEEL=off.
# Tests with the label `release` are left out: `.ci/run mpi` runs them.
# CMAKE_ARGUMENTS (separated by blanks) are passed on to CMake; TARGETS: build these only.
set -euo pipefail

case ${1:-} in -h | --help) sed -n '3,/^[^#]/s/^# \{0,1\}//p' "$0"; exit 0 ;; esac
preset=${1:-release}
case $preset in
  release | dev | asan-ubsan | tsan) ;;
  *)
    echo "test.sh: there is no preset $preset, only release, dev, asan-ubsan and tsan. Try $0 --help" >&2
    exit 2
    ;;
esac
cd "$(dirname "$0")/.."
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
  if [ "${RINGSIDE_NVIDIA_NCCL:-off}" = on ]; then
    test/emulated_gpu/get_nvidia_nccl.sh > /dev/null || [ $? -eq 77 ]
  fi
fi
cmake --preset "$preset" "${cmake_arguments[@]}" || stop "CMake found no way to build"
cmake --build --preset "$preset" --parallel "$jobs" --target "${targets[@]}"

rm -f "$failures"
# Most tests wait for something: one at a time for each processor would leave two thirds of it idle.
ctest --preset "$preset" -LE '^release$' --parallel $((2 * jobs + 1)) "$@" && exit
[ -s "$failures" ] && [ "$(wc -l < "$failures")" -le 8 ] || exit 1
echo "=== These tests failed. They run once more, one at a time:"
cat "$failures"
# By their names: the numbers there count the tests that were chosen.
ctest --preset "$preset" --parallel 1 -R "^($(cut -d : -f 2 "$failures" | paste -s -d '|'))\$"
