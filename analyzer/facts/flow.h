// SPDX-License-Identifier: Apache-2.0
//
// For each rank of an operation: the ranks that it needs before its data can flow.
#ifndef RINGSIDE_ANALYZER_FACTS_FLOW_H
#define RINGSIDE_ANALYZER_FACTS_FLOW_H

#include <cstdint>
#include <span>
#include <vector>

#include "analyzer/facts/rank_times.h"
#include "analyzer/match/matcher.h"
#include "analyzer/model/trace.h"

namespace ringside::facts {

using model::Flow;
using model::flow_of_function;

/// A rank that sends bytes, and the rank that receives them, as indices into rows.
struct Link {
  std::uint32_t source = 0;
  std::uint32_t destination = 0;
};

struct FlowOfOperation {
  Flow flow = Flow::kUnknown;
  std::uint32_t root = RankTimes::kNobody;  // index into rows; kNobody: none, or it has no time
  std::vector<Link> links;                  // of kLinks
};

/// Whether every rank needs every other by the function alone, which takes less time.
bool all_need_all(const model::Traces& traces, const match::MatchedOperation& operation);

/// `rows` are the ranks of that operation that have a time.
FlowOfOperation flow_of(const model::Traces& traces, const match::Matches& matches,
                        const match::MatchedOperation& operation, std::span<const RankTimes> rows);

}  // namespace ringside::facts

#endif  // RINGSIDE_ANALYZER_FACTS_FLOW_H
