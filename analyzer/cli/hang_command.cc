// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

#include "analyzer/align/alignment.h"
#include "analyzer/cli/commands.h"
#include "analyzer/cli/output.h"
#include "analyzer/load/inputs.h"
#include "analyzer/load/trace_loader.h"
#include "analyzer/metrics/hang.h"
#include "analyzer/report/hang_report.h"

namespace ringside::cli {

ExitStatus run_hang(const HangOptions& options) {
  model::Problems problems;
  const load::Inputs inputs = load::find_inputs(options.inputs, problems);
  model::Traces traces = load::load_traces(inputs.paths, problems);
  print_problems(problems, inputs.notes);
  if (traces.files.empty()) {
    std::fprintf(stderr, "ringside: there is no trace to look for a hang in\n");
    return kExitNoInput;
  }
  auto left_out = metrics::keep_latest_files(traces);
  const auto alignment =
      options.must_not_align ? align::Alignment::none(traces) : align::Alignment::estimate(traces);
  constexpr double kNsPerSecond = 1e9;
  const metrics::Hang hang = metrics::find_hang(
      traces, alignment, static_cast<std::int64_t>(options.min_age_s * kNsPerSecond));
  report::Document document = report::make_hang_report(traces, alignment, hang, options.top);
  document.notes.insert(document.notes.end(), left_out.begin(), left_out.end());
  if (!print(report::render(document, options.format, options.table))) {
    return kExitInternal;
  }
  return hang.operations.empty() ? kExitOk : kExitFindings;
}

}  // namespace ringside::cli
