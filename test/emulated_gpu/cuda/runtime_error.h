// SPDX-License-Identifier: Apache-2.0
//
// The runtime API's per-thread last error.
#pragma once

#include <cuda_runtime_api.h>

namespace emugpu {

// Remembers a failure for cudaGetLastError, and returns it.
cudaError_t failure(cudaError_t error, const char* what);

inline cudaError_t result(bool good, cudaError_t error, const char* what) {
  return good ? cudaSuccess : failure(error, what);
}

inline cudaError_t not_supported(const char* what) {
  return failure(cudaErrorNotSupported, what);
}

}  // namespace emugpu
