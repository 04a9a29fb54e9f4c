// SPDX-License-Identifier: Apache-2.0
//
// Tests which operations sampling keeps, and that all events of the others are sampled out and
// counted.
#include "plugin/assemble/sampling.h"

#include <set>

#include "plugin/config/config.h"
#include "test/unit/catch.h"
#include "test/unit/plugin/assembler_script.h"

using namespace ringside;
using record::EventId;
using record::EventState;
using record::EventType;
using record::RecordKind;
using test::kSecond;
using test::Script;

namespace {

struct SampledScript : Script {
  explicit SampledScript(std::uint64_t of, int abi = 6) : Script(abi, false) {
    assembler.sample(of);
    assembler.open_window(1, 0);
    assembler.expect(record::bit(EventType::kP2p));
    assemble::Communicator communicator;
    communicator.context = 1;
    communicator.abi_version = abi;
    assembler.open_communicator(communicator);
  }

  // As NCCL calls it: the user's call, its enqueue after it, a proxy operation with a step.
  void collective(std::uint64_t seq) {
    const EventId group = start(EventType::kGroupApi, 0);
    const EventId call = start(EventType::kCollApi, group);
    stop(call);
    stop(start(EventType::kKernelLaunch, group));
    const EventId coll = enqueue(EventType::kColl, call, seq, "AllReduce", 0);
    stop(group);
    proxy(coll);
  }

  EventId enqueue(EventType type, EventId parent, std::uint64_t seq, const char* func,
                  std::int32_t peer) {
    const EventId id = record::make_event_id(type, false, 0, ++counter);
    assemble::RecordView made = view(RecordKind::kStart, id, 10);
    made.has_extra = true;
    made.payload.coll = {parent,
                         seq,
                         100,
                         peer,
                         record::known_name(record::read_prefix(func)),
                         record::known_name(record::read_prefix("ncclFloat32")),
                         0,
                         0};
    assembler.record(made);
    stop(id);
    return id;
  }
  void proxy(EventId parent) {
    const EventId op = start(EventType::kProxyOp, parent, 11);
    const EventId step = start(EventType::kProxyStep, op, 11);
    state(step, EventState::kStepSendWait, 4096);
    stop(step, 11);
    stop(op, 11);
  }
  std::uint64_t consumed() const { return sum(assembler.counts().consumed); }
  std::uint64_t left_out() const { return sum(assembler.counts().sampled_out); }

 private:
  static std::uint64_t sum(const std::array<std::uint64_t, record::kAccountTypes>& counts) {
    std::uint64_t total = 0;
    for (const std::uint64_t count : counts) {
      total += count;
    }
    return total;
  }
};

}  // namespace

TEST_CASE("of each block of numbers one is kept, and not always the same") {
  std::set<std::uint64_t> places;
  for (std::uint64_t block = 0; block < 100; ++block) {
    int kept = 0;
    for (std::uint64_t i = 0; i < 16; ++i) {
      if (assemble::keeps_number("AllReduce", block * 16 + i, 16)) {
        ++kept;
        places.insert(i);
      }
    }
    CHECK(kept == 1);
  }
  CHECK(places.size() == 16);
  // The choice is part of the trace format: another plugin of the job may be older.
  // These are by another program (docs/trace-format.md has the formula).
  for (const std::uint64_t kept : {8U, 23U, 32U, 51U}) {
    CHECK(assemble::keeps_number("AllReduce", kept, 16));
  }
  CHECK(assemble::keeps_number("AllReduce", 7, 1));
}

