// SPDX-License-Identifier: Apache-2.0
#include "analyzer/lint/container_rules.h"

#include <string>

namespace ringside::lint {
namespace {

constexpr std::size_t kMaxLineBytes = std::size_t{64} << 10U;

}  // namespace

std::string_view ContainerRules::take_line(const load::Line& line) {
  const bool is_bracket = line.text == "]";
  if (is_closed_) {
    if (!has_said_after_end_) {
      findings_.add(line.number, Rule::kAfterEnd, "the file goes on after its ]");
      has_said_after_end_ = true;
    }
    return {};
  }
  if (!line.has_newline && !is_bracket) {
    return {};  // torn: to be ignored
  }
  if (line.is_too_long || line.text.size() > kMaxLineBytes) {
    findings_.add(line.number, Rule::kLineTooLong, "longer than 64 KiB");
  }
  if (line.is_too_long) {
    return {};
  }
  if (is_bracket && line.number > 1) {
    is_closed_ = true;
    if (!last_is_end_) {
      findings_.add(line.number, Rule::kEnd, "the event before ] is not ringside_end");
    } else if (last_has_comma_) {
      findings_.add(last_line_, Rule::kComma, "the last event ends with a comma");
    }
    return {};
  }
  return take_event_line(line);
}

std::string_view ContainerRules::take_event_line(const load::Line& line) {
  if (line.number == 1 && !line.text.starts_with("[{")) {
    findings_.add(line.number, Rule::kFirstLine, "does not begin with [{");
  }
  if (last_is_end_) {
    findings_.add(line.number, Rule::kEnd, "an event follows ringside_end");
    last_is_end_ = false;
  } else if (!last_has_comma_) {
    findings_.add(last_line_, Rule::kComma, "no comma after the event");
  }
  last_has_comma_ = line.text.ends_with(',');
  last_line_ = line.number;
  const std::string_view event = load::event_of_line(line);
  if (event.empty()) {
    findings_.add(line.number, Rule::kOneEventALine, "no event");
    last_has_comma_ = true;
  }
  return event;
}

void ContainerRules::finish(bool must_be_closed) {
  if (is_closed_) {
    return;
  }
  if (last_is_end_) {
    findings_.add(last_line_, Rule::kEnd, "no line ] after ringside_end");
  }
  if (must_be_closed) {
    findings_.add(last_line_ == 0 ? 1 : last_line_, Rule::kNotClosed,
                  "the file was not closed: its process was killed or still runs");
  }
}

}  // namespace ringside::lint
