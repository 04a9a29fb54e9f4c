// SPDX-License-Identifier: Apache-2.0
//
// The question that the journal asks about its records when it must make room, and the answer.
#ifndef RINGSIDE_PLUGIN_ASSEMBLE_OPERATIONS_QUESTION_H
#define RINGSIDE_PLUGIN_ASSEMBLE_OPERATIONS_QUESTION_H

#include <cstdint>
#include <functional>
#include <span>

#include "plugin/record/handle.h"

namespace ringside::assemble {

class IdSet;
class Operations;
struct Event;
template <typename Value>
class IdMap;

/// Is a record still needed to write its row, or its operation's line?
struct Question {
  std::uint64_t operation;  ///< 0: none
  record::EventId id;
  bool is_needed = false;  ///< the answer
};

/// Answers many questions in one call, so that their cache misses overlap.
using Answer = std::function<void(std::span<Question>)>;

/// Answers all questions. `orphans` are the ids of records that wait for their events.
void answer_questions(std::span<Question> questions, const IdMap<Event>& events,
                      const Operations& operations, const IdSet& orphans);

}  // namespace ringside::assemble

#endif  // RINGSIDE_PLUGIN_ASSEMBLE_OPERATIONS_QUESTION_H
