// SPDX-License-Identifier: Apache-2.0
//
// The recorder through its rings: what is recorded, what is not, and that every callback is
// accounted for.
#include "plugin/record/recorder.h"

#include <algorithm>
#include <atomic>
#include <memory>
#include <pthread.h>
#include <string>
#include <thread>
#include <vector>

#include "plugin/assemble/assembler.h"
#include "plugin/assemble/clocks/clock_model.h"
#include "plugin/drain/ring_reader.h"
#include "plugin/record/callbacks.h"
#include "test/unit/catch.h"
#include "test/unit/plugin/collecting_sink.h"

using namespace ringside;
using record::EventType;

namespace {

constexpr std::uint32_t kAllTypes = 0xFFFF;

// Each test is run by both ways: as the adapters call it, and always in full.
struct Fixture {
  bool quick = GENERATE(false, true);
  std::unique_ptr<record::Recorder> recorder = std::make_unique<record::Recorder>();
  test::CollectingSink sink;
  assemble::Assembler assembler{sink};
  std::unique_ptr<assemble::ClockModel> clock;
  std::unique_ptr<drain::RingReader> reader;
  void* context = nullptr;

  Fixture() {
    recorder->prepare();
    recorder->rings().set_ring_bytes(record::RingPool::kLeastBytes);
    clock = std::make_unique<assemble::ClockModel>(record::read_clocks(recorder->clock_source()));
    reader = std::make_unique<drain::RingReader>(recorder->rings(), *clock, assembler);
    assemble::Communicator communicator;
    communicator.context = recorder->new_context();
    communicator.abi_version = 6;
    assembler.open_communicator(communicator);
    context = recorder->context_handle(communicator.context);
    recorder->set_gate(kAllTypes);
  }
  // Recorders of earlier tests left their rings to this thread; each test runs on threads of its
  // own.
  template <typename Work>
  void on_thread(Work work) {
    std::thread(work).join();
  }
  /// Takes what is in the rings; the time of that.
  std::int64_t read() {
    const auto reading = record::read_clocks(recorder->clock_source());
    clock->add(reading);
    const std::uint64_t until_ticks = clock->steady(reading.ticks, true);
    // As TraceWriter does: a thread that loses its processor in a callback commits a record late.
    do {
      reader->begin(until_ticks);
      reader->take_records();
    } while (reader->has_doubts());
    return clock->ns_of_steady(until_ticks);
  }
  void drain() { assembler.close(read()); }
  record::EventStart event(EventType type, void* parent) const {
    record::EventStart made{};
    made.type = type;
    made.context = context;
    made.parent = parent;
    if (type == EventType::kColl) {
      made.coll = {};
      made.coll.func = "AllReduce";
      made.coll.datatype = "ncclFloat32";
    }
    return made;
  }
  void* start(const record::EventStart& event) {
    void* handle = nullptr;
    return quick && recorder->quick_start(event, &handle) ? handle : recorder->start(event);
  }
  void* start(EventType type, void* parent = nullptr) { return start(event(type, parent)); }
  void state(void* handle, record::EventState which, std::uint64_t value, std::int32_t steps,
             bool args_null) {
    if (!quick || !recorder->quick_state(handle, which, value, steps, args_null)) {
      recorder->state(handle, which, value, steps, args_null);
    }
  }
  void stop(void* handle) {
    if (!quick || !recorder->quick_stop(handle)) {
      recorder->stop(handle);
    }
  }
  std::uint64_t total(std::array<record::ProducerCounts::Counter, record::kAccountTypes>
                          record::ProducerCounts::*of) {
    std::uint64_t sum = 0;
    for (std::uint32_t i = 0; i < recorder->rings().count(); ++i) {
      for (const auto& counter : recorder->rings().ring(i)->counts.*of) {
        sum += counter.load();
      }
    }
    return sum;
  }
};

}  // namespace

