# SPDX-License-Identifier: Apache-2.0
# The plugin's tests with NCCL. Each skips itself, and says why, where NCCL cannot be run.

set(driver "${CMAKE_CURRENT_SOURCE_DIR}/driver/run_test.py")
set(work "${CMAKE_BINARY_DIR}/emulated_gpu/tests")

# add_driver_test(TEST NAME SECONDS PLUGIN_TARGET LABELS NCCL_RELEASE): NAME is run_test.py's; the
# release is one of NVIDIA's builds, or empty for Debian's.
function(add_driver_test test name seconds plugin labels nccl_release)
  if(skip_reason)
    set(arguments --skip "${skip_reason}")
  elseif(NOT TARGET ${plugin})
    set(arguments --skip "this build has no ${plugin}")
  elseif(nccl_release AND NOT EXISTS "${RINGSIDE_NCCL_PACKAGE}/nvidia-${nccl_release}/libnccl.so.2")
    set(arguments --skip
        "no NCCL ${nccl_release}: run test/emulated_gpu/get_nvidia_nccl.sh, then cmake again")
  else()
    set(arguments
      --ranks-program "$<TARGET_FILE:nccl_ranks>"
      --bench-program "$<TARGET_FILE:emulated_collectives_bench>"
      --plugin "$<TARGET_FILE:${plugin}>" --analyzer "$<TARGET_FILE:ringside>" --work "${work}")
    if(TARGET in_lock)
      list(APPEND arguments --in-lock "$<TARGET_FILE:in_lock>")
    endif()
    if(RINGSIDE_HAVE_NVTX)
      list(APPEND arguments --nvtx-listener "$<TARGET_FILE:nvtx_listener>")
    endif()
    if(TARGET torch_stubs)
      list(APPEND arguments --torch "${RINGSIDE_TORCH_PACKAGE}" --torch-stubs "${torch_stubs}")
    endif()
    if(nccl_release)
      list(APPEND arguments
           --nccl-folder "${CMAKE_BINARY_DIR}/emulated_gpu/nccl-${nccl_release}")
    endif()
  endif()
  add_test(NAME ${test} COMMAND Python3::Interpreter "${driver}" ${arguments} ${name})
  # NCCL's proxies poll: several jobs at a time on few cores disturb each other's timing. One after the
  # other they take longer than all other tests, so they begin first (COST).
  set_tests_properties(${test} PROPERTIES
    TIMEOUT ${seconds} SKIP_RETURN_CODE 77 RESOURCE_LOCK emulated_gpu PROCESSORS 2 LABELS "${labels}"
    COST 300)
endfunction()

# add_nccl_test(NAME SECONDS [PLUGIN_TARGET]): with Debian's NCCL, and, before a release, with
# NVIDIA's.
function(add_nccl_test name seconds)
  set(plugin ringside_plugin)
  if(ARGC GREATER 2)
    set(plugin "${ARGV2}")
  endif()
  add_driver_test(${name} ${name} ${seconds} ${plugin} nccl "")
  if(name MATCHES "^nccl-")
    add_driver_test(nvidia-${name} ${name} ${seconds} ${plugin} "nvidia;release" ${nvidia_release})
  endif()
endfunction()

add_nccl_test(nccl-mix-2 120)
add_nccl_test(nccl-mix-4 180)
add_nccl_test(nccl-mix-kernel 120)
add_nccl_test(nccl-mix-network 120)
add_nccl_test(nccl-one-host 120)
add_nccl_test(nccl-captured 120)
add_nccl_test(nccl-broadcasts-default 120)
foreach(version RANGE 1 6)
  add_nccl_test(nccl-abi-v${version} 120 ringside_plugin_v${version})
endforeach()
# The newest interface, at each change.
add_driver_test(nvidia-nccl-abi-v7 nccl-abi-v7 120 ringside_plugin_v7 nvidia ${nvidia_release})
set_tests_properties(nvidia-nccl-mix-2 PROPERTIES LABELS nvidia)
add_nccl_test(nccl-windows 120)
add_nccl_test(nccl-sampled 180)
add_nccl_test(nccl-bench 120)
add_nccl_test(nccl-bench-kernel 120)
add_nccl_test(nccl-kill-one 120)
add_nccl_test(nccl-kill-all 120)
add_nccl_test(nccl-no-finalize 120)
add_nccl_test(nccl-threads-fork 120)
add_nccl_test(nccl-shared-process 120)
add_nccl_test(nccl-no-directory 120)
add_nccl_test(nccl-signals 240)
add_nccl_test(nccl-small-shm 240)
add_nccl_test(nccl-tiny-shm 240)
add_nccl_test(nccl-container-shm 120)
foreach(name late-rank late-neighbour stuck-rank killed-rank sweep)
  add_nccl_test(nccl-${name} 120)
