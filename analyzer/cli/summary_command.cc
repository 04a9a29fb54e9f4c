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

}  // namespace

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

}  // namespace ringside::cli
