// SPDX-License-Identifier: Apache-2.0
//
// A trace of PyTorch's profiler where there is no trace of Ringside's: the calls of
// torch.distributed that it has, as the trace of a process.
#ifndef RINGSIDE_ANALYZER_MATCH_KINETO_PROFILE_TRACE_H
#define RINGSIDE_ANALYZER_MATCH_KINETO_PROFILE_TRACE_H

#include <cstdint>
#include <optional>

#include "analyzer/match/kineto/kineto_join.h"
#include "analyzer/model/kineto/kineto.h"
#include "analyzer/model/trace.h"

namespace ringside::match {

/// The rank of a profile that does not name it: the only one that the groups of its calls have in
/// common, and its place in them where the calls say it.
std::optional<std::int64_t> rank_by_calls(const model::KinetoTrace& trace);

/// Adds the trace of a profiled process to `traces`, at their end. Each call of a group of several
/// ranks is one operation, with NCCL's function of it. Its message is as NCCL counts it; of an
/// exchange with each rank it is the mean. Sends and receives that one launch of a kernel runs are
/// a group.
///
/// Kernels that communicate and belong to no call are operations, too, in communicators that have
/// no other rank, since which ranks belong together is not known: those of other libraries in one
/// for each library, NCCL's in one for each stream.
///
/// The host is the one in the name that PyTorch's handler gives to files
/// (HOST_PID.TIME.pt.trace.json); the clock is the host's.
KinetoFileJoin add_profile_trace(const model::KinetoTrace& trace, model::Traces& traces);

}  // namespace ringside::match

#endif  // RINGSIDE_ANALYZER_MATCH_KINETO_PROFILE_TRACE_H
