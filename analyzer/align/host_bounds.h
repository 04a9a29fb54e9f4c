// SPDX-License-Identifier: Apache-2.0
//
// What the ranks of one host say of one operation that bounds its clock: the operation's part of a
// point (sync_points.h), before it is known what the other hosts say.
#ifndef RINGSIDE_ANALYZER_ALIGN_HOST_BOUNDS_H
#define RINGSIDE_ANALYZER_ALIGN_HOST_BOUNDS_H

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "analyzer/align/points/stamp_errors.h"
#include "analyzer/align/points/sync_points.h"
#include "analyzer/model/operation.h"

namespace ringside::align {

/// The ranks that must have started before others may end.
enum class Waits : std::uint8_t { kAllForAll, kAllForRoot, kRootForAll };

struct Rule {
  PointKind kind;
  Waits waits;
};

/// The rule of a collective; nothing if the function bounds no clock.
std::optional<Rule> rule_of(std::string_view function);

/// When one rank had surely started, and when it had surely not ended yet.
struct Times {
  double called_ns = kNoStart;   // its call
  double started_ns = kNoStart;  // the call, or what is known of the execution's start
  double end_ns = kNoEnd;
  bool has_gpu_start = false;
};

/// `since_zero_ns`: what HostClocks::since_epoch_ns has of its file, less SyncPoints::zero_ns.
Times times_of(std::int64_t since_zero_ns, const StampError& error,
               const model::Execution& operation);

struct HostBounds {
  double called_ns = kNoStart;  // likewise, of the host's last rank to start and first to end
  double started_ns = kNoStart;
  double end_ns = kNoEnd;
  bool has_gpu_start = false;
  bool has_other_end = false;  // of a rank without a GPU's start

  /// Adds a rank of the host.
  void take(const Times& times, Waits waits, bool is_root) {
    if (waits != Waits::kAllForRoot || is_root) {
      called_ns = std::max(called_ns, times.called_ns);
      started_ns = std::max(started_ns, times.started_ns);
    }
    if (waits != Waits::kRootForAll || is_root) {
      end_ns = std::min(end_ns, times.end_ns);
    }
    has_gpu_start = has_gpu_start || times.has_gpu_start;
    has_other_end = has_other_end || (!times.has_gpu_start && times.end_ns < kNoEnd);
  }
  /// Adds other ranks of the host.
  void take(const HostBounds& other) {
    called_ns = std::max(called_ns, other.called_ns);
    started_ns = std::max(started_ns, other.started_ns);
    end_ns = std::min(end_ns, other.end_ns);
    has_gpu_start = has_gpu_start || other.has_gpu_start;
    has_other_end = has_other_end || other.has_other_end;
  }
};

/// Adds the point of one operation if two hosts have a part in it. Each has its index and its
/// bounds.
void add_point(PointKind kind, std::uint32_t series,
               std::span<const std::pair<std::uint32_t, HostBounds>> hosts, SyncPoints& made);

}  // namespace ringside::align

#endif  // RINGSIDE_ANALYZER_ALIGN_HOST_BOUNDS_H
