// SPDX-License-Identifier: Apache-2.0
//
// The common clock, on which times of different files can be compared.
#ifndef RINGSIDE_ANALYZER_MATCH_CALLS_COMMON_CLOCK_H
#define RINGSIDE_ANALYZER_MATCH_CALLS_COMMON_CLOCK_H

#include <cstdint>
#include <functional>

#include "analyzer/model/trace.h"

namespace ringside::match {

struct CommonClock {
  /// Converts a time of a file (index into Traces::files) to ns since an epoch that all files
  /// share.
  std::function<std::int64_t(std::uint32_t file, std::int64_t time_ns)> to_common_ns;
  /// Returns by how many ns the times of one moment may differ between two files.
  std::function<std::int64_t(std::uint32_t file, std::uint32_t other)> uncertainty_ns;
};

/// Makes a common clock from each host's CLOCK_REALTIME, without alignment. Its uncertainty is a
/// second between hosts. It is a millisecond within a host (equal boot_id), whose processes read
/// that clock at different moments.
CommonClock realtime_clock(const model::Traces& traces);

}  // namespace ringside::match

#endif  // RINGSIDE_ANALYZER_MATCH_CALLS_COMMON_CLOCK_H
