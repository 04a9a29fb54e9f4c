// SPDX-License-Identifier: Apache-2.0
//
// Defects of NCCL, by its release notes, that look like a hang in which every rank has joined.
#ifndef RINGSIDE_ANALYZER_REPORT_HANG_KNOWN_DEFECTS_H
#define RINGSIDE_ANALYZER_REPORT_HANG_KNOWN_DEFECTS_H

#include <string>
#include <vector>

#include "analyzer/metrics/hang/hang.h"
#include "analyzer/model/trace.h"

namespace ringside::report {

/// A sentence for each defect of the job's NCCL that fits the operation. Nothing if a rank has not
/// joined it, or if what each has done is not known: the cause is there then.
std::vector<std::string> known_defects(const model::Traces& traces, const metrics::Hang& hang,
                                       const metrics::StuckOperation& stuck);

}  // namespace ringside::report

#endif  // RINGSIDE_ANALYZER_REPORT_HANG_KNOWN_DEFECTS_H
