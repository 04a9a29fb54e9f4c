// SPDX-License-Identifier: Apache-2.0
#include "analyzer/align/points/stamp_errors.h"

#include <algorithm>
#include <map>
#include <span>
#include <utility>

#include "analyzer/model/parallel.h"

namespace ringside::align {
namespace {

bool has_gpu_stamps(const model::Execution& operation) {
  return operation.times_from == model::TimesFrom::kKineto ||
         (operation.times_from == model::TimesFrom::kGpu && !operation.gpu_polled &&
          operation.gpu_rejected == 0);
}

}  // namespace

StampErrors::StampErrors(const model::Traces& traces) {
  std::vector<std::vector<OfContext>> of_files(traces.files.size());
  for_each_on_cores(traces.files.size(), [&](std::size_t /*thread*/, std::size_t file) {
    std::map<std::pair<std::uint32_t, bool>, std::int64_t> of_context;
    auto last = of_context.end();  // it is most often that of the next one, too
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
      const std::pair context(operation.context, is_kineto);
      if (last == of_context.end() || last->first != context) {
        last = of_context.try_emplace(context, late_ns).first;
      }
      last->second = std::min(last->second, late_ns);
    }
    for (const auto& [context, late_ns] : of_context) {
      of_files[file].push_back({context.first, context.second, late_ns});
    }
  });
  first_.push_back(0);
  for (const std::vector<OfContext>& of_file : of_files) {
    gpu_late_ns_.insert(gpu_late_ns_.end(), of_file.begin(), of_file.end());
    first_.push_back(gpu_late_ns_.size());
  }
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
  const auto of_context =
      std::span(gpu_late_ns_).subspan(first_[file], first_[file + 1] - first_[file]);
  const auto found =
      std::lower_bound(of_context.begin(), of_context.end(), std::pair(context, is_kineto),
                       [](const OfContext& one, const auto& key) {
                         return std::pair(one.context, one.is_kineto) < key;
                       });
  const bool is_there =
      found != of_context.end() && found->context == context && found->is_kineto == is_kineto;
  const std::int64_t most_ns = is_kineto ? kKinetoFit_ns : kProxyError.late_ns;
  const std::int64_t late_ns = is_there ? std::min(found->late_ns, most_ns) : most_ns;
  return is_kineto ? StampError{kKinetoFit_ns, late_ns}
                   : StampError{kGpuStep_ns, late_ns, kGpuStep_ns};
}

}  // namespace ringside::align
