// SPDX-License-Identifier: Apache-2.0
#include "plugin/assemble/kernel_order.h"

#include <algorithm>

namespace ringside::assemble {
namespace {

// How much later than another a channel of the same kernel may begin, and how wrong the GPU clock's
// fit may be.
constexpr std::int64_t kMostSkew_ns = 50'000;

}  // namespace

KernelOrder::Extent KernelOrder::extent(std::span<const KernelRow> channels) {
  Extent of;
  for (const KernelRow& row : channels) {
    if (!row.rejected.empty() || row.gpu_start == 0) {
      continue;
    }
    const bool is_first = of.first_start_ns == kUnknownTime;
    of.first_start_ns = is_first ? row.start_ns : std::min(of.first_start_ns, row.start_ns);
    of.first_end_ns = is_first ? row.end_ns : std::min(of.first_end_ns, row.end_ns);
    of.last_start_ns = std::max(of.last_start_ns, row.start_ns);
    of.last_end_ns = std::max(of.last_end_ns, row.end_ns);
  }
  return of;
}

bool KernelOrder::has_stamps_of_others(const Operation& operation, const Extent& own) const {
  const auto last = last_.find(operation.context);
  if (own.first_start_ns == kUnknownTime || last == last_.end() ||
      own.last_start_ns - own.first_end_ns <= kMostSkew_ns) {
    return false;
  }
  const bool is_same_kernel = operation.group != 0 && operation.group == last->second.group;
  const std::int64_t ahead_end_ns =
      is_same_kernel ? last->second.before_end_ns : last->second.end_ns;
  return own.first_start_ns < ahead_end_ns - kMostSkew_ns;
}

void KernelOrder::add(const Operation& operation, const Extent& own) {
  if (own.first_start_ns == kUnknownTime) {
    return;
  }
  Last& last = last_[operation.context];
  if (operation.group == 0 || operation.group != last.group) {
    last.group = operation.group;
    last.before_end_ns = last.end_ns;
  }
  last.end_ns = std::max(last.end_ns, own.last_end_ns);
}

}  // namespace ringside::assemble
