// SPDX-License-Identifier: Apache-2.0
#include "plugin/record/ring.h"

#include <atomic>
#include <memory>
#include <new>
#include <sys/mman.h>
#include <thread>

#include "test/unit/catch.h"

using namespace ringside::record;

namespace {

struct Unmap {
  std::size_t size;
  void operator()(Ring* ring) const { munmap(ring, size); }
};

std::unique_ptr<Ring, Unmap> make_ring(std::uint64_t capacity, std::uint64_t position = 0) {
  const std::size_t size = sizeof(Ring) + capacity * sizeof(Slot);
  void* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  REQUIRE(memory != MAP_FAILED);
  Ring* ring = new (memory) Ring{};
  ring->capacity = capacity;
  ring->byte_mask = capacity * sizeof(Slot) - 1;
  ring->position = position;
  ring->limit = position + capacity;
  ring->tail.store(position);
  return {ring, Unmap{size}};
}

bool append(Ring& ring, std::uint64_t id, std::uint8_t slots) {
  Slot* slot = ring.reserve(slots);
  if (slot == nullptr) {
    return false;
  }
  slot->first.id = id;
  slot->first.slots = slots;
  if (slots == 2) {
    ring.slot(ring.position + 1).extra.user_tag = id + 1000;
  }
  ring.commit(slots);
  return true;
}

}  // namespace

TEST_CASE("a ring gives records back in order, over its wrap-around") {
  // Begins near the end of the sequence's numbers, so that these wrap too.
  const std::uint64_t begin = GENERATE(0ULL, 5ULL, ~0ULL - 20);
  auto ring = make_ring(8, begin);
  std::uint64_t tail = begin;
  for (std::uint64_t id = 1; id <= 200; ++id) {
    const std::uint8_t slots = id % 3 == 0 ? 2 : 1;
    REQUIRE(append(*ring, id, slots));
    const Slot* slot = ring->peek(tail);
    REQUIRE(slot != nullptr);
    CHECK(slot->first.id == id);
    if (slots == 2) {
      CHECK(ring->slot(tail + 1).extra.user_tag == id + 1000);
    }
    tail += slots;
    ring->tail.store(tail);
    CHECK(ring->peek(tail) == nullptr);
  }
}

TEST_CASE("a full ring takes nothing, and a record of two slots never half") {
  auto ring = make_ring(4);
  CHECK(append(*ring, 1, 2));
  CHECK(append(*ring, 2, 1));
  CHECK_FALSE(append(*ring, 3, 2));
  CHECK(append(*ring, 4, 1));
  CHECK_FALSE(append(*ring, 5, 1));
  ring->tail.store(2);
  CHECK(append(*ring, 6, 2));
  CHECK(ring->peek(2)->first.id == 2);
  CHECK(ring->peek(3)->first.id == 4);
  CHECK(ring->peek(4)->first.id == 6);
}

TEST_CASE("a record that is not committed is not seen") {
  auto ring = make_ring(4);
  Slot* slot = ring->reserve(2);
  REQUIRE(slot != nullptr);
  slot->first.id = 7;
  CHECK(ring->peek(0) == nullptr);
  // The second slot alone: torn.
  ring->slot(1).commit.store(2);
  CHECK(ring->peek(0) == nullptr);
}

TEST_CASE("producer and consumer at once: all records, in order, none torn") {
  auto ring = make_ring(16);
  constexpr std::uint64_t kRecords = 200'000;
  std::uint64_t lost = 0;
  std::atomic<bool> done{false};
  std::thread producer([&] {
    for (std::uint64_t id = 1; id <= kRecords; ++id) {
      lost += append(*ring, id, id % 2 == 0 ? 2 : 1) ? 0 : 1;
    }
    done = true;
  });
  std::uint64_t seen = 0;
  std::uint64_t last = 0;
  std::uint64_t tail = 0;
  bool torn = false;
  bool ordered = true;
  while (true) {
    // Asked before looking: after that nothing new can come.
    const bool over = done;
    const Slot* slot = ring->peek(tail);
    if (slot == nullptr) {
      if (over) {
        break;
      }
      continue;
    }
    ordered = ordered && slot->first.id > last;
    last = slot->first.id;
    torn = torn || (slot->first.slots == 2 && ring->slot(tail + 1).extra.user_tag != last + 1000);
    tail += slot->first.slots;
    ring->tail.store(tail, std::memory_order_release);
    ++seen;
  }
  producer.join();
  CHECK(ordered);
  CHECK_FALSE(torn);
  CHECK(seen + lost == kRecords);
}
