# SPDX-License-Identifier: Apache-2.0
# The emulated driver, NVML and runtime, NCCL linked with them, nccl_ranks and the recorders.

# The libraries lie side by side and find each other there, also with dlopen.
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/emulated_gpu/lib")
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/emulated_gpu/bin")
set(CMAKE_BUILD_RPATH_USE_ORIGIN ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

add_library(emulated_flags INTERFACE)
target_include_directories(emulated_flags INTERFACE "${CMAKE_CURRENT_SOURCE_DIR}")
target_include_directories(emulated_flags SYSTEM INTERFACE
  "${RINGSIDE_EMULATED_CUDA_INCLUDE}" "${RINGSIDE_NCCL_PACKAGE}/usr/include")
target_link_libraries(emulated_flags INTERFACE ringside_flags)
target_link_options(emulated_flags INTERFACE -Wl,--enable-new-dtags)

# Named as programs look them up with dlopen: libcuda.so.1 and so on.
function(set_versioned_name target name version)
  set_target_properties(${target} PROPERTIES OUTPUT_NAME ${name} VERSION ${version}
                        SOVERSION ${version} BUILD_RPATH "\$ORIGIN")
endfunction()

add_library(emulated_cuda SHARED
  cuda/activity.cc cuda/device.cc cuda/driver.cc cuda/driver_modules.cc cuda/event.cc
  cuda/kernel.cc cuda/log.cc cuda/memory.cc cuda/stream.cc cuda/graph.cc)
target_link_libraries(emulated_cuda PRIVATE emulated_flags)
set_versioned_name(emulated_cuda cuda 1)

add_library(emulated_nvml SHARED cuda/machine.cc cuda/nvml.cc)
target_link_libraries(emulated_nvml PRIVATE emulated_flags emulated_cuda nlohmann_json::nlohmann_json
                      ${CMAKE_DL_LIBS})
set_versioned_name(emulated_nvml nvidia-ml 1)

# CUPTI, where its headers are to be had.
find_path(RINGSIDE_CUPTI_INCLUDE cupti.h
          HINTS "${RINGSIDE_EMULATED_CUDA_INCLUDE}" "${RINGSIDE_EMULATED_CUDA_INCLUDE}/../extras/CUPTI/include")
mark_as_advanced(RINGSIDE_CUPTI_INCLUDE)
if(RINGSIDE_CUPTI_INCLUDE)
  add_library(emulated_cupti SHARED cupti/cupti.cc cupti/names.cc cupti/records.cc)
  target_include_directories(emulated_cupti SYSTEM PRIVATE "${RINGSIDE_CUPTI_INCLUDE}")
  target_link_libraries(emulated_cupti PRIVATE emulated_flags emulated_cuda)
  target_link_options(emulated_cupti PRIVATE
    "-Wl,--version-script=${CMAKE_CURRENT_SOURCE_DIR}/cupti/libcupti.map")
  set_versioned_name(emulated_cupti cupti 13)
  set(emulated_for_torch libcupti.so.13)
endif()

set(runtime_sources
  cuda/runtime_capture.cc cuda/runtime_device.cc cuda/runtime_kernel.cc cuda/runtime_memory.cc
  cuda/runtime_stream.cc)

# The runtime by itself, for applications of CUDA 13. All state is in the driver, so a process can
# have this one and the one inside NCCL.
add_library(emulated_cudart SHARED
  ${runtime_sources} cuda/runtime_cuda13.cc cuda/runtime_launch.cc)
target_link_libraries(emulated_cudart PRIVATE emulated_flags emulated_cuda)
target_link_options(emulated_cudart PRIVATE
  "-Wl,--version-script=${CMAKE_CURRENT_SOURCE_DIR}/cuda/libcudart.map")
set_target_properties(emulated_cudart PROPERTIES
  LINK_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/cuda/libcudart.map")
set_versioned_name(emulated_cudart cudart 13)

# The emulated kernels, for each release of NCCL.
add_library(nccl_kernels OBJECT
  cuda/yield.cc nccl/broadcast_batch.cc nccl/collectives.cc nccl/fifo.cc nccl/function_table.cc
  nccl/kernel.cc nccl/layout_check.cc nccl/point_to_point.cc nccl/primitives.cc
  nccl/primitives_low_latency.cc nccl/primitives_simple.cc nccl/reduction.cc nccl/scheduler.cc
  nccl/work_batches.cc)
target_link_libraries(nccl_kernels PRIVATE emulated_flags)

# NCCL itself, from Debian's archive, with the runtime API and the kernels' emulation inside.
# The runtime must be inside, not beside: the archive has weak definitions of some of its
# functions, and those would win over a shared library's.
add_library(emulated_nccl SHARED
  cuda/glibc_compat.cc ${runtime_sources} cuda/runtime_cuda12.cc nccl/archive.cc)
target_link_libraries(emulated_nccl
  PRIVATE emulated_flags nccl_kernels
          "-Wl,--whole-archive" "${RINGSIDE_NCCL_ARCHIVE}" "-Wl,--no-whole-archive"
          emulated_cuda rt)
target_include_directories(emulated_nccl SYSTEM INTERFACE
  "${RINGSIDE_EMULATED_CUDA_INCLUDE}" "${RINGSIDE_NCCL_PACKAGE}/usr/include")
# The archive comes from a newer binutils; an older linker relaxes its GOT loads into wrong code.
target_link_options(emulated_nccl PRIVATE -Wl,--no-relax)
set_target_properties(emulated_nccl PROPERTIES LINK_DEPENDS "${RINGSIDE_NCCL_ARCHIVE}")
set_versioned_name(emulated_nccl nccl 2)
add_dependencies(emulated_nccl emulated_nvml)  # NCCL loads it at run time

# The emulation itself has coroutines and functions of one name in several files.
set_target_properties(emulated_cuda emulated_cudart emulated_nccl nccl_kernels
  PROPERTIES UNITY_BUILD OFF)

# What NVIDIA's own build of NCCL needs (nccl/redirect_wheel.py).
add_library(emulated_kernels SHARED nccl/wheel.cc)
target_link_libraries(emulated_kernels PRIVATE emulated_flags nccl_kernels emulated_cuda)
set_target_properties(emulated_kernels PROPERTIES OUTPUT_NAME emugpu_nccl BUILD_RPATH "\$ORIGIN")

# NVIDIA's own builds, where they have been fetched. Programs run with one of them by
# LD_LIBRARY_PATH=<build>/emulated_gpu/nccl-<release>.
file(GLOB nvidia_builds "${RINGSIDE_NCCL_PACKAGE}/nvidia-*/libnccl.so.2")
set(redirect "${CMAKE_CURRENT_SOURCE_DIR}/nccl/redirect_wheel.py")
set(redirected "")
foreach(nvidia_build IN LISTS nvidia_builds)
  string(REGEX MATCH "nvidia-([^/]*)/libnccl.so.2$" release "${nvidia_build}")
  set(folder "${CMAKE_BINARY_DIR}/emulated_gpu/nccl-${CMAKE_MATCH_1}")
  add_custom_command(OUTPUT "${folder}/libnccl.so.2"
    COMMAND "${CMAKE_COMMAND}" -E make_directory "${folder}"
    COMMAND Python3::Interpreter "${redirect}" "${nvidia_build}" $<TARGET_SONAME_FILE:emulated_cudart>
            $<TARGET_FILE:emulated_kernels> "${folder}/libnccl.so.2"
    DEPENDS "${redirect}" emulated_cudart emulated_kernels "${nvidia_build}"
    COMMENT "Leading NCCL ${CMAKE_MATCH_1} to the emulated CUDA runtime")
  list(APPEND redirected "${folder}/libnccl.so.2")
endforeach()
add_custom_target(emulated_nvidia_nccl ALL DEPENDS ${redirected})

add_executable(nccl_ranks
  ranks/board.cc ranks/buffer.cc ranks/call_log.cc ranks/collectives.cc ranks/environment.cc
  ranks/job.cc ranks/main.cc ranks/options.cc ranks/process.cc ranks/rank.cc
  ranks/scenario_burst.cc ranks/scenario_mix.cc ranks/scenario_sweep.cc ranks/scenario_train.cc
  ranks/scenario_windows.cc ranks/scenarios.cc ranks/tagged.cc ranks/scenario_graph.cc)
target_link_libraries(nccl_ranks PRIVATE emulated_flags emulated_nccl ${CMAKE_DL_LIBS})
set_target_properties(nccl_ranks PROPERTIES BUILD_RPATH "\$ORIGIN/../lib")

# For driver/locked_ranks.py: an application's library, with lines of its source.
add_library(waiting_lock MODULE ranks/lock.cc)
target_link_libraries(waiting_lock PRIVATE emulated_flags)
target_compile_options(waiting_lock PRIVATE -g)

foreach(version 2 6 7)
  add_library(recorder_v${version} MODULE
    recorder/journal.cc recorder/recorder.cc recorder/recorder_v${version}.cc)
  target_link_libraries(recorder_v${version} PRIVATE emulated_flags)
  set_target_properties(recorder_v${version} PROPERTIES
    CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
endforeach()

# The GPU example, against the same NCCL.
include("${PROJECT_SOURCE_DIR}/examples/gpu/sources.cmake")
add_executable(emulated_collectives_bench ${COLLECTIVES_BENCH_SOURCES})
target_link_libraries(emulated_collectives_bench PRIVATE emulated_flags emulated_nccl)
set_target_properties(emulated_collectives_bench PROPERTIES
  OUTPUT_NAME collectives_bench BUILD_RPATH "\$ORIGIN/../lib")

# These stand in for the NVIDIA libraries that PyTorch is linked with.
if(EXISTS "${RINGSIDE_TORCH_PACKAGE}/torch/lib")
  set(torch_stubs "${CMAKE_BINARY_DIR}/emulated_gpu/torch_stubs")
  add_custom_command(OUTPUT "${torch_stubs}/done"
    COMMAND "${CMAKE_COMMAND}" -E rm -rf "${torch_stubs}"
    COMMAND Python3::Interpreter "${CMAKE_CURRENT_SOURCE_DIR}/torch/make_stubs.py"
            "${CMAKE_CXX_COMPILER}" "${RINGSIDE_TORCH_PACKAGE}/torch/lib" "${torch_stubs}"
            ${emulated_for_torch}
    COMMAND "${CMAKE_COMMAND}" -E touch "${torch_stubs}/done"
    DEPENDS torch/make_stubs.py "${RINGSIDE_TORCH_PACKAGE}/torch/version.py"
    COMMENT "Making stand-ins for the NVIDIA libraries of PyTorch")
  add_custom_target(torch_stubs ALL DEPENDS "${torch_stubs}/done")
endif()
