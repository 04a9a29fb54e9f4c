// SPDX-License-Identifier: Apache-2.0
//
// --kineto beside traces: what PyTorch's profiler says of the calls of torch.distributed.
#ifndef RINGSIDE_ANALYZER_CLI_ANALYSIS_PROFILE_JOIN_H
#define RINGSIDE_ANALYZER_CLI_ANALYSIS_PROFILE_JOIN_H

#include <functional>
#include <string>
#include <vector>

#include "analyzer/match/kineto/kineto_join.h"
#include "analyzer/model/problem.h"
#include "analyzer/model/trace.h"

namespace ringside::cli {

/// Takes a profile that was joined, and may take from it, before it is let go.
using ProfileTake = std::function<void(model::KinetoTrace&, const match::KinetoFileJoin&)>;

/// Reads the traces of PyTorch's profiler that these arguments of --kineto name, and joins each
/// with the operations of its process. A file that cannot be read, or whose process has no trace,
/// is added to `problems`; so is a pipe if profiles are read again later. Where there is no trace
/// at all, each profile is the trace of its process, and is added to `traces`.
std::vector<match::KinetoFileJoin> join_profiles(const std::vector<std::string>& kineto,
                                                 bool are_read_again, model::Traces& traces,
                                                 model::Problems& problems,
                                                 const ProfileTake& take = nullptr);

}  // namespace ringside::cli

#endif  // RINGSIDE_ANALYZER_CLI_ANALYSIS_PROFILE_JOIN_H
