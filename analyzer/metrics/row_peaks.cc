// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <string>
#include <tuple>

#include "analyzer/metrics/rows.h"

namespace ringside::metrics {

void add_peaks(const model::Traces& traces, const match::Matches& matches,
               std::vector<CommunicatorRows>& rows) {
  if (std::all_of(traces.files.begin(), traces.files.end(),
                  [](const model::TraceFile& file) { return file.machines.empty(); })) {
    return;
  }
  const auto links = find_links(traces, matches);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (Row& row : rows[i].rows) {
      if (links[i] && row.busbw_gb_s && !row.is_grouped) {
        row.peak = peak_of(*links[i], row.function, row.algorithm);
      }
    }
  }
}

void take_baseline(const std::vector<CommunicatorRows>& baseline,
                   std::vector<CommunicatorRows>& rows) {
  using Key = std::tuple<std::string, std::optional<std::uint64_t>, std::uint32_t>;
  const auto key_of = [](const Row& row) { return Key(row.function, row.bytes, row.ranks); };
  std::map<Key, double> reached;
  for (const CommunicatorRows& communicator : baseline) {
    for (const Row& row : communicator.rows) {
      if (row.busbw_gb_s && row.busbw_gb_s->is_known() && !row.is_grouped) {
        double& best = reached[key_of(row)];
        best = std::max(best, row.busbw_gb_s->best);
      }
    }
  }
  for (CommunicatorRows& communicator : rows) {
    for (Row& row : communicator.rows) {
      const auto found = reached.find(key_of(row));
      row.peak = found != reached.end() && !row.is_grouped
                     ? std::optional(Peak{found->second, "baseline"})
                     : std::nullopt;
    }
  }
}

}  // namespace ringside::metrics
