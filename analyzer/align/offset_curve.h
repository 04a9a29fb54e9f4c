// SPDX-License-Identifier: Apache-2.0
//
// The offset of one clock against another over time, with its uncertainty.
#ifndef RINGSIDE_ANALYZER_ALIGN_OFFSET_CURVE_H
#define RINGSIDE_ANALYZER_ALIGN_OFFSET_CURVE_H

#include <cstddef>
#include <optional>
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

  bool is_bounded() const { return !time_ns_.empty(); }
  OffsetAt at(double time_ns) const;

 private:
  std::vector<double> time_ns_;
  std::vector<double> offset_ns_;
  std::vector<double> uncertainty_ns_;
  double wander_ = 0;
  double rate_ = 0;  // of the offset before the first moment and after the last
  double rate_uncertainty_ = 0;
};

}  // namespace ringside::align

#endif  // RINGSIDE_ANALYZER_ALIGN_OFFSET_CURVE_H
