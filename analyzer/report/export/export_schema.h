// SPDX-License-Identifier: Apache-2.0
//
// The tables of `ringside export`. docs/database.md says what each column means.
#ifndef RINGSIDE_ANALYZER_REPORT_EXPORT_EXPORT_SCHEMA_H
#define RINGSIDE_ANALYZER_REPORT_EXPORT_EXPORT_SCHEMA_H

#include <array>
#include <cstddef>
#include <span>
#include <vector>

namespace ringside::report {

/// Raised when a query for the older schema would misread the newer.
inline constexpr int kExportSchemaVersion = 2;

struct ExportColumn {
  const char* name;
  const char* type;  // SQL: storage class, constraints, references
};

struct ExportTable {
  const char* name;
  std::vector<ExportColumn> columns;
  std::span<const char* const> indexed;  // "column" or "column, column"
};

enum class ExportTableId : std::size_t {
  kMeta,
  kHosts,
  kProcesses,
  kCommunicators,
  kMemberships,
  kOperations,
  kFrames,
  kCalls,
  kSteps,
  kRanks,
  kKinds,
  kLinks,
  kFindings,
};
inline constexpr std::size_t kExportTableCount = 13;

/// By ExportTableId: each table comes behind those that it refers to.
const std::array<ExportTable, kExportTableCount>& export_tables();

}  // namespace ringside::report

#endif  // RINGSIDE_ANALYZER_REPORT_EXPORT_EXPORT_SCHEMA_H
