// SPDX-License-Identifier: Apache-2.0
//
// The counters of a process's communicators, from its operations: bandwidth, and bytes in flight.
#ifndef RINGSIDE_ANALYZER_MERGE_OVERVIEW_OPERATION_COUNTERS_H
#define RINGSIDE_ANALYZER_MERGE_OVERVIEW_OPERATION_COUNTERS_H

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/merge/plan.h"
#include "analyzer/model/trace.h"

namespace ringside::merge {

struct CounterValue {
  std::int64_t at_ns = 0;  // of the process's clock
  double value = 0;        // from then on
};

struct OperationCounter {
  std::string name;
  std::string_view unit;
  std::vector<CounterValue> values;  // in the order of time
};

/// The counters of those operations whose execution was seen.
std::vector<OperationCounter> operation_counters(const model::Traces& traces,
                                                 const ProcessPlan& process);

}  // namespace ringside::merge

#endif  // RINGSIDE_ANALYZER_MERGE_OVERVIEW_OPERATION_COUNTERS_H