endforeach()
# The measurements of these tests are compared, so nothing else may run beside them.
set_tests_properties(nccl-late-rank nccl-sweep PROPERTIES RUN_SERIAL ON)

foreach(name left-out left-out-killed send-not-joined random-kills)
  add_nccl_test(nccl-${name} 120)
endforeach()

add_nccl_test(nccl-topology 120)
add_nccl_test(nccl-topology-hangs 180)
add_nccl_test(nccl-topology-off 120)

add_nccl_test(nccl-hang-watch 120)
add_nccl_test(nccl-hang-watch-stopped 120)

add_nccl_test(nccl-run 120)
add_nccl_test(nccl-ctl 180)
add_nccl_test(nccl-ras 240)
add_nccl_test(nccl-top 240)
add_nccl_test(nccl-watch 240)
add_nccl_test(nccl-locked 300)
add_nccl_test(nccl-sleeping 200)
add_nccl_test(nccl-scalars 120)
set_tests_properties(nccl-scalars PROPERTIES RUN_SERIAL ON)  # as above
add_nccl_test(nccl-exporter 240)
add_nccl_test(nccl-run-killed 120)
add_nccl_test(nccl-run-terminated 120)
if(RINGSIDE_HAVE_NVTX)
  add_nccl_test(nccl-markers 120)
endif()

# PyTorch: nccl2 is what it means by "nccl" from 2.15 on, legacy what it meant before.
set(torch_tests alone trainers torchrun crossing-nccl2)
if(TARGET emulated_cupti)
  list(APPEND torch_tests steps-ddp steps-fsdp steps-tp steps-pp)
endif()
foreach(implementation nccl2 legacy)
  foreach(scenario calls training profiled annotated mismatch skip stalled)
    list(APPEND torch_tests ${scenario}-${implementation})
  endforeach()
endforeach()
foreach(test ${torch_tests})
  add_nccl_test(torch-${test} 300)
  # What the older implementation does differently is in how it calls; a release tries the rest.
  set(labels torch)
  if((test MATCHES "legacy$" AND NOT test STREQUAL calls-legacy) OR test STREQUAL steps-tp)
    list(APPEND labels release)
  endif()
  # Nothing of theirs is a matter of time, and half of it is one process that imports PyTorch.
  set_tests_properties(torch-${test} PROPERTIES LABELS "${labels}" RESOURCE_LOCK "" PROCESSORS 2)
endforeach()

# The check for a machine with a GPU, here on emulated ones.
if(skip_reason)
  add_test(NAME nccl-gpu-check
           COMMAND Python3::Interpreter -c
           "import sys; print('skipped:', sys.argv[1]); sys.exit(77)" "${skip_reason}")
else()
  add_test(NAME nccl-gpu-check
           COMMAND Python3::Interpreter "${PROJECT_SOURCE_DIR}/test/gpu_check/run_emulated.py"
                   "${PROJECT_SOURCE_DIR}/scripts/gpu_check.sh" "${CMAKE_BINARY_DIR}"
                   "${work}/gpu-check" 150)
endif()
set_tests_properties(nccl-gpu-check PROPERTIES
  TIMEOUT 300 SKIP_RETURN_CODE 77 RESOURCE_LOCK emulated_gpu LABELS nccl RUN_SERIAL ON)

# The emulation itself, without Ringside.
foreach(part collectives faults)
  if(skip_reason)
    add_test(NAME emulated_gpu-${part}
             COMMAND Python3::Interpreter -c
             "import sys; print('skipped:', sys.argv[1]); sys.exit(77)" "${skip_reason}")
  else()
    add_test(NAME emulated_gpu-${part}
             COMMAND "${CMAKE_CURRENT_SOURCE_DIR}/self_check.sh" ${part}
                     "${CMAKE_BINARY_DIR}/emulated_gpu" "${work}/self-check-${part}")
  endif()
  set_tests_properties(emulated_gpu-${part} PROPERTIES
    TIMEOUT 300 SKIP_RETURN_CODE 77 RESOURCE_LOCK emulated_gpu PROCESSORS 2 LABELS nccl COST 300)
endforeach()

# What these try, the tests of test/host or another one of the above try at each change, too. So only
# a release runs them.
foreach(test nccl-abi-v1 nccl-abi-v3 nccl-abi-v4 nccl-abi-v5 nccl-mix-4 nccl-sampled nccl-bench-kernel
             nccl-kill-all nccl-left-out-killed nccl-random-kills nccl-topology-off nccl-tiny-shm
             nccl-run-terminated nccl-locked emulated_gpu-faults)
  set_property(TEST ${test} PROPERTY LABELS nccl release)
endforeach()
