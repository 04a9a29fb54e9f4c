// SPDX-License-Identifier: Apache-2.0
//
// A record as the assembler takes it, from a live process or from the files of a dead one.
#ifndef RINGSIDE_PLUGIN_ASSEMBLE_RECORD_VIEW_H
#define RINGSIDE_PLUGIN_ASSEMBLE_RECORD_VIEW_H

#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

#include "plugin/record/handle.h"
#include "plugin/record/slot.h"

namespace ringside::assemble {

struct RecordView {
  record::RecordKind kind;
  record::EventType type;
  std::uint8_t flags;
  bool has_extra;
  std::uint32_t ring;
  std::uint32_t context;
  std::int32_t tid;
  record::EventId id;
  std::int64_t ts_ns;
  record::Payload payload;
  record::Extra extra;  // only with has_extra
  /// Of a mark or a range: its text, and then its source. Valid only while the record is taken.
  std::string_view text;
};

/// The journal's question about a record when it must make room: is the record still needed to
/// write its row, or its operation's line?
struct Question {
  std::uint64_t operation;  ///< 0: none
  record::EventId id;
  bool is_needed = false;  ///< the answer
};
/// Answers many questions in one call, so that their cache misses overlap.
using Answer = std::function<void(std::span<Question>)>;

}  // namespace ringside::assemble

#endif  // RINGSIDE_PLUGIN_ASSEMBLE_RECORD_VIEW_H
