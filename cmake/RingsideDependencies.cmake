# SPDX-License-Identifier: Apache-2.0
# Finds what the project builds on and says at the end what is missing and what that means.

set(ringside_needed simdjson CLI11 nlohmann_json ZLIB)
if(RINGSIDE_BUILD_TESTS)
  list(APPEND ringside_needed Catch2)
endif()
set(ringside_missing "")
foreach(package IN LISTS ringside_needed)
  find_package(${package} QUIET)
  if(NOT ${package}_FOUND)
    list(APPEND ringside_missing ${package})
  endif()
endforeach()
ringside_stop_if_missing(${ringside_missing})
find_package(SQLite3 QUIET)
find_package(pugixml QUIET CONFIG)
find_package(benchmark QUIET)

# The library itself is loaded at run time, by `ringside exporter`.
find_path(RINGSIDE_MICROHTTPD_INCLUDE microhttpd.h)
mark_as_advanced(RINGSIDE_MICROHTTPD_INCLUDE)

# Charts of the report's page, inlined with their licence. The page is written for this version, and
# tested with it, whatever version the distribution has: -DRINGSIDE_D3=FILE names one of another place.
set(RINGSIDE_D3_VERSION 5.16.0)
find_file(RINGSIDE_D3 d3.min.js PATHS /usr/share PATH_SUFFIXES nodejs/d3/dist javascript/d3)
find_file(RINGSIDE_D3_LICENCE copyright PATHS /usr/share/doc PATH_SUFFIXES node-d3)
mark_as_advanced(RINGSIDE_D3 RINGSIDE_D3_LICENCE)
set(RINGSIDE_HAVE_D3 OFF)
if(RINGSIDE_D3 AND RINGSIDE_D3_LICENCE)
  file(STRINGS "${RINGSIDE_D3}" head LIMIT_INPUT 64 LIMIT_COUNT 1)
  string(FIND "${head}" "https://d3js.org v${RINGSIDE_D3_VERSION} " place)
  if(NOT place EQUAL -1)
    set(RINGSIDE_HAVE_D3 ON)
  endif()
endif()

# The toolkit's headers are enough for NVTX; the GPU example needs nvcc and NCCL too.
set(RINGSIDE_CUDA_ROOT "/usr/local/cuda" CACHE PATH "CUDA Toolkit")
find_path(RINGSIDE_CUDA_INCLUDE cuda_runtime_api.h
          HINTS "${RINGSIDE_CUDA_ROOT}/include" "${RINGSIDE_NCCL_PACKAGE}/cuda/include" ENV CUDA_PATH
          PATH_SUFFIXES include)
# Ranges carry payloads, which headers before CUDA 12 have no schemas for.
find_path(RINGSIDE_NVTX_INCLUDE nvtx3/nvToolsExtPayload.h
          HINTS "${RINGSIDE_CUDA_INCLUDE}" "${RINGSIDE_CUDA_ROOT}/include")
find_library(RINGSIDE_CUDART NAMES cudart
             HINTS "${RINGSIDE_CUDA_ROOT}/lib64" "${RINGSIDE_CUDA_ROOT}/targets/x86_64-linux/lib")
find_path(RINGSIDE_NCCL_INCLUDE nccl.h HINTS "${RINGSIDE_CUDA_INCLUDE}")
find_library(RINGSIDE_NCCL NAMES nccl HINTS "${RINGSIDE_CUDA_ROOT}/lib64")
mark_as_advanced(RINGSIDE_CUDA_INCLUDE RINGSIDE_NVTX_INCLUDE RINGSIDE_CUDART RINGSIDE_NCCL_INCLUDE
                 RINGSIDE_NCCL)

find_file(RINGSIDE_NCCL_ARCHIVE libnccl_static.a
          HINTS "${RINGSIDE_NCCL_PACKAGE}/usr/lib/x86_64-linux-gnu" NO_DEFAULT_PATH)
mark_as_advanced(RINGSIDE_NCCL_ARCHIVE)

# Result variables: what can be built.
set(RINGSIDE_HAVE_NVTX "${RINGSIDE_NVTX_INCLUDE}")
if(RINGSIDE_CUDA_INCLUDE AND RINGSIDE_CUDART AND RINGSIDE_NCCL_INCLUDE AND RINGSIDE_NCCL)
  set(RINGSIDE_HAVE_GPU_EXAMPLE ON)
else()
  set(RINGSIDE_HAVE_GPU_EXAMPLE OFF)
endif()
if(RINGSIDE_NCCL_ARCHIVE AND RINGSIDE_CUDA_INCLUDE AND CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64"
   AND NOT RINGSIDE_SANITIZE)
  set(RINGSIDE_HAVE_EMULATED_GPU ON)
