// SPDX-License-Identifier: Apache-2.0
#include "plugin/record/ring.h"

#include <cstring>

namespace ringside::record {
namespace {

// A name that is not known to all.
std::uint8_t own_name_code(Ring& ring, const char* text) noexcept {
  if (text[0] == '\0') {
    return kNameNone;
  }
  NamePayload name{};
  for (std::size_t i = 0; i < sizeof name.text && text[i] != '\0'; ++i) {
    name.text[i] = text[i];
  }
  for (int i = 0; i < ring.dynamic_names; ++i) {
    if (std::memcmp(&ring.dynamic_name[static_cast<std::size_t>(i)], &name, sizeof name) == 0) {
      return static_cast<std::uint8_t>(kFirstDynamicName + i);
    }
  }
  if (ring.dynamic_names == kDynamicNames) {
    return kNameOther;
  }
  // Without room the name stays unknown to the reader, and is tried again at its next use.
  Slot* slot = ring.reserve(1);
  if (slot == nullptr) {
    return kNameOther;
  }
  const auto code = static_cast<std::uint8_t>(kFirstDynamicName + ring.dynamic_names);
  ring.dynamic_name[static_cast<std::size_t>(ring.dynamic_names++)] = name;
  slot->first.ticks = 0;
  slot->first.id = code;
  slot->first.kind = RecordKind::kName;
  slot->first.type = EventType::kUnknown;
  slot->first.slots = 1;
  slot->first.flags = 0;
  slot->first.context = 0;
  slot->first.payload.name = name;
  ring.commit(1);
  return code;
}

}  // namespace

std::uint8_t new_name_code(Ring& ring, const char* text, SeenName* seen) noexcept {
  const NamePrefix prefix = read_prefix(text);
  const std::uint8_t known = known_name(prefix);
  const std::uint8_t code = known != kNameNone ? known : own_name_code(ring, text);
  // Only what 16 bytes tell whole; and a name for which there was no room may find it later.
  const bool is_whole = (prefix.high >> 56) == 0;
  if (is_whole && code != kNameOther && is_within_page(text)) {
    const auto address = reinterpret_cast<std::uint64_t>(text);
    if (seen[0].address != address) {
      seen[1] = seen[0];  // what was met last is looked at first
    }
    seen[0] = {address, read_bytes(text), code};
  }
  return code;
}

}  // namespace ringside::record
