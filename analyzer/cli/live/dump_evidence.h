// SPDX-License-Identifier: Apache-2.0
//
// The verdict of the dumps of PyTorch's Flight Recorder that are beside traces, in the document
// about the traces. Each record is judged by itself, so that what only one of them sees is told.
#ifndef RINGSIDE_ANALYZER_CLI_LIVE_DUMP_EVIDENCE_H
#define RINGSIDE_ANALYZER_CLI_LIVE_DUMP_EVIDENCE_H

#include "analyzer/cli/analysis/analysis.h"
#include "analyzer/metrics/hang/hang.h"
#include "analyzer/report/document/document.h"

namespace ringside::cli {

/// Whether one of the operations is stuck for certain.
bool is_surely_stuck(const metrics::Hang& hang);

/// Adds the operations that are stuck by the dumps. They come first if the dumps say why, and the
/// traces, whose verdict `hang` is, do not. Returns whether something is stuck for certain by the
/// dumps. Takes the dumps out of `analysis`.
bool add_hang_of_dumps(const AnalysisOptions& options, const metrics::Hang& hang,
                       Analysis& analysis, report::Document& document);

/// Adds the mismatches that the dumps show; they come first if all matches by the traces.
void add_mismatches_of_dumps(const AnalysisOptions& options, Analysis& analysis,
                             report::Document& document);

}  // namespace ringside::cli

#endif  // RINGSIDE_ANALYZER_CLI_LIVE_DUMP_EVIDENCE_H