else()
  set(RINGSIDE_HAVE_EMULATED_GPU OFF)
endif()

# `ringside-mpi`. Sanitizers find much in MPI's libraries that is not ours to mend.
set(RINGSIDE_HAVE_MPI OFF)
set(RINGSIDE_HAVE_MPICH OFF)
if(NOT RINGSIDE_MPI STREQUAL "OFF")
  if(RINGSIDE_MPI STREQUAL "ON")
    find_package(MPI REQUIRED COMPONENTS C)
  elseif(NOT RINGSIDE_SANITIZE AND NOT RINGSIDE_WHEEL AND NOT CMAKE_CROSSCOMPILING)
    find_package(MPI QUIET COMPONENTS C)
  endif()
  set(RINGSIDE_HAVE_MPI "${MPI_C_FOUND}")
  # Debian has both at a time; the tests take both.
  find_program(RINGSIDE_MPIEXEC_MPICH mpiexec.mpich)
  mark_as_advanced(RINGSIDE_MPIEXEC_MPICH)
  find_package(PkgConfig QUIET)
  if(MPI_C_FOUND AND RINGSIDE_BUILD_TESTS AND RINGSIDE_MPIEXEC_MPICH AND PkgConfig_FOUND
     AND NOT "${MPI_C_LIBRARIES}" MATCHES "mpich")
    pkg_check_modules(RINGSIDE_MPICH QUIET IMPORTED_TARGET mpich)
    set(RINGSIDE_HAVE_MPICH "${RINGSIDE_MPICH_FOUND}")
  endif()
endif()

function(ringside_print_summary)
  message(STATUS "Ringside ${PROJECT_VERSION}, ${CMAKE_BUILD_TYPE}, ${CMAKE_CXX_COMPILER_ID} "
                 "${CMAKE_CXX_COMPILER_VERSION}")
  message(STATUS "  plugin and analyzer : yes")
  if(pugixml_FOUND)
    message(STATUS "  pugixml             : ${pugixml_VERSION}")
  else()
    message(STATUS "  pugixml             : missing (libpugixml-dev); `ringside topology` reads no XML of NCCL")
  endif()
  if(SQLite3_FOUND)
    message(STATUS "  SQLite              : ${SQLite3_VERSION}")
  else()
    message(STATUS "  SQLite              : missing (libsqlite3-dev); no `ringside export --sqlite`")
  endif()
  if(RINGSIDE_MICROHTTPD_INCLUDE)
    message(STATUS "  metrics by HTTP     : yes")
  else()
    message(STATUS "  metrics by HTTP     : missing (libmicrohttpd-dev); no `ringside exporter`")
  endif()
  if(RINGSIDE_HAVE_MPI)
    message(STATUS "  MPI                 : ${MPI_C_VERSION}, ${MPI_C_LIBRARIES}")
  else()
    message(STATUS "  MPI                 : missing (libopenmpi-dev or libmpich-dev), or not wanted; "
                   "no `ringside-mpi`")
  endif()
  if(RINGSIDE_HAVE_D3)
    message(STATUS "  D3                  : ${RINGSIDE_D3_VERSION}, ${RINGSIDE_D3}")
  else()
    message(STATUS "  D3                  : ${RINGSIDE_D3_VERSION} is missing (node-d3 of Debian 12, or "
                   "-DRINGSIDE_D3=FILE); no `ringside report`")
  endif()
  if(RINGSIDE_NVTX_INCLUDE)
    message(STATUS "  NVTX3 headers       : ${RINGSIDE_NVTX_INCLUDE}")
  else()
    message(STATUS "  NVTX3 headers       : missing (CUDA Toolkit 12 or newer); no NVTX markers")
  endif()
  if(RINGSIDE_HAVE_GPU_EXAMPLE)
    message(STATUS "  GPU example         : yes, with ${RINGSIDE_NCCL}")
  else()
    message(STATUS "  GPU example         : no: needs the CUDA runtime and NCCL with headers")
  endif()
  if(RINGSIDE_HAVE_EMULATED_GPU)
    message(STATUS "  NCCL, emulated GPUs : yes, from ${RINGSIDE_NCCL_PACKAGE}")
  elseif(RINGSIDE_SANITIZE)
    message(STATUS "  NCCL, emulated GPUs : no: not built with sanitizers")
  elseif(NOT RINGSIDE_CUDA_INCLUDE)
    message(STATUS "  NCCL, emulated GPUs : no: needs the CUDA Toolkit's headers")
  else()
    message(STATUS "  NCCL, emulated GPUs : no: run test/emulated_gpu/get_nccl.sh "
                   "${RINGSIDE_NCCL_PACKAGE} first; its tests are skipped")
  endif()
endfunction()
