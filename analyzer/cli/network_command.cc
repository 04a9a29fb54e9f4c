// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

#include "analyzer/cli/commands.h"
#include "analyzer/cli/output.h"
#include "analyzer/load/inputs.h"
#include "analyzer/load/trace_loader.h"
#include "analyzer/match/duplicate_files.h"
#include "analyzer/metrics/network.h"
#include "analyzer/report/network_report.h"

namespace ringside::cli {

ExitStatus run_network(const NetworkOptions& options) {
  model::Problems problems;
  const load::Inputs inputs = load::find_inputs(options.inputs, problems);
  model::Traces traces = load::load_traces(inputs.paths, problems);
  print_problems(problems, inputs.notes);
  if (traces.files.empty()) {
    std::fprintf(stderr, "ringside: there is no trace to look for transfers in\n");
    return kExitNoInput;
  }
  const auto left_out = match::remove_duplicate_files(traces);
  const bool is_for_people = options.format == "table" || options.format == "markdown";
  report::Document document = report::make_network_report(traces, metrics::find_network(traces),
                                                          options.top, is_for_people);
  document.notes.insert(document.notes.end(), left_out.begin(), left_out.end());
  return print(report::render(document, options.format, options.table)) ? kExitOk : kExitInternal;
}

}  // namespace ringside::cli
