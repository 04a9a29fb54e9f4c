// SPDX-License-Identifier: Apache-2.0
//
// All that `ringside summary` prints, before it is text.
#ifndef RINGSIDE_ANALYZER_REPORT_SUMMARY_SUMMARY_H
#define RINGSIDE_ANALYZER_REPORT_SUMMARY_SUMMARY_H

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "analyzer/align/alignment.h"
#include "analyzer/match/matcher.h"
#include "analyzer/metrics/rows/rows.h"
#include "analyzer/model/natural_order.h"
#include "analyzer/model/problem.h"
#include "analyzer/model/trace.h"
#include "analyzer/report/document/columns.h"

namespace ringside::report {

struct Health;

/// The facts about the files that were read, and how complete they are.
struct InputFacts {
  std::uint64_t ranks = 0;       // processes, each with as many as share a communicator
  std::uint64_t operations = 0;  // operation lines
  std::uint64_t size_bytes = 0;
  std::uint64_t windows = 0;  // the most of one file
  std::set<std::string> jobs;
  std::set<std::string, model::NaturalLess> hosts;
  std::set<std::string> nccl_versions;  // "unknown" where the trace has none
  std::set<std::int64_t> interfaces;
  std::vector<const model::TraceFile*> files;
  std::vector<std::string> not_closed;           // paths
  std::vector<std::string> recovered;            // paths
  std::vector<std::string> losses_not_known;     // paths, of these: how many marks were lost
  std::vector<std::string> torn;                 // paths
  std::map<std::string, std::uint64_t> dropped;  // callbacks by "<event type> <reason>"
  std::uint64_t produced = 0;                    // callbacks
  std::uint64_t sampled_out = 0;                 // callbacks
  std::set<std::string> samplings;               // what each trace has, in words; empty: all
  std::uint64_t rotated = 0;                     // callbacks
  std::uint64_t rotated_files = 0;               // traces that lack their oldest part
  std::uint64_t rotated_kept_bytes = 0;          // the most that one of these has
  std::int64_t rotated_kept_from_s = 0;          // since the epoch: from then on all have all
  std::vector<std::string> segments_missing;     // sentences
  std::uint64_t lines_lost = 0;         // operations that ringside_end counts beyond those read
  std::uint64_t not_recorded = 0;       // likewise, by the numbers of records that have no starts
  std::uint64_t without_starts = 0;     // traces that are such records
  std::uint64_t dumps = 0;              // of PyTorch's Flight Recorder: without any times
  std::uint64_t marks_lost = 0;         // of the application
  std::uint64_t ranges_lost = 0;        // likewise
  std::uint64_t given_up = 0;           // events, in the traces as in flight
  std::uint64_t unpaired = 0;           // sends and receives whose rank or peer is not known
  std::vector<std::string> duplicates;  // files of the same run that were left out

  bool are_dumps() const { return dumps > 0 && dumps == files.size(); }
};

struct Summary {
  InputFacts inputs;
  metrics::RowsBy by = metrics::RowsBy::kKind;
  bool with_intervals = false;     // tables show how much is left open, in place of one figure
  bool with_nominal = false;       // tables have the nominal bandwidth, too, as JSON and CSV always
  std::size_t most_rows = 0;       // of a table for people; 0: all
  bool has_baseline = false;       // the peaks are what another run has reached
  const Health* health = nullptr;  // what is wrong, if that was judged
  const model::Problems* problems = nullptr;
  const align::Alignment* alignment = nullptr;
  std::vector<match::Run> runs;
  std::vector<match::Communicator> communicators;
  std::vector<metrics::CommunicatorRows> rows;  // one for each of the communicators
};

/// Sums up the traces and their matches. The summary refers to all that it is made of. `also`: see
/// metrics::make_rows.
Summary make_summary(const facts::Facts& facts, const model::Problems& problems,
                     std::vector<std::string> duplicates,
                     metrics::RowsBy by = metrics::RowsBy::kKind, const facts::Fold& also = {});

/// The same, of rows that were made.
Summary make_summary(const model::Traces& traces, const match::Matches& matches,
                     const align::Alignment& alignment, const model::Problems& problems,
                     std::vector<std::string> duplicates, metrics::RowsBy by,
                     std::vector<metrics::CommunicatorRows> rows);

/// A row, and whose it is.
struct SummaryRow {
  const match::Communicator& communicator;
  const metrics::Row& row;
};
std::vector<SummaryRow> all_rows(const Summary& summary);

std::uint64_t dropped_total(const InputFacts& inputs);

/// Says what the traces lack, each such as "2 traces not closed": what it holds is not known. Empty
/// if they are whole. Sampling and rotation are no gaps. `are_all_chosen`: no rank and no host was
/// left out by choice, so that a rank without a trace is a gap, too.
std::vector<std::string> find_gaps(const Summary& summary, const model::Traces& traces,
                                   bool are_all_chosen);

/// "completed" and so on, as in the trace.
const char* state_name(model::State state);
const char* times_from_name(model::TimesFrom times_from);

/// How the trace of a process ended: "closed", "dump", "not closed" or "recovered".
const char* trace_kind(const model::TraceFile& file);

/// A line for each run, where there are several: its number, job and start.
std::vector<std::string> run_lines(const std::vector<match::Run>& runs);

/// The communicator's name, else its hash, else its place in the order of creation.
std::string label_of(const match::Communicator& communicator);
/// Says which communicators are inferred from the order of creation; "" if none is.
std::string inferred_text(const std::vector<match::Communicator>& communicators);

/// The word for a file of these: "trace", or "dump" where all are dumps of PyTorch's Flight
/// Recorder.
const char* file_word(const model::Traces& traces);

/// Whether a row has a peak: tables have no column for it otherwise.
bool has_peaks(const Summary& summary);

/// The column that a group has; absent if there is none.
CellColumn group_column(metrics::RowsBy by);
/// A line of the program that is not known is "unknown"; empty if there is no group else.
Cell group_cell(metrics::RowsBy by, const std::string& text);

/// The waiting of all rows, which shares are of.
std::int64_t all_waited_ns(const std::vector<metrics::CommunicatorRows>& rows);
/// A row's percentage of it; nothing where nobody waited, or it is not known what they did.
std::optional<double> wait_share_percent(const metrics::Row& row, std::int64_t all_ns);

/// What programs get of a row, each column by its key.
Columns<SummaryRow> columns_for_programs(const Summary& summary);

/// The formats. Each gives the whole output. `with_clocks` adds the facts known about each host's
/// clock, which JSON always has.
/// The table fits a screen of so many columns, if it can be done; 0: there is none.
std::string summary_as_table(const Summary& summary, bool with_clocks,
                             std::size_t screen_columns = 0);
std::string summary_as_markdown(const Summary& summary, bool with_clocks);
std::string summary_as_csv(const Summary& summary);
std::string summary_as_json(const Summary& summary);

}  // namespace ringside::report

#endif  // RINGSIDE_ANALYZER_REPORT_SUMMARY_SUMMARY_H