TEST_CASE("what began in a window is recorded to its end, what began outside is not") {
  Fixture fixture;
  fixture.on_thread([&] {
    void* inside = fixture.start(EventType::kGroup);
    fixture.recorder->set_gate(0);
    void* coll = fixture.start(EventType::kColl, inside);
    void* proxy_parent = coll;
    fixture.stop(coll);
    fixture.stop(inside);
    void* outside = fixture.start(EventType::kGroup);
    void* lost = fixture.start(EventType::kColl, outside);
    CHECK(outside != nullptr);
    CHECK(lost != nullptr);
    fixture.recorder->set_gate(kAllTypes);
    // Its parent began outside, so it does not belong here either.
    void* child = fixture.start(EventType::kKernelCh, lost);
    fixture.state(child, record::EventState::kKernelChStop, 1, 0, false);
    fixture.stop(child);
    fixture.stop(lost);
    fixture.stop(outside);
    fixture.stop(fixture.start(EventType::kKernelCh, proxy_parent));
  });
  fixture.drain();
  CHECK(fixture.sink.operations.size() == 1);
  CHECK(fixture.sink.kernels.size() == 1);
  CHECK(fixture.total(&record::ProducerCounts::filtered) == 7);
}

TEST_CASE("a graph's replay belongs to the window it runs in, not to that of its capture") {
  Fixture fixture;
  fixture.on_thread([&] {
    record::EventStart call = fixture.event(EventType::kCollApi, nullptr);
    call.api = {};
    call.api.func = "AllReduce";
    call.api.datatype = "ncclFloat32";
    call.api.captured = true;
    void* captured = fixture.start(call);
    fixture.stop(captured);
    fixture.stop(fixture.start(EventType::kColl, captured));
    fixture.recorder->set_gate(0);
    fixture.stop(fixture.start(EventType::kColl, captured));
    fixture.recorder->set_gate(kAllTypes);
    fixture.stop(fixture.start(EventType::kColl, captured));
  });
  fixture.drain();
  REQUIRE(fixture.sink.operations.size() == 2);
  CHECK(fixture.sink.operations[0].captured);
}

TEST_CASE("handles that are not ours harm nothing and are counted") {
  Fixture fixture;
  fixture.on_thread([&] {
    int local = 0;
    for (void* handle : {static_cast<void*>(&local), reinterpret_cast<void*>(0x181),
                         reinterpret_cast<void*>(~0ULL)}) {
      fixture.stop(handle);
      fixture.state(handle, record::EventState::kCtrlIdle, 0, 0, true);
    }
    void* group = fixture.start(EventType::kGroup);
    fixture.stop(group);
    fixture.stop(group);  // again
  });
  fixture.drain();
  CHECK(fixture.total(&record::ProducerCounts::stale) == 6);
  CHECK(fixture.assembler.counts().stale[0] == 1);
  CHECK(fixture.sink.calls.size() == 1);
}

TEST_CASE("a foreign proxy operation joins nothing of ours, even with a handle like ours") {
  Fixture fixture;
  fixture.on_thread([&] {
    void* coll = fixture.start(EventType::kColl);
    fixture.stop(coll);
    record::EventStart foreign = fixture.event(EventType::kProxyOp, coll);
    foreign.context = reinterpret_cast<void*>(0x5555deadbeef);
    foreign.proxy_op = {};
    foreign.proxy_op.pid = 1;  // not this process
    void* proxy = fixture.start(foreign);
    record::EventStart step = fixture.event(EventType::kProxyStep, proxy);
    step.context = foreign.context;
    step.step = {3};
    fixture.stop(fixture.start(step));
    fixture.stop(proxy);
  });
  fixture.drain();
  REQUIRE(fixture.sink.proxy_ops.size() == 1);
  CHECK(fixture.sink.proxy_ops[0].foreign);
  CHECK(fixture.sink.proxy_ops[0].operation == 0);
  CHECK(fixture.sink.proxy_ops[0].foreign_pid == 1);
  CHECK(fixture.sink.proxy_ops[0].foreign_context == 0x5555deadbeef);
  CHECK(fixture.sink.proxy_ops[0].foreign_parent != 0);
  REQUIRE(fixture.sink.steps.size() == 1);
  CHECK(fixture.sink.steps[0].operation == 0);
  CHECK(fixture.sink.operations[0].times_from == assemble::TimesFrom::kEnqueue);
}

