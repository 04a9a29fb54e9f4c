// SPDX-License-Identifier: Apache-2.0
#include "analyzer/match/kineto/kineto_calls.h"

#include <algorithm>
#include <array>

namespace ringside::match {
namespace {

enum class Sized : std::uint8_t { kInput, kOutput, kNot };

struct CallPattern {
  std::string_view name;
  std::string_view func;
  Sized sized;
  bool is_several;  // one call for each of the tensors, whose number is not told
};

// A name may be there twice: the implementations differ, and either fits.
constexpr std::array<CallPattern, 24> kCallPatterns = {{
    {"allreduce", "AllReduce", Sized::kInput, false},
    {"all_reduce", "AllReduce", Sized::kInput, false},
    {"allreduce_coalesced", "AllReduce", Sized::kInput, true},
    {"barrier", "AllReduce", Sized::kNot, false},
    {"_allgather_base", "AllGather", Sized::kInput, false},
    {"allGatherSingleImpl", "AllGather", Sized::kInput, false},
    {"all_gather", "AllGather", Sized::kInput, false},
    // The list of tensors is told as the input here.
    {"all_gather", "Broadcast", Sized::kInput, true},
    {"allgather_into_tensor_coalesced", "AllGather", Sized::kInput, true},
    {"_reduce_scatter_base", "ReduceScatter", Sized::kOutput, false},
    {"reduceScatterSingleImpl", "ReduceScatter", Sized::kOutput, false},
    {"reduce_scatter", "ReduceScatter", Sized::kOutput, false},
    {"reduce_scatter", "Reduce", Sized::kInput, true},
    {"reduce_scatter", "Reduce", Sized::kOutput, true},
    {"reduce_scatter_tensor_coalesced", "ReduceScatter", Sized::kOutput, true},
    {"broadcast", "Broadcast", Sized::kInput, false},
    {"_broadcast_oop", "Broadcast", Sized::kInput, false},
    {"reduce", "Reduce", Sized::kInput, false},
    {"_reduce_oop", "Reduce", Sized::kInput, false},
    {"send", "Send", Sized::kInput, false},
    {"recv", "Recv", Sized::kInput, false},
    {"recvAnySource", "Recv", Sized::kInput, false},
    {"gather", "Gather", Sized::kInput, false},
    {"scatter", "Scatter", Sized::kOutput, false},
}};

// Sends and receives between all ranks, or some.
bool is_exchange(std::string_view name) {
  return name == "all_to_all" || name == "all_to_allv" || name == "allToAllSingleImpl" ||
         name == "allToAllImpl" || name == "batch_op_issue";
}

std::size_t calls_listed(const CallPattern& pattern, const ProfiledCall& call,
                         std::span<const NcclCall> made) {
  if (pattern.sized == Sized::kNot) {
    return made.front().func == pattern.func ? 1 : 0;
  }
  const auto wanted_bytes = pattern.sized == Sized::kInput ? call.input_bytes : call.output_bytes;
  std::uint64_t bytes = 0;
  std::size_t count = 0;
  while (wanted_bytes && count < made.size() && made[count].func == pattern.func &&
         made[count].bytes && bytes <= *wanted_bytes) {
    bytes += *made[count++].bytes;
    if (bytes == *wanted_bytes) {
      return count;
    }
    if (!pattern.is_several) {
      break;
    }
  }
  return 0;
}

}  // namespace

bool is_numbered(std::string_view name) {
  return name != "send" && name != "recv" && name != "recvAnySource" && name != "batch_op_issue" &&
         !makes_no_call(name);
}

bool makes_no_call(std::string_view name) {
  return name == "wait";
}

bool is_known_call(std::string_view name) {
  return is_exchange(name) ||
         std::any_of(kCallPatterns.begin(), kCallPatterns.end(),
                     [&](const CallPattern& pattern) { return pattern.name == name; });
}

std::string_view nccl_function(std::string_view name) {
  if (is_exchange(name)) {
    return name == "batch_op_issue" ? "SendRecv" : "AlltoAll";
  }
  const auto* const found =
      std::find_if(kCallPatterns.begin(), kCallPatterns.end(),
                   [&](const CallPattern& pattern) { return pattern.name == name; });
  return found == kCallPatterns.end() ? name : found->func;
}

std::size_t calls_made(const ProfiledCall& call, std::span<const NcclCall> made) {
  if (made.empty()) {
    return 0;
  }
  if (is_exchange(call.name)) {
    return calls_exchanged(call.input_bytes, call.output_bytes, made);
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
