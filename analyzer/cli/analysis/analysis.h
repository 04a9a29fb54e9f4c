// SPDX-License-Identifier: Apache-2.0
//
// All commands that analyse traces begin with this: their options, loading, one clock, matching.
#ifndef RINGSIDE_ANALYZER_CLI_ANALYSIS_ANALYSIS_H
#define RINGSIDE_ANALYZER_CLI_ANALYSIS_ANALYSIS_H

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/align/alignment.h"
#include "analyzer/cli/exit_status.h"
#include "analyzer/facts/facts.h"
#include "analyzer/load/inputs.h"
#include "analyzer/match/kineto/kineto_join.h"
#include "analyzer/match/matcher.h"
#include "analyzer/match/selection.h"
#include "analyzer/metrics/iterations/iterations.h"
#include "analyzer/metrics/network/network.h"
#include "analyzer/metrics/steps/step_path.h"
#include "analyzer/model/problem.h"
#include "analyzer/model/trace.h"
#include "analyzer/replay/run_replay.h"
#include "analyzer/report/document/document.h"
#include "analyzer/report/summary/summary.h"

namespace CLI {
class App;
}

namespace ringside::cli {

struct AnalysisOptions {
  std::vector<std::string> inputs;
  std::string format = "table";
  std::string csv_table;
  bool no_align = false;
  std::optional<std::int64_t> clock_error_ns;
  bool align_report = false;
  bool compares_clocks = true;  // times of several hosts are compared
  std::optional<std::size_t> top;
  match::Selection selection;
  load::DumpChoice dumps;
  std::vector<std::string> kineto;  // traces of PyTorch's profiler, and directories of them
  metrics::RowsBy by = metrics::RowsBy::kKind;  // of commands that group rows
  bool needs_joins = true;            // without one that is joined with a trace it cannot go on
  bool has_graphs = false;            // what each moment of a profiled process waited for
  bool reads_profiles_again = false;  // so that a pipe is of no use
  std::size_t graph_bytes = std::size_t{256} << 20;  // larger ones are made twice, for less memory
  std::optional<std::string> annotation;  // ranges that are steps, where graphs are wanted
  bool takes_durations = false;           // records that tell no starts
  bool has_stacks = false;                // all frames are wanted; JSON has them always

  bool wants_frames() const { return has_stacks || format == "json"; }
  bool is_for_people() const { return format == "table" || format == "markdown"; }
  /// Returns how many rows a table may have; 0: any number, as programs want it.
  std::size_t most_rows(std::size_t for_people = 20) const {
    return top.value_or(is_for_people() ? for_people : 0);
  }
};

/// The group in --help of the options that choose a part.
inline constexpr const char* kSelectionGroup = "Choose a part";

/// Adds the options that these commands share.
void add_analysis_options(CLI::App& command, AnalysisOptions& options);
/// Has the command take dumps of PyTorch's Flight Recorder, too.
void add_dump_options(CLI::App& command, AnalysisOptions& options);
/// Has the command take traces of PyTorch's profiler beside those of the job.
void add_kineto_option(CLI::App& command, AnalysisOptions& options);
/// Has the command say how much memory graphs may take.
void add_graph_memory_option(CLI::App& command, AnalysisOptions& options);
/// Has the command group its rows by what the application says of the operations, too.
void add_by_option(CLI::App& command, metrics::RowsBy& by, const std::string& help);
/// Has the command show the stacks of calls on demand.
void add_stacks_option(CLI::App& command, AnalysisOptions& options);
/// All of these but those that choose a part.
void add_input_options(CLI::App& command, AnalysisOptions& options);

struct Analysis {
  model::Problems problems;
  std::vector<std::string> inputs;  // files that were read
  model::Traces traces;
  model::Traces dumps;             // of PyTorch's Flight Recorder, beside traces of the same job
  std::vector<std::string> notes;  // of their join
  std::vector<match::KinetoFileJoin> profiles;  // of PyTorch's profiler
  std::size_t unused_profiles = 0;              // that could not be read or joined
  std::vector<metrics::ProcessGraph> graphs;    // by file, if they are wanted
  std::vector<std::string> duplicates;          // files of a run that is there twice
  align::Alignment alignment;
  bool has_common_clock = true;             // else nothing asks for it, and `alignment` is none
  std::optional<match::Matching> matching;  // between align_clocks and match_chosen
  match::Matches matches;

