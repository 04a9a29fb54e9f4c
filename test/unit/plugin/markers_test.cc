// SPDX-License-Identifier: Apache-2.0
#include <cstring>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "plugin/nvtx/payload.h"
#include "plugin/nvtx/range_table.h"
#include "test/unit/catch.h"

namespace ringside::nvtx {
namespace {

using record::EventType;
using record::make_event_id;

record::EventId event(std::uint32_t ring, std::uint64_t counter) {
  return make_event_id(EventType::kColl, false, ring, counter);
}

record::EventStart coll_start(EventType type, const char* func, const char* datatype,
                              std::uint64_t count) {
  record::EventStart start;
  start.type = type;
  start.rank = 3;
  start.context = nullptr;
  start.parent = nullptr;
  start.coll = {};
  start.coll.func = func;
  start.coll.datatype = datatype;
  start.coll.count = count;
  start.coll.seq = 41;
  start.coll.root_or_peer = 2;
  start.coll.algo = "RING";
  start.coll.proto = "LL128";
  start.coll.comm_hash = 0xABCD;
  return start;
}

RangePayload filled(const record::EventStart& start) {
  RangePayload payload = make_payload("gpu", "vm");
  add_event(event(1, 7), start, payload);
  return payload;
}

TEST_CASE("a range is taken once, and only by its own event") {
  const auto table = std::make_unique<RangeTable>();
  CHECK_FALSE(table->take(event(0, 1)).has_value());
  REQUIRE(table->put(event(0, 1), [] { return 17U; }));
  CHECK_FALSE(table->take(event(0, 2)).has_value());
  CHECK(table->take(event(0, 1)) == 17U);
  CHECK_FALSE(table->take(event(0, 1)).has_value());
}

TEST_CASE("a full table begins no range, keeps what it has, and has room again") {
  const auto table = std::make_unique<RangeTable>();
  std::set<std::uint64_t> kept;
  std::uint64_t refused = 0;
  for (std::uint64_t i = 1; i <= RangeTable::kSlots * 4; ++i) {
    bool begun = false;
    const bool has_room = table->put(event(1, i), [&] {
      begun = true;
      return i;
    });
    REQUIRE(begun == has_room);
    has_room ? static_cast<void>(kept.insert(i)) : static_cast<void>(++refused);
  }
  CHECK(kept.size() <= RangeTable::kSlots);
  CHECK(kept.size() > RangeTable::kSlots * 9 / 10);
  CHECK(refused > 0);
  for (const std::uint64_t i : kept) {
    REQUIRE(table->take(event(1, i)) == i);
  }
  CHECK(table->put(event(1, 1), [] { return 1U; }));
}

TEST_CASE("of threads that start and stop, each range goes to one of those that stop it") {
  constexpr int kThreads = 4;
  constexpr std::uint64_t kEach = 20'000;
  const auto table = std::make_unique<RangeTable>();
  std::vector<std::atomic<std::uint64_t>> published(kThreads);
  std::atomic<std::uint64_t> taken{0};
  std::atomic<std::uint64_t> wrong{0};
  std::vector<std::thread> threads;
  // Each starts its own events and stops those of its neighbour, as that one does, too.
  for (std::uint32_t me = 0; me < kThreads; ++me) {
    threads.emplace_back([&, me] {
      const auto stop = [&](std::uint32_t whose, std::uint64_t i) {
        if (const auto range = table->take(event(whose, i))) {
          taken.fetch_add(1);
          wrong.fetch_add(*range == whose * kEach + i ? 0 : 1);
        }
      };
      const std::uint32_t other = (me + 1) % kThreads;
      for (std::uint64_t i = 1; i <= kEach; ++i) {
        if (!table->put(event(me, i), [&] { return me * kEach + i; })) {
          wrong.fetch_add(1);
        }
        published[me].store(i, std::memory_order_release);
        if (i > 8) {
          stop(me, i - 8);
        }
        if (const std::uint64_t theirs = published[other].load(std::memory_order_acquire);
            theirs > 8) {
          stop(other, theirs - 8);
        }
      }
      for (std::uint64_t i = kEach - 8; i <= kEach; ++i) {
        stop(me, i);
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  CHECK(wrong == 0);
  CHECK(taken == kThreads * kEach);
}

TEST_CASE("a payload says what the trace says of the same operation") {
  assemble::Communicator communicator;
  communicator.context = 5;
  communicator.has_hash = communicator.has_size = communicator.rank_known = true;
  communicator.hash = 0x1234;
  communicator.name = "world";
  communicator.rank = 3;
  communicator.nranks = 16;
  communicator.nnodes = 2;
  communicator.gpu_index = 1;
  communicator.gpu_uuid = "GPU-1";
  RangePayload payload = make_payload("", "host-a");
  add_communicator(communicator, payload);
  add_event(event(1, 7), coll_start(EventType::kColl, "Reduce", "ncclFloat16", 100), payload);
  CHECK(payload.id == assemble::row_id(event(1, 7)));
  CHECK(payload.comm == 0x1234);
  CHECK(payload.context == 5);
  CHECK(payload.message_bytes == 200);
  CHECK(payload.count == 100);
  CHECK(payload.seq == 41);
  CHECK(payload.rank == 3);
  CHECK(payload.nranks == 16);
  CHECK(payload.nnodes == 2);
  CHECK(payload.root == 2);
  CHECK(payload.peer == -1);
  CHECK(payload.device == 1);
  CHECK(std::string(payload.type.data()) == "Coll");
  CHECK(std::string(payload.func.data()) == "Reduce");
  CHECK(std::string(payload.datatype.data()) == "ncclFloat16");
  CHECK(std::string(payload.algo.data()) == "RING");
  CHECK(std::string(payload.proto.data()) == "LL128");
  CHECK(std::string(payload.comm_name.data()) == "world");
  CHECK(std::string(payload.gpu_serial.data()) == "GPU-1");
  CHECK(std::string(payload.vm_id.data()) == "host-a");
}

TEST_CASE("what a payload cannot know is -1, never 0") {
  const RangePayload sent = filled(coll_start(EventType::kP2p, "Send", "ncclFloat32", 10));
  CHECK(sent.peer == 2);
  CHECK(sent.root == -1);
  CHECK(sent.seq == -1);
  CHECK(sent.nranks == -1);
  CHECK(sent.comm == 0xABCD);  // from the event, as versions 1 to 3 have it
  CHECK(filled(coll_start(EventType::kColl, "AllReduce", "later", 10)).message_bytes == -1);
  const std::uint64_t most = std::numeric_limits<std::uint64_t>::max();
  const RangePayload absurd = filled(coll_start(EventType::kColl, "AllReduce", "ncclInt8", most));
  CHECK(absurd.count == -1);
  CHECK(absurd.message_bytes == -1);
  const RangePayload large =
      filled(coll_start(EventType::kColl, "AllReduce", "ncclFloat64", most / 4));
  CHECK(large.count == static_cast<std::int64_t>(most / 4));
  CHECK(large.message_bytes == -1);
  // NCCL counts these in bytes and calls them ncclInt8.
  const RangePayload gathered = filled(coll_start(EventType::kColl, "AllGather", "ncclInt8", 4096));
  CHECK(std::string(gathered.datatype.data()) == "bytes");
  CHECK(gathered.message_bytes == 4096);
  const RangePayload none = filled(coll_start(EventType::kColl, nullptr, nullptr, 1));
  CHECK(none.func[0] == '\0');
  CHECK(none.message_bytes == -1);
}

TEST_CASE("long texts of a payload are cut, and end") {
  const std::string longer(500, 'x');
  assemble::Communicator communicator;
  communicator.name = longer;
  RangePayload payload = make_payload(longer, longer);
  add_communicator(communicator, payload);
  add_event(event(1, 7), coll_start(EventType::kColl, longer.c_str(), longer.c_str(), 1), payload);
  CHECK(std::strlen(payload.func.data()) == payload.func.size() - 1);
  CHECK(std::strlen(payload.datatype.data()) == payload.datatype.size() - 1);
  CHECK(std::strlen(payload.comm_name.data()) == payload.comm_name.size() - 1);
  CHECK(std::strlen(payload.gpu_serial.data()) == payload.gpu_serial.size() - 1);
  CHECK(std::strlen(payload.vm_id.data()) == payload.vm_id.size() - 1);
}

TEST_CASE("only what surely stays within a node crosses none") {
  CHECK(may_cross_nodes(-1, 3, -1));  // nobody says how many nodes there are
  CHECK(may_cross_nodes(2, 3, -1));
  CHECK(may_cross_nodes(2, 3, 2));
  CHECK(may_cross_nodes(2, -1, -1));
  CHECK_FALSE(may_cross_nodes(2, 3, 3));
  CHECK_FALSE(may_cross_nodes(-1, 3, 3));
  CHECK_FALSE(may_cross_nodes(1, 3, -1));
  CHECK_FALSE(may_cross_nodes(1, 3, 2));
}

}  // namespace
}  // namespace ringside::nvtx
