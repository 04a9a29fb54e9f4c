// SPDX-License-Identifier: Apache-2.0
//
// A record as the assembler takes it, from a live process or from the files of a dead one.
#ifndef RINGSIDE_PLUGIN_ASSEMBLE_RECORD_VIEW_H
#define RINGSIDE_PLUGIN_ASSEMBLE_RECORD_VIEW_H

#include <cstdint>
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

}  // namespace ringside::assemble

#endif  // RINGSIDE_PLUGIN_ASSEMBLE_RECORD_VIEW_H
