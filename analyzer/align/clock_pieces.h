// SPDX-License-Identifier: Apache-2.0
//
// A host's clock that stepped is one clock before the step and another one after it. Nothing is
// supposed of how its offset, or its rate, went on: a virtual machine that was moved counts on
// another machine's oscillator.
#ifndef RINGSIDE_ANALYZER_ALIGN_CLOCK_PIECES_H
#define RINGSIDE_ANALYZER_ALIGN_CLOCK_PIECES_H

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "analyzer/align/host_clocks.h"
#include "analyzer/align/points/sync_points.h"
#include "analyzer/model/trace.h"

namespace ringside::align {

enum class StepSource {
  kTrace,
  kOperations,
  kOneOfSeveral,  // only one of them need have stepped
  kPerhaps,       // none need have: a clock that wanders more than usual explains it as well
};

/// One clock, from a step to the next, in ns since SyncPoints::zero_ns by that clock.
struct ClockPiece {
  std::uint32_t host = 0;
  double begin_ns = -std::numeric_limits<double>::infinity();
  double end_ns = std::numeric_limits<double>::infinity();
  StepSource source = StepSource::kTrace;  // what says that it stepped before
  bool is_gap_used = false;                // there are operations between the two moments of that
};

/// The touches of points (Touch::host) are those of pieces. At first each host is one piece, of the
/// same number.
class ClockPieces {
 public:
  /// `zero_ns`: that of SyncPoints.
  ClockPieces(const model::Traces& traces, const HostClocks& clocks, std::int64_t zero_ns);

  std::size_t size() const { return pieces_.size(); }
  const ClockPiece& operator[](std::size_t piece) const { return pieces_[piece]; }
  bool is_cut(std::uint32_t host) const { return pieces_[host].end_ns < kNoEnd; }
  /// When the first trace of a host began.
  double began_ns(std::uint32_t host) const { return began_ns_[host]; }
  /// The first and the last time of an operation of that host; nothing if there is none.
  std::optional<std::pair<double, double>> extent_ns(std::uint32_t host) const {
    return extents_ns_[host];
  }
  /// The pieces of one host, in the order of time.
  std::vector<std::uint32_t> of_host(std::uint32_t host) const;

  /// Cuts at each step that the traces tell (`step_ns` of ringside_clock).
  void cut_at_told(const model::Traces& traces, const HostClocks& clocks, SyncPoints& points);
  /// Divides a piece at a gap. The times until begin_ns stay with it, those from end_ns on go to a
  /// new piece, and those between are left out.
  void cut(std::uint32_t piece, const ClockPiece& gap, SyncPoints& points);

  /// The piece that takes part in most points, of a host that did not step if there is one.
  std::uint32_t most_touched(const SyncPoints& points) const;

 private:
  std::vector<ClockPiece> pieces_;
  std::vector<double> began_ns_;  // by host
  std::vector<std::optional<std::pair<double, double>>> extents_ns_;
};

}  // namespace ringside::align

#endif  // RINGSIDE_ANALYZER_ALIGN_CLOCK_PIECES_H
