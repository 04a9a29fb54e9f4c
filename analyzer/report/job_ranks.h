// SPDX-License-Identifier: Apache-2.0
//
// Ranks of a communicator are its own. Dumps of PyTorch's Flight Recorder say which ranks of the
// job they are, and what is said of such a communicator says so, where the two differ.
#ifndef RINGSIDE_ANALYZER_REPORT_JOB_RANKS_H
#define RINGSIDE_ANALYZER_REPORT_JOB_RANKS_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "analyzer/match/matcher.h"

namespace ringside::report {

/// The rank in the job of each rank of a communicator; none if no dump lists them, or all are
/// equal.
std::vector<std::uint32_t> job_ranks(const model::Traces& traces,
                                     const match::Communicator& communicator);

/// "ranks 1, 3" for the ranks 0 and 1 of [1, 3]; empty if job_ranks() has none.
std::string job_rank_list(const model::Traces& traces, const match::Communicator& communicator,
                          const std::vector<std::uint32_t>& ranks);

/// "Ranks 0, 1 of mesh_dp are ranks 1, 3 of the job": all of a small communicator, else those that
/// are given, up to eight. Empty if job_ranks() has none.
std::string job_ranks_text(const model::Traces& traces, const match::Communicator& communicator,
                           std::vector<std::uint32_t> ranks);

}  // namespace ringside::report

#endif  // RINGSIDE_ANALYZER_REPORT_JOB_RANKS_H
