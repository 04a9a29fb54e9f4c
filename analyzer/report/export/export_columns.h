// SPDX-License-Identifier: Apache-2.0
//
// The data of which the rows of each table of `ringside export` are made. The one list of the
// columns, with names and values, is in export_columns.cc.
#ifndef RINGSIDE_ANALYZER_REPORT_EXPORT_EXPORT_COLUMNS_H
#define RINGSIDE_ANALYZER_REPORT_EXPORT_EXPORT_COLUMNS_H

#include <cstdint>
#include <optional>
#include <string_view>

#include "analyzer/align/alignment.h"
#include "analyzer/facts/facts.h"
#include "analyzer/match/matcher.h"
#include "analyzer/metrics/network/network.h"
#include "analyzer/metrics/rows/rows.h"
#include "analyzer/replay/run_replay.h"
#include "analyzer/report/document/document.h"
#include "analyzer/report/export/export_sink.h"

namespace ringside::report {

/// Rows count from 1, as SQLite counts them; indices of the model from 0.
inline std::int64_t row_id(std::size_t index) {
  return static_cast<std::int64_t>(index) + 1;
}

struct MetaRow {
  static constexpr ExportTableId kTable = ExportTableId::kMeta;
  std::string_view key;
  std::string_view value;
};

struct HostRow {
  static constexpr ExportTableId kTable = ExportTableId::kHosts;
  std::size_t index;
  const align::HostOffset& host;
};

struct ProcessRow {
  static constexpr ExportTableId kTable = ExportTableId::kProcesses;
  std::uint32_t file;
  const facts::Facts& facts;

  const model::TraceFile& trace() const { return facts.traces().files[file]; }
  const model::Process& process() const { return trace().process; }
};

struct CommunicatorRow {
  static constexpr ExportTableId kTable = ExportTableId::kCommunicators;
  std::size_t index;
  const match::Communicator& communicator;
  std::optional<std::uint32_t> inside;
  std::string label;
};

struct MembershipRow {
  static constexpr ExportTableId kTable = ExportTableId::kMemberships;
  std::int64_t id;
  std::size_t communicator;
  const match::Member& member;
  std::optional<std::uint32_t> global_rank;
  const model::Context& context;
};

struct OperationRow {
  static constexpr ExportTableId kTable = ExportTableId::kOperations;
  std::size_t index;
  const facts::Facts& facts;
  const match::MatchedOperation& operation;
  const match::Judgement& judgement;
  const model::Operation& first;  // of its calls
  const facts::OperationFacts& known;
  bool has_times;
  bool has_ends;
  std::int64_t waited_ns;
  facts::Interval waited;
  std::optional<std::int64_t> last_membership_id;
  std::optional<bool> last_is_decided;
  std::optional<facts::Interval> margin;
};

/// A frame of a stack, the innermost first.
struct FrameRow {
  static constexpr ExportTableId kTable = ExportTableId::kFrames;
  std::int64_t id;
  std::int64_t stack_id;
  std::int64_t number;
  std::string_view frame;  // as call_site.h has it
};

struct CallRow {
  static constexpr ExportTableId kTable = ExportTableId::kCalls;
  std::int64_t id;
  std::size_t operation;
  std::int64_t membership_id;
  const facts::Facts& facts;
  std::uint32_t file;
  const model::Operation& call;
  const facts::RankTimes* rank;  // nullptr: nothing is known of its waiting
  std::optional<std::int64_t> stack_id;
};

struct StepRow {
  static constexpr ExportTableId kTable = ExportTableId::kSteps;
  std::int64_t id;
  std::uint32_t file;
  std::optional<std::int64_t> call_id;
  const align::Alignment& alignment;
  const model::Step& step;
};

/// A rank in the replay of its run: its times and its cost.
struct RankRow {
  static constexpr ExportTableId kTable = ExportTableId::kRanks;
  std::int64_t id;
  const replay::RunReplay& replay;
  std::uint32_t rank;  // index into Job::ranks

  const replay::JobRank& job_rank() const { return replay.job().ranks[rank]; }
  const replay::RankFigures& figures() const { return replay.ranks()[rank]; }
};

/// Operations of one kind, as `ringside summary` has them.
struct KindRow {
  static constexpr ExportTableId kTable = ExportTableId::kKinds;
  std::int64_t id;
  std::size_t communicator;
  const metrics::Row& row;
};

/// A link, as `ringside network` has it.
struct LinkRow {
  static constexpr ExportTableId kTable = ExportTableId::kLinks;
  std::int64_t id;
  std::int64_t membership_id;
  const metrics::Link& link;
};

struct FindingRow {
  static constexpr ExportTableId kTable = ExportTableId::kFindings;
  std::int64_t id;
  const Finding& finding;
};

/// Gives the row to the sink, with a value for each column of its table.
template <typename Row>
void add_row(ExportSink& sink, const Row& row);

}  // namespace ringside::report

#endif  // RINGSIDE_ANALYZER_REPORT_EXPORT_EXPORT_COLUMNS_H
