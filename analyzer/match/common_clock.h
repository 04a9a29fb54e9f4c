// SPDX-License-Identifier: Apache-2.0
//
// The one clock on which times of different files compare.
#ifndef RINGSIDE_ANALYZER_MATCH_COMMON_CLOCK_H
#define RINGSIDE_ANALYZER_MATCH_COMMON_CLOCK_H

#include <cstdint>
#include <functional>

#include "analyzer/model/trace.h"

namespace ringside::match {

struct CommonClock {
  /// A time of a file (index into Traces::files), in ns since an epoch that all share.
  std::function<std::int64_t(std::uint32_t file, std::int64_t time_ns)> to_common_ns;
  /// By how much the same moment may differ between two files, in ns.
  std::function<std::int64_t(std::uint32_t file, std::uint32_t other)> uncertainty_ns;
};

/// Each host's own CLOCK_REALTIME, unaligned: a millisecond within a host (same boot_id: its
/// processes read that clock once each, at different moments), a second between hosts.
CommonClock realtime_clock(const model::Traces& traces);

}  // namespace ringside::match

#endif  // RINGSIDE_ANALYZER_MATCH_COMMON_CLOCK_H
