// SPDX-License-Identifier: Apache-2.0
#include "plugin/record/marks.h"

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
