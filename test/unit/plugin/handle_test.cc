// SPDX-License-Identifier: Apache-2.0
//
// Handles of other processes, whose secrets are others.
#include "plugin/record/handle.h"

#include <algorithm>
#include <random>
#include <thread>
#include <unistd.h>

#include "plugin/record/callbacks.h"
#include "plugin/record/recorder.h"
#include "test/unit/catch.h"

namespace ringside::record {
namespace {

constexpr std::uint64_t kBillion = std::uint64_t{1} << 30;

EventStart proxy_op(void* context, void* parent) {
  EventStart event{};
  event.type = EventType::kProxyOp;
  event.context = context;
  event.parent = parent;
  event.proxy_op = {};
  event.proxy_op.pid = static_cast<std::int32_t>(getpid());  // as in another container
  return event;
}

}  // namespace

TEST_CASE("A handle made under another secret is taken for ours once in millions") {
  std::mt19937_64 random(20'261'122);
  IdCheck young;
  IdCheck old;
  young.prepare();
  old.prepare();
  for (std::uint32_t ring = 0; ring < 8; ++ring) {
    young.allow(ring, 1U << 14);
    old.allow(ring, kBillion - 1);
  }
  int by_tag = 0;
  int by_young = 0;
  int by_old = 0;
  constexpr int kHandles = 1'000'000;
  for (int i = 0; i < kHandles; ++i) {
    // The handle is of a process that has as many rings and events as ours.
    const EventId theirs = make_event_id(static_cast<EventType>(random() % kEventTypes), false,
                                         random() % 8, 1 + random() % (kBillion - 1));
    const std::uint64_t seen = theirs ^ usable_secret(random()) ^ usable_secret(random());
    by_tag += seen >> kTagShift == kEventTag ? 1 : 0;
    by_young += young.is_own(seen) ? 1 : 0;
    by_old += old.is_own(seen) ? 1 : 0;
  }
  CHECK(by_tag > kHandles / 512);  // what the tag alone would let pass
  CHECK(by_young == 0);
  CHECK(by_old == 0);
}

TEST_CASE("A handle that was given out is ours, whatever ring and counter it has") {
  IdCheck check;
  check.prepare();
  std::mt19937_64 random(1);
  for (int i = 0; i < 10'000; ++i) {
    const auto ring = static_cast<std::uint32_t>(random() % kMaxRings);
    const std::uint64_t most = random() >> (64 - kCounterBits + random() % kCounterBits);
    check.allow(ring, most);
    for (const std::uint64_t counter : {std::uint64_t{1}, most / 2 + 1, most}) {
      for (const bool captured : {false, true}) {
        const EventId id = make_event_id(EventType::kProxyStep, captured, ring,
                                         std::min(std::max(counter, std::uint64_t{1}), most | 1));
        REQUIRE(check.is_own(id));
        REQUIRE(check.is_own_plain(id) == !captured);
      }
    }
  }
  CHECK(check.is_own(not_recorded_id(EventType::kColl, NotRecorded::kNoRing)));
  CHECK_FALSE(check.is_own(not_recorded_id(EventType::kColl, NotRecorded::kNoRing) | 1));
}

TEST_CASE("With the context of another process of our id, a parent is that process's") {
  Recorder recorder;
  recorder.prepare();
  void* const own_context = recorder.context_handle(recorder.new_context());
  recorder.set_gate(~0U);
  std::thread([&] {
    EventStart coll{};
    coll.type = EventType::kColl;
    coll.context = own_context;
    void* const parent = recorder.start(coll);
    Ring& ring = *recorder.rings().current();
    // A foreign parent that looks like ours to the last bit.
    int unknown = 0;
    for (void* const context : {own_context, static_cast<void*>(&unknown)}) {
      const EventStart event = proxy_op(context, parent);
      void* handle = nullptr;
      const std::uint64_t at = ring.position;
      if (!recorder.quick_start(event, &handle)) {
        recorder.start(event);
      }
      const auto& first = ring.slot(at).first;
      CHECK(((first.flags & kFlagForeign) != 0) == (context != own_context));
      if (context != own_context) {
        CHECK(ring.slot(at + 1).extra.foreign_parent == reinterpret_cast<std::uint64_t>(parent));
      }
    }
  }).join();
  recorder.close_in_child();
}

}  // namespace ringside::record
