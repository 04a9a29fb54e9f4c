// SPDX-License-Identifier: Apache-2.0
//
// `ringside hang` as a document: one sentence on top, the evidence below.
#ifndef RINGSIDE_ANALYZER_REPORT_HANG_HANG_REPORT_H
#define RINGSIDE_ANALYZER_REPORT_HANG_HANG_REPORT_H

#include "analyzer/align/alignment.h"
#include "analyzer/metrics/hang/hang.h"
#include "analyzer/report/document/document.h"

namespace ringside::report {

/// `top`: rows of each table at most; 0: all.
Document make_hang_report(const model::Traces& traces, const align::Alignment& alignment,
                          const metrics::Hang& hang, std::size_t top, bool has_frames = false);

}  // namespace ringside::report

#endif  // RINGSIDE_ANALYZER_REPORT_HANG_HANG_REPORT_H