TEST_CASE("a full ring drops, never blocks, and the account adds up") {
  Fixture fixture;
  constexpr std::uint64_t kEvents = 10'000;
  fixture.on_thread([&] {
    for (std::uint64_t i = 0; i < kEvents; ++i) {
      void* coll = fixture.start(EventType::kColl);
      REQUIRE(coll != nullptr);
      void* kernel = fixture.start(EventType::kKernelCh, coll);
      fixture.stop(kernel);
      fixture.stop(coll);
    }
  });
  fixture.drain();
  const std::uint64_t produced = fixture.total(&record::ProducerCounts::produced);
  const std::uint64_t ring_full = fixture.total(&record::ProducerCounts::dropped_ring_full);
  const std::uint64_t parent = fixture.total(&record::ProducerCounts::dropped_parent);
  std::uint64_t consumed = 0;
  for (const std::uint64_t of : fixture.assembler.counts().consumed) {
    consumed += of;
  }
  CHECK(produced == kEvents * 4);
  CHECK(ring_full > 0);
  CHECK(parent > 0);
  CHECK(consumed + ring_full + parent == produced);
  CHECK(fixture.sink.starts + fixture.sink.joined == consumed);
}

TEST_CASE("names that are not known reach the trace all the same") {
  Fixture fixture;
  fixture.on_thread([&] {
    for (const char* name :
         {"AllFutureReduceScatterGather", "ncclFloat4", "AllFutureReduceScatterGather"}) {
      record::EventStart coll = fixture.event(EventType::kColl, nullptr);
      coll.coll.func = name;
      fixture.stop(fixture.start(coll));
    }
  });
  fixture.drain();
  REQUIRE(fixture.sink.operations.size() == 3);
  CHECK(fixture.sink.operations[0].func == "AllFutureReduceScatterGather");
  CHECK(fixture.sink.operations[1].func == "ncclFloat4");
  CHECK(fixture.sink.operations[2].func == "AllFutureReduceScatterGather");
}

TEST_CASE("rings of ended threads are used again") {
  Fixture fixture;
  for (int i = 0; i < 200; ++i) {
    fixture.on_thread([&] { fixture.stop(fixture.start(EventType::kProxyCtrl)); });
    fixture.read();
  }
  CHECK(fixture.recorder->rings().count() == 1);
  CHECK(fixture.sink.controls.size() == 200);
}

// ThreadSanitizer does not see what a thread does in its last round.
#if !defined(__SANITIZE_THREAD__)
TEST_CASE("callbacks in all rounds of a thread's destructors leave no ring behind") {
  static Fixture* current = nullptr;
  static pthread_key_t key{};
  Fixture fixture;
  current = &fixture;
  // Made after the pool's key, so that its destructor runs later in each round.
  pthread_key_create(&key, [](void* value) {
    current->stop(current->start(EventType::kProxyCtrl));
    pthread_setspecific(key, value);
  });
  fixture.on_thread([&] {
    fixture.stop(fixture.start(EventType::kProxyCtrl));
    pthread_setspecific(key, &fixture);
  });
  pthread_key_delete(key);
  fixture.read();
  const record::RingPool& rings = fixture.recorder->rings();
  for (std::uint32_t i = 0; i < rings.count(); ++i) {
    CHECK(rings.ring(i)->state == record::RingState::kFree);
  }
  CHECK(fixture.total(&record::ProducerCounts::produced) >= 6);
}
#endif

TEST_CASE("many threads at once, drained all the while") {
  Fixture fixture;
  constexpr int kThreads = 4;
  constexpr int kEach = 20'000;
  std::atomic<int> running{kThreads};
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (int n = 0; n < kEach; ++n) {
        void* control = fixture.start(EventType::kProxyCtrl);
        fixture.state(control, record::EventState::kCtrlIdle, 0, 0, false);
        fixture.stop(control);
      }
      --running;
    });
  }
  while (running > 0) {
    fixture.read();
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  fixture.drain();
  std::uint64_t consumed = 0;
  for (const std::uint64_t of : fixture.assembler.counts().consumed) {
    consumed += of;
  }
  const std::uint64_t lost = fixture.total(&record::ProducerCounts::dropped_ring_full) +
                             fixture.total(&record::ProducerCounts::dropped_parent);
  CHECK(consumed + lost == std::uint64_t{kThreads} * kEach * 3);
  CHECK(fixture.total(&record::ProducerCounts::produced) == std::uint64_t{kThreads} * kEach * 3);
}

