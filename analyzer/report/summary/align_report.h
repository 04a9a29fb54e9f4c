// SPDX-License-Identifier: Apache-2.0
//
// The facts known about the hosts' clocks, and the other limits of an analysis.
#ifndef RINGSIDE_ANALYZER_REPORT_SUMMARY_ALIGN_REPORT_H
#define RINGSIDE_ANALYZER_REPORT_SUMMARY_ALIGN_REPORT_H

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/align/alignment.h"
#include "analyzer/model/problem.h"
#include "analyzer/model/trace.h"
#include "analyzer/report/document/document.h"

namespace ringside::report {

Table alignment_table(const align::Alignment& alignment);

/// Sentences on the clocks.
std::vector<std::string> clock_notes(const align::Alignment& alignment);

/// One sentence each on clocks, lost records and sampling. `alignment`: NULL if nothing compares
/// clocks.
std::vector<std::string> limits(const model::Traces& traces, const align::Alignment* alignment);

/// Says how many traces lack their end, and which command completes them; empty if none does. This
/// comes before any answer, since an answer about such traces is about a part of the job.
std::string not_closed_sentence(const model::Traces& traces);

/// Returns how many lines, files and segments could not be read or are missing: nobody knows what
/// they hold.
std::uint64_t count_unread(const model::Traces& traces, const model::Problems& problems);

}  // namespace ringside::report

#endif  // RINGSIDE_ANALYZER_REPORT_SUMMARY_ALIGN_REPORT_H
