// SPDX-License-Identifier: Apache-2.0
#ifndef RINGSIDE_ANALYZER_LINT_REFERENCE_RULES_H
#define RINGSIDE_ANALYZER_LINT_REFERENCE_RULES_H

#include <cstdint>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "analyzer/lint/event.h"
#include "analyzer/lint/rules.h"

namespace ringside::lint {

/// Checks ids that must be unique, what refers to them, and the count of operations at the end.
class ReferenceRules {
 public:
  void take(const Event& event, Findings& findings);
  /// is_counted: all operations that the end counts should be there.
  void finish(bool is_closed, bool is_counted, Findings& findings);

 private:
  using Lines = std::unordered_map<std::int64_t, std::uint64_t>;  // id to the line that has it
  using References = std::vector<std::pair<std::int64_t, std::uint64_t>>;  // id and line

  static void define(Lines& lines, std::int64_t id, std::uint64_t line, Rule rule,
                     Findings& findings);
  static void resolve(const References& references, const Lines& lines, const char* what,
                      Findings& findings);

  Lines operations_;
  Lines calls_;
  Lines contexts_;
  References to_operations_;
  References to_contexts_;
  std::int64_t operation_lines_ = 0;
  std::optional<std::pair<std::int64_t, std::uint64_t>> end_;  // its count, and its line
};

}  // namespace ringside::lint

#endif  // RINGSIDE_ANALYZER_LINT_REFERENCE_RULES_H
