// SPDX-License-Identifier: Apache-2.0
#include "plugin/record/ring.h"

#include <cstring>

namespace ringside::record {
namespace {

void write_head(Slot& slot, EventId id, RecordKind kind, EventType type, std::uint64_t slots,
                std::uint64_t now) noexcept {
  slot.first.ticks = now;
  slot.first.id = id;
  slot.first.kind = kind;
  slot.first.type = type;
  slot.first.slots = static_cast<std::uint8_t>(slots);
  slot.first.flags = 0;
  slot.first.context = 0;
}

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
  write_head(*slot, code, RecordKind::kName, EventType::kUnknown, 1, 0);
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

// Returns the id; 0: there is no room for the record and `kept` slots.
EventId append_start(Ring& ring, EventType type, std::string_view text, std::string_view source,
                     std::uint64_t kept, std::uint64_t now) noexcept {
  const std::uint64_t slots = slots_with_text(text.size() + source.size());
  Slot* const first = ring.reserve(slots + kept);
  if (first == nullptr) {
    return 0;
  }
  const EventId id = mark_id(ring.take_id(EventType{}));
  write_head(*first, id, RecordKind::kStart, type, slots, now);
  first->first.payload.mark = {
      0, static_cast<std::uint16_t>(text.size()), static_cast<std::uint16_t>(source.size()), {}};
  std::uint64_t at = 0;
  for (const std::string_view part : {text, source}) {
    for (const char byte : part) {
      ring.slot(ring.position + 1 + at / sizeof(Slot::text)).text[at % sizeof(Slot::text)] = byte;
      ++at;
    }
  }
  ring.commit_long(slots);
  return id;
}

ProducerCounts::Counter& counter_of(std::array<ProducerCounts::Counter, kAccountTypes>& counters,
                                    EventType type) noexcept {
  return counters[static_cast<std::size_t>(type)];
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

bool append_mark(Ring& ring, std::string_view text, std::uint64_t now) noexcept {
  ProducerCounts::add(counter_of(ring.counts.produced, EventType::kMark));
  if (append_start(ring, EventType::kMark, text, {}, 0, now) == 0) {
    ProducerCounts::add(counter_of(ring.counts.dropped_ring_full, EventType::kMark));
    return false;
  }
  return true;
}

bool open_range(Ring& ring, std::string_view text, std::string_view source,
                std::uint64_t now) noexcept {
  ProducerCounts::add(counter_of(ring.counts.produced, EventType::kRange));
  OpenRanges& open = *ring.open_ranges;
  const bool is_too_deep = open.count == OpenRanges::kMost;
  const EventId id = is_too_deep ? 0 : append_start(ring, EventType::kRange, text, source, 1, now);
  if (is_too_deep) {
    ++open.deeper;
  } else {
    open.ids[open.count++] = id;
  }
  if (id == 0) {
    ProducerCounts::add(counter_of(ring.counts.dropped_ring_full, EventType::kRange));
    return false;
  }
  ++ring.kept_slots;
  --ring.limit;
  return true;
}

void close_range(Ring& ring, std::uint64_t now) noexcept {
  OpenRanges& open = *ring.open_ranges;
  if (open.count == 0) {
    return;
  }
  ProducerCounts::add(counter_of(ring.counts.produced, EventType::kRange));
  const bool is_too_deep = open.deeper != 0;
  open.deeper -= is_too_deep ? 1 : 0;
  const EventId id = is_too_deep ? 0 : open.ids[--open.count];
  if (id == 0) {
    ProducerCounts::add(counter_of(ring.counts.dropped_parent, EventType::kRange));
    return;
  }
  write_head(ring.slot(ring.position), id, RecordKind::kStop, EventType::kRange, 1, now);
  ring.commit_long(1);
  --ring.kept_slots;
  ++ring.limit;
}

}  // namespace ringside::record
