// SPDX-License-Identifier: Apache-2.0
#ifndef RINGSIDE_ANALYZER_METRICS_OPERATION_ORDER_H
#define RINGSIDE_ANALYZER_METRICS_OPERATION_ORDER_H

#include <cstdint>
#include <utility>
#include <vector>

#include "analyzer/facts/facts.h"

namespace ringside::metrics {

/// The operations of several ranks in an order that is that of every rank's own arrivals, which no
/// clocks are needed for; else by their last arrivals.
/// `is_contradictory`, if it is given, is set if ranks contradict each other, or nobody has a time.
std::vector<std::uint32_t> order_operations(const facts::Facts& facts,
                                            bool* is_contradictory = nullptr);

/// Says where that order cannot be cut into two, each of which is found by itself, if the places of
/// all operations are by their last arrivals: for each pair (first, last), before none of the
/// places behind `first` up to `last`. `places` are those of the operations, of which some parts
/// are here.
std::vector<std::pair<std::uint32_t, std::uint32_t>> find_inversions(
    const facts::Facts& facts, const std::vector<std::uint32_t>& places);

}  // namespace ringside::metrics

#endif  // RINGSIDE_ANALYZER_METRICS_OPERATION_ORDER_H
