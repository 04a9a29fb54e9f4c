// SPDX-License-Identifier: Apache-2.0
//
// Turns the error codes of CUDA and NCCL into exceptions.
#pragma once

#include <cuda_runtime_api.h>
#include <nccl.h>
#include <stdexcept>
#include <string>

namespace ranks {

inline void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(status));
}

inline void check(ncclResult_t status, const char* what) {
  if (status == ncclSuccess || status == ncclInProgress) return;
  throw std::runtime_error(std::string(what) + ": " + ncclGetErrorString(status));
}

}  // namespace ranks
