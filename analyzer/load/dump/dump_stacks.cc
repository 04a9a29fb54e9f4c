// SPDX-License-Identifier: Apache-2.0
#include "analyzer/load/dump/dump_stacks.h"

#include <algorithm>
#include <string_view>

namespace ringside::load {

// A program repeats itself: the stack that was next last time mostly is again.
model::NameId DumpStackReader::read(const PlainValue& frames) {
  const auto listed = tree_.list(frames);
  Stack* next = last_->next;
  if (next == nullptr ||
      !std::equal(listed.begin(), listed.end(), next->frames.begin(), next->frames.end())) {
    next = last_->next = &find(listed);
  }
  last_ = next;
  return next->name;
}

DumpStackReader::Stack& DumpStackReader::find(std::span<const PlainValue> frames) {
  constexpr std::uint64_t kOdd = 0x9e3779b97f4a7c15ULL;
  std::uint64_t hash = frames.size();
  for (const PlainValue& frame : frames) {
    hash = (hash ^ static_cast<std::uint64_t>(frame.number)) * kOdd;
    hash ^= hash >> 32;
  }
  Stack& stack = stacks_[hash];
  if (!std::equal(frames.begin(), frames.end(), stack.frames.begin(), stack.frames.end())) {
    stack.frames = frames;
    stack.name = names_.id(text_of(frames));
  }
  return stack;
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
