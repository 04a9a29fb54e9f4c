// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/document/call_sites.h"

#include <algorithm>
#include <utility>

#include "analyzer/model/call_site.h"

namespace ringside::report {

void FrameTable::add(const std::string& communicator, const std::string& what,
                     const std::vector<match::Caller>& callers) {
  for (const match::Caller& caller : callers) {
    auto& ranks = ranks_[{communicator, what, caller.called_by}];
    if (std::find(ranks.begin(), ranks.end(), caller.rank) == ranks.end()) {
      ranks.push_back(caller.rank);
    }
  }
}

void FrameTable::finish(const model::Traces& traces, Document& document) const {
  if (ranks_.empty()) {
    return;
  }
  Table table = {"frames",
                 "The stacks of these calls, the innermost frame first",
                 {{"communicator", "communicator"},
                  what_,
                  {"ranks", "on", Shown::kRanks},
                  {"number", "number", Shown::kInteger},
                  {"frame", "frame"}},
                 {}};
  table.is_whole = true;
  for (const auto& [key, ranks] : ranks_) {
    const auto& [communicator, what, called_by] = key;
    auto sorted = ranks;
    std::sort(sorted.begin(), sorted.end());
    std::uint64_t number = 0;
    for (const std::string_view frame : model::frames_of(traces.names.text(called_by))) {
      table.rows.push_back({communicator, what, sorted, ++number, std::string(frame)});
    }
  }
  document.tables.push_back(std::move(table));
}

Cell call_site_cell(const model::Traces& traces, const std::vector<match::Caller>& callers) {
  return callers.empty() ? Cell() : Cell(match::call_sites(traces, callers));
}

void drop_empty_column(Table& table, const std::string& key) {
  const auto column = std::find_if(table.columns.begin(), table.columns.end(),
                                   [&](const CellColumn& one) { return one.key == key; });
  const auto index = column - table.columns.begin();
  if (std::all_of(table.rows.begin(), table.rows.end(), [&](const std::vector<Cell>& row) {
        return row[static_cast<std::size_t>(index)].index() == 0;
      })) {
    table.columns.erase(column);
    for (std::vector<Cell>& row : table.rows) {
      row.erase(row.begin() + index);
    }
  }
}

}  // namespace ringside::report
