// SPDX-License-Identifier: Apache-2.0
//
// The offset of one clock against another over time, with its uncertainty.
#ifndef RINGSIDE_ANALYZER_ALIGN_OFFSET_CURVE_H
#define RINGSIDE_ANALYZER_ALIGN_OFFSET_CURVE_H

#include <cstddef>
#include <optional>
#include <utility>
#include <vector>

#include "analyzer/align/host_path.h"

namespace ringside::align {

struct OffsetAt {
  double offset_ns = 0;
  std::optional<double> uncertainty_ns;  // nothing: not bounded
};

/// Kept at the ends of the cells of time in which something is known.
class OffsetCurve {
 public:
  OffsetCurve() = default;
  /// Cells are 100 ms long, less in short runs, and more where all hosts together would have more
  /// than eight million.
  OffsetCurve(const HostPath& path, std::size_t hosts, double wander);
  /// Returns the curve of a clock against itself, which is 0 everywhere.
  static OffsetCurve zero();

  bool is_bounded() const { return !moments_.empty(); }
  OffsetAt at(double time_ns) const;
  /// The offset alone, which takes less time. It must be bounded.
  double offset_ns(double time_ns) const;

 private:
  struct Moment {
    double time_ns = 0;
    double offset_ns = 0;
    double uncertainty_ns = 0;
  };

  std::size_t first_after(double time_ns) const;

  std::vector<Moment> moments_;
  double moments_per_ns_ = 0;  // on average
  double wander_ = 0;
  double rate_ = 0;  // of the offset before the first moment and after the last
  double rate_uncertainty_ = 0;
};

/// The offset of a host's clock, which is another clock after each of its steps.
class SteppedCurve {
 public:
  /// Pieces are added in the order of time. The clock stepped between the end of one and the begin
  /// of the next. `is_reported`: stamps between these two may be wrong on the host's own clock,
  /// too.
  void add(OffsetCurve curve, double begin_ns, double end_ns, bool is_reported);

  OffsetAt at(double time_ns) const;
  /// The offset of at() alone, which takes less time.
  double offset_ns(double time_ns) const;
  /// The greatest uncertainty between a piece and the one before it; nothing if it is not bounded.
  std::optional<double> most_before_ns(std::size_t piece) const;
  /// The host's own time at a time of the reference's clock.
  double own_ns(double common_ns) const;

 private:
  OffsetAt of_piece(std::size_t piece, double time_ns) const;
  // The least and the most that an offset may be between two pieces: before a step or behind it.
  std::optional<std::pair<double, double>> either_ns(std::size_t after, double time_ns) const;
  OffsetAt within_step(std::size_t after, double time_ns) const;

  struct Piece {
    OffsetCurve curve;
    double begin_ns = 0;
    double end_ns = 0;
    bool is_reported = false;
  };
  std::vector<Piece> pieces_;
};

}  // namespace ringside::align

#endif  // RINGSIDE_ANALYZER_ALIGN_OFFSET_CURVE_H
