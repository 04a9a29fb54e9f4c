// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "analyzer/cli/analysis/analysis.h"
#include "analyzer/cli/commands.h"
#include "analyzer/cli/output.h"
#include "analyzer/load/foreign_file.h"
#include "analyzer/load/kineto/kineto.h"
#include "analyzer/load/kineto/kineto_trace.h"
#include "analyzer/model/parallel.h"
#include "analyzer/report/kineto/dependencies_report.h"
#include "analyzer/report/kineto/profile_join_report.h"

namespace ringside::cli {
namespace {

struct DependenciesOptions : AnalysisOptions {
  report::DependencyChoice choice;
};

constexpr char kDependenciesExample[] =
    "A CPU thread that calls cudaStreamSynchronize, cudaDeviceSynchronize or cudaEventSynchronize, "
    "or copies to pageable memory, waits for a kernel. The thread's next work depends on that "
    "kernel. This names the kernel, the call that waited, how long, and the next operator on that "
    "thread; it needs no traces of Ringside's.\n\n"
    "A wait is \"recorded\" where the profiler has cuda_sync events "
    "(_ExperimentalConfig(enable_cuda_sync_events=True)), and \"inferred\" from streams and times "
    "where it has none. docs/analyzer.md has the rules.\n\n"
    "Examples:\n"
    "  ringside dependencies --kineto profiles/\tall ranks, the longest waits first\n"
    "  ringside dependencies --kineto rank0.json.gz --annotation ProfilerStep --instance 2\tone "
    "step\n"
    "  ringside dependencies --kineto profiles/ --rank 0 --format json\tfor a script, in order of "
    "time\n";

// Leaves the rows that can be among the first of all: a large trace has a row for each of a million
// waits.
void keep_longest(std::size_t most_rows, std::vector<report::DependencyPart::Row>& rows) {
  if (most_rows == 0 || rows.size() <= most_rows) {
    return;
  }
  std::stable_sort(rows.begin(), rows.end(), [](const auto& one, const auto& other) {
    return one.waited_ns > other.waited_ns;
  });
  rows.resize(most_rows);
  rows.shrink_to_fit();
}

// A trace that was read: why it could not be, or what report::dependency_parts() made of it if its
// rank is chosen.
struct Read {
  std::optional<std::string> error;
  std::string cut;  // model::KinetoTrace::cut
  std::vector<report::DependencyPart> parts;
};

// A process has one profiler at a time: two traces that agree in all of this are copies.
using Identity = std::tuple<std::optional<std::int64_t>, std::optional<std::int64_t>, std::int64_t,
                            std::int64_t, std::uint64_t>;

Identity identity_of(const report::DependencyPart& part) {
  const match::ProfiledTime time = part.time.value_or(match::ProfiledTime());
  return {part.rank, part.pid, time.first_ns, time.last_ns, part.events};
}

ExitStatus run_dependencies(const DependenciesOptions& given) {
  DependenciesOptions options = given;
  options.choice.is_longest_first = options.is_for_people();
  const std::vector<std::string> paths = load::kineto_paths(options.kineto);
  std::vector<Read> read(paths.size());
  const std::vector<std::int64_t>& ranks = options.selection.ranks;
  for_each_on_cores(paths.size(), [&](std::size_t, std::size_t i) {
    model::KinetoTrace trace;
    read[i].error = load::read_kineto_trace(paths[i], trace);
    read[i].cut = trace.cut;
    const bool is_chosen = ranks.empty() || (trace.rank && std::find(ranks.begin(), ranks.end(),
                                                                     *trace.rank) != ranks.end());
    if (read[i].error || !is_chosen) {
      return;
    }
    read[i].parts = report::dependency_parts(trace, options.choice);
    for (report::DependencyPart& part : read[i].parts) {
      if (options.choice.is_longest_first) {
        keep_longest(options.most_rows(), part.rows);
      }
    }
  });
  model::Problems problems;
  bool has_read = false;
  std::vector<std::vector<report::DependencyPart>> chosen;
  std::map<Identity, std::string> known;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    has_read = has_read || !read[i].error;
    if (read[i].error) {
      problems.add_file(paths[i],
                        load::trouble_or_kind(paths[i], *read[i].error, load::begins_as_kineto));
    } else if (!read[i].parts.empty()) {
      const report::DependencyPart& part = read[i].parts.front();
      const auto [same, is_new] = known.try_emplace(identity_of(part), paths[i]);
      if (is_new || !part.time || !(part.rank || part.pid)) {
        chosen.push_back(std::move(read[i].parts));
      } else if (paths[i] != same->second + ".gz") {
        problems.add_file(paths[i], "a copy of " + same->second);
      }
    }
  }
  std::vector<report::DependencyPart> parts =
      report::choose_parts(std::move(chosen), options.choice.instance);
  print_problems(problems, {});
  if (!has_read) {
    tell("ringside dependencies: no trace of PyTorch's profiler in " + options.kineto.front());
    return kExitNoInput;
  }
  for (const std::int64_t rank : ranks) {
    if (std::none_of(parts.begin(), parts.end(),
                     [&](const auto& part) { return part.rank == rank; })) {
      tell("ringside dependencies: --rank: no trace is of rank " + std::to_string(rank));
      return kExitNoInput;
    }
  }
  for (const std::int64_t thread : options.choice.threads) {
    if (std::none_of(parts.begin(), parts.end(),
                     [&](const auto& part) { return part.threads.contains(thread); })) {
      tell("ringside dependencies: --thread: no trace has calls of thread " +
           std::to_string(thread));
      return kExitNoInput;
    }
  }
  const bool has_ranges =
      std::any_of(parts.begin(), parts.end(), [](const auto& part) { return part.ranges > 0; });
  if (!has_ranges && (options.choice.annotation || options.choice.instance)) {
    const std::string name = options.choice.annotation.value_or("ProfilerStep");
    tell("ringside dependencies: no trace has " +
         (options.choice.instance
              ? "range " + std::to_string(*options.choice.instance) + " (they count from 0)"
              : std::string("a range")) +
         " whose name contains \"" + name + '"');
    return kExitNoInput;
  }
  report::Document document = report::dependencies_document(std::move(parts), options.choice);
  for (const model::Problem& unused : problems.files()) {
    document.notes.push_back(report::unused_profile_text(unused));
  }
  bool is_whole = problems.files().empty();
  for (std::size_t i = 0; i < paths.size(); ++i) {
    if (!read[i].cut.empty()) {
      document.notes.push_back(paths[i] + ": " + read[i].cut);
      is_whole = false;
    }
  }
  const std::size_t most_rows = options.most_rows();
  for (report::Table& table : document.tables) {
    if (most_rows > 0 && table.rows.size() > most_rows) {
      table.left_out += table.rows.size() - most_rows;
      table.rows.resize(most_rows);
    }
  }
  const ExitStatus status = show_document(document, options, kExitOk);
  return status == kExitOk && !is_whole ? kExitIncomplete : status;
}

}  // namespace

