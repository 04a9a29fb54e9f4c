// SPDX-License-Identifier: Apache-2.0
//
// What the journal asks of its records when it must make room.
#ifndef RINGSIDE_PLUGIN_ASSEMBLE_QUESTION_H
#define RINGSIDE_PLUGIN_ASSEMBLE_QUESTION_H

#include <cstdint>
#include <functional>
#include <span>

#include "plugin/record/handle.h"

namespace ringside::assemble {

/// Is a record still needed to write its row, or its operation's line?
struct Question {
  std::uint64_t operation;  ///< 0: none
  record::EventId id;
  bool is_needed = false;  ///< the answer
};

/// Answers many at once, since the answers to one after the other are each waited for.
using Answer = std::function<void(std::span<Question>)>;

}  // namespace ringside::assemble

#endif  // RINGSIDE_PLUGIN_ASSEMBLE_QUESTION_H
