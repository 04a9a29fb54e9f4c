// SPDX-License-Identifier: Apache-2.0
//
// NCCL's kernels, by their names.
#ifndef RINGSIDE_ANALYZER_MODEL_KINETO_NCCL_KERNEL_H
#define RINGSIDE_ANALYZER_MODEL_KINETO_NCCL_KERNEL_H

#include <algorithm>
#include <array>
#include <string_view>

namespace ringside::model {

/// The function of a kernel that is NCCL's, but its name does not say which.
inline constexpr std::string_view kAnyFunction = "any";

/// NCCL's function of a kernel's name ("ncclDevKernel_AllReduce_Sum_f32_RING_LL(...)"); "SendRecv"
/// for all point-to-point; kAnyFunction for "ncclDevKernel_Generic_4"; empty if it is none of
/// NCCL's.
inline std::string_view nccl_function_of_kernel(std::string_view name) {
  constexpr std::array<std::string_view, 8> kFunctions = {"AllReduce", "AllGather", "ReduceScatter",
                                                          "Broadcast", "Reduce",    "SendRecv",
                                                          "AlltoAll",  "Scatter"};
  for (const std::string_view prefix :
       {"ncclDevKernel_", "ncclKernel_", "ncclSymDevKernel_", "ncclSymkDevKernel_"}) {
    if (!name.starts_with(prefix)) {
      continue;
    }
    const std::string_view rest = name.substr(prefix.size());
    const std::string_view word = rest.substr(0, rest.find_first_of("_("));
    const auto* const found = std::find(kFunctions.begin(), kFunctions.end(), word);
    return found != kFunctions.end() ? *found : word == "Generic" ? kAnyFunction : "";
  }
  return {};
}

}  // namespace ringside::model

#endif  // RINGSIDE_ANALYZER_MODEL_KINETO_NCCL_KERNEL_H
