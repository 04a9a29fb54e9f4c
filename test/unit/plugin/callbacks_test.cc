// SPDX-License-Identifier: Apache-2.0
//
// The quick way through the callbacks against the full one: whatever the event, both leave the same
// records, the same account, and handles that mean the same.
#include "plugin/record/callbacks.h"

#include <array>
#include <cstring>
#include <memory>
#include <random>
#include <thread>
#include <vector>

#include "test/unit/catch.h"

using namespace ringside;
using record::EventType;

namespace {

constexpr std::array<const char*, 6> kTexts = {
    nullptr, "AllReduce", "ncclFloat32", "", "a new name", "a name of more than sixteen bytes"};

struct Action {
  enum { kStart, kState, kStop, kGate } what;
  EventType type;
  int handle;   ///< which of those given out so far; -1: NULL, -2: nobody's
  int context;  ///< -1: NULL, -2: nobody's
  std::uint32_t number;
  std::array<const char*, 5> names;
};

struct Way {
  std::unique_ptr<record::Recorder> recorder = std::make_unique<record::Recorder>();
  bool quick;
  std::vector<void*> handles;
  int done_quickly = 0;
  record::Ring* ring = nullptr;

  explicit Way(bool is_quick) : quick(is_quick) {
    recorder->prepare();
    recorder->rings().set_ring_bytes(record::RingPool::kLeastBytes);
    recorder->new_context();
    recorder->new_context();
    recorder->set_gate(0xFFFF);
  }

  void* handle(int which) const {
    return which == -1   ? nullptr
           : which == -2 ? reinterpret_cast<void*>(0x5555deadbeef)
                         : handles[static_cast<std::size_t>(which)];
  }

  // A handle that is nobody's is kept as it is, so it must be the same in both ways.
  void* context(int which) const {
    return which == -1                ? nullptr
           : which == 1 || which == 2 ? recorder->context_handle(static_cast<std::uint32_t>(which))
                                      : reinterpret_cast<void*>(0x5555deadbeef);
  }

  record::EventStart event(const Action& action) const {
    record::EventStart made{};
    made.type = action.type;
    made.rank = static_cast<std::int32_t>(action.number);
    made.parent = handle(action.handle);
    made.context = context(action.context);
    if (record::is_coll_like(action.type)) {
      made.coll = {};
      made.coll.seq = action.number;
      made.coll.count = 2;
      made.coll.parent_group = made.parent;
      made.coll.stream = 3;
      made.coll.func = action.names[0];
      made.coll.datatype = action.names[1];
      made.coll.algo = action.names[2];
      made.coll.proto = action.names[3];
      made.coll.variant = action.names[4];
    } else if (record::is_api(action.type)) {
      made.api = {1, 2, action.number % 3, action.names[0], action.names[1], 6, false};
      made.api.captured = action.number % 5 == 0;
    } else if (action.type == EventType::kProxyOp) {
      const bool is_of_another = action.number % 4 == 0;  // and so is its parent
      made.proxy_op = {is_of_another ? 1 : getpid(), 1, 2, 3, 4, true};
      made.parent = is_of_another && action.handle >= 0 ? handle(-2) : made.parent;
    } else if (action.type == EventType::kNetPlugin) {
      static const std::array<std::uint64_t, 5> kData = {1, 2, 3, 4, 5};
      static const std::array<std::uint64_t, 5> kLong = {1, 2, 3, 4, std::uint64_t{5} << 32};
      made.net = {action.number % 2 == 0 ? record::kNetIbV1 : record::kNetSocketV1,
                  action.number % 3 == 0 ? kLong.data() : kData.data()};
    }
    return made;
  }

  void act(const Action& action) {
    void* const of = handle(action.handle);
    bool done = false;
    switch (action.what) {
      case Action::kStart: {
        void* given = nullptr;
        done = quick && recorder->quick_start(event(action), &given);
        handles.push_back(done ? given : recorder->start(event(action)));
        break;
      }
      case Action::kState:
        done = quick && recorder->quick_state(of, record::EventState::kStepSendWait, action.number,
                                              1, action.number % 2 == 0);
        if (!done) {
          recorder->state(of, record::EventState::kStepSendWait, action.number, 1,
                          action.number % 2 == 0);
        }
        break;
      case Action::kStop:
        done = quick && recorder->quick_stop(of);
        if (!done) {
          recorder->stop(of);
        }
        break;
      case Action::kGate:
        recorder->set_gate(action.number);
        break;
    }
    done_quickly += done ? 1 : 0;
  }

