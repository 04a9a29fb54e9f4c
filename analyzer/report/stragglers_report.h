// SPDX-License-Identifier: Apache-2.0
#ifndef RINGSIDE_ANALYZER_REPORT_STRAGGLERS_REPORT_H
#define RINGSIDE_ANALYZER_REPORT_STRAGGLERS_REPORT_H

#include "analyzer/metrics/stragglers.h"
#include "analyzer/report/document.h"

namespace ringside::report {

/// "131 of 1000 operations in which it is sure who came last": what shares are of.
std::string decided_of(const metrics::Stragglers& all);

/// Who is late. Only what is neither chance nor less than a hundredth of the time is a finding.
Document stragglers_document(const metrics::Stragglers& stragglers, const match::Matches& matches);

}  // namespace ringside::report

#endif  // RINGSIDE_ANALYZER_REPORT_STRAGGLERS_REPORT_H
