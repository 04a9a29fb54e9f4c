// SPDX-License-Identifier: Apache-2.0
//
// CUDA driver API: what PyTorch looks up in libcuda.so.1 beyond what the emulation has for NCCL.
#include <cuda.h>

#include "log.h"

#undef cuLinkCreate
#undef cuLinkAddData

using emugpu::trace;

extern "C" {

CUresult cuDevicePrimaryCtxGetState(CUdevice, unsigned* flags, int* active) {
  if (flags != nullptr) *flags = 0;
  if (active != nullptr) *active = 1;
  return CUDA_SUCCESS;
}

// A lookup must succeed; a call is refused. The arguments are not looked at.
#define REFUSE(name)                  \
  int emugpu_##name() __asm__(#name); \
  int emugpu_##name() {               \
    trace(#name " is refused");       \
    return CUDA_ERROR_NOT_SUPPORTED;  \
  }

REFUSE(cuFuncGetAttribute)
REFUSE(cuFuncSetAttribute)
REFUSE(cuFuncSetCacheConfig)
REFUSE(cuLaunchCooperativeKernel)
REFUSE(cuLinkAddData_v2)
REFUSE(cuLinkComplete)
REFUSE(cuLinkCreate_v2)
REFUSE(cuModuleGetFunction)
REFUSE(cuModuleLoad)
REFUSE(cuModuleLoadData)
REFUSE(cuModuleLoadDataEx)
REFUSE(cuModuleUnload)
REFUSE(cuOccupancyMaxActiveBlocksPerMultiprocessor)
REFUSE(cuTensorMapEncodeTiled)

}  // extern "C"
