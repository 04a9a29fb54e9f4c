// SPDX-License-Identifier: Apache-2.0
#ifndef RINGSIDE_ANALYZER_FACTS_ARRIVAL_ORDER_H
#define RINGSIDE_ANALYZER_FACTS_ARRIVAL_ORDER_H

#include <vector>

#include "analyzer/facts/rank_times.h"

namespace ringside::facts {

/// Orders the ranks of an operation by arrival, and by member where that is equal. Each thread
/// keeps memory for it.
void sort_by_arrival(std::vector<RankTimes>& rows);

}  // namespace ringside::facts

#endif  // RINGSIDE_ANALYZER_FACTS_ARRIVAL_ORDER_H
