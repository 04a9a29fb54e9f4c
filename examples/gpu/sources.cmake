# SPDX-License-Identifier: Apache-2.0
# Also built by test/emulated_gpu, against NCCL on emulated GPUs.
set(COLLECTIVES_BENCH_SOURCES
  "${CMAKE_CURRENT_LIST_DIR}/bench.cc" "${CMAKE_CURRENT_LIST_DIR}/call_times.cc"
  "${CMAKE_CURRENT_LIST_DIR}/communicator.cc" "${CMAKE_CURRENT_LIST_DIR}/main.cc"
  "${CMAKE_CURRENT_LIST_DIR}/options.cc" "${CMAKE_CURRENT_LIST_DIR}/profiler.cc")