TEST_CASE("what InfiniBand and sockets tell of an event comes through, in one slot or in two") {
  Fixture fixture;
  struct Ib {  // NCCL's, version 1
    std::int32_t unused[2];
    std::int32_t device;
    std::int32_t unused_too;
    std::uint64_t work_request;
    std::int32_t opcode;
    std::int32_t queue_pair;
    std::uint64_t length_bytes;
  };
  struct Socket {
    std::int32_t unused[2];
    std::int32_t descriptor;
    std::int32_t operation;
    std::uint64_t length_bytes;
  };
  constexpr std::uint64_t kFourGiB = std::uint64_t{1} << 32;
  const Ib shortest = {{}, 3, 0, 0xFEDCBA9876543210, 1, 4711, kFourGiB - 1};
  const Ib longest = {{}, 2, 0, 0x123456789, 2, -5, kFourGiB};
  const Socket socket = {{}, 17, 1, 2 * kFourGiB};
  fixture.on_thread([&] {
    const auto make = [&](std::int64_t id, const void* data, void* context) {
      record::EventStart made = fixture.event(EventType::kNetPlugin, nullptr);
      made.context = context;
      made.net = {id, data};
      fixture.stop(fixture.start(made));
    };
    void* const foreign = reinterpret_cast<void*>(0x5555DEADBEEF);
    make(record::kNetIbV1, &shortest, fixture.context);
    make(record::kNetIbV1, &longest, fixture.context);
    make(record::kNetIbV1, &shortest, foreign);
    make(record::kNetIbV1, nullptr, fixture.context);
    make(record::kNetSocketV1, &socket, fixture.context);
    make(0x90007, &socket, fixture.context);  // of a network that is not known
  });
  const std::uint64_t slots = fixture.recorder->rings().ring(0)->position;
  CHECK(slots == 6 * 2 + 2);  // two starts have a second one: the long one, and the foreign one
  fixture.drain();
  REQUIRE(fixture.sink.nets.size() == 6);
  const auto& rows = fixture.sink.nets;
  for (const std::size_t i : {0U, 2U}) {
    CHECK(rows[i].net_id == record::kNetIbV1);
    CHECK(rows[i].device_or_fd == 3);
    CHECK(rows[i].work_request == 0xFEDCBA9876543210);
    CHECK(rows[i].opcode == 1);
    CHECK(rows[i].queue_pair == 4711);
    CHECK(rows[i].length_bytes == kFourGiB - 1);
  }
  CHECK(rows[1].device_or_fd == 2);
  CHECK(rows[1].work_request == 0x123456789);
  CHECK(rows[1].queue_pair == -5);
  CHECK(rows[1].length_bytes == kFourGiB);
  CHECK(rows[3].net_id == record::kNetIbV1);
  CHECK(rows[3].length_bytes == 0);
  CHECK(rows[4].net_id == record::kNetSocketV1);
  CHECK(rows[4].device_or_fd == 17);
  CHECK(rows[4].opcode == 1);
  CHECK(rows[4].length_bytes == 2 * kFourGiB);
  CHECK(rows[5].net_id == 0x90007);
  CHECK(rows[5].length_bytes == 0);
}

namespace {

constexpr auto kMark = static_cast<std::size_t>(EventType::kMark);
constexpr auto kRange = static_cast<std::size_t>(EventType::kRange);

std::vector<assemble::Mark> rows_of_marks(const test::CollectingSink& sink) {
  std::vector<assemble::Mark> rows;
  for (const assemble::Mark& mark : sink.marks) {
    if (!mark.is_range || mark.end_ns != assemble::kUnknownTime) {
      rows.push_back(mark);
    }
  }
  return rows;
}

}  // namespace

