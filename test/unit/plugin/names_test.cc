// SPDX-License-Identifier: Apache-2.0
#include "plugin/record/names.h"

#include <array>
#include <cstring>
#include <limits>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

#include "plugin/assemble/message_bytes.h"
#include "plugin/record/handle.h"
#include "plugin/record/ring.h"
#include "plugin/record/ring_pool.h"
#include "test/unit/catch.h"

using namespace ringside;
using record::known_name;
using record::known_name_text;
using record::read_prefix;

TEST_CASE("NCCL's names are recognised by content") {
  for (const char* name : {"AllReduce", "ReduceScatter", "Reduce", "ncclFloat32", "ncclFloat16",
                           "ncclFloat8e4m3", "COLLNET_DIRECT", "LL", "LL128", "Unknown"}) {
    const std::string copy(name);
    CHECK(known_name_text(known_name(read_prefix(copy.c_str()))) == name);
  }
  for (const char* name :
       {"", "AllReduceX", "Reduc", "ncclFloat3", "a name of more than sixteen"}) {
    CHECK(known_name(read_prefix(name)) == record::kNameNone);
  }
}

TEST_CASE("a name at the very end of a page is read without touching the next page") {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  auto* memory = static_cast<char*>(
      mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  REQUIRE(memory != MAP_FAILED);
  REQUIRE(mprotect(memory + page, page, PROT_NONE) == 0);
  for (const char* name : {"Send", "AllReduce", "COLLNET_DIRECT", "LL"}) {
    char* at = memory + page - std::strlen(name) - 1;
    std::strcpy(at, name);
    CHECK(known_name_text(known_name(read_prefix(at))) == name);
  }
  munmap(memory, 2 * page);
}

TEST_CASE("handles decode to what they were made of") {
  using namespace record;
  const EventId id = make_event_id(EventType::kProxyStep, true, 4095, kCounterMask);
  CHECK(is_event_id(id));
  CHECK(event_type(id) == EventType::kProxyStep);
  CHECK(is_captured(id));
  CHECK(event_ring(id) == 4095);
  CHECK(event_counter(id) == kCounterMask);
  CHECK(is_recorded(id));
  CHECK_FALSE(is_unrecorded(id));
  const EventId none = not_recorded_id(EventType::kColl, NotRecorded::kDropped);
  CHECK(is_event_id(none));
  CHECK(is_unrecorded(none));
  CHECK_FALSE(is_recorded(none));
  CHECK(event_type(none) == EventType::kColl);
  CHECK(not_recorded_reason(none) == NotRecorded::kDropped);
}

TEST_CASE("no secret makes an id of NULL, of a pointer, or of -1") {
  using namespace record;
  for (std::uint64_t tag = 0; tag < 256; ++tag) {
    const std::uint64_t secret = usable_secret(tag << 56 | 12345);
    for (const std::uint64_t foreign : {0UL, 0x7FFE12345678UL, ~0UL}) {
      CHECK_FALSE(is_event_id(foreign ^ secret));
      CHECK((foreign ^ secret) >> 32 != kContextTag << 24);
    }
  }
}

TEST_CASE("datatypes and bandwidth factors are nccl-tests'") {
  using namespace assemble;
  CHECK(datatype_bytes("ncclFloat32") == 4);
  CHECK(datatype_bytes("ncclBfloat16") == 2);
  CHECK(datatype_bytes("Unknown") == 1);  // NCCL's name for ncclUint8
  CHECK_FALSE(datatype_bytes("ncclFloat128").has_value());
  CHECK(message_bytes(3, "ncclFloat32") == 12);
  CHECK_FALSE(message_bytes(3, "ncclFloat128").has_value());
  constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max();
  CHECK(message_bytes(kMost, "ncclInt8") == kMost);
  CHECK(message_bytes(kMost / 8, "ncclInt64") == kMost / 8 * 8);
  CHECK_FALSE(message_bytes(kMost / 8 + 1, "ncclInt64").has_value());
  CHECK_FALSE(message_bytes(kMost + 1, "ncclInt8").has_value());
  CHECK_FALSE(message_bytes(std::numeric_limits<std::uint64_t>::max(), "ncclInt16").has_value());
  CHECK(bus_factor("AllReduce", 4) == Approx(1.5));
  CHECK(bus_factor("AllGather", 4) == Approx(0.75));
  CHECK(bus_factor("ReduceScatter", 8) == Approx(0.875));
  CHECK(bus_factor("Broadcast", 8) == Approx(1.0));
  CHECK(bus_factor("Send", 8) == Approx(1.0));
  CHECK(size_factor("AllGather", 4) == 4);
  CHECK(size_factor("ReduceScatter", 4) == 4);
  CHECK(size_factor("AllReduce", 4) == 1);
}

TEST_CASE("The pairs of names of a program are cached, although they lie close together") {
  record::RingPool pool;
  pool.prepare();
  record::Ring* const ring = pool.current();
  REQUIRE(ring != nullptr);
  // As a compiler puts them: one after the other.
  static constexpr char kConstants[] =
      "AllGather\0AllReduce\0Broadcast\0Recv\0Reduce\0ReduceScatter\0Send\0ncclInt8\0ncclInt32\0"
      "ncclUint32\0ncclInt64\0ncclFloat16\0ncclFloat32\0ncclFloat64\0ncclBfloat16\0RING\0TREE\0LL\0"
      "LL128\0SIMPLE\0and nothing else";
  // A linker may put them anywhere here. A name at the end of a page is not cached: the test has
  // none.
  constexpr std::size_t kPlaces = 256;
  alignas(1024) static std::array<char, 1024> memory;
  REQUIRE(sizeof kConstants + kPlaces <= memory.size());
  std::size_t forgotten = 0;
  std::size_t all = 0;
  for (std::size_t place = 0; place < kPlaces; ++place) {
    std::memcpy(memory.data() + place, kConstants, sizeof kConstants);
    std::vector<const char*> names;
    for (const char* name = memory.data() + place; *name != 'a'; name += std::strlen(name) + 1) {
      names.push_back(name);
    }
    REQUIRE(names.size() == 20);
    std::vector<std::pair<const char*, const char*>> pairs;
    for (std::size_t i = 0; i < 7; ++i) {
      pairs.emplace_back(names[i], names[7 + i]);
      pairs.emplace_back(names[i], names[12]);
      pairs.emplace_back(names[i], names[14]);
    }
    pairs.emplace_back(names[15], names[19]);
    pairs.emplace_back(names[16], names[17]);
    pairs.emplace_back(names[15], names[18]);
    for (const auto& [first, second] : pairs) {
      record::ResolvedNames::codes(*ring, first, second);
    }
    for (const auto& [first, second] : pairs) {
      forgotten += record::CachedNames::codes(*ring, first, second) < 0 ? 1 : 0;
    }
    all += pairs.size();
  }
  INFO(forgotten << " of " << all);
  CHECK(forgotten * 8 <= all);  // by chance one of fifty: three or more of 24 in a place for two
  pool.close_in_child();
}

TEST_CASE("Memory that has another name by now has another code, also for names that were cached") {
  record::RingPool pool;
  pool.prepare();
  record::Ring* const ring = pool.current();
  REQUIRE(ring != nullptr);
  // As the callbacks ask: quickly, and in full where that says nothing.
  const auto code_of = [&](const char* text) {
    const int cached = record::CachedNames::code(*ring, text);
    return static_cast<std::uint8_t>(cached >= 0 ? cached
                                                 : record::ResolvedNames::code(*ring, text));
  };
  char memory[64] = "AllReduce";
  const std::uint8_t all_reduce = code_of(memory);
  CHECK(all_reduce == record::known_name(record::read_prefix("AllReduce")));
  CHECK(code_of(memory) == all_reduce);
  std::strcpy(memory, "AllGather");
  CHECK(code_of(memory) == record::known_name(record::read_prefix("AllGather")));
  std::strcpy(memory, "my communicator");
  const std::uint8_t first = code_of(memory);
  CHECK(first >= record::kFirstDynamicName);
  CHECK(code_of(memory) == first);
  // Alike in the first 16 bytes: these are never told apart by them.
  std::strcpy(memory, "my communicator 1");
  const std::uint8_t second = code_of(memory);
  std::strcpy(memory, "my communicator 2");
  const std::uint8_t third = code_of(memory);
  CHECK(first != second);
  CHECK(second != third);
  CHECK(record::CachedNames::code(*ring, memory) == -1);
  // Pairs are met as pairs; NULL never is.
  std::strcpy(memory, "AllReduce");
  const char* const datatype = "ncclFloat32";
  const int both = record::ResolvedNames::codes(*ring, memory, datatype);
  CHECK(both == (all_reduce | record::known_name(record::read_prefix(datatype)) << 8));
  CHECK(record::CachedNames::codes(*ring, memory, datatype) == both);
  CHECK(record::CachedNames::codes(*ring, datatype, memory) == -1);
  std::strcpy(memory, "AllGather");
  CHECK(record::CachedNames::codes(*ring, memory, datatype) == -1);
  CHECK(record::ResolvedNames::codes(*ring, nullptr, nullptr) == 0);
  CHECK(record::ResolvedNames::codes(*ring, memory, nullptr) ==
        record::known_name(record::read_prefix("AllGather")));
  CHECK(record::CachedNames::codes(*ring, nullptr, nullptr) == -1);
  CHECK(record::CachedNames::codes(*ring, memory, nullptr) == -1);
  CHECK(record::CachedNames::code(*ring, nullptr) == -1);
  pool.close_in_child();
}
