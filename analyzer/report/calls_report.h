// SPDX-License-Identifier: Apache-2.0
#ifndef RINGSIDE_ANALYZER_REPORT_CALLS_REPORT_H
#define RINGSIDE_ANALYZER_REPORT_CALLS_REPORT_H

#include <cstddef>

#include "analyzer/align/alignment.h"
#include "analyzer/match/matcher.h"
#include "analyzer/report/document/document.h"

namespace ringside::report {

/// A table `calls` of operations, one after the other by the time of the first rank's call, with
/// what each rank did: a column for each rank where there are few, and where these fit a screen of
/// so many columns (0: any number), else one for all. `top`: rows at most; 0: all. With
/// `has_frames` also the stacks of the calls that are shown.
Document calls_document(const model::Traces& traces, const match::Matches& matches,
                        const align::Alignment& alignment, std::size_t top, bool has_frames,
                        std::size_t screen_columns = 0);

}  // namespace ringside::report

#endif  // RINGSIDE_ANALYZER_REPORT_CALLS_REPORT_H
