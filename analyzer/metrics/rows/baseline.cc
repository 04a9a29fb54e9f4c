// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/rows/baseline.h"

#include <algorithm>

namespace ringside::metrics {

void Baseline::add(std::string_view function, double size_bytes, std::uint32_t ranks,
                   double busbw_gb_s) {
  double& best = reached_[Key(function, size_bytes, ranks)];
  best = std::max(best, busbw_gb_s);
}

void Baseline::add(const std::vector<CommunicatorRows>& run) {
  for (const CommunicatorRows& communicator : run) {
    for (const Row& row : communicator.rows) {
      const auto size_bytes =
          row.bytes ? test_size_bytes(row.function, *row.bytes, row.ranks) : std::nullopt;
      if (size_bytes && row.busbw_gb_s && !row.is_grouped) {
        add(row.function, *size_bytes, row.ranks, row.busbw_gb_s->best);
      }
    }
  }
}

std::optional<Peak> Baseline::peak_of(std::string_view function, std::optional<std::uint64_t> bytes,
                                      std::uint32_t ranks) const {
  const auto size_bytes = bytes ? test_size_bytes(function, *bytes, ranks) : std::nullopt;
  const auto found = size_bytes ? reached_.find(Key(function, *size_bytes, ranks)) : reached_.end();
  return found != reached_.end() ? std::optional(Peak{found->second, "baseline"}) : std::nullopt;
}

void Baseline::take_place_of_peaks(std::vector<CommunicatorRows>& rows) const {
  for (CommunicatorRows& communicator : rows) {
    for (Row& row : communicator.rows) {
      row.peak = row.is_grouped ? std::nullopt : peak_of(row.function, row.bytes, row.ranks);
    }
  }
}

}  // namespace ringside::metrics
