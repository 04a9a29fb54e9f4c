// SPDX-License-Identifier: Apache-2.0
#ifndef RINGSIDE_ANALYZER_REPORT_SUMMARY_STRAGGLERS_REPORT_H
#define RINGSIDE_ANALYZER_REPORT_SUMMARY_STRAGGLERS_REPORT_H

#include "analyzer/replay/run_replay.h"
#include "analyzer/report/document/document.h"

namespace ringside::report {

/// Says who slows the job, what that costs of its wall time, and what each rank did and waited.
Document stragglers_document(const replay::Replays& replays);

}  // namespace ringside::report

#endif  // RINGSIDE_ANALYZER_REPORT_SUMMARY_STRAGGLERS_REPORT_H
