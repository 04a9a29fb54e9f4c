// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/rows/rows.h"

namespace ringside::metrics {

void add_peaks(const model::Traces& traces, const match::Matches& matches,
               std::vector<CommunicatorRows>& rows) {
  if (!has_machines(traces)) {
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

}  // namespace ringside::metrics
