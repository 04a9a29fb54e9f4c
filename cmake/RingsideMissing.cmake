# SPDX-License-Identifier: Apache-2.0
# Stops with all that is missing at once, and with the command that installs it.

# ringside_stop_if_missing(NAME...)
function(ringside_stop_if_missing)
  if(NOT ARGN)
    return()
  endif()
  list(JOIN ARGN ", " missing)
  set(script "${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../scripts/install_dependencies.sh")
  set(options --dry-run)
  if(DEFINED RINGSIDE_BUILD_TESTS AND NOT RINGSIDE_BUILD_TESTS)
    list(APPEND options --no-tests)
  endif()
  execute_process(COMMAND "${script}" ${options} OUTPUT_VARIABLE packages ERROR_VARIABLE packages
                  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_STRIP_TRAILING_WHITESPACE)
  # CMake breaks lines unless they begin with a blank, and a command is copied whole.
  string(REPLACE "\n" "\n  " packages "${packages}")
  message(FATAL_ERROR "Ringside cannot be built here, since this is missing: ${missing}.\n"
                      "All that is needed (scripts/install_dependencies.sh):\n"
                      "  ${packages}\n")
endfunction()

# CMake's own message about a compiler names no library, so the user would come back for each.
function(ringside_look_for_compiler)
  if(CMAKE_TOOLCHAIN_FILE OR CMAKE_CXX_COMPILER)
    return()
  endif()
  set(names c++ g++ clang++)
  if(NOT "$ENV{CXX}" STREQUAL "")
    separate_arguments(words UNIX_COMMAND "$ENV{CXX}")
    list(GET words 0 names)
  endif()
  find_program(compiler NAMES ${names} NO_CACHE)
  if(NOT compiler)
    ringside_stop_if_missing("a C++ compiler")
  endif()
endfunction()
