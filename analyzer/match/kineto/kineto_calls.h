// SPDX-License-Identifier: Apache-2.0
//
// Which calls of NCCL a call of torch.distributed stands for, as PyTorch's profiler tells it
// (record_param_comms). Seen of PyTorch 2.15.0, both its implementations, with NCCL 2.29.7; the
// names of the older one are those of its source, ProcessGroupNCCL.cpp.
#ifndef RINGSIDE_ANALYZER_MATCH_KINETO_KINETO_CALLS_H
#define RINGSIDE_ANALYZER_MATCH_KINETO_KINETO_CALLS_H

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "analyzer/match/calls/torch_calls.h"

namespace ringside::match {

/// A call of torch.distributed. The bytes are of all its tensors together.
struct ProfiledCall {
  std::string_view name;  // "allreduce", "allGatherSingleImpl"
  std::optional<std::uint64_t> input_bytes;
  std::optional<std::uint64_t> output_bytes;
};

/// Whether calls of that name are numbered by `Seq` as collectives are.
bool is_numbered(std::string_view name);

/// Whether it makes no call of NCCL ("wait").
bool makes_no_call(std::string_view name);

/// Whether it is known which calls of NCCL a call of that name makes.
bool is_known_call(std::string_view name);

/// NCCL's function of a call of that name; "AlltoAll" for an exchange of all ranks, "SendRecv" for
/// a batch of sends and receives, and the name itself if it is not known.
std::string_view nccl_function(std::string_view name);

/// Returns how many of these calls of NCCL, from the first one on, are those that this call made; 0
/// if they do not fit, in function or size, or if the call is not known.
std::size_t calls_made(const ProfiledCall& call, std::span<const NcclCall> made);

}  // namespace ringside::match

#endif  // RINGSIDE_ANALYZER_MATCH_KINETO_KINETO_CALLS_H