void add_dependencies(CLI::App& app, Chosen& chosen) {
  const auto options = std::make_shared<DependenciesOptions>();
  CLI::App* const command = app.add_subcommand(
      "dependencies", "Say which operators of the CPU waited for which work of the GPU");
  add_quiet_option(*command);
  command
      ->add_option("--kineto", options->kineto,
                   "Traces of PyTorch's profiler (.json, .json.gz): files, or directories of them")
      ->type_name("PATH...")
      ->required();
  command->add_option("--format", options->format, "table, json, csv or markdown")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"table", "json", "csv", "markdown"}))
      ->capture_default_str();
  command->add_option("--table", options->csv_table, "The table for csv: dependencies, threads")
      ->type_name("KEY");
  command
      ->add_option("--top", options->top,
                   "Rows of a table at most; 0: all (default: 20 in tables, all in json and csv)")
      ->type_name("ROWS");
  command->add_flag("--critical", options->choice.is_critical,
                    "Only those on the critical path of each range (ProfilerStep, or --annotation; "
                    "the whole recording where there is none): its end waited for them");
  command->add_flag("--all", options->choice.has_left_out,
                    "Also those within one operator (kernel and call have one External id), and "
                    "those without External ids");
  command
      ->add_option("--rank", options->selection.ranks,
                   "Only the traces of this rank; may be repeated")
      ->type_name("NUMBER")
      ->allow_extra_args(false)
      ->group(kSelectionGroup);
  command
      ->add_option("--thread", options->choice.threads,
                   "Only calls of this thread; may be repeated")
      ->type_name("NUMBER")
      ->allow_extra_args(false)
      ->group(kSelectionGroup);
  command
      ->add_option("--annotation", options->choice.annotation,
                   "Only calls in ranges of record_function whose names contain this "
                   "(\"ProfilerStep\")")
      ->type_name("NAME")
      ->group(kSelectionGroup);
  command
      ->add_option(
          "--instance", options->choice.instance,
          "Only the range of each rank with this number, counted from 0 (without --annotation: "
          "a range ProfilerStep)")
      ->type_name("COUNT")
      ->group(kSelectionGroup);
  set_command(
      *command, kDependenciesExample,
      {{3, kNothingFits}, {4, "a file could not be read or is a copy, and the others were used"}},
      options, chosen, run_dependencies);
}

}  // namespace ringside::cli
