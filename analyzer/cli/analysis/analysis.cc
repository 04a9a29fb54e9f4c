// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/analysis/analysis.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <set>
#include <string_view>
#include <system_error>
#include <utility>

#include <CLI/CLI.hpp>

#include "analyzer/cli/analysis/path_graphs.h"
#include "analyzer/cli/analysis/profile_join.h"
#include "analyzer/cli/analysis/selection_check.h"
#include "analyzer/cli/output.h"
#include "analyzer/cli/progress_line.h"
#include "analyzer/load/durations.h"
#include "analyzer/load/kineto/kineto.h"
#include "analyzer/load/trace_loader.h"
#include "analyzer/match/communicators/duplicate_files.h"
#include "analyzer/match/kineto/dump_join.h"
#include "analyzer/metrics/steps/graph_operations.h"
#include "analyzer/metrics/steps/graphs_by_file.h"
#include "analyzer/replay/waits.h"
#include "analyzer/report/document/numbers.h"
#include "analyzer/report/kineto/profile_join_report.h"
#include "analyzer/report/summary/align_report.h"

namespace ringside::cli {
namespace {

std::optional<std::int64_t> parse_duration_ns(std::string_view text) {
  constexpr std::array<std::pair<std::string_view, double>, 4> kUnits = {
      {{"ns", 1.0}, {"us", 1e3}, {"ms", 1e6}, {"s", 1e9}}};
  double number = 0;
  const char* const end = text.data() + text.size();
  const auto read = std::from_chars(text.data(), end, number);
  const std::string_view unit(read.ptr, static_cast<std::size_t>(end - read.ptr));
  for (const auto& [name, unit_ns] : kUnits) {
    const double duration_ns = number * unit_ns;
    if (read.ec == std::errc() && unit == name && duration_ns >= 1 && duration_ns <= 3600e9) {
      return std::llround(duration_ns);
    }
  }
  return std::nullopt;
}

// Seconds, or a mark of the application.
void add_moment(CLI::App& command, const char* name, const char* help, const char* group,
                std::optional<double>& seconds, match::NamedMoment& mark) {
  command
      .add_option_function<std::string>(
          name,
          [name, &seconds, &mark](const std::string& text) {
            double number = 0;
            if (const auto moment = match::parse_moment(text)) {
              mark = *moment;
            } else if (CLI::detail::lexical_cast(text, number) && number >= 0 &&
                       std::isfinite(number)) {
              seconds = number;
            } else {
              throw CLI::ValidationError(
                  name, text + " is neither a number of seconds from 0 on nor mark:TEXT");
            }
          },
          help)
      ->type_name("MOMENT")
      ->group(group);
}

void add_selection(CLI::App& command, match::Selection& selection) {
  command
      .add_option("--comm", selection.communicators,
                  "Only this communicator, by name or hash; may be repeated")
      ->type_name("NAME")
      ->allow_extra_args(false)
      ->group(kSelectionGroup);
  command
      .add_option("--func", selection.functions,
                  "Only this function: AllReduce, ..., SendRecv; may be repeated")
      ->type_name("NAME")
      ->allow_extra_args(false)
      ->group(kSelectionGroup);
  command
      .add_option("--rank", selection.ranks,
                  "Only the trace of this rank, by the launcher's number; may be repeated")
      ->type_name("RANK")
      ->allow_extra_args(false)
      ->group(kSelectionGroup);
  command.add_option("--host", selection.hosts, "Only the traces of this host; may be repeated")
      ->type_name("NAME")
      ->allow_extra_args(false)
      ->group(kSelectionGroup);
  command
      .add_option("--min-bytes", selection.least_bytes,
                  "Only messages of this size or more, like 65536 or 64mb")
      ->type_name("SIZE")
      ->transform(CLI::Validator(
          [](std::string& text) {
            return text.starts_with('-') ? "there are no messages of " + text + " bytes" : "";
          },
          "", "not negative"))
      ->transform(CLI::AsSizeValue(false))
      ->group(kSelectionGroup);
  command
      .add_option("--user-tag", selection.user_tags,
                  "Only calls with this user tag of NCCL (42 or 0x2a); may be repeated")
      ->type_name("NUMBER")
      ->allow_extra_args(false)
      ->transform(CLI::Validator(
          [](std::string& text) {
            const bool is_hex = text.starts_with("0x");
            const char* const end = text.data() + text.size();
            std::uint64_t tag = 0;
            const auto read =
                std::from_chars(text.data() + (is_hex ? 2 : 0), end, tag, is_hex ? 16 : 10);
            if (read.ec != std::errc() || read.ptr != end) {
              return text + " is not a number such as 42 or 0x2a";
            }
            std::array<char, 16> digits{};
            text = "0x" + std::string(digits.begin(),
                                      std::to_chars(digits.begin(), digits.end(), tag, 16).ptr);
            return std::string();
          },
          "", "user tag"))
      ->group(kSelectionGroup);
  add_moment(command, "--from",
             "Only operations called from this moment on: seconds since the first operation, or "
             "mark:TEXT for a mark of the application",
             kSelectionGroup, selection.from_s, selection.from_mark);
  add_moment(command, "--to", "Only operations called by this moment, given as for --from",
             kSelectionGroup, selection.to_s, selection.to_mark);
}

// Dumps and durations do not know most of what these commands say.
void leave_out_unfit(const AnalysisOptions& options, Analysis& analysis) {
  std::erase_if(analysis.traces.files, [&](const model::TraceFile& file) {
    std::string trouble;
    if (!file.process.tells_begin && !options.dumps.takes_dumps) {
      trouble =
          "one of the dumps of PyTorch's Flight Recorder, " + std::string(load::kDumpsRefused);
    } else if (!file.process.tells_start && !options.takes_durations) {
      trouble = load::durations_refused();
    }
    if (!trouble.empty()) {
      analysis.problems.add_file(file.path, trouble);
    }
    return !trouble.empty();
  });
}

// The paths of the traces of all profiles, by which find_profiled_again() finds these when files
// have been taken away. A profile whose trace is gone goes, too.
std::vector<std::string> profiled_paths(const Analysis& analysis) {
  std::vector<std::string> paths;
  for (const match::KinetoFileJoin& profile : analysis.profiles) {
    paths.push_back(analysis.traces.files[profile.file].path);
  }
  return paths;
}

void find_profiled_again(const std::vector<std::string>& profiled, Analysis& analysis) {
  std::vector<match::KinetoFileJoin> kept;
  std::vector<metrics::ProcessGraph> graphs;  // one of each profile
  for (std::size_t i = 0; i < profiled.size(); ++i) {
    const auto& files = analysis.traces.files;
    const auto file = std::find_if(files.begin(), files.end(), [&](const model::TraceFile& one) {
      return one.path == profiled[i];
    });
    if (file != files.end()) {
      kept.push_back(std::move(analysis.profiles[i]));
      kept.back().file = static_cast<std::uint32_t>(file - files.begin());
      if (!analysis.graphs.empty()) {
        graphs.push_back(std::move(analysis.graphs[i]));
        graphs.back().file = kept.back().file;
      }
    }
  }
  analysis.profiles = std::move(kept);
  analysis.graphs = std::move(graphs);
}

// Processes without a profile are on paths with their operations alone.
void add_unprofiled(const model::Traces& traces, std::vector<metrics::ProcessGraph>& graphs) {
  std::vector<bool> has_graph(traces.files.size());
  for (const metrics::ProcessGraph& process : graphs) {
    has_graph[process.file] = true;
  }
  for (std::uint32_t file = 0; file < traces.files.size(); ++file) {
    if (!has_graph[file]) {
      const auto operations = metrics::graph_operations(traces.files[file], {}, nullptr);
      graphs.push_back({file, metrics::build_rank_graph({}, operations, "none")});
    }
  }
}

}  // namespace

void add_input_options(CLI::App& command, AnalysisOptions& options) {
  add_quiet_option(command);
  command.add_option("DIR_OR_FILE", options.inputs, "Directories with traces, or trace files")
      ->required();
  command.add_option("--format", options.format, "table, json, csv or markdown")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"table", "json", "csv", "markdown"}))
      ->capture_default_str();
  command
      .add_option("--table", options.csv_table,
                  "Which table CSV has, by its key in the JSON output (default: the first)")
      ->type_name("KEY");
  command
      .add_option("--top", options.top,
                  "Rows of a table at most; 0: all (default: 20 in tables, all in json and csv)")
      ->type_name("ROWS");
  command.add_flag("--no-align", options.no_align,
                   "Use each host's clock as it is, without aligning them");
  command
      .add_option_function<std::string>(
          "--clock-error",
          [&options](const std::string& text) {
            options.clock_error_ns = parse_duration_ns(text);
            if (!options.clock_error_ns) {
              throw CLI::ValidationError("--clock-error",
                                         text + " is no time above 0 and up to an hour, like 50us");
            }
          },
          "Greatest error of a host's clock (50us, 2ms), for hosts whose kernel does not report "
          "one")
      ->type_name("DURATION");
  command.add_flag("--align-report", options.align_report,
                   "Also show each host's clock: offset, drift, uncertainty, and what sets it");
}

