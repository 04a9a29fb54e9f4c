// SPDX-License-Identifier: Apache-2.0
#include "analyzer/align/stamp_errors.h"

#include <algorithm>

#include "analyzer/model/parallel.h"

namespace ringside::align {
namespace {

bool has_gpu_stamps(const model::Execution& operation) {
  return operation.times_from == model::TimesFrom::kKineto ||
         (operation.times_from == model::TimesFrom::kGpu && !operation.gpu_polled &&
          operation.gpu_rejected == 0);
}

}  // namespace

StampErrors::StampErrors(const model::Traces& traces) : gpu_late_ns_(traces.files.size()) {
  for_each_on_cores(traces.files.size(), [&](std::size_t /*thread*/, std::size_t file) {
    auto& of_context = gpu_late_ns_[file];
    const model::Operations& operations = traces.files[file].operations;
    for (std::size_t i = 0; i < operations.size(); ++i) {
      const model::Execution operation = operations.execution(i);
      if (!has_gpu_stamps(operation) || !operation.start_ns || !operation.enqueue_start_ns ||
          *operation.start_ns < *operation.enqueue_start_ns) {
        continue;
      }
      std::int64_t late_ns = 0;
      if (__builtin_sub_overflow(*operation.start_ns, *operation.enqueue_start_ns, &late_ns)) {
        continue;
      }
      const bool is_kineto = operation.times_from == model::TimesFrom::kKineto;
      auto& least_ns =
          of_context.try_emplace({operation.context, is_kineto}, late_ns).first->second;
      least_ns = std::min(least_ns, late_ns);
    }
  });
}

StampError StampErrors::of(std::uint32_t file, std::uint32_t context, model::TimesFrom times_from,
                           bool gpu_polled) const {
  if (times_from == model::TimesFrom::kEnqueue) {
    return kCallError;
  }
  const bool is_kineto = times_from == model::TimesFrom::kKineto;
  if (!is_kineto && (times_from != model::TimesFrom::kGpu || gpu_polled)) {
    return kProxyError;
  }
  const auto& of_context = gpu_late_ns_[file];
  const auto found = of_context.find({context, is_kineto});
  return {is_kineto ? kKinetoFit_ns : kGpuStep_ns,
          found == of_context.end() ? kUnknownFit_ns : found->second};
}

}  // namespace ringside::align
