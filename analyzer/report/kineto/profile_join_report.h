// SPDX-License-Identifier: Apache-2.0
//
// How the calls in traces of PyTorch's profiler were joined with operations.
#ifndef RINGSIDE_ANALYZER_REPORT_KINETO_PROFILE_JOIN_REPORT_H
#define RINGSIDE_ANALYZER_REPORT_KINETO_PROFILE_JOIN_REPORT_H

#include <cstdint>
#include <string>
#include <vector>

#include "analyzer/match/kineto/kineto_join.h"
#include "analyzer/model/problem.h"
#include "analyzer/model/trace.h"
#include "analyzer/report/document/document.h"

namespace ringside::report {

/// How many calls were joined and by which proof, and ranks whose clocks disagree: a sentence each.
std::vector<std::string> profile_join_notes(const std::vector<match::KinetoFileJoin>& joins,
                                            const model::Traces& traces);

/// A row for each operation whose kernel is known, with the proof, under the key "kernels".
Table kernel_join_table(const std::vector<match::KinetoFileJoin>& joins,
                        const model::Traces& traces);

/// A row for each rank and process group, under the key "profiler".
Table profile_join_table(const std::vector<match::KinetoFileJoin>& joins,
                         const model::Traces& traces);

/// Events of profiles that could not be used, and the note on them.
std::uint64_t damaged_events(const std::vector<match::KinetoFileJoin>& joins);
std::string damaged_events_text(std::uint64_t events);

/// The note on a profile that is left out.
std::string unused_profile_text(const model::Problem& unused);

}  // namespace ringside::report

#endif  // RINGSIDE_ANALYZER_REPORT_KINETO_PROFILE_JOIN_REPORT_H