void add_analysis_options(CLI::App& command, AnalysisOptions& options) {
  add_input_options(command, options);
  add_selection(command, options.selection);
}

void add_dump_options(CLI::App& command, AnalysisOptions& options) {
  options.dumps.takes_dumps = true;
  command
      .add_option("--prefix", options.dumps.prefix,
                  "Dumps of PyTorch's Flight Recorder only: what their names have before the rank "
                  "(default: anything)")
      ->type_name("PREFIX");
}

void add_kineto_option(CLI::App& command, AnalysisOptions& options) {
  command
      .add_option(
          "--kineto", options.kineto,
          "Add what traces of PyTorch's profiler say of the calls: files, or directories of them")
      ->type_name("PATH")
      ->allow_extra_args(false);
}

void add_graph_memory_option(CLI::App& command, AnalysisOptions& options) {
  command
      .add_option(
          "--graph-memory", options.graph_bytes,
          "With --kineto: graphs of so many bytes together are kept, like 256mb (the default) or "
          "4gb. Profiles beyond that are read twice if the path passes their ranks")
      ->type_name("SIZE")
      ->transform(CLI::AsSizeValue(false))
      ->needs(command.get_option("--kineto"));
}

void add_by_option(CLI::App& command, metrics::RowsBy& by, const std::string& help) {
  command.add_option("--by,--group-by", by, help)
      ->type_name("WHAT")
      ->transform(CLI::CheckedTransformer(
          std::map<std::string, metrics::RowsBy>{{"range", metrics::RowsBy::kRange},
                                                 {"caller", metrics::RowsBy::kCaller},
                                                 {"user-tag", metrics::RowsBy::kUserTag}}));
}

