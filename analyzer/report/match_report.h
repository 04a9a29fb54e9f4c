// SPDX-License-Identifier: Apache-2.0
//
// `ringside match` and `ringside communicators`, before they are text.
#ifndef RINGSIDE_ANALYZER_REPORT_MATCH_REPORT_H
#define RINGSIDE_ANALYZER_REPORT_MATCH_REPORT_H

#include <cstddef>
#include <vector>

#include "analyzer/align/alignment.h"
#include "analyzer/match/matcher.h"
#include "analyzer/match/verdict/verdict.h"
#include "analyzer/report/document/document.h"

namespace ringside::report {

/// Reports what does not match: a finding for each of the first `cap` operations of a communicator,
/// a table `sides` with a row for each side of these, and a table `verdicts` with the counts.
/// `has_frames` adds the stacks of their calls, as far as they are known. `is_all_read`: nothing
/// was damaged or could not be read, so that the answer may be that all match.
Document match_document(const model::Traces& traces, const match::Matches& matches,
                        const std::vector<match::Judgement>& judgements, std::size_t cap,
                        bool has_frames = false, bool is_all_read = true);

/// The same, for operations that are not judged yet.
Document match_document(const model::Traces& traces, const match::Matches& matches,
                        const align::Alignment& alignment, std::size_t cap, bool has_frames = false,
                        bool is_all_read = true);

/// A table `communicators`: members, hosts, and which is inside which.
Document communicators_document(const model::Traces& traces, const match::Matches& matches);

}  // namespace ringside::report

#endif  // RINGSIDE_ANALYZER_REPORT_MATCH_REPORT_H
