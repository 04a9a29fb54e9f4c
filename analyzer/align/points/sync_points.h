// SPDX-License-Identifier: Apache-2.0
//
// Moments that several hosts have in common, whatever their clocks say: there is a time T by which
// certain ranks had started, and before which certain ranks had not ended.
//
//   a synchronising collective   no rank ends before the last has started
//   Broadcast, Scatter           no rank ends before the root has started
//   Reduce, Gather               the root does not end before the last has started
//   a send and its receive       the receive does not end before the send has begun
//   a step of the network        likewise, chunk by chunk
//
// So start + offset <= T on each host that had to start, and T <= end + offset on each host that
// had to wait. Both are moved by the error of the stamp (stamp_errors.h), so that they are true.
// The start of a call needs no such move: NCCL reports it before it does anything. Operations
// that carried no bytes bound nothing.
#ifndef RINGSIDE_ANALYZER_ALIGN_POINTS_SYNC_POINTS_H
#define RINGSIDE_ANALYZER_ALIGN_POINTS_SYNC_POINTS_H

#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include "analyzer/align/host_clocks.h"
#include "analyzer/align/points/stamp_errors.h"
#include "analyzer/match/matcher.h"
#include "analyzer/model/trace.h"

namespace ringside::align {

inline constexpr double kNoStart = -std::numeric_limits<double>::infinity();
inline constexpr double kNoEnd = std::numeric_limits<double>::infinity();

enum class PointKind : std::uint8_t {
  kAllReduce,
  kAllGather,
  kReduceScatter,
  kAlltoAll,
  kBroadcast,
  kReduce,
  kGather,
  kScatter,
  kPair,
  kStep
};
inline constexpr std::size_t kPointKinds = 10;
const char* point_kind_name(PointKind kind);

/// The part of one host in a point; times are ns since SyncPoints::zero_ns by its own clock.
struct Touch {
  std::uint32_t point = 0;
  std::uint32_t host = 0;
  PointKind kind = PointKind::kAllReduce;
  double start_ns = kNoStart;  // the last start of its ranks; none: nobody waits for it
  double end_ns = kNoEnd;      // the first end of its ranks; none: it waits for nobody
};

struct SyncPoints {
  std::int64_t zero_ns = 0;    // since the epoch
  std::vector<Touch> touches;  // by point; only points that two hosts have in common
  std::uint32_t points = 0;
  std::uint64_t untrusted = 0;  // operations left out: their sequence numbers cannot be trusted
  /// By point: the series whose times ascend together, such as the calls of one function.
  std::vector<std::uint32_t> series;
};

/// A time of a file by its host's clock, since `zero_ns`. `since_zero_ns`:
/// HostClocks::since_epoch_ns of the file, less that.
double host_time_ns(std::int64_t since_zero_ns, std::int64_t time_ns);
double host_time_ns(const HostClocks& clocks, std::int64_t zero_ns, std::uint32_t file,
                    std::int64_t time_ns);

/// Finds the points of all operations with trusted numbers. About a million touches are kept at
/// most, the tightest ones (tightest_points.h).
SyncPoints find_sync_points(const model::Traces& traces, const match::Matches& matches,
                            const HostClocks& clocks, const StampErrors& errors);

}  // namespace ringside::align

#endif  // RINGSIDE_ANALYZER_ALIGN_POINTS_SYNC_POINTS_H
