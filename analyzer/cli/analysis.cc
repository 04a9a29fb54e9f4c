// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/analysis.h"

#include <cstdio>
#include <utility>

#include <CLI/CLI.hpp>

#include "analyzer/cli/output.h"
#include "analyzer/load/inputs.h"
#include "analyzer/load/trace_loader.h"
#include "analyzer/match/duplicate_files.h"
#include "analyzer/report/align_report.h"
#include "analyzer/report/numbers.h"

namespace ringside::cli {
namespace {

void add_selection(CLI::App& command, match::Selection& selection) {
  constexpr const char* kGroup = "Choose a part";
  command.add_option("--comm", selection.communicators, "Only these communicators: name or hash")
      ->group(kGroup);
  command
      .add_option("--func", selection.functions,
                  "Only these functions: AllReduce, ..., SendRecv for sends and receives")
      ->group(kGroup);
  command
      .add_option("--rank", selection.ranks,
                  "Only the traces of these ranks (the launcher's number)")
      ->group(kGroup);
  command.add_option("--host", selection.hosts, "Only the traces of these hosts")->group(kGroup);
  command
      .add_option("--min-bytes", selection.least_bytes, "Only messages of so many bytes or more")
      ->transform(CLI::AsSizeValue(false))
      ->group(kGroup);
  command
      .add_option("--from", selection.from_s,
                  "Only operations called so many seconds after the first, or later")
      ->group(kGroup);
  command.add_option("--to", selection.to_s, "Only operations called by then, in seconds")
      ->group(kGroup);
}

}  // namespace

void add_analysis_options(CLI::App& command, AnalysisOptions& options) {
  command.add_option("DIR_OR_FILE", options.inputs, "Directories with traces, or trace files")
      ->required();
  command.add_option("--format", options.format, "table, json, csv or markdown")
      ->check(CLI::IsMember({"table", "json", "csv", "markdown"}))
      ->capture_default_str();
  command.add_option("--table", options.csv_table,
                     "Which table CSV has, by its key in the JSON output (default: the first)");
  command.add_option("--top", options.top, "Rows of a table at most; 0: all")
      ->capture_default_str();
  command.add_flag("--no-align", options.no_align,
                   "Believe every host's clock instead of aligning them");
  command.add_flag("--align-report", options.align_report,
                   "Also show each host's clock: offset, drift, uncertainty, and what sets it");
  add_selection(command, options.selection);
}

std::unique_ptr<Analysis> analyse(const AnalysisOptions& options) {
  auto analysis = std::make_unique<Analysis>();
  const load::Inputs inputs = load::find_inputs(options.inputs, analysis->problems);
  analysis->traces = load::load_traces(inputs.paths, analysis->problems);
  print_problems(analysis->problems, inputs.notes);
  if (analysis->traces.files.empty()) {
    std::fprintf(stderr, "ringside: there is no trace to analyse\n");
    return nullptr;
  }
  analysis->duplicates = match::remove_duplicate_files(analysis->traces);
  for (const std::string& duplicate : analysis->duplicates) {
    std::fprintf(stderr, "note: %s\n", duplicate.c_str());
  }
  if (match::select_files(options.selection, analysis->traces) > 0 &&
      analysis->traces.files.empty()) {
    std::fprintf(stderr, "ringside: no trace is of a rank and host that --rank and --host name\n");
    return nullptr;
  }
  analysis->alignment = options.no_align ? align::Alignment::none(analysis->traces)
                                         : align::Alignment::estimate(analysis->traces);
  analysis->matches = match::match_operations(analysis->traces);
  match::select_operations(options.selection, analysis->traces, analysis->alignment,
                           analysis->matches);
  return analysis;
}

ExitStatus print_document(report::Document document, const Analysis& analysis,
                          const AnalysisOptions& options, ExitStatus status) {
  for (report::Table& table : document.tables) {
    if (options.top > 0 && table.rows.size() > options.top) {
      table.left_out += table.rows.size() - options.top;
      table.rows.resize(options.top);
    }
  }
  if (options.align_report) {
    document.tables.push_back(report::alignment_table(analysis.alignment));
  }
  for (std::string& note : report::limits(analysis.traces, analysis.alignment)) {
    document.notes.push_back(std::move(note));
  }
  return print(report::render(document, options.format, options.csv_table)) ? status
                                                                            : kExitInternal;
}

}  // namespace ringside::cli
