// SPDX-License-Identifier: Apache-2.0
#include "plugin/assemble/operations/question.h"

#include <algorithm>
#include <array>

#include "plugin/assemble/event.h"
#include "plugin/assemble/operations/operations.h"
#include "plugin/assemble/tables/id_set.h"

namespace ringside::assemble {
namespace {

// Whether the records of an event without an operation of its own are still needed.
bool is_needed(const Event& event, const Operations& operations) {
  const auto* const called = std::get_if<CallEvent>(&event.data);
  return called == nullptr || !called->has_child || called->call.captured ||
         called->call.end_ns == kUnknownTime || operations.is_unfinished(called->child);
}

}  // namespace

void answer_questions(std::span<Question> questions, const Events& events,
                      const Operations& operations, const IdSet& orphans) {
  // Most events asked for are in no cache, so this many look-ups go on at the same time.
  constexpr std::size_t kAtOnce = 32;
  std::array<const Event*, kAtOnce> found{};
  for (; !questions.empty(); questions = questions.subspan(std::min(kAtOnce, questions.size()))) {
    const auto now = questions.first(std::min(kAtOnce, questions.size()));
    for (const Question& question : now) {
      question.operation != 0 ? operations.fetch(question.operation) : events.fetch(question.id);
    }
    for (const Question& question : now) {
      question.operation != 0 ? operations.fetch_value(question.operation)
                              : events.fetch_value(question.id);
    }
    for (std::size_t i = 0; i < now.size(); ++i) {
      found[i] = now[i].operation == 0 ? events.find(now[i].id) : nullptr;
      const auto* const called =
          found[i] != nullptr ? std::get_if<CallEvent>(&found[i]->data) : nullptr;
      if (called != nullptr) {
        operations.fetch_value(called->child);
      }
    }
    for (std::size_t i = 0; i < now.size(); ++i) {
      Question& question = now[i];
      question.is_needed = question.operation != 0 ? operations.is_unfinished(question.operation)
                           : found[i] != nullptr   ? is_needed(*found[i], operations)
                                                   : orphans.contains(question.id);
    }
  }
}

}  // namespace ringside::assemble