TEST_CASE("what belongs to an operation that is left out is left out with it") {
  SampledScript script(8);
  constexpr std::uint64_t kOperations = 64;
  for (std::uint64_t seq = 0; seq < kOperations; ++seq) {
    script.collective(seq);
  }
  script.assembler.settle(script.now + 10 * kSecond);
  const auto& sink = script.sink;
  REQUIRE(sink.operations.size() == kOperations / 8);
  for (const assemble::Operation& operation : sink.operations) {
    CHECK(assemble::keeps_number("AllReduce", operation.seq, 8));
    CHECK(operation.sample_of == 8);
    CHECK(operation.times_from == assemble::TimesFrom::kProxy);
  }
  CHECK(sink.operations_sampled_out.size() == kOperations / 8 * 7);
  CHECK(sink.proxy_ops.size() == kOperations / 8);
  CHECK(sink.steps.size() == kOperations / 8);
  CHECK(sink.calls.size() == 4 * kOperations / 8);  // group, call, enqueue, launch
  CHECK(sink.starts + sink.joined + script.left_out() == script.consumed());
  CHECK(script.left_out() == script.consumed() / 8 * 7);
}

TEST_CASE("the account adds up when the process ends right behind the last operation") {
  SampledScript script(4);
  for (std::uint64_t seq = 0; seq < 10; ++seq) {
    script.collective(seq);
  }
  script.assembler.close(script.now);
  CHECK(script.sink.operations.size() + script.sink.operations_sampled_out.size() == 10);
  CHECK(script.sink.starts + script.sink.joined + script.left_out() == script.consumed());
}

TEST_CASE("calls that wait for what is chosen are written when nothing comes any more") {
  SampledScript script(4);
  const EventId group = script.start(EventType::kGroupApi, 0);
  script.stop(script.start(EventType::kCollApi, group));
  script.stop(script.start(EventType::kKernelLaunch, group));
  CHECK(script.sink.calls.empty());
  test::CollectingSink dump;
  script.assembler.write_in_flight(dump, script.now);
  CHECK(dump.calls.size() == 3);
  script.assembler.close(script.now);
  CHECK(script.sink.calls.size() == 3);
  CHECK(script.sink.operations.size() == 1);  // of kind api
  CHECK(script.sink.starts + script.sink.joined == script.consumed());
}

TEST_CASE("what is in flight is shown, chosen or not") {
  SampledScript script(1000);
  const EventId coll = script.enqueue(EventType::kColl, 0, 3, "AllReduce", 0);
  REQUIRE_FALSE(assemble::keeps_number("AllReduce", 3, 1000));
  script.start(EventType::kProxyOp, coll, 11);
  const auto stuck = script.assembler.in_flight_since(script.now + 10 * kSecond);
  REQUIRE(stuck.size() == 1);
  test::CollectingSink dump;
  script.assembler.write_in_flight(dump, script.now);
  REQUIRE(dump.operations.size() == 1);
  CHECK(dump.operations[0].sampled_out);
  CHECK(dump.operations[0].in_flight);
  CHECK(dump.proxy_ops.size() == 1);
}

TEST_CASE("where NCCL counts only while it is recorded all collectives are kept") {
  SampledScript script(16, 3);
  for (std::uint64_t seq = 0; seq < 8; ++seq) {
    script.collective(seq);
  }
  script.assembler.settle(script.now + 10 * kSecond);
  CHECK(script.sink.operations.size() == 8);
  CHECK(script.sink.communicators.back().is_unsampled);
}

TEST_CASE("sends and receives are all kept") {
  SampledScript script(1000);
  for (int i = 0; i < 8; ++i) {
    script.enqueue(EventType::kP2p, 0, 0, "Send", 1);
  }
  script.assembler.settle(script.now + 10 * kSecond);
  CHECK(script.sink.operations.size() == 8);
  CHECK_FALSE(script.sink.operations.back().has_seq);
  CHECK(script.sink.operations.back().sample_of == 1);
}

TEST_CASE("RINGSIDE_SAMPLE") {
  CHECK(config::parse_sample("coll:1/16") == 16);
  CHECK(config::parse_sample("coll:1/1000000") == 1'000'000);
  CHECK(config::parse_sample("") == 1);
  for (const char* wrong :
       {"coll", "coll:16", "coll:1/0", "coll:1/x", "coll:1/2K", "coll:2/3", "coll:1/1000001",
        "coll:1/2,", ",", "p2p:1/2", "coll:1/2,p2p:1/2", "window:1s/60s", "min:64K"}) {
    INFO(wrong);
    CHECK_FALSE(config::parse_sample(wrong));
  }
}
