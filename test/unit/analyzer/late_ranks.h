// SPDX-License-Identifier: Apache-2.0
//
// Who is late in traces that were made by hand.
#ifndef RINGSIDE_TEST_UNIT_ANALYZER_LATE_RANKS_H
#define RINGSIDE_TEST_UNIT_ANALYZER_LATE_RANKS_H

#include <string_view>

#include "analyzer/metrics/stragglers.h"
#include "test/unit/catch.h"

namespace ringside::metrics {

inline Stragglers find_late_ranks(const model::Traces& traces) {
  const match::Matches matches = match::match_operations(traces);
  const auto alignment = align::Alignment::estimate(traces);
  return find_stragglers(facts::Facts(traces, matches, alignment));
}

/// `label`: as "rank 3".
inline const Lateness& lateness_of(const Stragglers& found, std::string_view label) {
  for (const Lateness& one : found.ranks) {
    if (one.label == label) {
      return one;
    }
  }
  FAIL("no " << label);
  return found.ranks.front();
}

}  // namespace ringside::metrics

#endif  // RINGSIDE_TEST_UNIT_ANALYZER_LATE_RANKS_H
