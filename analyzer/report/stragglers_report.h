// SPDX-License-Identifier: Apache-2.0
#ifndef RINGSIDE_ANALYZER_REPORT_STRAGGLERS_REPORT_H
#define RINGSIDE_ANALYZER_REPORT_STRAGGLERS_REPORT_H

#include <string>

#include "analyzer/metrics/stragglers.h"
#include "analyzer/report/document.h"

namespace ringside::report {

/// "rank 3 (node1)", "host node1".
std::string name_of(const metrics::Lateness& one);

/// "p < 1e-9": the probability that chance does that is below it.
std::string chance_text(double chance);

/// "31.2 %", or "31.2 to 40.1 %" where the clocks leave that open: what it costs, of all ranks'
/// time.
std::string cost_of(const metrics::Stragglers& all, const metrics::Lateness& one);

/// The first, and those that the data do not tell from it: at least they cost the same, as a text
/// shows it, and at most nearly the same, but no more.
std::vector<const metrics::Lateness*> tied_with_first(
    const metrics::Stragglers& all, const std::vector<const metrics::Lateness*>& found);

/// "rank 3 (node1)", "rank 2 (node0) and rank 3 (node1)", "6 ranks".
std::string names_of(const std::vector<const metrics::Lateness*>& some);

/// "rank 3 (node1) may cost 0.4 to 12.1 % of all ranks' time: the clocks leave it open". `open` are
/// of Stragglers::find_open: the first, and those that tie with it.
std::string open_sentence(const metrics::Stragglers& all,
                          const std::vector<const metrics::Lateness*>& open);

/// Reports who is late, and what that costs. Lateness is a warning only if it is no chance and
/// costs at least a hundredth of all ranks' time.
Document stragglers_document(const metrics::Stragglers& stragglers, const match::Matches& matches);

}  // namespace ringside::report

#endif  // RINGSIDE_ANALYZER_REPORT_STRAGGLERS_REPORT_H
