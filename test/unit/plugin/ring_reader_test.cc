// SPDX-License-Identifier: Apache-2.0
#include "plugin/drain/ring_reader.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstddef>
#include <ctime>
#include <deque>
#include <memory>
#include <sys/mman.h>
#include <thread>
#include <vector>

#include "plugin/journal/images.h"
#include "test/unit/catch.h"
#include "test/unit/plugin/collecting_sink.h"

using namespace ringside;

namespace {

// A whole pass; how many records there were.
std::uint64_t read_all(drain::RingReader& reader, std::uint64_t until_ticks) {
  reader.begin(until_ticks);
  CHECK(reader.take_records());
  return reader.taken();
}

}  // namespace

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
  drain::RingReader reader(*pool, clock, assembler);

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
    return read_all(reader, 2);
  };
  CHECK(drained(ring->capacity / 4) == ring->capacity / 4);
  CHECK_FALSE(reader.fills_fast());
  CHECK(drained(ring->capacity / 4 + 1) == ring->capacity / 4 + 1);
  CHECK(reader.fills_fast());
  CHECK(drained(0) == 0);
  CHECK_FALSE(reader.fills_fast());
}

namespace {

constexpr std::uint64_t kMs = 1'000'000;

// Rings whose records say when they were made; the counter is one of 3 GHz that steps.
struct SteppingRings {
  std::unique_ptr<record::RingPool> pool = std::make_unique<record::RingPool>();
  std::vector<record::Ring*> rings;
  test::CollectingSink sink;
  assemble::Assembler assembler{sink};
  std::uint64_t now_ns = 1000 * 1000 * kMs;
  std::uint64_t ticks_offset = 0;
  assemble::ClockModel clock{reading()};
  drain::RingReader reader{*pool, clock, assembler};
  std::uint64_t began = 0;

  explicit SteppingRings(std::size_t count) {
    pool->prepare();
    pool->set_ring_bytes(record::RingPool::kLeastBytes);
    // All at once: a ring of a thread that has ended goes to the next one.
    std::vector<std::thread> threads;
    std::atomic<std::size_t> made{0};
    rings.resize(count);
    for (record::Ring*& ring : rings) {
      threads.emplace_back([&] {
        ring = pool->current();
        for (++made; made < count;) {
          std::this_thread::yield();
        }
      });
    }
    for (std::thread& thread : threads) {
      thread.join();
    }
    assemble::Communicator communicator;
    communicator.context = 1;
    communicator.abi_version = 6;
    assembler.open_communicator(communicator);
    for (int i = 0; i < 10; ++i) {
      now_ns += 10 * kMs;
      read();
    }
  }
  std::uint64_t ticks() const { return now_ns * 3 + ticks_offset; }
  record::ClockReading reading() const { return {ticks(), now_ns, now_ns, 20}; }
  void step(std::int64_t ns) { ticks_offset += static_cast<std::uint64_t>(ns) * 3; }
  void pass(std::uint64_t ns) { now_ns += ns; }

  void put(std::size_t ring, record::RecordKind kind, record::EventId id, std::uint64_t ticks) {
    record::Slot* const slot = rings[ring]->reserve(1);
    REQUIRE(slot != nullptr);
    slot->first = {};
    slot->first.ticks = ticks;
    slot->first.id = id;
    slot->first.kind = kind;
    slot->first.type = record::EventType::kGroupApi;
    slot->first.slots = 1;
    slot->first.context = 1;
    rings[ring]->commit(1);
  }
  /// A group call that lasts from now on.
  record::EventId begin(std::size_t ring) {
    const record::EventId id = record::make_event_id(record::EventType::kGroupApi, false,
                                                     static_cast<std::uint32_t>(ring), ++began);
    put(ring, record::RecordKind::kStart, id, ticks());
    return id;
  }
  void end(std::size_t ring, record::EventId id) {
    put(ring, record::RecordKind::kStop, id, ticks());
  }
  void call(std::size_t ring, std::uint64_t ns) {
    const record::EventId id = begin(ring);
    pass(ns);
    end(ring, id);
  }

