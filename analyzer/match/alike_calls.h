// SPDX-License-Identifier: Apache-2.0
//
// Matches ranks that made the same calls without looking at one rank's calls beside another's, so
// that the rows of each can stay in the process that has read them. Communicators whose ranks did
// not are matched by their rows.
#ifndef RINGSIDE_ANALYZER_MATCH_ALIKE_CALLS_H
#define RINGSIDE_ANALYZER_MATCH_ALIKE_CALLS_H

#include <cstdint>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "analyzer/match/matcher.h"
#include "analyzer/model/trace.h"

namespace ringside::match {

/// Sums up the calls of each context of a file. A context has no digest if one of them is more than
/// a finished collective with a number: a send or receive, a replay of a CUDA graph, an operation
/// in flight, or one whose number or group does not ascend. Nothing if the file is a part of a
/// trace.
std::optional<std::vector<model::ContextCalls>> sum_up_calls(const model::NameTable& names,
                                                             const model::TraceFile& file);

/// By context and function: the calls by number, as indices of the operations.
std::map<std::pair<std::uint32_t, model::NameId>, std::vector<std::uint32_t>> calls_by_number(
    const model::Operations& operations);

struct AlikeCalls {
  Matches matches;  // runs and communicators, and no operations
  /// By communicator: its functions by NameId, and how many operations there are of each. Each of
  /// these has a part of each member, and the parts agree. Empty: the rows of the communicator are
  /// needed.
  std::vector<std::vector<std::pair<model::NameId, std::uint64_t>>> functions;

  /// How many that is.
  std::uint64_t operations(std::uint32_t communicator) const;
  bool needs_rows(std::uint32_t communicator) const { return functions[communicator].empty(); }
  /// The contexts whose rows are needed, by file.
  std::vector<std::vector<std::uint32_t>> contexts_needed(const model::Traces& traces) const;
};

/// Matches the rows that are here of such calls: all rows of some members, or those of some
/// operations of all members.
Matches match_rows(const model::Traces& traces, const AlikeCalls& calls);

/// Matches files whose operations are all elsewhere. Nothing if the rows of all communicators are
/// needed.
std::optional<AlikeCalls> match_alike(const model::Traces& traces);

}  // namespace ringside::match

#endif  // RINGSIDE_ANALYZER_MATCH_ALIKE_CALLS_H
