// SPDX-License-Identifier: Apache-2.0
#ifndef RINGSIDE_ANALYZER_METRICS_OPERATION_ORDER_H
#define RINGSIDE_ANALYZER_METRICS_OPERATION_ORDER_H

#include <cstdint>
#include <vector>

#include "analyzer/facts/facts.h"

namespace ringside::metrics {

/// The operations of several ranks in an order that is that of every rank's own arrivals, which no
/// clocks are needed for; else by their last arrivals.
std::vector<std::uint32_t> order_operations(const facts::Facts& facts);

}  // namespace ringside::metrics

#endif  // RINGSIDE_ANALYZER_METRICS_OPERATION_ORDER_H