void add_stacks_option(CLI::App& command, AnalysisOptions& options) {
  command.add_flag("--stacks", options.has_stacks,
                   "Also show all frames of the stacks of these calls, where the dumps have them");
}

std::vector<metrics::RunIterations> Analysis::iterations(std::size_t length) const {
  auto runs = metrics::find_iterations(facts(), length);
  replay::JobParts parts = replay::find_parts(facts());
  const std::vector<replay::Coverage> coverage = parts.coverage;
  for (const replay::Job& job : replay::make_jobs(std::move(parts), traces, matches)) {
    replay::add_waits(job, coverage[job.run].is_enough(), runs);
  }
  return runs;
}

report::Summary Analysis::summary(bool has_findings, metrics::RowsBy by) const {
  if (!has_findings || replays_) {
    return report::make_summary(facts(), problems, duplicates, by);
  }
  replay::PartsFinder finder(facts());
  report::Summary summary = report::make_summary(
      facts(), problems, duplicates, by,
      [&](std::size_t thread, const facts::SeenOperation& seen) { finder.add(thread, seen); });
  replays_ = replay::make_replays(finder.take(), traces, matches);
  return summary;
}

// Nothing is joined if no file is there: the option was mistyped.
bool is_any_there(const std::vector<std::string>& kineto) {
  const std::vector<std::string> paths = load::kineto_paths(kineto);
  std::error_code error;
  if (kineto.empty() || std::any_of(paths.begin(), paths.end(), [&](const std::string& path) {
        return std::filesystem::exists(path, error);
      })) {
    return true;
  }
  tell("ringside: --kineto: " + (paths.empty()
                                     ? "no trace of PyTorch's profiler in " + kineto.front()
                                     : paths.front() + ": No such file or directory"));
  return false;
}

