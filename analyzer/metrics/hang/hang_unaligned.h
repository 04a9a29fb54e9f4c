// SPDX-License-Identifier: Apache-2.0
#ifndef RINGSIDE_ANALYZER_METRICS_HANG_HANG_UNALIGNED_H
#define RINGSIDE_ANALYZER_METRICS_HANG_HANG_UNALIGNED_H

#include <cstdint>
#include <vector>

#include "analyzer/metrics/hang/hang.h"

namespace ringside::metrics {

/// The ranks that are in a call which could not be aligned with those of the others, so that nobody
/// knows who has joined it: indices of Hang::positions, of the communicators that are shown.
std::vector<std::uint32_t> find_unaligned(const Hang& hang);

}  // namespace ringside::metrics

#endif  // RINGSIDE_ANALYZER_METRICS_HANG_HANG_UNALIGNED_H
