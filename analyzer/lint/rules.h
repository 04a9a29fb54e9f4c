// SPDX-License-Identifier: Apache-2.0
//
// The rules that `ringside lint` enforces: docs/trace-format.md, and what Perfetto's importer of
// Chrome JSON demands.
#ifndef RINGSIDE_ANALYZER_LINT_RULES_H
#define RINGSIDE_ANALYZER_LINT_RULES_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace ringside::lint {

enum class Rule : std::uint8_t {
  kFirstLine,
  kOneEventALine,
  kComma,
  kLineTooLong,
  kEnd,
  kAfterEnd,
  kNotClosed,
  kInvalidJson,
  kControlCharacter,
  kUtf8,
  kNotANumber,
  kBigInteger,
  kRequiredKeys,
  kPhase,
  kCategory,
  kIdRange,
  kTimeFormat,
  kMetadataName,
  kMetadataKeys,
  kCounterArgs,
  kInstantScope,
  kSliceCategory,
  kSliceOverlap,
  kSliceOverlapRounded,
  kAsyncUnbalanced,
  kAsyncOverlap,
  kAsyncOrder,
  kAsyncUnfinished,
  kFlowUnmatched,
  kFlowRepeated,
  kOperationKeys,
  kOperationValues,
  kOperationTimes,
  kOperationBytes,
  kOperationId,
  kCallId,
  kReference,
  kAccountSum,
  kOperationCount,
  kDumpEntry,
};
inline constexpr std::size_t kRuleCount = static_cast<std::size_t>(Rule::kDumpEntry) + 1;

std::string_view rule_name(Rule rule);
/// The demand of the rule, in one line.
std::string_view rule_text(Rule rule);

struct Finding {
  std::uint64_t line = 0;  // from 1
  Rule rule = Rule::kFirstLine;
  std::string text;
};

/// Findings of one file. The first ones of each rule are kept, in the order in which they are made;
/// the others are counted, so that a file with nothing but damage fills neither screen nor memory.
class Findings {
 public:
  static constexpr std::uint64_t kKept = 10;  // of a rule

  void add(std::uint64_t line, Rule rule, std::string text) {
    if (counts_[static_cast<std::size_t>(rule)]++ < kKept) {
      kept_.push_back({line, rule, std::move(text)});
    }
  }
  std::vector<Finding>& kept() { return kept_; }
  const std::vector<Finding>& kept() const { return kept_; }
  /// All that were added.
  std::uint64_t count(Rule rule) const { return counts_[static_cast<std::size_t>(rule)]; }
  std::uint64_t count() const {
    return std::accumulate(counts_.begin(), counts_.end(), std::uint64_t{0});
  }

 private:
  std::vector<Finding> kept_;
  std::array<std::uint64_t, kRuleCount> counts_{};
};

}  // namespace ringside::lint

#endif  // RINGSIDE_ANALYZER_LINT_RULES_H
