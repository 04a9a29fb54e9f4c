// SPDX-License-Identifier: Apache-2.0
//
// `ringside network` as a document.
#ifndef RINGSIDE_ANALYZER_REPORT_NETWORK_REPORT_H
#define RINGSIDE_ANALYZER_REPORT_NETWORK_REPORT_H

#include "analyzer/metrics/network/network.h"
#include "analyzer/report/document/document.h"

namespace ringside::report {

/// `top`: links that are listed at most; 0: all. `is_for_people`: matrices of up to 16 ranks are
/// drawn as such, not as a list.
Document make_network_report(const model::Traces& traces, const metrics::Network& network,
                             std::size_t top, bool is_for_people);

}  // namespace ringside::report

#endif  // RINGSIDE_ANALYZER_REPORT_NETWORK_REPORT_H
