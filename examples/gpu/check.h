// SPDX-License-Identifier: Apache-2.0
//
// Turns the error codes of CUDA and NCCL into exceptions that say which call failed.
#ifndef RINGSIDE_EXAMPLES_GPU_CHECK_H
#define RINGSIDE_EXAMPLES_GPU_CHECK_H

#include <cuda_runtime_api.h>
#include <nccl.h>
#include <stdexcept>
#include <string>

namespace example {

inline void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(status));
}

inline void check(ncclResult_t status, const char* what) {
  if (status == ncclSuccess) return;
  throw std::runtime_error(std::string(what) + ": " + ncclGetErrorString(status));
}

}  // namespace example

#endif  // RINGSIDE_EXAMPLES_GPU_CHECK_H