  void run(const std::vector<Action>& actions) {
    // A thread of its own: a thread has one ring, whoever's.
    std::thread([&] {
      ring = recorder->rings().current();
      for (const Action& action : actions) {
        act(action);
        // A consumer that lags behind: the ring is full at times.
        if (handles.size() % 900 == 0) {
          ring->tail.store(ring->position);
        }
      }
    }).join();
  }
};

std::vector<Action> random_actions(unsigned seed) {
  std::mt19937 random(seed);
  const auto below = [&](int limit) {
    return static_cast<int>(random() % static_cast<unsigned>(limit));
  };
  std::vector<Action> actions;
  int given = 0;
  for (int i = 0; i < 6'000; ++i) {
    Action made{};
    const int dice = below(100);
    made.what = dice < 50   ? Action::kStart
                : dice < 70 ? Action::kState
                : dice < 98 ? Action::kStop
                            : Action::kGate;
    made.type = static_cast<EventType>(below(record::kEventTypes));
    made.handle =
        below(10) < 2 || given == 0 ? -1 - below(2) : given - 1 - below(std::min(given, 9));
    made.context = below(10) < 8 ? 1 + below(2) : -2 + below(6);
    // A proxy operation with a parent of this process is of a communicator of this process.
    if (made.type == EventType::kProxyOp && made.handle >= 0) {
      made.context = 1 + made.handle % 2;
    }
    made.number = below(2) == 0 ? static_cast<std::uint32_t>(below(50)) : 0xFFFF;
    for (const char*& name : made.names) {
      name = kTexts[static_cast<std::size_t>(below(below(4) == 0 ? 6 : 3))];
    }
    given += made.what == Action::kStart ? 1 : 0;
    actions.push_back(made);
  }
  return actions;
}

}  // namespace

TEST_CASE("the quick way through the callbacks leaves what the full one leaves") {
  const auto actions = random_actions(GENERATE(range(1U, 21U)));
  Way full(false);
  Way quick(true);
  full.run(actions);
  quick.run(actions);
  // It must have been open, or this compares the full way to itself.
  if (quick.recorder->clock_source() == record::kRegisterClock) {
    CHECK(quick.done_quickly > 2'000);
  }
  REQUIRE(quick.ring->position == full.ring->position);
  CHECK(std::memcmp(&quick.ring->counts, &full.ring->counts, sizeof full.ring->counts) == 0);
  std::size_t differences = 0;
  for (std::uint64_t at = 0; at < full.ring->capacity; ++at) {
    std::array<unsigned char, sizeof(record::Slot)> one;
    std::array<unsigned char, sizeof(record::Slot)> two;
    std::memcpy(one.data(), &full.ring->slot(at), one.size());
    std::memcpy(two.data(), &quick.ring->slot(at), two.size());
    const bool is_first = full.ring->slot(at).first.slots != 0;
    if (is_first) {
      std::memset(one.data() + offsetof(record::Slot, first.ticks), 0, 8);
      std::memset(two.data() + offsetof(record::Slot, first.ticks), 0, 8);
    } else if ((full.ring->slot(at + full.ring->capacity - 1).first.flags & record::kFlagForeign) ==
               0) {
      // Nobody reads handles there that are not foreign: an earlier record may have left its ticks.
      std::memset(one.data() + offsetof(record::Slot, extra.foreign_context), 0, 16);
      std::memset(two.data() + offsetof(record::Slot, extra.foreign_context), 0, 16);
    }
    differences += one != two ? 1 : 0;
  }
  CHECK(differences == 0);
}

TEST_CASE("the quick way is shut to children, to ranges and to other clocks") {
  record::Recorder recorder;
  void* handle = nullptr;
  record::EventStart group{};
  group.type = EventType::kGroup;
  std::thread([&] {
    CHECK_FALSE(recorder.quick_start(group, &handle));  // not prepared, or wiped by the kernel
    recorder.prepare();
    recorder.set_gate(0xFFFF);
    recorder.new_context();
    group.context = recorder.context_handle(1);
    CHECK_FALSE(recorder.quick_start(group, &handle));  // the thread has no ring yet
    CHECK_FALSE(recorder.quick_stop(handle));
    handle = recorder.start(group);
    const bool is_open = recorder.clock_source() == record::kRegisterClock;
    CHECK(recorder.quick_start(group, &handle) == is_open);
    CHECK(recorder.quick_stop(handle) == is_open);
    static constexpr record::RangeHooks kHooks = {[](record::EventId, const auto&) noexcept {},
                                                  [](record::EventId) noexcept {}};
    recorder.set_range_hooks(&kHooks);
    CHECK_FALSE(recorder.quick_start(group, &handle));
    CHECK_FALSE(recorder.quick_stop(handle));
    recorder.set_range_hooks(nullptr);
    CHECK(recorder.quick_start(group, &handle) == is_open);
    recorder.close_in_child();
    CHECK_FALSE(recorder.quick_start(group, &handle));
  }).join();
}

TEST_CASE("the numbers of events begin anew without 0, and only where a ring looks for room") {
  record::Recorder recorder;
  recorder.prepare();
  std::thread([&] {
    record::Ring& ring = *recorder.rings().current();
    ring.next_id = record::make_event_id(EventType{}, false, ring.index, record::kCounterMask - 1);
    for (int i = 0; i < 4; ++i) {
      ring.limit = ring.position;  // as after a lap
      REQUIRE(ring.reserve(1) != nullptr);
      const record::EventId id = ring.take_id(EventType::kColl);
      CHECK(record::is_event_id(id));
      CHECK(record::event_type(id) == EventType::kColl);
      CHECK(record::event_ring(id) == ring.index);
      CHECK(record::event_counter(id) == static_cast<std::uint64_t>(i == 0 ? 1 : i + 1));
      ring.commit(1);
    }
  }).join();
}
