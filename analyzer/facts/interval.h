// SPDX-License-Identifier: Apache-2.0
//
// A duration that is known to lie between two others.
#ifndef RINGSIDE_ANALYZER_FACTS_INTERVAL_H
#define RINGSIDE_ANALYZER_FACTS_INTERVAL_H

#include <cstdint>

#include "analyzer/model/saturating.h"

namespace ringside::facts {

struct Interval {
  std::int64_t least_ns = 0;
  std::int64_t most_ns = 0;

  std::int64_t middle_ns() const {
    return add_saturating(least_ns, subtract_saturating(most_ns, least_ns) / 2);
  }
};

}  // namespace ringside::facts

#endif  // RINGSIDE_ANALYZER_FACTS_INTERVAL_H
