// SPDX-License-Identifier: Apache-2.0
//
// The figures that another run has reached, in the place of the peak that links allow.
#ifndef RINGSIDE_ANALYZER_METRICS_ROWS_BASELINE_H
#define RINGSIDE_ANALYZER_METRICS_ROWS_BASELINE_H

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "analyzer/metrics/rows/rows.h"

namespace ringside::metrics {

/// The highest busbw by function, size as nccl-tests counts it, and ranks.
class Baseline {
 public:
  void add(std::string_view function, double size_bytes, std::uint32_t ranks, double busbw_gb_s);
  /// All rows of a run whose busbw is known. Those of collectives that were called together have
  /// the time of others, too, and are left out.
  void add(const std::vector<CommunicatorRows>& run);

  bool is_empty() const { return reached_.empty(); }

  /// The busbw that so many bytes have reached; nothing if that is not here, or not known.
  std::optional<Peak> peak_of(std::string_view function, std::optional<std::uint64_t> bytes,
                              std::uint32_t ranks) const;

  /// Replaces the peak of each row. A row that is not here has no peak.
  void take_place_of_peaks(std::vector<CommunicatorRows>& rows) const;

 private:
  using Key = std::tuple<std::string, double, std::uint32_t>;

  std::map<Key, double> reached_;
};

}  // namespace ringside::metrics

#endif  // RINGSIDE_ANALYZER_METRICS_ROWS_BASELINE_H
