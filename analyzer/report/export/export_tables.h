// SPDX-License-Identifier: Apache-2.0
#ifndef RINGSIDE_ANALYZER_REPORT_EXPORT_EXPORT_TABLES_H
#define RINGSIDE_ANALYZER_REPORT_EXPORT_EXPORT_TABLES_H

#include <functional>

#include "analyzer/facts/facts.h"
#include "analyzer/report/export/export_sink.h"

namespace ringside::report {

struct ExportInput {
  const facts::Facts& facts;
  /// Operations were chosen (match::Selection): steps of others are left out.
  bool is_part = false;
};

/// Told now and then how many rows a table has; for a person who waits.
using ExportProgress = std::function<void(const char* table, std::int64_t rows)>;

/// Gives all rows of all tables to the sink, in an order that depends on the input alone.
void export_to(ExportSink& sink, const ExportInput& input, const ExportProgress& progress);

}  // namespace ringside::report

#endif  // RINGSIDE_ANALYZER_REPORT_EXPORT_EXPORT_TABLES_H
