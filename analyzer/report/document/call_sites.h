// SPDX-License-Identifier: Apache-2.0
//
// From where the program called operations: parts of the documents of several commands.
#ifndef RINGSIDE_ANALYZER_REPORT_DOCUMENT_CALL_SITES_H
#define RINGSIDE_ANALYZER_REPORT_DOCUMENT_CALL_SITES_H

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "analyzer/match/verdict/describe.h"
#include "analyzer/report/document/document.h"

namespace ringside::report {

/// A table `frames`: the stacks of calls, frame by frame. Ranks with the same stack share rows.
class FrameTable {
 public:
  /// `what`: the column that says what was called.
  explicit FrameTable(CellColumn what = {"operation", "operation"}) : what_(std::move(what)) {}

  void add(const std::string& communicator, const std::string& what,
           const std::vector<match::Caller>& callers);
  /// Adds the table to the document, if it has a row.
  void finish(const model::Traces& traces, Document& document) const;

 private:
  CellColumn what_;
  // By communicator, what was called, and stack.
  std::map<std::tuple<std::string, std::string, model::NameId>, std::vector<std::uint32_t>> ranks_;
};

/// The cell of a column `called_by`: nothing if there are no callers.
Cell call_site_cell(const model::Traces& traces, const std::vector<match::Caller>& callers);

/// Takes out the column with that key if no row has anything in it, as in traces that do not tell
/// it.
void drop_empty_column(Table& table, const std::string& key);

}  // namespace ringside::report

#endif  // RINGSIDE_ANALYZER_REPORT_DOCUMENT_CALL_SITES_H
