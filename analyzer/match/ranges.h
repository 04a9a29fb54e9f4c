// SPDX-License-Identifier: Apache-2.0
//
// Finds in which range of the application (ringside_push, ringside_pop) a rank called an operation.
#ifndef RINGSIDE_ANALYZER_MATCH_RANGES_H
#define RINGSIDE_ANALYZER_MATCH_RANGES_H

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/match/matcher.h"
#include "analyzer/model/trace.h"

namespace ringside::match {

/// The path of a range: its name and the names of those around it. Equal paths have equal numbers.
using RangePath = std::uint32_t;
inline constexpr RangePath kNoRange = 0;

class Ranges {
 public:
  /// Ranges that nest deeper than this are ignored.
  static constexpr std::size_t kMostNested = 16;

  explicit Ranges(const model::Traces& traces);

  /// Returns the innermost range that was open on the thread at the time of the call, or kNoRange.
  /// If a process has ranges on one thread only, they count for its other threads, too, because
  /// frameworks call NCCL from threads of their own.
  RangePath of(std::uint32_t file, const model::Operation& operation) const;
  RangePath of(const model::Traces& traces, const Matches& matches,
               const MatchedOperation& operation) const;

  /// Returns a text such as "epoch / step / forward"; empty for kNoRange.
  std::string text(RangePath path) const;

 private:
  static constexpr std::uint32_t kNone = 0xFFFFFFFF;
  struct Range {
    std::int64_t start_ns = 0;
    std::int64_t end_ns = 0;
    RangePath path = kNoRange;
    std::uint32_t around = kNone;  // the range around this one: index into the thread's ranges
  };
  using Thread = std::vector<Range>;  // in the order of their starts
  struct Step {
    RangePath around = kNoRange;
    model::NameId name = model::kNoName;
  };

  void nest(const std::vector<model::Mark>& marks, Thread& thread);

  const model::NameTable& names_;
  std::vector<std::map<std::uint32_t, Thread>> files_;  // by file, then by thread
  std::vector<Step> paths_{1};                          // by RangePath
  std::map<std::pair<RangePath, model::NameId>, RangePath> numbers_;
};

}  // namespace ringside::match

#endif  // RINGSIDE_ANALYZER_MATCH_RANGES_H
