// SPDX-License-Identifier: Apache-2.0
//
// CUDA runtime API: kernels of applications. There is no device code to run: a launch does nothing.
#include <cuda.h>
#include <string>
#include <vector>

#include "kernel.h"
#include "log.h"
#include "runtime_error.h"

using namespace emugpu;

namespace {

struct Call {
  dim3 grid;
  dim3 block;
  std::size_t shared;
  cudaStream_t stream;
};
thread_local std::vector<Call> configurations;

cudaError_t ignore_launch(const void* function) {
  trace("ignored kernel %s", kernel_name(function).value_or("an unregistered kernel").c_str());
  return cudaSuccess;
}

}  // namespace

extern "C" {

cudaError_t cudaLaunchKernel(const void* function, dim3, dim3, void**, std::size_t, cudaStream_t) {
  return ignore_launch(function);
}

cudaError_t cudaLaunchCooperativeKernel(const void* function, dim3, dim3, void**, std::size_t,
                                        cudaStream_t) {
  return ignore_launch(function);
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t*, const void* function, void**) {
  return ignore_launch(function);
}

// kernel<<<...>>>, as nvcc translates it

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, std::size_t shared,
                                     CUstream_st* stream) {
  configurations.push_back({grid, block, shared, stream});
  return 0;
}

cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, std::size_t* shared, void* stream) {
  if (configurations.empty()) return failure(cudaErrorMissingConfiguration, "a launch");
  const Call call = configurations.back();
  configurations.pop_back();
  *grid = call.grid;
  *block = call.block;
  *shared = call.shared;
  *static_cast<cudaStream_t*>(stream) = call.stream;
  return cudaSuccess;
}

// The handle of a kernel is its host stub's address.
cudaError_t __cudaGetKernel(cudaKernel_t* kernel, const void* function) {
  *kernel = static_cast<cudaKernel_t>(const_cast<void*>(function));
  return cudaSuccess;
}

cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments,
                               std::size_t shared, cudaStream_t stream) {
  return cudaLaunchKernel(kernel, grid, block, arguments, shared, stream);
}

}  // extern "C"
