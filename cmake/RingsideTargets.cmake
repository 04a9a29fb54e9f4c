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

# What is shown takes little of the time that a command runs, and unit tests run once: this halves
# their time to compile. Sanitizers have a level of their own.
if(NOT RINGSIDE_SANITIZE)
  set(ringside_light_options $<$<CONFIG:RelWithDebInfo,Release>:-O1>)
endif()

if(RINGSIDE_SANITIZE)
  # Frame pointers keep the stacks in reports whole; findings must fail the test that meets them.
  add_compile_options(-fsanitize=${RINGSIDE_SANITIZE} -fno-omit-frame-pointer
                      -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${RINGSIDE_SANITIZE})
  if(NOT RINGSIDE_FUZZ)
    # These three checks of each access take half of the time to compile and half of the memory.
    # AddressSanitizer stops at a null pointer, too. The plugin keeps the first two, and
    # scripts/fuzz.sh keeps all.
    add_compile_options(-fno-sanitize=null,alignment,vptr)
    if(RINGSIDE_SANITIZE MATCHES "address")
      # Tests start the analyzer some thousand times, and most of a start was relocation.
      string(APPEND CMAKE_C_FLAGS " -fno-pie")
      string(APPEND CMAKE_CXX_FLAGS " -fno-pie")
      string(APPEND CMAKE_EXE_LINKER_FLAGS " -no-pie")
    endif()
  endif()
endif()
