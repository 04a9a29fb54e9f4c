// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <cstdio>
#include <optional>
#include <string>
#include <unistd.h>
#include <vector>

#include "analyzer/chakra/export.h"
#include "analyzer/cli/analysis/analysis.h"
#include "analyzer/cli/commands.h"
#include "analyzer/cli/output.h"
#include "analyzer/load/kineto/execution_trace.h"
#include "analyzer/load/kineto/kineto.h"
#include "analyzer/model/joined.h"
#include "analyzer/report/document/numbers.h"
#include "analyzer/report/export/export_tables.h"

namespace ringside::cli {
namespace {

struct ExportOptions : AnalysisOptions {
  std::string sqlite_path;
  std::string csv_directory;
  std::string chakra_directory;
  std::string chakra_format = "protobuf";
  std::vector<std::string> execution_traces;
  bool force = false;

  chakra::ExportChoice chakra_choice() const {
    return {chakra_directory,
            chakra_format == "json" ? chakra::Format::kJson : chakra::Format::kProtobuf,
            force,
            {},
            {}};
  }
};

constexpr char kExportExample[] =
    "This command writes what the analysis found for queries of your own: hosts, processes, "
    "communicators, memberships, operations, frames, calls, steps and findings. docs/database.md "
    "has each column, and queries to begin with.\n\n"
    "--chakra writes an execution trace for each rank, for simulators: docs/chakra.md.\n\n"
    "Examples:\n"
    "  ringside export --sqlite run.sqlite traces/\ta database\n"
    "  sqlite3 run.sqlite 'SELECT verdict, count(*) FROM operations GROUP BY verdict'\n"
    "  ringside export --csv tables/ --func AllReduce traces/\ta file for each table\n"
    "  ringside export --sqlite dumps.sqlite dumps/\tof dumps of PyTorch's Flight Recorder\n"
    "  ringside export --chakra et/ traces/\tet/chakra.0.et, et/chakra.1.et, ...\n"
    "  ringside export --chakra et/ --kineto profiles/ traces/\tthe same with CPU and kernels\n";

// For a person only: a log needs no progress.
report::ExportProgress progress_on_terminal() {
  if (::isatty(STDERR_FILENO) == 0 || is_quiet()) {
    return {};
  }
  return [](const char* table, std::int64_t rows) {
    std::fprintf(stderr, "\r%s: %lld rows \x1b[K", table, static_cast<long long>(rows));
  };
}

bool write_to(report::ExportSink& sink, const report::ExportInput& input) {
  const auto progress = progress_on_terminal();
  report::export_to(sink, input, progress);
  if (progress) {
    std::fprintf(stderr, "\r\x1b[K");
  }
  if (!sink.finish()) {
    tell("ringside export: " + sink.error());
    return false;
  }
  return true;
}

// A fault that is there already is told before the traces are read, which may take long.
bool is_ready(const report::ExportSink* sink) {
  if (sink == nullptr || sink->error().empty()) {
    return true;
  }
  tell("ringside export: " + sink->error());
  return false;
}

// The last number in the name of a file: "et_3.json.gz" is of rank 3, if several have its pid.
std::optional<std::int64_t> number_of_name(const std::string& path) {
  const std::string name = path.substr(path.rfind('/') + 1);
  std::optional<std::int64_t> number;
  for (std::size_t i = 0; i < name.size();) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(name.data() + i, name.data() + name.size(), value);
    const bool is_number = error == std::errc() && name[i] != '-';
    number = is_number ? std::optional(value) : number;
    i = is_number ? static_cast<std::size_t>(end - name.data()) : i + 1;
  }
  return number;
}

bool is_any_execution_trace_there(const ExportOptions& options) {
  const std::vector<std::string> paths = load::kineto_paths(options.execution_traces);
  const bool is_there = std::any_of(paths.begin(), paths.end(), [](const std::string& path) {
    return ::access(path.c_str(), F_OK) == 0;
  });
  if (!options.execution_traces.empty() && !is_there) {
    tell("ringside export: --et: no execution trace of PyTorch in " +
         options.execution_traces.front());
    return false;
  }
  return true;
}

// Each is of a process that was profiled: by its pid, and where hosts have that twice by the rank.
// Returns false, after messages, if one is not used.
bool find_execution_traces(const ExportOptions& options, const Analysis& analysis,
                           chakra::ExportChoice& choice) {
  bool are_all_used = true;
  for (const std::string& path : load::kineto_paths(options.execution_traces)) {
    std::int64_t pid = 0;
    auto error = load::why_not_again(path);
    if (!error) {
      error = load::read_pid_of_execution_trace(path, pid);
    }
    if (error) {
      tell("error: " + path + ": " + *error);
      are_all_used = false;
      continue;
    }
    std::vector<std::uint32_t> fitting;
    for (const match::KinetoFileJoin* const profile : choice.profiles) {
      if (analysis.traces.files[profile->file].process.pid == pid) {
        fitting.push_back(profile->file);
      }
    }
    if (fitting.size() > 1) {
      std::erase_if(fitting, [&](std::uint32_t file) {
        return analysis.traces.files[file].process.launcher_rank != number_of_name(path);
      });
    }
    if (fitting.size() == 1) {
      choice.execution_traces.emplace_back(path, fitting.front());
    } else {
      tell("error: " + path + ": of pid " + std::to_string(pid) +
           ", of which there is no profile in --kineto, or several");
      are_all_used = false;
    }
  }
  return are_all_used;
}

// An execution trace is of what ran, and when.
ExitStatus write_chakra(const ExportOptions& options, const Analysis& analysis) {
  chakra::ExportChoice choice = options.chakra_choice();
  for (const match::KinetoFileJoin& profile : analysis.profiles) {
    choice.profiles.push_back(&profile);
  }
  const bool are_all_used = find_execution_traces(options, analysis, choice);
  const chakra::ExportOutcome outcome = chakra::export_traces(analysis.facts(), choice);
  if (!outcome.error.empty()) {
    tell("ringside export: " + outcome.error);
    return outcome.is_not_made ? kExitUsage : kExitInternal;
  }
  for (const std::string& one : outcome.problems) {
    tell("error: " + one);
  }
  note("note: wrote " + std::to_string(outcome.files) + " execution trace" +
       (outcome.files == 1 ? "" : "s") + " with " + std::to_string(outcome.nodes) + " nodes to " +
       options.chakra_directory);
  if (!choice.profiles.empty()) {
    note("note: " + std::to_string(outcome.profiles) + " of " +
         report::counted(choice.profiles.size(), "trace") + " of PyTorch's profiler " +
         (outcome.profiles == 1 ? "is" : "are") + " in them");
  }
  for (const std::string& one : outcome.notes) {
    note("note: " + one);
  }
  const report::Summary summary = report::make_summary(analysis.facts(), analysis.problems, {});
  const std::vector<std::string> gaps =
      report::find_gaps(summary, analysis.traces, !match::chooses_files(options.selection));
  if (!gaps.empty()) {
    tell("warning: not all is there: " + model::joined(gaps, gaps.size()) +
         "; a replay may stand still, or have ranks meet in other operations");
  }
  return are_all_used && outcome.problems.empty() && analysis.unused_profiles == 0
             ? kExitOk
             : kExitIncomplete;
}

bool is_of_dumps(const Analysis& analysis) {
  const auto& files = analysis.traces.files;
  return std::any_of(files.begin(), files.end(),
                     [](const auto& file) { return !file.process.tells_moment; });
}

// Told before anything is read.
std::string usage_trouble(const ExportOptions& options) {
  if (options.sqlite_path.empty() && options.csv_directory.empty() &&
      options.chakra_directory.empty()) {
    return "say where to: --sqlite FILE, --csv DIR or --chakra DIR";
  }
  if (options.chakra_directory.empty() && options.chakra_format != "protobuf") {
    return "--chakra-format says how --chakra DIR is written, which is missing";
  }
  if (!options.execution_traces.empty() && options.chakra_directory.empty()) {
    return "--et adds to --chakra DIR, which is missing";
  }
  if (!options.execution_traces.empty() && options.kineto.empty()) {
    return "--et needs --kineto: an execution trace of PyTorch has no times, and is linked with "
           "the operators of a profile";
  }
  return {};
}

ExitStatus run_export(const ExportOptions& given) {
  ExportOptions options = given;
  options.reads_profiles_again = !options.chakra_directory.empty();
  if (const std::string trouble = usage_trouble(options); !trouble.empty()) {
    std::fprintf(stderr, "ringside export: %s\nTry `ringside export --help`.\n", trouble.c_str());
    return kExitUsage;
  }
  if (!options.chakra_directory.empty()) {
    if (const std::string why = chakra::why_not(options.chakra_choice()); !why.empty()) {
      tell("ringside export: " + why);
      return kExitUsage;
    }
  }
  std::unique_ptr<report::ExportSink> database;
  std::unique_ptr<report::ExportSink> csv;
  if (!options.sqlite_path.empty()) {
    database = report::make_sqlite_sink(options.sqlite_path, options.force);
  }
  if (!options.csv_directory.empty()) {
    csv = report::make_csv_sink(options.csv_directory, options.force);
  }
  if (!is_ready(database.get()) || !is_ready(csv.get())) {
    return kExitUsage;
  }
  if (!is_any_execution_trace_there(options)) {
    return kExitNoInput;
  }
  const auto analysis = analyse(options);
  if (analysis == nullptr) {
    return kExitNoInput;
  }
  if (is_input("export", options.sqlite_path, analysis->inputs, analysis->traces)) {
    return kExitUsage;
  }
  const bool is_part = match::chooses_operations(options.selection);
  const report::ExportInput input{analysis->facts(), is_part};
  for (report::ExportSink* const sink : {database.get(), csv.get()}) {
    if (sink != nullptr && !write_to(*sink, input)) {
      return kExitInternal;
    }
  }
  ExitStatus status = status_of_reading(*analysis);
  if (!options.chakra_directory.empty()) {
    if (is_of_dumps(*analysis)) {
      tell(
          "ringside export: --chakra needs traces: dumps of PyTorch's Flight Recorder do not say "
          "when an operation ran");
      return kExitNoInput;
    }
    const ExitStatus written = write_chakra(options, *analysis);
    if (written != kExitOk && written != kExitIncomplete) {
      return written;
    }
    status = written == kExitOk ? status : written;
  }
  if (analysis->matches.unpaired > 0) {
    note("note: left out are sends and receives whose rank or peer is not known: " +
         std::to_string(analysis->matches.unpaired));
  }
  return status;
}

}  // namespace

