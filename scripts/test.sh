#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Builds everything, warnings being errors, and runs all tests.
#
#   test.sh [PRESET [CTEST_OPTION...]]     PRESET: dev (default), release, asan-ubsan, tsan
#
# RINGSIDE_TORCH=on also runs the tests with PyTorch's wheel, which is fetched (0.5 GB) into
# ~/.cache/ringside the first time; RINGSIDE_WHEEL=on all those of the Python package, of which
# otherwise some run, and none with RINGSIDE_WHEEL=off.
# CMAKE_ARGUMENTS (separated by blanks) are passed on to CMake.
set -euo pipefail

cd "$(dirname "$0")/.."
preset=${1:-dev}
[ $# -eq 0 ] || shift
read -r -a cmake_arguments <<< "${CMAKE_ARGUMENTS:-}"

# Without these packages, the tests of NCCL and of PyTorch on emulated GPUs skip themselves. This is
# no failure.
if [[ $preset != *san ]]; then
  test/emulated_gpu/get_nccl.sh > /dev/null || [ $? -eq 77 ]
  if [ "${RINGSIDE_TORCH:-off}" = on ]; then
    test/emulated_gpu/get_torch.sh > /dev/null || [ $? -eq 77 ]
  fi
fi
cmake --preset "$preset" "${cmake_arguments[@]}"
cmake --build --preset "$preset" --parallel "${JOBS:-$(nproc)}"
ctest --preset "$preset" "$@"
