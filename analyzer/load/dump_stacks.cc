// SPDX-License-Identifier: Apache-2.0
#include "analyzer/load/dump_stacks.h"

#include <algorithm>
#include <string_view>

namespace ringside::load {

model::NameId DumpStackReader::read(const PlainValue& frames) {
  constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15ULL;
  const auto listed = tree_.list(frames);
  std::uint64_t hash = listed.size();
  for (const PlainValue& frame : listed) {
    hash = (hash ^ static_cast<std::uint64_t>(frame.number)) * kOdd;
    hash ^= hash >> 32;
  }
  Stack& stack = stacks_[hash];
  if (!std::equal(listed.begin(), listed.end(), stack.frames.begin(), stack.frames.end())) {
    stack = {listed, names_.id(text_of(listed))};
  }
  return stack.name;
}

std::string DumpStackReader::text_of(std::span<const PlainValue> frames) const {
  std::string text;
  for (const PlainValue& frame : frames) {
    if (frame.kind != PlainValue::Kind::kDict) {
      continue;
    }
    const std::string_view function = tree_.text(tree_.at(frame, name_));
    const std::string_view file = tree_.text(tree_.at(frame, filename_));
    const auto line = integer_of(tree_.at(frame, line_));
    text += text.empty() ? "" : "\n";
    text.append(file).append(":").append(line ? std::to_string(*line) : "?");
    text.append(" in ").append(function);
  }
  return text;
}

}  // namespace ringside::load
