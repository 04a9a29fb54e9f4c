// SPDX-License-Identifier: Apache-2.0
//
// CUDA runtime API: kernels of applications. There is no device code to run: a kernel does nothing
// but take its time.
#include <cuda.h>
#include <vector>

#include "activity.h"
#include "kernel.h"
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

Dimensions dimensions(const dim3& of) {
  return {of.x, of.y, of.z};
}

cudaError_t launch(const char* call_name, const void* function, const dim3& grid, const dim3& block,
                   void** arguments, cudaStream_t stream) {
  const activity::Call call(call_name);
  launch_idle_kernel(function, dimensions(grid), dimensions(block), Stream::from_handle(stream),
                     arguments);
  return cudaSuccess;
}

}  // namespace

extern "C" {

cudaError_t cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments,
                             std::size_t, cudaStream_t stream) {
  return launch("cudaLaunchKernel", function, grid, block, arguments, stream);
}

cudaError_t cudaLaunchCooperativeKernel(const void* function, dim3 grid, dim3 block,
                                        void** arguments, std::size_t, cudaStream_t stream) {
  return launch("cudaLaunchCooperativeKernel", function, grid, block, arguments, stream);
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* function,
                                void** arguments) {
  return launch("cudaLaunchKernelExC", function, config->gridDim, config->blockDim, arguments,
                config->stream);
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