void add_export(CLI::App& app, Chosen& chosen) {
  const auto options = std::make_shared<ExportOptions>();
  CLI::App* const command =
      app.add_subcommand("export", "Write a database or CSV files for queries of your own");
  add_analysis_options(*command, *options);
  add_kineto_option(*command, *options);
  add_dump_options(*command, *options);
  for (const char* const of_documents : {"--format", "--table", "--top", "--align-report"}) {
    command->remove_option(command->get_option(of_documents));
  }
  command
      ->add_option("--sqlite", options->sqlite_path,
                   "Write this SQLite database, in a build that has SQLite")
      ->type_name("FILE");
  command->add_option("--csv", options->csv_directory, "Write a CSV file for each table there")
      ->type_name("DIR");
  command
      ->add_option("--chakra", options->chakra_directory,
                   "Write Chakra's execution trace of each rank there, for simulators")
      ->type_name("DIR");
  command
      ->add_option("--chakra-format", options->chakra_format,
                   "protobuf (chakra.RANK.et), or json (chakra.RANK.json)")
      ->type_name("FORMAT")
      ->check(CLI::IsMember({"protobuf", "json"}))
      ->capture_default_str();
  command
      ->add_option("--et", options->execution_traces,
                   "Add PyTorch's execution traces (ExecutionTraceObserver) to --chakra: files, or "
                   "directories of them")
      ->type_name("PATH")
      ->allow_extra_args(false);
  command->add_flag("--force", options->force, "Replace what is there");
  set_command(*command, kExportExample, {{2, kUsageOrExists}, {3, kNothingFits}, {4, kRestsOnPart}},
              options, chosen, run_export);
}

}  // namespace ringside::cli