TEST_CASE("marks and ranges are records of their thread, whose texts are cut") {
  Fixture fixture;
  record::Recorder& recorder = *fixture.recorder;
  const std::string longest(record::kMostText_bytes, 'x');
  fixture.on_thread([&] {
    recorder.pop();  // no range is open, and no ring is made for it
    CHECK(recorder.rings().count() == 0);
    CHECK(recorder.push("outer", "train.py:1"));
    recorder.rings().keep_rings();
    CHECK(recorder.push(longest + "y", longest + "z"));
    CHECK(recorder.mark(""));
    recorder.pop();
    recorder.pop();
    recorder.pop();
  });
  CHECK(recorder.rings().count() == 2);  // the first one was left when the second was made
  fixture.drain();
  const auto rows = rows_of_marks(fixture.sink);
  REQUIRE(rows.size() == 3);
  CHECK(rows[0].text.empty());
  CHECK(rows[1].text == longest);
  CHECK(rows[1].source == longest);
  CHECK(rows[2].text == "outer");
  CHECK(rows[2].source == "train.py:1");
  CHECK(rows[2].nests);
  CHECK_FALSE(rows[2].in_flight);
  CHECK(rows[2].end_ns > rows[1].end_ns);
  CHECK(fixture.assembler.counts().consumed[kMark] == 1);
  CHECK(fixture.assembler.counts().consumed[kRange] == 4);
  CHECK(fixture.total(&record::ProducerCounts::produced) == 5);
  CHECK(fixture.sink.starts + fixture.sink.joined == 5);
}

TEST_CASE("a full ring loses marks and whole ranges, but never the end of a range") {
  Fixture fixture;
  record::Recorder& recorder = *fixture.recorder;
  recorder.rings().keep_rings();
  fixture.on_thread([&] {
    CHECK(recorder.push("kept", ""));
    while (recorder.mark("a mark")) {
    }
    while (recorder.mark("")) {
    }
    fixture.stop(fixture.start(EventType::kGroup));  // NCCL's events have no room either
    CHECK_FALSE(recorder.push("lost", ""));
    CHECK_FALSE(recorder.push("lost", ""));
    recorder.pop();
    recorder.pop();
    recorder.pop();
  });
  const auto& counts = recorder.rings().ring(0)->counts;
  CHECK(counts.dropped_ring_full[kMark] == 2);
  CHECK(counts.dropped_ring_full[kRange] == 2);
  CHECK(counts.dropped_parent[kRange] == 2);
  CHECK(counts.dropped_ring_full[static_cast<std::size_t>(EventType::kGroup)] == 1);
  fixture.drain();
  const auto rows = rows_of_marks(fixture.sink);
  CHECK(rows.back().text == "kept");
  CHECK_FALSE(rows.back().in_flight);
  CHECK(fixture.assembler.counts().consumed[kRange] == 2);
}

TEST_CASE("ranges nest 256 deep, and end with their thread") {
  Fixture fixture;
  record::Recorder& recorder = *fixture.recorder;
  fixture.on_thread([&] {
    for (std::size_t i = 0; i < record::OpenRanges::kMost; ++i) {
      CHECK(recorder.push("open", ""));
    }
    CHECK_FALSE(recorder.push("too deep", ""));
  });
  fixture.drain();
  const auto rows = rows_of_marks(fixture.sink);
  CHECK(rows.size() == record::OpenRanges::kMost);
  CHECK(std::none_of(rows.begin(), rows.end(), [](const auto& row) { return row.in_flight; }));
  CHECK(recorder.rings().ring(0)->counts.dropped_parent[kRange] == 1);
  CHECK(recorder.rings().ring(0)->kept_slots == 0);
}

TEST_CASE("texts of marks stay whole while another thread reads the ring") {
  Fixture fixture;
  std::atomic<bool> has_ended{false};
  std::uint64_t made = 0;
  std::thread application([&] {
    std::string text;
    for (int i = 0; i < 20'000; ++i) {
      text.assign(static_cast<std::size_t>(i % 300), static_cast<char>('a' + i % 26));
      made += fixture.recorder->push(text, text) ? 1 : 0;
      fixture.recorder->pop();
    }
    has_ended = true;
  });
  while (!has_ended) {
    fixture.read();
  }
  application.join();
  fixture.drain();
  std::uint64_t found = 0;
  bool all_are_whole = true;
  for (const assemble::Mark& mark : rows_of_marks(fixture.sink)) {
    ++found;
    all_are_whole = all_are_whole && mark.text == mark.source && !mark.in_flight &&
                    mark.text.find_first_not_of(mark.text.substr(0, 1)) == std::string::npos;
  }
  CHECK(found == made);
  CHECK(made > 0);
  CHECK(all_are_whole);
}