bool load_traces(const AnalysisOptions& options, Analysis& analysis) {
  if (!is_any_there(options.kineto)) {
    return false;
  }
  load::DumpChoice dumps = options.dumps;
  dumps.joins_traces = dumps.takes_others;
  dumps.takes_profiles = dumps.takes_others;
  load::Inputs inputs = load::find_inputs(options.inputs, analysis.problems, dumps);
  {
    load::Progress progress;
    const ProgressLine line("reading", progress);
    analysis.traces = load::load_traces(inputs.paths, analysis.problems, 0, load::kRangeBytes,
                                        &progress, options.dumps);
  }
  match::JoinedDumps joined = match::join_dumps(analysis.traces);
  analysis.dumps = std::move(joined.dumps);
  analysis.notes = std::move(joined.notes);
  leave_out_unfit(options, analysis);
  std::vector<std::string> kineto = options.kineto;
  kineto.insert(kineto.end(), inputs.profiles.begin(), inputs.profiles.end());
  if (!kineto.empty()) {
    ProfileTake take;
    if (options.has_graphs) {
      take = take_graphs(options, analysis);
    }
    const std::size_t told = analysis.problems.files().size();
    analysis.profiles = join_profiles(kineto, options.reads_profiles_again, analysis.traces,
                                      analysis.problems, take);
    analysis.unused_profiles = analysis.problems.files().size() - told;
    for (std::size_t i = told; i < analysis.problems.files().size(); ++i) {
      analysis.notes.push_back(report::unused_profile_text(analysis.problems.files()[i]));
    }
    for (const std::string& one : report::profile_join_notes(analysis.profiles, analysis.traces)) {
      inputs.notes.push_back(one);
    }
    if (const std::uint64_t damaged = report::damaged_events(analysis.profiles); damaged > 0) {
      analysis.notes.push_back(report::damaged_events_text(damaged));
    }
  }
  // The directory of the profiles may be that of the traces.
  for (const std::string& path : load::kineto_paths(options.kineto)) {
    std::erase(inputs.notes, path + std::string(load::kNoTrace));
  }
  print_problems(analysis.problems, inputs.notes);
  if (!options.kineto.empty() && options.needs_joins && analysis.profiles.empty() &&
      !analysis.traces.files.empty()) {
    tell("ringside: --kineto: none of these files could be joined with the traces");
    return false;
  }
  analysis.inputs = std::move(inputs.paths);
  analysis.inputs.insert(analysis.inputs.end(), inputs.profiles.begin(), inputs.profiles.end());
  if (analysis.traces.files.empty()) {
    std::fprintf(stderr, "ringside: there is no %s to analyse\n",
                 !options.dumps.takes_others ? "dump"
                 : options.dumps.takes_dumps ? "trace or dump"
                                             : "trace");
    return false;
  }
  return true;
}

void leave_out_duplicates(Analysis& analysis) {
  const std::vector<std::string> profiled = profiled_paths(analysis);
  std::set<std::size_t> joined;
  for (const match::KinetoFileJoin& profile : analysis.profiles) {
    joined.insert(profile.file);
  }
  analysis.duplicates = match::remove_duplicate_files(analysis.traces, joined);
  find_profiled_again(profiled, analysis);
}

