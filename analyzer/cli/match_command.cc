// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

#include "analyzer/cli/commands.h"
#include "analyzer/cli/output.h"
#include "analyzer/load/inputs.h"
#include "analyzer/load/trace_loader.h"
#include "analyzer/match/duplicate_files.h"
#include "analyzer/report/match_report.h"

namespace ringside::cli {

ExitStatus run_match(const MatchOptions& options) {
  model::Problems problems;
  const load::Inputs inputs = load::find_inputs(options.inputs, problems);
  model::Traces traces = load::load_traces(inputs.paths, problems);
  print_problems(problems, inputs.notes);
  if (traces.files.empty()) {
    std::fprintf(stderr, "ringside: there is no trace to match\n");
    return kExitNoInput;
  }
  auto duplicates = match::remove_duplicate_files(traces);
  const match::Matches matches = match::match_operations(traces);
  report::Document document = options.wants_communicators
                                  ? report::communicators_document(traces, matches)
                                  : report::match_document(traces, matches, options.mismatch_cap);
  document.notes.insert(document.notes.end(), duplicates.begin(), duplicates.end());
  return print(report::render(document, options.format)) ? kExitOk : kExitInternal;
}

}  // namespace ringside::cli
