// SPDX-License-Identifier: Apache-2.0
#ifndef RINGSIDE_ANALYZER_REPORT_SUMMARY_STRAGGLERS_REPORT_H
#define RINGSIDE_ANALYZER_REPORT_SUMMARY_STRAGGLERS_REPORT_H

#include "analyzer/metrics/rows/grouping.h"
#include "analyzer/replay/run_replay.h"
#include "analyzer/report/document/document.h"

namespace ringside::report {

/// Says who slows the job, what that costs of its wall time, and what each rank did and waited.
Document stragglers_document(const replay::Replays& replays);

/// Adds what was waited in the operations of each line of the program, or whatever they are grouped
/// by, if any group is known.
void add_waits_by(const replay::Replays& replays, const model::Traces& traces,
                  const match::Matches& matches, metrics::RowsBy by, Document& document);

}  // namespace ringside::report

#endif  // RINGSIDE_ANALYZER_REPORT_SUMMARY_STRAGGLERS_REPORT_H