bool choose_traces(const AnalysisOptions& options, Analysis& analysis) {
  std::string trouble = unknown_prefix(options.dumps.prefix, analysis.traces, analysis.dumps);
  trouble += trouble.empty() ? unknown_rank_or_host(options.selection, analysis.traces) : "";
  const std::vector<std::string> profiled = profiled_paths(analysis);
  if (trouble.empty() && match::select_files(options.selection, analysis.traces) > 0 &&
      analysis.traces.files.empty()) {
    trouble = "no rank that --rank names is on a host that --host names";
  }
  if (!trouble.empty()) {
    tell("ringside: " + trouble);
    return false;
  }
  find_profiled_again(profiled, analysis);
  if (!analysis.graphs.empty()) {
    add_unprofiled(analysis.traces, analysis.graphs);
  }
  return true;
}

void align_clocks(const AnalysisOptions& options, Analysis& analysis) {
  // Nothing in a dump bounds a clock: it has no time at which data were there.
  const auto& files = analysis.traces.files;
  const bool is_of_dumps = std::any_of(files.begin(), files.end(),
                                       [](const auto& file) { return !file.process.tells_moment; });
  if (options.no_align || is_of_dumps) {
    analysis.alignment = align::Alignment::none(analysis.traces);
    return;
  }
  analysis.matching.emplace(analysis.traces);
  analysis.has_common_clock = options.compares_clocks || options.align_report ||
                              match::chooses_moments(options.selection) ||
                              !analysis.matching->is_finished();
  analysis.alignment =
      analysis.has_common_clock
          ? align::Alignment::estimate(analysis.traces, analysis.matching->trusted(),
                                       options.clock_error_ns)
          : align::Alignment::none(analysis.traces);
}

bool match_chosen(const AnalysisOptions& options, Analysis& analysis) {
  match::Selection selection = options.selection;
  const match::CommonClock clock = align::clock_of(analysis.alignment);
  std::string trouble = match::find_moments(analysis.traces, clock, selection);
  if (!trouble.empty()) {
    tell("ringside: " + trouble);
    return false;
  }
  if (!analysis.matching) {
    analysis.matching.emplace(analysis.traces);
  }
  analysis.matches = std::move(*analysis.matching).finish(analysis.traces, clock);
  analysis.matching.reset();
  trouble = unknown_communicator_or_function(selection, analysis.traces, analysis.matches);
  const bool has_operations = !analysis.matches.operations.empty();
  match::select_operations(selection, analysis.traces, clock, analysis.matches);
  if (trouble.empty() && has_operations && match::chooses_operations(selection) &&
      analysis.matches.operations.empty()) {
    trouble =
        "no operation is left of those that --comm, --func, --min-bytes, --user-tag, --from and "
        "--to choose";
  }
  if (!trouble.empty()) {
    tell("ringside: " + trouble);
  }
  return trouble.empty();
}

std::unique_ptr<Analysis> analyse(const AnalysisOptions& options) {
  auto analysis = std::make_unique<Analysis>();
  if (!load_traces(options, *analysis)) {
    return nullptr;
  }
  leave_out_duplicates(*analysis);
  if (!analysis->duplicates.empty()) {
    note("note: " + match::duplicates_text(analysis->duplicates));
  }
  if (!choose_traces(options, *analysis)) {
    return nullptr;
  }
  const load::Progress not_counted;
  const ProgressLine line("matching the ranks", not_counted);
  align_clocks(options, *analysis);
  if (!analysis->graphs.empty()) {
    metrics::number_steps(analysis->traces, align::clock_of(analysis->alignment), analysis->graphs);
  }
  return match_chosen(options, *analysis) ? std::move(analysis) : nullptr;
}

Analysis* keep_until_exit(std::unique_ptr<Analysis> analysis) {
  // It can be reached, so that tools that look for lost memory find none.
  static auto* const kept = new std::vector<std::unique_ptr<Analysis>>;
  return kept->emplace_back(std::move(analysis)).get();
}

