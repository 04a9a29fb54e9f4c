// SPDX-License-Identifier: Apache-2.0
#include "plugin/drain/ring_reader.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <new>
#include <utility>

namespace ringside::drain {
namespace {

constexpr std::uint64_t kNever = std::numeric_limits<std::uint64_t>::max();
// The counters of two processors differ by less than this.
constexpr std::int64_t kSlack_ns = 1'000'000;

}  // namespace

bool RingReader::look(Reading& reading) {
  reading.next_ticks = kNever;
  const record::Slot* slot = reading.ring->peek(reading.tail);
  if (slot == nullptr) {
    return false;
  }
  // A name record has no ticks. It is taken before its ring's next record.
  std::uint64_t ticks = slot->first.ticks;
  if (ticks != 0) {
    ticks = clock_.steady(ticks, reading.steps == clock_.steps());
    if (reading.steps != clock_.steps()) [[unlikely]] {
      // Ticks ascend within a ring, so the clock's step is where they fall.
      if (ticks + slack_ticks_ < reading.last_ticks || clock_.is_behind_step(slot->first.ticks)) {
        reading.steps = clock_.steps();
        ticks = clock_.steady(slot->first.ticks, true);
      }
    } else if (ticks + slack_ticks_ < std::max(reading.last_ticks, before_ticks_) && doubts_)
        [[unlikely]] {
      has_doubts_ = true;
      return false;
    }
    if (ticks > until_ticks_) {
      return false;
    }
    reading.last_ticks = ticks;
  }
  reading.next_ticks = ticks;
  return true;
}

void RingReader::begin(std::uint64_t until_ticks) {
  doubts_ = !std::exchange(has_doubts_, false);
  slack_ticks_ = clock_.steady_ticks_of(kSlack_ns);
  if (until_ticks != until_ticks_) {
    before_ticks_ = std::exchange(until_ticks_, until_ticks);
  }
  taken_ = 0;
  const std::uint32_t count = pool_.count();
  readings_.resize(count);
  turns_.clear();
  for (std::uint32_t i = 0; i < count; ++i) {
    Reading& reading = readings_[i];
    if (reading.ring == nullptr) {
      reading.ring = pool_.ring(i);
    }
    if (reading.ring != nullptr) {
      if (doubts_) {
        reading.first = reading.tail;
      }
      if (look(reading)) {
        turns_.push_back({reading.next_ticks, i});
      }
      // This follows look(): the owner that has committed the record seen there is visible by now.
      meet_owner(reading);
    }
  }
  std::make_heap(turns_.begin(), turns_.end(), is_later);
}

bool RingReader::take_records(bool keeps_room) {
  const bool needs_room = journal_ != nullptr && keeps_room;
  while (!turns_.empty()) {
    Reading& oldest = readings_[turns_.front().ring];
    // The other rings' first turn is one of the two below the top of the heap.
    std::uint64_t others = kNever;
    for (std::size_t below = 1; below < std::min<std::size_t>(turns_.size(), 3); ++below) {
      others = std::min(others, turns_[below].ticks);
    }
    do {
      if (needs_room && !journal_->has_room()) {
        return false;
      }
      take(oldest);
      ++taken_;
    } while (look(oldest) && oldest.next_ticks <= others);
    std::pop_heap(turns_.begin(), turns_.end(), is_later);
    if (oldest.next_ticks != kNever) {
      turns_.back().ticks = oldest.next_ticks;
      std::push_heap(turns_.begin(), turns_.end(), is_later);
    } else {
      turns_.pop_back();
    }
  }
  end();
  return true;
}

void RingReader::take(Reading& reading) {
  const record::Slot& slot = reading.ring->slot(reading.tail);
  const auto& first = slot.first;
  assemble::RecordView view;
  view.kind = first.kind;
  view.type = first.type;
  view.flags = first.flags;
  const bool has_text = record::is_of_application(first.type);
  view.has_extra = !has_text && first.slots == 2;
  view.ring = reading.ring->index;
  view.context = first.context;
  view.tid = reading.tid;
  view.id = first.id;
  view.ts_ns = clock_.ns_of_steady(reading.next_ticks);
  view.payload = first.payload;
  if (view.has_extra) {
    view.extra = reading.ring->slot(reading.tail + 1).extra;
  }
  if (has_text) [[unlikely]] {
    view.text = text_of(*reading.ring, reading.tail);
  }
  const std::uint64_t operation = assembler_.record(view);
  if (journal_ != nullptr) {
    try {
      keep(view, operation);
    } catch (const std::bad_alloc&) {
      journal_->lose_record();  // the assembler has the record, and must not get it again
    }
  }
  reading.tail += first.slots;
  reading.ring->tail.store(reading.tail, std::memory_order_release);
}

// Only the start of a mark or a range has a text.
std::string_view RingReader::text_of(record::Ring& ring, std::uint64_t at) {
  const auto& first = ring.slot(at).first;
  for (std::size_t slot = 1; slot < first.slots; ++slot) {
    std::memcpy(&text_[(slot - 1) * sizeof(record::Slot::text)], ring.slot(at + slot).text,
                sizeof(record::Slot::text));
  }
  const record::MarkPayload& mark = first.payload.mark;
  return {text_.data(),
          first.slots > 1 ? std::size_t{mark.text_bytes} + mark.source_bytes : std::size_t{0}};
}

void RingReader::keep(const assemble::RecordView& view, std::uint64_t operation) {
  if (!journal_->append(view, operation)) {
    // This record has finished rows, whose notes in the journal have used up the room.
    journal_->make_room([this](std::span<assemble::Question> asked) { assembler_.answer(asked); });
    journal_->append(view, operation);
  }
}

void RingReader::meet_owner(Reading& reading) {
  const std::uint32_t owners = reading.ring->owners.load(std::memory_order_acquire);
  if (owners == reading.owners) {
    return;
  }
  reading.owners = owners;
  reading.tid = reading.ring->tid.load(std::memory_order_relaxed);
  std::array<char, 17> name{};
  for (std::size_t i = 0; i < reading.ring->thread_name.size(); ++i) {
    name[i] = reading.ring->thread_name[i].load(std::memory_order_relaxed);
  }
  assembler_.thread(reading.tid, name.data());
}

void RingReader::end() {
  fills_fast_ = false;
  for (Reading& reading : readings_) {
    fills_fast_ = fills_fast_ || (reading.ring != nullptr &&
                                  reading.tail - reading.first > reading.ring->capacity / 4);
    if (reading.ring != nullptr &&
        reading.ring->state.load(std::memory_order_acquire) == record::RingState::kRetired &&
        reading.ring->peek(reading.tail) == nullptr) {
      // Release: the next owner sees an empty ring.
      reading.ring->state.store(record::RingState::kFree, std::memory_order_release);
    }
  }
}

}  // namespace ringside::drain
