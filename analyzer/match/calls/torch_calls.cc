// SPDX-License-Identifier: Apache-2.0
#include "analyzer/match/calls/torch_calls.h"

#include <algorithm>
#include <array>
#include <numeric>

namespace ringside::match {
namespace {

// Which tensors have the sizes of the calls of NCCL, a call for each.
enum class Sized : std::uint8_t { kInput, kOutput, kNot };

struct CallPattern {
  std::string_view name;
  std::string_view func;
  Sized sized;
};

// A name may be there twice: the implementations differ, and either fits.
constexpr std::array<CallPattern, 20> kCallPatterns = {{
    {"all_reduce", "AllReduce", Sized::kInput},
    {"all_reduce_barrier", "AllReduce", Sized::kInput},
    {"barrier", "AllReduce", Sized::kNot},
    {"allreduce_coalesced", "AllReduce", Sized::kInput},
    {"all_gather", "AllGather", Sized::kInput},
    {"all_gather", "Broadcast", Sized::kOutput},
    {"_all_gather_base", "AllGather", Sized::kInput},
    {"all_gather_single", "AllGather", Sized::kInput},
    {"all_gather_into_tensor_coalesced", "AllGather", Sized::kInput},
    {"reduce_scatter", "ReduceScatter", Sized::kOutput},
    {"reduce_scatter", "Reduce", Sized::kInput},
    {"_reduce_scatter_base", "ReduceScatter", Sized::kOutput},
    {"reduce_scatter_single", "ReduceScatter", Sized::kOutput},
    {"reduce_scatter_tensor_coalesced", "ReduceScatter", Sized::kOutput},
    {"broadcast", "Broadcast", Sized::kInput},
    {"_broadcast_oop", "Broadcast", Sized::kOutput},
    {"reduce", "Reduce", Sized::kInput},
    {"_reduce_oop", "Reduce", Sized::kInput},
    {"Send", "Send", Sized::kInput},
    {"Recv", "Recv", Sized::kOutput},
}};

bool is_exchange(std::string_view name) {
  return name.starts_with("all_to_all");
}

std::size_t calls_listed(const CallPattern& pattern, const TorchCall& call,
                         std::span<const NcclCall> made) {
  const auto sizes = pattern.sized == Sized::kInput ? call.input_bytes : call.output_bytes;
  const std::size_t count = pattern.sized == Sized::kNot ? 1 : sizes.size();
  if (made.size() < count) {
    return 0;
  }
  for (std::size_t i = 0; i < count; ++i) {
    if (made[i].func != pattern.func ||
        (pattern.sized != Sized::kNot && made[i].bytes != sizes[i])) {
      return 0;
    }
  }
  return count;
}

std::uint64_t sum_of(std::span<const std::uint64_t> sizes_bytes) {
  return std::accumulate(sizes_bytes.begin(), sizes_bytes.end(), std::uint64_t{0});
}

// The calls that were made together with the first one; none if the trace does not tell groups.
std::span<const NcclCall> called_together(std::span<const NcclCall> made) {
  const auto end = std::find_if(made.begin(), made.end(), [&](const NcclCall& one) {
    return !one.group || one.group != made.front().group;
  });
  return made.first(static_cast<std::size_t>(end - made.begin()));
}

}  // namespace

std::size_t calls_exchanged(std::optional<std::uint64_t> input_bytes,
                            std::optional<std::uint64_t> output_bytes,
                            std::span<const NcclCall> made) {
  const auto group = called_together(made);
  std::uint64_t sent_bytes = 0;
  std::uint64_t received_bytes = 0;
  for (const NcclCall& one : group) {
    if ((one.func != "Send" && one.func != "Recv") || !one.bytes) {
      return 0;
    }
    (one.func == "Send" ? sent_bytes : received_bytes) += *one.bytes;
  }
  return input_bytes == sent_bytes && output_bytes == received_bytes ? group.size() : 0;
}

bool is_behind_its_calls(std::string_view name) {
  return name == "coalesced" || name == "ALLGATHER_coalesced" || name == "REDUCE_SCATTER_coalesced";
}

std::size_t calls_made(const TorchCall& call, std::span<const NcclCall> made) {
  if (made.empty()) {
    return 0;
  }
  if (is_behind_its_calls(call.name)) {
    return called_together(made).size();
  }
  if (is_exchange(call.name)) {
    return calls_exchanged(sum_of(call.input_bytes), sum_of(call.output_bytes), made);
  }
  for (const CallPattern& pattern : kCallPatterns) {
    if (pattern.name == call.name) {
      if (const std::size_t count = calls_listed(pattern, call, made); count > 0) {
        return count;
      }
    }
  }
  return 0;
}

}  // namespace ringside::match
