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

// Code of any name; 0 of NULL.
std::uint8_t code_of(Ring& ring, const char* text) noexcept {
  if (text == nullptr) {
    return kNameNone;
  }
  const std::uint8_t known = known_name(read_prefix(text));
  return known != kNameNone ? known : own_name_code(ring, text);
}

// Only what 16 bytes tell whole; and a name for which there was no room may find it later.
bool can_be_met(const char* text, std::uint8_t code) noexcept {
  return text != nullptr && is_within_page(text) && (read_prefix(text).high >> 56) == 0 &&
         code != kNameOther;
}

std::uint64_t address_of(const char* text) noexcept {
  return reinterpret_cast<std::uint64_t>(text);
}

// What was met last is looked at first.
void meet(std::array<SeenNames, 2>& seen, const SeenNames& met) noexcept {
  if (seen[0].addresses != met.addresses) {
    seen[1] = seen[0];
  }
  seen[0] = met;
}

}  // namespace

int AllNames::codes(Ring& ring, const char* first, const char* second) noexcept {
  const std::uint8_t first_code = code_of(ring, first);
  const std::uint8_t second_code = code_of(ring, second);
  const int both = first_code | second_code << 8;
  if (ring.seen != nullptr && can_be_met(first, first_code) && can_be_met(second, second_code)) {
    meet(ring.seen->of(first, second), {{address_of(first), address_of(second)},
                                        {read_bytes(first), read_bytes(second)},
                                        static_cast<std::uint16_t>(both)});
  }
  return both;
}

int AllNames::code(Ring& ring, const char* text) noexcept {
  const std::uint8_t found = code_of(ring, text);
  if (ring.seen != nullptr && can_be_met(text, found)) {
    meet(ring.seen->of(text, nullptr),
         {{address_of(text), SeenNames::kNoSecond}, {read_bytes(text), {}}, found});
  }
  return found;
}

}  // namespace ringside::record
