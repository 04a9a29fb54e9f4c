# SPDX-License-Identifier: Apache-2.0
# The analyzer's loader beside simdjson and Python.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
add_executable(ringside_bench_load load_bench.cc)
target_link_libraries(ringside_bench_load PRIVATE ringside_analyzer CLI11::CLI11)
add_test(NAME bench-load
  COMMAND ${Python3_EXECUTABLE} "${CMAKE_CURRENT_SOURCE_DIR}/compare_load.py"
          --bench $<TARGET_FILE:ringside_bench_load> --generate $<TARGET_FILE:ringside_generate>
          --rounds 1)
set_tests_properties(bench-load PROPERTIES LABELS bench TIMEOUT 100)
