// SPDX-License-Identifier: Apache-2.0
//
// CUDA runtime API: kernels, driver entry points, and what nvcc-generated code calls to register
// its kernels when a library is loaded.
#include <cstring>
#include <cuda.h>

#include "activity.h"
#include "device.h"
#include "kernel.h"
#include "runtime_error.h"

using namespace emugpu;

// Both are macros for per-thread variants or older versions in some configurations.
#undef cudaGetDriverEntryPoint
#undef cuGetProcAddress

extern "C" {

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void*) {
  // No longer than the structure of the CUDA release that NCCL was compiled with.
  std::memset(attributes, 0, offsetof(cudaFuncAttributes, cacheModeCA));
  attributes->maxThreadsPerBlock = kMaxThreadsPerBlock;
  attributes->numRegs = 96;
  attributes->ptxVersion = attributes->binaryVersion =
      10 * kComputeCapabilityMajor + kComputeCapabilityMinor;
  return cudaSuccess;
}

cudaError_t cudaFuncSetAttribute(const void*, cudaFuncAttribute, int) {
  return cudaSuccess;
}

// The driver's function handle is the address of the host stub.
cudaError_t cudaGetFuncBySymbol(cudaFunction_t* function, const void* symbol) {
  *function = static_cast<cudaFunction_t>(const_cast<void*>(symbol));
  return result(kernel_name(symbol).has_value(), cudaErrorInvalidDeviceFunction,
                "cudaGetFuncBySymbol");
}

// The arguments come as bare pointers, whose sizes only the device code knows. Weak: the runtime of
// applications ignores their kernels instead.
[[gnu::weak]] cudaError_t cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void**,
                                           std::size_t, cudaStream_t stream) {
  const activity::Call call("cudaLaunchKernel");
  return result(launch_kernel(function, grid.x, block.x, Stream::from_handle(stream), nullptr),
                cudaErrorNotSupported, "cudaLaunchKernel");
}

cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** function, unsigned version,
                                             unsigned long long flags,
                                             cudaDriverEntryPointQueryResult* status) {
  CUdriverProcAddressQueryResult ignored;
  cuGetProcAddress_v2(symbol, function, static_cast<int>(version), flags, &ignored);
  if (status != nullptr) {
    *status =
        *function != nullptr ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
  }
  return cudaSuccess;
}

cudaError_t cudaGetDriverEntryPoint(const char* symbol, void** function, unsigned long long flags,
                                    cudaDriverEntryPointQueryResult* status) {
  return cudaGetDriverEntryPointByVersion(symbol, function, kDriverVersion, flags, status);
}

void** __cudaRegisterFatBinary(void*) {
  static void* module = nullptr;
  return &module;
}

void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void**) {}

void __cudaRegisterFunction(void**, const char* host_function, char*, const char* device_name, int,
                            void*, void*, void*, void*, int*) {
  register_kernel(host_function, device_name);
}

void __cudaRegisterVar(void**, char*, char*, const char*, int, std::size_t, int, int) {}

}  // extern "C"
