// SPDX-License-Identifier: Apache-2.0
#include "plugin/drain/ring_reader.h"

#include <memory>
#include <thread>

#include "test/unit/catch.h"
#include "test/unit/plugin/collecting_sink.h"

using namespace ringside;

TEST_CASE("a read that took more than a quarter of a ring says so") {
  const auto pool = std::make_unique<record::RingPool>();
  pool->prepare();
  pool->set_ring_bytes(record::RingPool::kLeastBytes);
  record::Ring* ring = nullptr;
  std::thread([&] { ring = pool->current(); }).join();
  REQUIRE(ring != nullptr);
  test::CollectingSink sink;
  assemble::Assembler assembler(sink);
  const assemble::ClockModel clock({1, 1, 1, 1});
  assemble::RingReader reader(*pool, clock, assembler);

  const auto drained = [&](std::uint64_t records) {
    for (std::uint64_t i = 0; i < records; ++i) {
      record::Slot* const slot = ring->reserve(1);
      REQUIRE(slot != nullptr);
      slot->first = {};
      slot->first.ticks = 1;
      slot->first.kind = record::RecordKind::kStop;
      slot->first.slots = 1;
      ring->commit(1);
    }
    return reader.read(2);
  };
  CHECK(drained(ring->capacity / 4) == ring->capacity / 4);
  CHECK_FALSE(reader.fills_fast());
  CHECK(drained(ring->capacity / 4 + 1) == ring->capacity / 4 + 1);
  CHECK(reader.fills_fast());
  CHECK(drained(0) == 0);
  CHECK_FALSE(reader.fills_fast());
}
