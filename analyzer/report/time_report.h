// SPDX-License-Identifier: Apache-2.0
//
// Reports on where the time went: overlap, and the longest chain over all ranks.
#ifndef RINGSIDE_ANALYZER_REPORT_TIME_REPORT_H
#define RINGSIDE_ANALYZER_REPORT_TIME_REPORT_H

#include <vector>

#include "analyzer/match/kineto/kineto_join.h"
#include "analyzer/match/matcher.h"
#include "analyzer/metrics/overlap/overlap.h"
#include "analyzer/metrics/rows/grouping.h"
#include "analyzer/replay/critical_path.h"
#include "analyzer/report/document/document.h"

namespace ringside::report {

/// `replays`: of the same traces, which say what each rank waited. `profiles`: of PyTorch's
/// profiler, which show what the GPUs computed meanwhile.
Document overlap_document(const metrics::Overlap& overlap, const replay::Replays& replays,
                          const match::Matches& matches, const model::Traces& traces,
                          const std::vector<match::KinetoFileJoin>& profiles);

/// What the end of a run waited for. `run`: NULL if nothing ran. `by`: operations on the path have
/// a line for each group of this, too.
Document critical_path_document(replay::RunReplay* run, const model::Traces& traces,
                                const match::Matches& matches, const align::Alignment& alignment,
                                metrics::RowsBy by = metrics::RowsBy::kKind);

}  // namespace ringside::report

#endif  // RINGSIDE_ANALYZER_REPORT_TIME_REPORT_H
