# SPDX-License-Identifier: Apache-2.0
# The drain: from rings to lines of a trace.
add_executable(ringside_bench_drain drain_bench.cc drain_load.cc
  $<TARGET_OBJECTS:ringside_assemble> $<TARGET_OBJECTS:ringside_export> $<TARGET_OBJECTS:ringside_probe>
  $<TARGET_OBJECTS:ringside_plugin_objects>)
target_link_libraries(ringside_bench_drain PRIVATE ringside_flags)
add_test(NAME bench-drain COMMAND ringside_bench_drain --seconds 0.2)
set_tests_properties(bench-drain PROPERTIES LABELS bench RUN_SERIAL ON TIMEOUT 120)
