// SPDX-License-Identifier: Apache-2.0
#include "plugin/record/ring.h"

#include <cstring>

namespace ringside::record {
namespace {

// Returns this ring's code for a name that is not in the table of known names.
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
  // If there is no room for the record, the name gets no code now. Its next use tries again.
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

std::uint8_t code_of(Ring& ring, const char* text) noexcept {
  if (text == nullptr) {
    return kNameNone;
  }
  const std::uint8_t known = known_name(read_prefix(text));
  return known != kNameNone ? known : own_name_code(ring, text);
}

// A name is cacheable if 16 bytes hold it whole. A name for which there was no room is not cached,
// since it may get a code later.
bool is_cacheable(const char* text, std::uint8_t code) noexcept {
  return text != nullptr && is_within_page(text) && (read_prefix(text).high >> 56) == 0 &&
         code != kNameOther;
}

std::uint64_t address_of(const char* text) noexcept {
  return reinterpret_cast<std::uint64_t>(text);
}

// The pair that was cached last is compared first.
void cache_pair(std::array<CachedPair, 2>& bucket, const CachedPair& pair) noexcept {
  if (bucket[0].addresses != pair.addresses) {
    bucket[1] = bucket[0];
  }
  bucket[0] = pair;
}

}  // namespace

int ResolvedNames::codes(Ring& ring, const char* first, const char* second) noexcept {
  const std::uint8_t first_code = code_of(ring, first);
  const std::uint8_t second_code = code_of(ring, second);
  const int both = first_code | second_code << 8;
  if (ring.name_cache != nullptr && is_cacheable(first, first_code) &&
      is_cacheable(second, second_code)) {
    cache_pair(ring.name_cache->bucket(first, second), {{address_of(first), address_of(second)},
                                                        {read_bytes(first), read_bytes(second)},
                                                        static_cast<std::uint16_t>(both)});
  }
  return both;
}

int ResolvedNames::code(Ring& ring, const char* text) noexcept {
  const std::uint8_t found = code_of(ring, text);
  if (ring.name_cache != nullptr && is_cacheable(text, found)) {
    cache_pair(ring.name_cache->bucket(text, nullptr),
               {{address_of(text), CachedPair::kNoSecond}, {read_bytes(text), {}}, found});
  }
  return found;
}

}  // namespace ringside::record
