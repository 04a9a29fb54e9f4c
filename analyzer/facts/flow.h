// SPDX-License-Identifier: Apache-2.0
//
// For each rank of an operation: the ranks that it needs before its data can flow.
#ifndef RINGSIDE_ANALYZER_FACTS_FLOW_H
#define RINGSIDE_ANALYZER_FACTS_FLOW_H

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "analyzer/facts/rank_times.h"
#include "analyzer/match/matcher.h"
#include "analyzer/model/trace.h"

namespace ringside::facts {

/// Only these waits of a rank for another are certain. Other delays, such as a rank that passes
/// data on in a ring or tree, or a full buffer, are possible in all of them.
enum class Flow : std::uint8_t {
  kAll,       // every rank needs every other: AllReduce, AllGather, ReduceScatter, AlltoAll
  kFromRoot,  // every rank needs the root: Broadcast, Scatter
  kToRoot,    // the root needs every other rank: Reduce, Gather
  kLinks,     // a rank needs those that send to it: sends and receives
  kUnknown,   // a function that this program does not know
};

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

/// Who needs whom in a collective of that name; kUnknown if this program does not know it.
Flow flow_of_function(std::string_view function);

/// Whether every rank needs every other by the function alone, which takes less time.
bool all_need_all(const model::Traces& traces, const match::MatchedOperation& operation);

/// `rows` are the ranks of that operation that have a time.
FlowOfOperation flow_of(const model::Traces& traces, const match::Matches& matches,
                        const match::MatchedOperation& operation, std::span<const RankTimes> rows);

}  // namespace ringside::facts

#endif  // RINGSIDE_ANALYZER_FACTS_FLOW_H
