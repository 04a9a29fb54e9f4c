#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Builds everything, warnings being errors, and runs all tests.
#
#   test.sh [PRESET [CTEST_OPTION...]]     PRESET: dev (default), release, asan-ubsan, tsan
#
# CMAKE_ARGUMENTS (separated by blanks) are passed on to CMake.
set -euo pipefail

cd "$(dirname "$0")/.."
preset=${1:-dev}
[ $# -eq 0 ] || shift
read -r -a cmake_arguments <<< "${CMAKE_ARGUMENTS:-}"

# Without it, the tests that run NCCL on emulated GPUs skip themselves. That is not a failure.
if [[ $preset != *san ]]; then
  test/emulated_gpu/get_nccl.sh > /dev/null || [ $? -eq 77 ]
fi
cmake --preset "$preset" "${cmake_arguments[@]}"
cmake --build --preset "$preset" --parallel "${JOBS:-$(nproc)}"
ctest --preset "$preset" "$@"
