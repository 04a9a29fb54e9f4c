// SPDX-License-Identifier: Apache-2.0
//
// Moments that several hosts have in common, whatever their clocks say: there is a time T at which
// everybody had started, and nobody had ended before it.
//
//   a synchronising collective   no rank ends before the last has started
//   a send and its receive       the receive does not end before the send has begun
//   a step of the network        likewise, chunk by chunk
//
// So for each host that takes part: start + offset <= T <= end + offset. Both must be true bounds.
// An end is never too early: callbacks are late, and a GPU's stamps are put on the host's clock by
// a lower envelope, which leaves them late by the least delay of a callback. A start must not be
// late: that of a call is taken before anything is launched; a GPU's stamp is moved back by the
// least time between an enqueue and its kernel, since the envelope cannot be further off than that.
#ifndef RINGSIDE_ANALYZER_ALIGN_SYNC_POINTS_H
#define RINGSIDE_ANALYZER_ALIGN_SYNC_POINTS_H

#include <cstdint>
#include <limits>
#include <vector>

#include "analyzer/align/host_clocks.h"
#include "analyzer/model/trace.h"

namespace ringside::align {

inline constexpr double kNoStart = -std::numeric_limits<double>::infinity();
inline constexpr double kNoEnd = std::numeric_limits<double>::infinity();

enum class PointKind : std::uint8_t {
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kAlltoAll,
  kPair,
  kStep
};
inline constexpr std::size_t kPointKinds = 6;
const char* point_kind_name(PointKind kind);

/// What one host had to do with a point; times are ns since SyncPoints::zero_ns by its own clock.
struct Touch {
  std::uint32_t point = 0;
  std::uint32_t host = 0;
  PointKind kind = PointKind::kAllReduce;
  double start_ns = kNoStart;  // the last start of its ranks
  double end_ns = kNoEnd;      // the first end of its ranks
};

struct SyncPoints {
  std::int64_t zero_ns = 0;    // since the epoch
  std::vector<Touch> touches;  // by point; only points that two hosts have in common
  std::uint32_t points = 0;
  std::uint64_t untrusted = 0;  // operations left out: their sequence numbers cannot be trusted
};

SyncPoints find_sync_points(const model::Traces& traces, const HostClocks& clocks);

}  // namespace ringside::align

#endif  // RINGSIDE_ANALYZER_ALIGN_SYNC_POINTS_H
