// SPDX-License-Identifier: Apache-2.0
#include <cstdio>
#include <utility>

#include "analyzer/cli/commands.h"
#include "analyzer/cli/output.h"
#include "analyzer/load/inputs.h"
#include "analyzer/load/trace_loader.h"
#include "analyzer/match/duplicate_files.h"
#include "analyzer/report/summary.h"

namespace ringside::cli {
namespace {

struct SummaryOptions {
  std::vector<std::string> inputs;
  std::string format = "table";
  bool is_strict = false;
};

constexpr char kSummaryExample[] =
    "Examples:\n"
    "  ringside summary traces/                          all traces of a directory\n"
    "  ringside summary --format json traces/ > out.json for a script\n"
    "  ringside summary --strict a.json b.json           fail if anything is not whole\n"
    "\n"
    "Results go to standard output, everything else to standard error.\n"
    "docs/metrics.md defines each figure.\n"
    "\n";

std::string render(const report::Summary& summary, const std::string& format) {
  if (format == "json") {
    return report::summary_as_json(summary);
  }
  if (format == "csv") {
    return report::summary_as_csv(summary);
  }
  return format == "markdown" ? report::summary_as_markdown(summary)
                              : report::summary_as_table(summary);
}

ExitStatus run_summary(const SummaryOptions& options) {
  model::Problems problems;
  const load::Inputs inputs = load::find_inputs(options.inputs, problems);
  model::Traces traces = load::load_traces(inputs.paths, problems);
  print_problems(problems, inputs.notes);
  if (traces.files.empty()) {
    std::fprintf(stderr, "ringside: there is no trace to summarise\n");
    return kExitNoInput;
  }
  auto duplicates = match::remove_duplicate_files(traces);
  const report::Summary summary = report::make_summary(traces, problems, std::move(duplicates));
  if (!print(render(summary, options.format))) {
    return kExitInternal;
  }
  const bool is_whole = problems.files().empty() && problems.bad_lines() == 0 &&
                        report::dropped_total(summary.inputs) == 0;
  return options.is_strict && !is_whole ? kExitIncomplete : kExitOk;
}

}  // namespace

void add_summary(CLI::App& app, Chosen& chosen) {
  const auto options = std::make_shared<SummaryOptions>();
  CLI::App* const command = app.add_subcommand(
      "summary", "Match the operations of all ranks; say how many, how long and how fast");
  command->add_option("DIR_OR_FILE", options->inputs, "Directories with traces, or trace files")
      ->required();
  command->add_option("--format", options->format, "table, json, csv or markdown")
      ->check(CLI::IsMember({"table", "json", "csv", "markdown"}))
      ->capture_default_str();
  command->add_flag("--strict", options->is_strict,
                    "Exit with 4 if a line or file could not be read, or events were dropped");
  set_command(*command, kSummaryExample, options, chosen, run_summary);
}

}  // namespace ringside::cli
