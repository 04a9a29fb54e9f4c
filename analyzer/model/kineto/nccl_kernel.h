// SPDX-License-Identifier: Apache-2.0
//
// Kernels that communicate, by their names: NCCL's, and those of others.
#ifndef RINGSIDE_ANALYZER_MODEL_KINETO_NCCL_KERNEL_H
#define RINGSIDE_ANALYZER_MODEL_KINETO_NCCL_KERNEL_H

#include <algorithm>
#include <array>
#include <string_view>

namespace ringside::model {

/// The function of a kernel that is NCCL's, but its name does not say which.
inline constexpr std::string_view kAnyFunction = "any";

/// NCCL's function of a kernel's name ("ncclDevKernel_AllReduce_Sum_f32_RING_LL(...)", before NCCL
/// 2.12 "ncclAllReduceRingLLKernel_sum_f32(...)"); "SendRecv" for all point-to-point; kAnyFunction
/// for "ncclDevKernel_Generic_4" and RCCL's "mscclKernel_..."; empty if it is none of NCCL's.
inline std::string_view nccl_function_of_kernel(std::string_view name) {
  constexpr std::array<std::string_view, 8> kFunctions = {"AllReduce", "AllGather", "ReduceScatter",
                                                          "Broadcast", "Reduce",    "SendRecv",
                                                          "AlltoAll",  "Scatter"};
  constexpr std::string_view kKernel = "Kernel_";
  const bool is_msccl = name.starts_with("mscclKernel_");
  const std::size_t at = is_msccl || name.starts_with("nccl") ? name.find(kKernel) : name.npos;
  if (at == name.npos) {
    return {};
  }
  const std::string_view behind = name.substr(at + kKernel.size());
  const std::string_view word = behind.substr(0, behind.find_first_of("_("));
  const std::string_view old = name.substr(4, at - std::min<std::size_t>(at, 4));
  const auto* const found =
      std::find_if(kFunctions.begin(), kFunctions.end(), [&](std::string_view function) {
        const std::string_view rest = old.substr(std::min(function.size(), old.size()));
        return word == function ||
               (old.starts_with(function) && (rest.empty() || (rest[0] >= 'A' && rest[0] <= 'Z')));
      });
  return found != kFunctions.end() ? *found : word == "Generic" || is_msccl ? kAnyFunction : "";
}

/// A kernel that communicates without NCCL.
struct OtherKernel {
  std::string_view part;     // of its name
  std::string_view library;  // "vLLM"
  std::string_view function;
};

/// The first that fits, by the sources of each library: PyTorch's symmetric memory, the all-reduce
/// of vLLM and SGLang, FlashInfer's and TensorRT-LLM's fused ones, DeepEP, MORI, pplx, NVSHMEM.
inline const OtherKernel* other_kernel(std::string_view name) {
  static constexpr std::array<OtherKernel, 28> kKernels = {{
      {"deep_ep::", "DeepEP", ""},
      {"hybrid_ep::", "DeepEP", ""},
      {"EpDispatch", "MORI", "dispatch"},
      {"EpCombine", "MORI", "combine"},
      {"mori::", "MORI", ""},
      {"pplx::", "pplx", ""},
      {"moeAllToAllKernel", "FlashInfer, TensorRT-LLM", "all-to-all"},
      {"moeA2ADispatchKernel", "FlashInfer, TensorRT-LLM", "dispatch"},
      {"moeA2ACombineKernel", "FlashInfer, TensorRT-LLM", "combine"},
      {"quickreduce::", "QuickReduce", "all-reduce"},
      {"cross_device_reduce_", "custom all-reduce (vLLM, SGLang)", "all-reduce"},
      {"allreduce_fusion_kernel", "FlashInfer, TensorRT-LLM", "fused all-reduce"},
      {"moereduction_allreduce", "FlashInfer, TensorRT-LLM", "fused all-reduce"},
      {"oneshotAllreduceFusion", "FlashInfer, TensorRT-LLM", "fused all-reduce"},
      {"twoshotAllreduce", "FlashInfer, TensorRT-LLM", "all-reduce"},
      {"oneShotAllReduce", "FlashInfer, TensorRT-LLM", "all-reduce"},
      {"twoShotAllReduce", "FlashInfer, TensorRT-LLM", "all-reduce"},
      {"userbuffers", "Transformer Engine", "userbuffers"},
      {"multimem_one_shot", "PyTorch's symmetric memory", "all-reduce"},
      {"multimem_all_reduce", "PyTorch's symmetric memory", "all-reduce"},
      {"multimem_all_gather", "PyTorch's symmetric memory", "all-gather"},
      {"one_shot_all_reduce", "PyTorch's symmetric memory", "all-reduce"},
      {"one_shot_reduce", "PyTorch's symmetric memory", "reduce"},
      {"two_shot_all_reduce", "PyTorch's symmetric memory", "all-reduce"},
      {"reduce_scatter_multimem", "PyTorch's symmetric memory", "reduce-scatter"},
      {"symm_mem", "PyTorch's symmetric memory", ""},
      {"nvshmem", "NVSHMEM", ""},
      {"mscclpp", "MSCCL++", ""},
  }};
  const auto* const found =
      std::find_if(kKernels.begin(), kKernels.end(),
                   [&](const OtherKernel& one) { return name.find(one.part) != name.npos; });
  return found == kKernels.end() ? nullptr : found;
}

}  // namespace ringside::model

#endif  // RINGSIDE_ANALYZER_MODEL_KINETO_NCCL_KERNEL_H
