// SPDX-License-Identifier: Apache-2.0
//
// Whatever is never stopped, or whose stop is lost: what is kept stays within bounds, and the
// account adds up.
#include <algorithm>
#include <new>

#include "test/unit/catch.h"
#include "test/unit/plugin/assembler_script.h"

using namespace ringside;
using assemble::OperationState;
using record::EventId;
using record::EventState;
using record::EventType;
using test::kMillisecond;
using test::kSecond;
using test::Script;

namespace {

constexpr assemble::AssemblerLimits kLimits{512, 64, 32, 64};

std::uint64_t sum(const std::array<std::uint64_t, record::kAccountTypes>& of) {
  std::uint64_t total = 0;
  for (const std::uint64_t count : of) {
    total += count;
  }
  return total;
}

// All that was consumed was written, joined or found stale.
void check_account(Script& script) {
  script.settle(2 * kSecond);
  script.assembler.close(script.now);
  const assemble::AssemblerCounts& counts = script.assembler.counts();
  CHECK(sum(counts.dropped_memory) == 0);
  CHECK(script.sink.starts + script.sink.joined + sum(counts.stale) == sum(counts.consumed));
}

}  // namespace

TEST_CASE("events of every kind that never stop are given up, oldest first") {
  const EventType type =
      GENERATE(EventType::kCollApi, EventType::kColl, EventType::kProxyOp, EventType::kProxyStep,
               EventType::kProxyCtrl, EventType::kKernelCh, EventType::kNetPlugin,
               EventType::kCeBatch, EventType::kGroupApi);
  Script script(6, false, kLimits);
  for (int i = 0; i < 20'000; ++i) {
    const EventId id = script.start(type, 0);
    if (type != EventType::kColl) {
      script.state(id, EventState::kProxyOpInProgress);
    }
    REQUIRE(script.assembler.held_events() <= kLimits.events);
    if (i % 100 == 0) {
      script.settle(kMillisecond);
    }
  }
  // All but what is still kept; each counts once, and none is told to have ended.
  const std::uint64_t given_up = sum(script.assembler.counts().given_up);
  CHECK(given_up == script.assembler.counts().given_up[static_cast<std::size_t>(type)]);
  CHECK(given_up >= 20'000 - kLimits.events);
  CHECK(given_up <= 20'000);
  check_account(script);
  CHECK(sum(script.assembler.counts().given_up) == given_up);
}

TEST_CASE("a state that comes after the stop of its call is stale, and not held for ever") {
  Script script(6, false, kLimits);
  const EventId coll = script.start(EventType::kColl, 0);
  script.stop(coll);
  script.state(coll, EventState::kSendDone);
  script.stop(coll);
  check_account(script);
  CHECK(sum(script.assembler.counts().stale) == 2);
}

TEST_CASE(
    "no row stands for a record that is not counted yet, as an account may be made at any row") {
  Script script(6, false, kLimits);
  std::array<std::uint64_t, record::kAccountTypes> written{};
  bool is_counted = true;
  script.sink.on_row = [&](const assemble::Tally& tally) {
    for (std::size_t type = 0; type < written.size(); ++type) {
      is_counted = is_counted && written[type] <= script.assembler.counts().consumed[type];
    }
    written[static_cast<std::size_t>(tally.type)] += tally.starts + tally.joined;
  };
  for (int i = 0; i < 2'000; ++i) {
    // So many that some are given up at any of the records.
    for (int step = 0; step < 5; ++step) {
      script.start(EventType::kProxyStep, 0);
    }
    script.stop(script.start(EventType::kProxyCtrl, 0));
  }
  CHECK(sum(script.assembler.counts().given_up) > 0);
  CHECK(is_counted);
}

TEST_CASE("what is given up is given up in portions, with many records between them") {
  constexpr assemble::AssemblerLimits kMore{9216, 1024, 32, 64};
  const bool with_calls = GENERATE(false, true);
  Script script(6, true, kMore);
  std::size_t written = 0;
  std::size_t records = 0;  // since the last portion
  const auto look = [&] {
    REQUIRE(script.assembler.held_events() <= kMore.events);
    ++records;
    const std::size_t now = script.sink.operations.size() - written;
    if (now > 0) {
      REQUIRE(now <= kMore.events / 256);
      REQUIRE(records >= kMore.events / 256);
      written += now;
      records = 0;
    }
  };
  for (int i = 0; i < 30'000; ++i) {
    EventId call = 0;
    if (with_calls) {
      call = script.start(EventType::kCollApi, 0);
      look();
      script.stop(call);
      look();
    }
    const EventId coll = script.start(EventType::kColl, call);
    look();
    script.stop(coll);
    look();
  }
  CHECK(written > 10'000);
  check_account(script);
}

TEST_CASE("collectives whose children never stop are written as started") {
  Script script(6, true, kLimits);
  EventId oldest_child = 0;
  for (int i = 0; i < 2'000; ++i) {
    const EventId call = script.start(EventType::kCollApi, 0);
    script.stop(call);
    const EventId coll = script.start(EventType::kColl, call);
    script.stop(coll);
    script.kernel(coll, 1'000, 2'000, 0);
    const EventId proxy = script.start(EventType::kProxyOp, coll, 11);
    oldest_child = oldest_child == 0 ? proxy : oldest_child;
    const EventId step = script.start(EventType::kProxyStep, proxy, 11);
    script.state(step, EventState::kStepSendWait, 4096);
    REQUIRE(script.assembler.held_events() <= kLimits.events);
  }
  REQUIRE(script.sink.operations.size() > 1'000);
  CHECK(script.sink.operations[0].number == 1);
  CHECK(script.sink.operations[0].state == OperationState::kStarted);
  CHECK(script.sink.operations[0].in_flight);
  REQUIRE_FALSE(script.sink.proxy_ops.empty());
  CHECK(script.sink.proxy_ops[0].in_flight);
  CHECK(script.sink.proxy_ops[0].operation == 1);

  script.stop(oldest_child, 11);  // too late
  script.settle(2 * kSecond);
  CHECK(script.assembler.counts().stale[static_cast<std::size_t>(EventType::kProxyOp)] == 1);
  check_account(script);
  CHECK(script.sink.operations.size() == 2'000);
}

TEST_CASE("what is within the bounds waits as long as it takes, while much else passes") {
  Script script(6, false, kLimits);
  const EventId stuck = script.start(EventType::kColl, 0);
  script.stop(stuck);
  const EventId child = script.start(EventType::kProxyOp, stuck, 11);
  for (int i = 0; i < 5'000; ++i) {
    const EventId coll = script.start(EventType::kColl, 0);
    script.stop(coll);
    script.settle(20 * kMillisecond);
  }
  for (const assemble::Operation& operation : script.sink.operations) {
    REQUIRE(operation.number != 1);
  }
  script.stop(child, 11);
  script.settle(kSecond);
  std::size_t found = 0;
  for (const assemble::Operation& operation : script.sink.operations) {
    if (operation.number == 1) {
      ++found;
      CHECK(operation.state == OperationState::kCompleted);
    }
  }
  CHECK(found == 1);
  check_account(script);
}

TEST_CASE("calls in CUDA graphs are remembered up to a bound, the newest") {
  Script script(6, false, kLimits);
  std::vector<EventId> calls;
  for (int i = 0; i < 1'000; ++i) {
    assemble::RecordView view =
        script.view(record::RecordKind::kStart,
                    record::make_event_id(EventType::kCollApi, true, 0, ++script.counter), 10);
    view.flags = record::kFlagCaptured;
    view.payload.api.stream = 0xabc;
    script.assembler.record(view);
    script.stop(view.id);
    calls.push_back(view.id);
    script.settle(kMillisecond);
    REQUIRE(script.assembler.held_events() <= kLimits.captured + 1);
  }
  // A replay of the newest finds its call, one of the oldest goes on without.
  script.stop(script.start(EventType::kColl, calls.back()));
  script.stop(script.start(EventType::kColl, calls.front()));
  script.settle(10 * kSecond);
  REQUIRE(script.sink.operations.size() == 2);
  CHECK(script.sink.operations[0].stream == 0xabc);
  CHECK(script.sink.operations[1].stream == 0);
  check_account(script);
}

TEST_CASE("records whose event never comes wait in a bounded queue") {
  Script script(6, false, kLimits);
  for (int i = 0; i < 1'000; ++i) {
    script.stop(record::make_event_id(EventType::kProxyOp, false, 7, 1 + std::uint64_t(i)), 11);
  }
  const auto& stale = script.assembler.counts().stale;
  CHECK(stale[static_cast<std::size_t>(EventType::kProxyOp)] == 1'000 - kLimits.orphans);
  check_account(script);
}

TEST_CASE("a record is told its own operation, though another's orphan goes on in its place") {
  Script script(6, false, {.orphans = 1});
  const EventId gone = record::make_event_id(EventType::kGroup, false, 7, 1);
  const EventId enqueue = script.start(EventType::kColl, gone);  // waits for its group
  const EventId other = record::make_event_id(EventType::kProxyOp, false, 7, 2);
  // There is no room for both, so that the enqueue begins its operation now, without its group.
  CHECK(script.assembler.record(script.view(record::RecordKind::kStop, other, 11)) == 0);
  CHECK(script.assembler.next_operation() == 2);
  CHECK(script.assembler.record(script.view(record::RecordKind::kStop, enqueue, 10)) == 1);
}

TEST_CASE("the memory of a burst of operations is given back to the bounds at once") {
  Script script(6, false, kLimits);
  for (int i = 0; i < 3'000; ++i) {
    const EventId coll = script.start(EventType::kColl, 0);
    script.stop(coll);
  }
  script.settle(kSecond);
  CHECK(script.assembler.held_events() <= kLimits.finished);
  CHECK(script.sink.operations.size() == 3'000);
  for (const assemble::Operation& operation : script.sink.operations) {
    REQUIRE_FALSE(operation.in_flight);
  }
  check_account(script);
}

TEST_CASE("threads that come and go leave nothing behind") {
  Script script(6, false, kLimits);
  std::size_t most = 0;
  for (std::int32_t tid = 1; tid <= 50'000; ++tid) {
    script.stop(script.start(EventType::kGroupApi, 0, tid), tid);
    script.stop(script.push("range", tid), tid);
    if (tid % 10 == 0) {
      script.settle(100 * kMillisecond);
    }
    most = std::max(most, script.assembler.known_threads());
  }
  // A hundred threads a second, each known for ten seconds, and at most twice as many in the table.
  CHECK(most <= 2 * 1024 + 10);
  // A thread that goes on is not forgotten while something of it is open.
  const EventId open = script.start(EventType::kGroupApi, 0);
  script.settle(100 * kSecond);
  CHECK(script.assembler.known_threads() >= 1);
  script.stop(open);
  check_account(script);
}

TEST_CASE("a record that waits for its event is not lost where memory is too short to join it") {
  assemble::Orphans orphans;
  assemble::RecordView view{};
  view.id = 7;
  orphans.add(view, 0);
  const auto short_of_memory = [](const assemble::RecordView&, std::uint64_t, bool) -> bool {
    throw std::bad_alloc();
  };
  CHECK_THROWS_AS(orphans.retry_all(0, short_of_memory), std::bad_alloc);
  CHECK_THROWS_AS(orphans.give_up_oldest(short_of_memory), std::bad_alloc);
  REQUIRE(orphans.size() == 1);
  std::uint64_t joined = 0;
  orphans.retry_all(0, [&](const assemble::RecordView& of, std::uint64_t, bool) {
    joined = of.id;
    return true;
  });
  CHECK(joined == 7);
  CHECK(orphans.size() == 0);
}
