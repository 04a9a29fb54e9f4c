// SPDX-License-Identifier: Apache-2.0
#ifndef RINGSIDE_ANALYZER_LINT_SLICE_RULES_H
#define RINGSIDE_ANALYZER_LINT_SLICE_RULES_H

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "analyzer/lint/event.h"
#include "analyzer/lint/rules.h"

namespace ringside::lint {

/// Checks that the X slices of each thread nest, both in exact nanoseconds and as Perfetto rounds.
class SliceRules {
 public:
  void take(const Event& event);
  void finish(Findings& findings);

 private:
  struct Slice {
    std::int64_t start_ns = 0;
    std::int64_t dur_ns = 0;
    std::uint64_t line = 0;
  };
  struct Thread {
    std::vector<Slice> exact;
    std::vector<Slice> rounded;
  };

  static std::vector<std::pair<std::uint64_t, std::uint64_t>> overlaps(std::vector<Slice>& slices);

  std::map<std::pair<std::int64_t, std::int64_t>, Thread> threads_;
};

}  // namespace ringside::lint

#endif  // RINGSIDE_ANALYZER_LINT_SLICE_RULES_H