  /// Says what happened in each of the matches, computed when it is asked for first. The members
  /// above must not change after that. Not thread-safe.
  const facts::Facts& facts() const {
    if (!facts_) {
      facts_.emplace(traces, matches, alignment);
    }
    return *facts_;
  }
  /// Replays all runs, when they are asked for first.
  replay::Replays& replays() const {
    if (!replays_) {
      replays_ = replay::find_replays(facts());
    }
    return *replays_;
  }
  /// Says how fast the network was.
  const metrics::Network& network() const {
    if (!network_) {
      network_ = metrics::find_network(traces, alignment);
    }
    return *network_;
  }
  /// Says how long iterations took. `length`: as of metrics::find_iterations().
  std::vector<metrics::RunIterations> iterations(std::size_t length) const;
  /// Sums all up. `has_findings`: replays() and network() will be asked for, which takes less time
  /// if all are found of the same reading of the operations.
  report::Summary summary(bool has_findings, metrics::RowsBy by = metrics::RowsBy::kKind) const;

 private:
  mutable std::optional<facts::Facts> facts_;
  mutable std::optional<replay::Replays> replays_;
  mutable std::optional<metrics::Network> network_;
};

/// Loads, joins traces with the dumps beside them, and tells what could not be read. False, after a
/// message on stderr, if there is no trace.
bool load_traces(const AnalysisOptions& options, Analysis& analysis);
/// Keeps one file of each run: that with which profiles were joined, or else the best.
void leave_out_duplicates(Analysis& analysis);
/// Takes out the traces that --rank and --host do not choose. False, after a message on stderr, if
/// one of them names none, or none is left.
bool choose_traces(const AnalysisOptions& options, Analysis& analysis);
/// Matches what has trusted numbers, and aligns the clocks by that.
void align_clocks(const AnalysisOptions& options, Analysis& analysis);
/// Matches the rest, and takes out the operations that were not chosen. False, after a message on
/// stderr, if an option names what is not there, or no operation is left.
bool match_chosen(const AnalysisOptions& options, Analysis& analysis);

/// Loads, aligns and matches; tells what could not be read. Nothing, after a message on stderr, if
/// there is no trace.
std::unique_ptr<Analysis> analyse(const AnalysisOptions& options);
/// Returns it, and never deletes it: a command that ends soon would take a fortieth of its time for
/// that.
Analysis* keep_until_exit(std::unique_ptr<Analysis> analysis);

/// Whether an output is one of the files that were read, by whatever name. Then says on stderr that
/// `command` does not write over it.
bool is_input(const std::string& command, const std::string& output,
              const std::vector<std::string>& inputs, const model::Traces& traces);

/// kExitIncomplete if a file or a line could not be read: for commands that write what is there.
ExitStatus status_of_reading(const Analysis& analysis);

/// As above, and if an answer rests on a part: a trace is not closed or lacks operations, or a rank
/// has none that --rank and --host do not leave out.
ExitStatus status_of_answer(const Analysis& analysis, const AnalysisOptions& options);

/// Prints the document in the format that was asked for. kExitUsage, after a message on stderr, if
/// there is no such table for CSV; else `status`.
ExitStatus show_document(const report::Document& document, const AnalysisOptions& options,
                         ExitStatus status);

/// Adds what limits every analysis, and prints the document likewise.
ExitStatus print_document(report::Document document, const Analysis& analysis,
                          const AnalysisOptions& options, ExitStatus status = kExitOk);

}  // namespace ringside::cli

#endif  // RINGSIDE_ANALYZER_CLI_ANALYSIS_ANALYSIS_H