  /// As the drain thread does it; how many records there were.
  std::uint64_t read() {
    clock.add(reading());
    const std::uint64_t until = clock.steady(ticks(), true);
    std::uint64_t taken = read_all(reader, until);
    if (reader.has_doubts()) {
      clock.add(reading());
      taken += read_all(reader, until);
    }
    return taken;
  }
  std::int64_t time(std::uint64_t ns) const { return clock.ns_of_monotonic(ns); }
};

constexpr std::int64_t kStepsNs[] = {-900'000'000'000, -50'000'000, -8'000'000,
                                     8'000'000,        50'000'000,  900'000'000'000};

}  // namespace

TEST_CASE("calls around a step of the counter have their times, in each ring and in order") {
  SteppingRings host(3);
  const std::int64_t step_ns = GENERATE(from_range(std::begin(kStepsNs), std::end(kStepsNs)));
  CAPTURE(step_ns);
  std::vector<std::uint64_t> begins;
  const auto calls = [&] {
    for (std::size_t ring = 0; ring < 3; ++ring) {
      begins.push_back(host.now_ns);
      host.call(ring, kMs / 2);
      host.pass(kMs / 10);
    }
  };
  calls();
  const std::uint64_t across_ns = host.now_ns;
  const record::EventId across = host.begin(0);
  host.pass(kMs);
  host.step(step_ns);
  host.end(0, across);
  begins.push_back(across_ns);
  calls();
  host.pass(kMs);
  CHECK(host.read() == 14);
  CHECK(host.clock.steps() == 1);
  calls();
  host.pass(5 * kMs);
  CHECK(host.read() == 6);
  host.pass(60 * 1000 * kMs);
  host.read();
  calls();
  host.pass(kMs);
  CHECK(host.read() == 6);

  host.assembler.close(host.time(host.now_ns));
  REQUIRE(host.sink.calls.size() == begins.size());
  for (std::size_t i = 0; i < begins.size(); ++i) {
    const assemble::Call& call = host.sink.calls[i];
    const std::uint64_t lasts_ns = begins[i] == across_ns ? kMs : kMs / 2;
    CHECK(std::abs(call.start_ns - host.time(begins[i])) < 100);
    CHECK(std::abs(call.end_ns - host.time(begins[i] + lasts_ns)) < 100);
  }
}

TEST_CASE("a counter that steps back while the rings are read does not make records too old") {
  SteppingRings host(2);
  const auto step_ns = GENERATE(std::int64_t{-900'000'000'000}, -50'000'000);
  host.call(0, kMs);
  host.pass(kMs);
  host.clock.add(host.reading());
  const std::uint64_t until = host.clock.steady(host.ticks(), true);
  host.step(step_ns);
  host.pass(kMs);
  const std::uint64_t begin_ns = host.now_ns;
  host.call(0, kMs / 2);
  host.call(1, kMs / 2);
  CHECK(read_all(host.reader, until) == 2);
  REQUIRE(host.reader.has_doubts());
  // The clocks are read again, and show the step: the calls are younger than the first reading.
  CHECK(host.clock.add(host.reading()));
  CHECK(read_all(host.reader, until) == 0);
  CHECK_FALSE(host.reader.has_doubts());
  host.pass(10 * kMs);
  CHECK(host.read() == 4);
  host.assembler.close(host.time(host.now_ns));
  REQUIRE(host.sink.calls.size() == 3);
  CHECK(std::abs(host.sink.calls[1].start_ns - host.time(begin_ns)) < 100);
  CHECK(std::abs(host.sink.calls[2].end_ns - host.time(begin_ns + kMs)) < 100);
}

TEST_CASE("records that a thread stored late are taken, with or without a step meanwhile") {
  SteppingRings host(2);
  const auto step_ns = GENERATE(std::int64_t{0}, -900'000'000'000, 900'000'000'000);
  const std::uint64_t late_ticks = host.ticks();
  const std::uint64_t late_ns = host.now_ns;
  host.pass(10 * kMs);
  host.call(1, kMs);
  CHECK(host.read() == 2);
  host.step(step_ns);
  host.pass(30 * kMs);
  CHECK(host.read() == 0);
  const record::EventId late = record::make_event_id(record::EventType::kGroupApi, false, 0, 99);
  host.put(0, record::RecordKind::kStart, late, late_ticks);
  host.end(0, late);
  host.pass(10 * kMs);
  CHECK(host.read() == 2);
  host.assembler.close(host.time(host.now_ns));
  REQUIRE(host.sink.calls.size() == 2);
  CHECK(std::abs(host.sink.calls.back().start_ns - host.time(late_ns)) < 100);
  CHECK(std::abs(host.sink.calls.back().end_ns - host.time(late_ns + 50 * kMs - 10 * kMs)) <
        10'000'000);
}

TEST_CASE("a name, which has no time, holds no ring up behind a step") {
  SteppingRings host(1);
  const std::int64_t step_ns = GENERATE(from_range(std::begin(kStepsNs), std::end(kStepsNs)));
  host.step(step_ns);
  host.put(0, record::RecordKind::kName, record::kFirstDynamicName, 0);
  host.call(0, kMs);
  host.pass(10 * kMs);
  CHECK(host.read() == 3);
}

TEST_CASE("records of many rings come in the order of their ticks, and equal ticks by ring") {
  constexpr std::uint32_t kRings = 37;
  SteppingRings host(kRings);
  std::sort(host.rings.begin(), host.rings.end(),
            [](const record::Ring* a, const record::Ring* b) { return a->index < b->index; });
  std::vector<std::byte> memory(journal::Journal::kLeastBytes);
  journal::Journal journal(memory.data(), memory.size(), 1, 1);
  host.reader.set_journal(journal);
  std::vector<std::deque<std::uint64_t>> left(kRings);  // ticks
  for (std::uint32_t ring = 0; ring < kRings; ++ring) {
    std::uint64_t ticks = host.ticks();
    for (std::uint64_t i = 0; i < 5; ++i) {
      ticks += (ring * 7 + i * 5) % 11 * 3000;  // often the same in several rings
      left[ring].push_back(ticks);
      host.put(ring, record::RecordKind::kStart,
               record::make_event_id(record::EventType::kGroupApi, false, ring, i + 1), ticks);
    }
  }
  host.reader.begin(~std::uint64_t{0} - 1);
  CHECK(host.reader.take_records());
  journal::JournalImage image;
  REQUIRE(journal::read_journal(memory, image).is_ok());
  REQUIRE(image.records.size() == kRings * 5);
  std::uint32_t ring = 0;
  for (const journal::KeptRecord& record : image.records) {
    // The last ring goes on as long as no other is older; else the first of the oldest is next.
    std::uint32_t next = left[ring].empty() ? kRings : ring;
    for (std::uint32_t other = 0; other < kRings; ++other) {
      if (!left[other].empty() && (next == kRings || left[other].front() < left[next].front())) {
        next = other;
      }
    }
    ring = next;
    left[ring].pop_front();
    REQUIRE(record.view.ring == ring);
  }
}

namespace {

// Processor time of taking a record, where each is from another ring than the one before it.
double record_ns(std::size_t rings) {
  constexpr std::size_t kRecords = 1U << 15;
  const auto pool = std::make_unique<record::RingPool>();
  pool->prepare();
  pool->set_ring_bytes(record::RingPool::kLeastBytes);
  std::vector<record::Ring*> all(rings);
  for (record::Ring*& ring : all) {
    std::thread([&] { ring = pool->current(); }).join();
    REQUIRE(ring != nullptr);
    ring->state.store(record::RingState::kOwned, std::memory_order_release);
  }
  test::CollectingSink sink;
  assemble::Assembler assembler(sink);
  const assemble::ClockModel clock({1, 1, 1, 1});
  drain::RingReader reader(*pool, clock, assembler);
  std::uint64_t ticks = 1;
  timespec used{};
  std::int64_t used_ns = 0;
  for (std::size_t taken = 0; taken < kRecords; taken += rings) {
    for (record::Ring* const ring : all) {
      record::Slot* const slot = ring->reserve(1);
      slot->first = {};
      slot->first.ticks = ++ticks;
      slot->first.kind = record::RecordKind::kState;
      slot->first.slots = 1;
      ring->commit(1);
    }
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    used_ns -= used.tv_sec * 1'000'000'000 + used.tv_nsec;
    CHECK(read_all(reader, ticks) == rings);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
    used_ns += used.tv_sec * 1'000'000'000 + used.tv_nsec;
  }
  for (record::Ring* const ring : all) {
    munmap(ring->name_cache, sizeof(record::NameCache));
    munmap(ring, sizeof *ring + ring->capacity * sizeof(record::Slot));
  }
  return static_cast<double>(used_ns) / kRecords;
}

}  // namespace

TEST_CASE("a record does not cost as many steps as there are rings") {
  double few_ns = record_ns(16);
  double many_ns = record_ns(1024);
  for (int again = 0; again < 2; ++again) {
    few_ns = std::max(few_ns, record_ns(16));
    many_ns = std::min(many_ns, record_ns(1024));
  }
  CHECK(many_ns < few_ns * 5);
}
