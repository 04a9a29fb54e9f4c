// SPDX-License-Identifier: Apache-2.0
#include "tagged.h"

#include <climits>
#include <dlfcn.h>
#include <stdexcept>

namespace ranks {
namespace {

// The public ncclCollConfig_t of NCCL 2.32, which later releases may only extend, and of which 2.31
// has the beginning: the headers here are those of an older release.
struct CollectiveConfiguration {
  std::size_t size = sizeof(CollectiveConfiguration);
  unsigned magic = 0xcafebeef;
  unsigned version = NCCL_VERSION(2, 32, 0);
  void* extensions = nullptr;
  int least_channels = INT_MIN;
  int most_channels = INT_MIN;
  int nvls_channels = INT_MIN;
  int cluster_size = INT_MIN;
  const char* algorithms = nullptr;
  int algorithms_are_forced = 1;
  int channel_policy = INT_MIN;
  std::uint64_t user_tag = 0;
  cudaEvent_t launch_completion = nullptr;
};

using AllReduceConfig = ncclResult_t (*)(const void*, void*, std::size_t, ncclDataType_t,
                                         ncclRedOp_t, ncclComm_t, cudaStream_t,
                                         const CollectiveConfiguration*);

}  // namespace

ncclResult_t all_reduce_with_tag(const void* input, void* output, std::size_t count,
                                 ncclDataType_t type, ncclRedOp_t operation,
                                 ncclComm_t communicator, cudaStream_t stream, std::uint64_t tag) {
  static const auto function =
      reinterpret_cast<AllReduceConfig>(dlsym(RTLD_DEFAULT, "ncclAllReduceConfig"));
  if (function == nullptr) throw std::runtime_error("this NCCL has no tags");
  CollectiveConfiguration configuration;
  configuration.user_tag = tag;
  return function(input, output, count, type, operation, communicator, stream, &configuration);
}

}  // namespace ranks