bool is_input(const std::string& command, const std::string& output,
              const std::vector<std::string>& inputs, const model::Traces& traces) {
  const auto is_it = [&](const std::string& other) {
    std::error_code error;
    return std::filesystem::equivalent(output, other, error) && !error;
  };
  const bool is_one =
      std::any_of(inputs.begin(), inputs.end(), is_it) ||
      std::any_of(traces.files.begin(), traces.files.end(), [&](const model::TraceFile& file) {
        return is_it(file.path) ||
               std::any_of(file.later_paths.begin(), file.later_paths.end(), is_it);
      });
  if (is_one) {
    tell("ringside " + command + ": " + output + " is one of the files to read");
  }
  return is_one;
}

ExitStatus status_of_reading(const Analysis& analysis) {
  return report::count_unread(analysis.traces, analysis.problems) == 0 ? kExitOk : kExitIncomplete;
}

ExitStatus status_of_answer(const Analysis& analysis, const AnalysisOptions& options) {
  const bool has_all = !match::chooses_operations(options.selection);
  const auto& files = analysis.traces.files;
  const bool is_whole =
      status_of_reading(analysis) == kExitOk &&
      std::all_of(files.begin(), files.end(),
                  [&](const auto& file) {
                    return file.closed && (!has_all || file.operations.size() >=
                                                           file.operations_written.value_or(0));
                  }) &&
      (match::chooses_files(options.selection) ||
       match::most_ranks_without_trace(analysis.matches.communicators) == 0) &&
      std::none_of(analysis.profiles.begin(), analysis.profiles.end(),
                   [](const auto& profile) { return profile.is_alone && profile.damaged > 0; }) &&
      !match::has_operations_alone(analysis.matches);
  return is_whole ? kExitOk : kExitIncomplete;
}

ExitStatus show_document(const report::Document& document, const AnalysisOptions& options,
                         ExitStatus status) {
  if (status == kExitOk || status == kExitIncomplete) {
    status = report::has_error(document) ? kExitFindings : status;
  }
  std::string known;
  bool is_known = options.csv_table.empty();
  for (const report::Table& table : document.tables) {
    known += (known.empty() ? " " : ", ") + table.key;
    is_known = is_known || table.key == options.csv_table;
  }
  if (!is_known) {
    tell("ringside " + document.command + ": --table: there is no table \"" + options.csv_table +
         "\" here; there are:" + known);
    return kExitUsage;
  }
  return show(report::render(document, options.format, options.csv_table, screen_columns()),
              options.format)
             ? status
             : kExitInternal;
}

ExitStatus print_document(report::Document document, const Analysis& analysis,
                          const AnalysisOptions& options, ExitStatus status) {
  const std::size_t most_rows = options.most_rows();
  for (report::Table& table : document.tables) {
    if (most_rows > 0 && !table.is_whole && table.rows.size() > most_rows) {
      table.left_out += table.rows.size() - most_rows;
      table.rows.resize(most_rows);
    }
  }
  if (options.align_report) {
    document.tables.push_back(report::alignment_table(analysis.alignment));
  }
  const std::string not_closed = report::not_closed_sentence(analysis.traces);
  auto& sentences = document.sentences;
  if (!not_closed.empty() &&
      std::find(sentences.begin(), sentences.end(), not_closed) == sentences.end()) {
    sentences.insert(sentences.begin(), not_closed);
  }
  document.notes.insert(document.notes.end(), analysis.notes.begin(), analysis.notes.end());
  for (std::string& note :
       report::limits(analysis.traces, analysis.has_common_clock ? &analysis.alignment : nullptr)) {
    document.notes.push_back(std::move(note));
  }
  if (status == kExitOk) {
    status = document.is_open ? kExitIncomplete : status_of_answer(analysis, options);
  }
  return show_document(document, options, status);
}

}  // namespace ringside::cli
