// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/baseline.h"

#include <algorithm>
#include <optional>

namespace ringside::metrics {
namespace {

std::optional<double> size_of(const Row& row) {
  return row.bytes ? test_size_bytes(row.function, *row.bytes, row.ranks) : std::nullopt;
}

}  // namespace

void Baseline::add(std::string_view function, double size_bytes, std::uint32_t ranks,
                   double busbw_gb_s) {
  double& best = reached_[Key(function, size_bytes, ranks)];
  best = std::max(best, busbw_gb_s);
}

void Baseline::add(const std::vector<CommunicatorRows>& run) {
  for (const CommunicatorRows& communicator : run) {
    for (const Row& row : communicator.rows) {
      const auto size_bytes = size_of(row);
      if (size_bytes && row.busbw_gb_s && row.busbw_gb_s->is_known() && !row.is_grouped) {
        add(row.function, *size_bytes, row.ranks, row.busbw_gb_s->best);
      }
    }
  }
}

void Baseline::take_place_of_peaks(std::vector<CommunicatorRows>& rows) const {
  for (CommunicatorRows& communicator : rows) {
    for (Row& row : communicator.rows) {
      const auto size_bytes = size_of(row);
      const auto found = size_bytes && !row.is_grouped
                             ? reached_.find(Key(row.function, *size_bytes, row.ranks))
                             : reached_.end();
      row.peak =
          found != reached_.end() ? std::optional(Peak{found->second, "baseline"}) : std::nullopt;
    }
  }
}

}  // namespace ringside::metrics
