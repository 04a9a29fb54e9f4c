// SPDX-License-Identifier: Apache-2.0
#ifndef RINGSIDE_ANALYZER_LINT_CONTAINER_RULES_H
#define RINGSIDE_ANALYZER_LINT_CONTAINER_RULES_H

#include <cstdint>
#include <string_view>

#include "analyzer/lint/rules.h"
#include "analyzer/load/source/line_reader.h"

namespace ringside::lint {

/// Checks the array around the events: its brackets, commas, lines and end.
class ContainerRules {
 public:
  explicit ContainerRules(Findings& findings) : findings_(findings) {}

  /// Looks at a whole line. Returns the text of its event, empty if there is none to check.
  std::string_view take_line(const load::Line& line);

  /// Says whether the event of the last line was a ringside_end.
  void take_event(bool is_end) { last_is_end_ = is_end; }

  /// After the last line.
  void finish(bool must_be_closed);

  bool is_closed() const { return is_closed_; }

 private:
  std::string_view take_event_line(const load::Line& line);

  Findings& findings_;
  bool is_closed_ = false;
  bool last_is_end_ = false;
  bool last_has_comma_ = true;
  bool has_said_after_end_ = false;
  std::uint64_t last_line_ = 0;
};

}  // namespace ringside::lint

#endif  // RINGSIDE_ANALYZER_LINT_CONTAINER_RULES_H
