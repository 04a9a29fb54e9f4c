# SPDX-License-Identifier: Apache-2.0
# Compile and link flags that every target of the project shares.

find_package(Threads REQUIRED)

add_library(ringside_flags INTERFACE)
target_include_directories(ringside_flags INTERFACE
  "${PROJECT_SOURCE_DIR}" "${PROJECT_SOURCE_DIR}/include")
target_compile_options(ringside_flags INTERFACE
  -Wall -Wextra -Wconversion -Wshadow $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor>
  $<$<COMPILE_LANG_AND_ID:CXX,Clang>:-Wthread-safety>
  $<$<BOOL:${RINGSIDE_WARNINGS_AS_ERRORS}>:-Werror>)
target_link_libraries(ringside_flags INTERFACE Threads::Threads ${CMAKE_DL_LIBS})

if(RINGSIDE_SANITIZE)
  # Frame pointers keep the stacks in reports whole; findings must fail the test that meets them.
  add_compile_options(-fsanitize=${RINGSIDE_SANITIZE} -fno-omit-frame-pointer
                      -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${RINGSIDE_SANITIZE})
endif()
