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

/// "rank 3 (node1) may cost 0.4 to 12.1 % of all ranks' time: the clocks leave it open".
std::string open_sentence(const metrics::Stragglers& all, const metrics::Lateness& one);

/// Reports who is late, and what that costs. Lateness is a warning only if it is no chance and
/// costs at least a hundredth of all ranks' time.
Document stragglers_document(const metrics::Stragglers& stragglers, const match::Matches& matches);

}  // namespace ringside::report

#endif  // RINGSIDE_ANALYZER_REPORT_STRAGGLERS_REPORT_H
