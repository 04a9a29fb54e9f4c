# SPDX-License-Identifier: Apache-2.0
# Besides the Python files the wheel has the plugin and the tool. The plugin is in the package,
# since `pip install --target` drops a wheel's own lib/; the tool is among the scripts.
set(plugin_directory nccl_ringside/lib)
set(tool_directory "${SKBUILD_SCRIPTS_DIR}")
if(RINGSIDE_BUILT)
  add_custom_target(ringside)
  add_custom_target(ringside_plugin)
  install(PROGRAMS "${RINGSIDE_BUILT}/lib/libnccl-profiler-ringside.so"
          DESTINATION ${plugin_directory} COMPONENT wheel)
  install(PROGRAMS "${RINGSIDE_BUILT}/analyzer/ringside"
          DESTINATION "${tool_directory}" COMPONENT wheel)
else()
  install(TARGETS ringside_plugin LIBRARY DESTINATION ${plugin_directory} COMPONENT wheel)
  install(TARGETS ringside RUNTIME DESTINATION "${tool_directory}" COMPONENT wheel)
endif()
# The texts of the licences of what is linked into these, where it is not this machine's own.
if(RINGSIDE_WHEEL_LICENCES)
  install(DIRECTORY "${RINGSIDE_WHEEL_LICENCES}/" DESTINATION "${SKBUILD_METADATA_DIR}/licenses"
          COMPONENT wheel)
endif()
