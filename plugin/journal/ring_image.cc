// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

#include "plugin/journal/images.h"
#include "plugin/record/ring.h"

namespace ringside::journal {
namespace {

using record::RecordKind;
using record::Slot;

// A slot is read as an entry of the journal. Only two words have another meaning there.
static_assert(sizeof(Slot) == sizeof(JournalEntry));
static_assert(offsetof(Slot, first.ticks) == offsetof(JournalEntry, first.ts_ns));
static_assert(offsetof(Slot, first.kind) == offsetof(JournalEntry, first.kind));
static_assert(offsetof(Slot, first.payload) == offsetof(JournalEntry, first.payload));
static_assert(offsetof(Slot, extra) == offsetof(JournalEntry, extra));
static_assert(offsetof(Slot, text) == offsetof(JournalEntry, text));

Result check(const record::Ring& ring, std::size_t file_bytes) {
  if (ring.magic != record::kRingMagic) {
    return {EBADMSG, "is not the file of a ring"};
  }
  if (ring.version != record::kRingVersion) {
    return {EBADMSG, "is of version " + std::to_string(ring.version) +
                         "; this ringside knows version " + std::to_string(record::kRingVersion)};
  }
  if (ring.header_bytes != sizeof(record::Ring) || ring.slot_bytes != sizeof(Slot) ||
      ring.place > record::RingPlace::kHead) {
    return {EBADMSG, "has a head that its version does not have"};
  }
  if (!std::has_single_bit(ring.capacity) ||
      (ring.place == record::RingPlace::kFile &&
       ring.capacity > (file_bytes - sizeof(record::Ring)) / sizeof(Slot))) {
    return {EBADMSG, "says " + std::to_string(ring.capacity) + " slots, more than it holds"};
  }
  if (ring.index >= record::kMaxRings) {
    return {EBADMSG, "has the number " + std::to_string(ring.index) + ", which no ring has"};
  }
  return {};
}

}  // namespace

assemble::RecordView view_of(const JournalEntry& entry, std::uint32_t ring, std::int32_t tid) {
  assemble::RecordView view{};
  view.kind = entry.first.kind;
  view.type = entry.first.type;
  view.flags = entry.first.flags;
  view.ring = ring;
  view.context = entry.first.context;
  view.tid = tid;
  view.id = entry.first.id;
  view.ts_ns = entry.first.ts_ns;
  view.payload = entry.first.payload;
  return view;
}

bool is_sound(const assemble::RecordView& record) {
  const auto type = static_cast<std::size_t>(record.type);
  if (record.kind == RecordKind::kName) {
    return record.id >= record::kFirstDynamicName && record.id < record::kNameOther;
  }
  if (record::is_of_application(record.type)) {
    return record::is_mark_id(record.id) &&
           (record.kind == RecordKind::kStart ||
            (record.kind == RecordKind::kStop && record.type == record::EventType::kRange));
  }
  return (record.kind == RecordKind::kStart || record.kind == RecordKind::kState ||
          record.kind == RecordKind::kStop) &&
         type < record::kEventTypes && record::is_event_id(record.id) &&
         record::is_recorded(record.id) && record::event_type(record.id) == record.type;
}

Result read_ring(std::span<const std::byte> file, RingImage& image) {
  if (file.size() < sizeof(record::Ring)) {
    return {EBADMSG, "is shorter than the head of a ring"};
  }
  // The copy is aligned. No other thread uses it, so its atomics can be copied as plain memory.
  alignas(record::Ring) std::array<std::byte, sizeof(record::Ring)> head;
  std::memcpy(head.data(), file.data(), head.size());
  const auto& ring = *reinterpret_cast<const record::Ring*>(head.data());
  if (Result checked = check(ring, file.size()); !checked.is_ok()) {
    return checked;
  }
  image.index = ring.index;
  image.tid = ring.tid.load(std::memory_order_relaxed);
  for (std::size_t type = 0; type < image.by_type.size(); ++type) {
    image.by_type[type] = assemble::account_of(ring, type);
  }
  image.is_only_head = ring.place == record::RingPlace::kHead;
  if (image.is_only_head) {
    return {};
  }
  const std::byte* const slots = file.data() + sizeof(record::Ring);
  const auto load = [&](std::uint64_t at) {
    JournalEntry slot;
    std::memcpy(&slot, slots + (at & (ring.capacity - 1)) * sizeof slot, sizeof slot);
    return slot;
  };
  const std::uint64_t tail = ring.tail.load(std::memory_order_relaxed);
  for (std::uint64_t at = tail; at - tail < ring.capacity;) {
    const JournalEntry slot = load(at);
    if (slot.head != at + 1) {
      break;
    }
    const std::uint64_t count = std::max<std::uint64_t>(slot.first.slots, 1);
    std::uint64_t whole = 1;
    while (whole < count && load(at + whole).head == at + whole + 1) {
      ++whole;
    }
    if (whole < count) {
      break;  // torn: the thread died while it published it
    }
    RawRecord made = view_of(slot, image.index, image.tid);
    const bool is_whole =
        take_rest(made, count, image.texts, [&](std::uint64_t i) { return load(at + i); });
    if (is_whole && is_sound(made)) {
      image.records.push_back(made);
    } else {
      ++image.bad_records;
    }
    at += count;
  }
  return {};
}

}  // namespace ringside::journal
