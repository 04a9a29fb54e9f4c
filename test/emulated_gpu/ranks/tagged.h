// SPDX-License-Identifier: Apache-2.0
//
// Calls that carry a tag of the user's, which NCCL gives to its profilers: from NCCL 2.31 on.
#pragma once

#include <cstdint>
#include <nccl.h>

namespace ranks {

// ncclAllReduce with a tag. Throws std::runtime_error if this NCCL has no tags.
ncclResult_t all_reduce_with_tag(const void* input, void* output, std::size_t count,
                                 ncclDataType_t type, ncclRedOp_t operation,
                                 ncclComm_t communicator, cudaStream_t stream, std::uint64_t tag);

}  // namespace ranks
