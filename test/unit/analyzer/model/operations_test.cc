// SPDX-License-Identifier: Apache-2.0
#include "analyzer/model/operations.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "test/unit/catch.h"

namespace ringside::model {
namespace {

constexpr std::int64_t kMost_ns = std::numeric_limits<std::int64_t>::max();
using Time = std::optional<std::int64_t>;

struct Call {
  Time start_ns;
  Time end_ns;
};

// How long a call lasted is kept in few bits, but for the calls for which these do not suffice.
const std::vector<Call> kCalls = {{0, 0},
                                  {5, 9},
                                  {5, 4},
                                  {5, std::nullopt},
                                  {std::nullopt, 9},
                                  {std::nullopt, std::nullopt},
                                  {1, 0xFFFFFFFELL},
                                  {1, 0xFFFFFFFFLL},
                                  {1, 0x100000000LL},
                                  {1, 0x100000001LL},
                                  {0, kMost_ns},
                                  {-kMost_ns, kMost_ns},
                                  {kMost_ns, -kMost_ns}};

Operation operation_of(const Call& call, std::uint64_t id) {
  Operation operation;
  operation.id = id;
  operation.state = static_cast<State>(id % kStateCount);
  operation.times_from = static_cast<TimesFrom>(id % kTimesFromCount);
  operation.in_flight = id % 5 == 0;
  operation.enqueue_start_ns = call.start_ns;
  operation.enqueue_end_ns = call.end_ns;
  return operation;
}

void check(const Operations& operations, std::size_t index, const Call& call, std::uint64_t id) {
  const Operation operation = operations[index];
  INFO("operation " << id);
  CHECK(operation.id == id);
  CHECK(operation.state == static_cast<State>(id % kStateCount));
  CHECK(operation.times_from == static_cast<TimesFrom>(id % kTimesFromCount));
  CHECK(operation.in_flight == (id % 5 == 0));
  CHECK(operation.enqueue_start_ns == call.start_ns);
  CHECK(operation.enqueue_end_ns == call.end_ns);
}

TEST_CASE("operations come out as they were put in, appended and replaced too") {
  Operations all;
  std::uint64_t id = 0;
  for (int round = 0; round < 50; ++round) {
    Operations some;
    for (const Call& call : kCalls) {
      some.push_back(operation_of(call, id++));
    }
    all.append(std::move(some));
  }
  REQUIRE(all.size() == 50 * kCalls.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    check(all, i, kCalls[i % kCalls.size()], i);
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    all.set(i, operation_of(kCalls[(i + 4) % kCalls.size()], i + 1));
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    check(all, i, kCalls[(i + 4) % kCalls.size()], i + 1);
  }
}

// Most of them ran as in a real job; in each block of rows, some may not have.
Operation draw_operation(std::mt19937_64& random, std::size_t index) {
  Operation operation;
  operation.id = index;
  operation.func = 1;
  operation.bytes = random() % 3;
  const std::int64_t called_ns = static_cast<std::int64_t>(index) * 1000;
  operation.enqueue_start_ns = called_ns;
  operation.enqueue_end_ns = called_ns + 10;
  operation.start_ns = called_ns + static_cast<std::int64_t>(random() % 500);
  operation.end_ns = *operation.start_ns + static_cast<std::int64_t>(random() % 500);
  if (index / 128 % 3 == 1 && random() % 100 == 0) {
    switch (random() % 5) {
      case 0:
        operation.start_ns.reset();
        break;
      case 1:
        operation.end_ns.reset();
        break;
      case 2:
        operation.end_ns = *operation.start_ns - 1;
        break;
      case 3:
        operation.start_ns = -5;
        break;
      default:
        operation.enqueue_start_ns = -kMost_ns;
        break;
    }
  }
  return operation;
}

TEST_CASE("packed operations come out as they went in, and those with doubtful times are named") {
  std::mt19937_64 random(20261127);
  std::size_t sure = 0;
  for (int round = 0; round < 40; ++round) {
    Operations all;
    const std::size_t count = random() % 3000;
    for (std::size_t i = 0; i < count; ++i) {
      all.push_back(draw_operation(random, i));
    }
    const std::size_t begin = count / 3 / Operations::kBlockRows * Operations::kBlockRows;
    const std::size_t end = begin + random() % (count - begin + 1);
    const Operations part = all.slice(begin, end);
    std::string bytes;
    part.append_packed(bytes);
    Operations taken;
    std::vector<std::size_t> doubtful;
    REQUIRE(taken.take_packed(part.shapes(), end - begin, bytes, doubtful));
    REQUIRE(taken.size() == end - begin);
    Operations again;  // one by one, as from traces
    for (std::size_t i = 0; i < taken.size(); ++i) {
      const Operation one = all[begin + i];
      again.push_back(one);
      const Operation other = taken[i];
      CHECK(other.id == one.id);
      CHECK(other.bytes == one.bytes);
      CHECK(other.enqueue_start_ns == one.enqueue_start_ns);
      CHECK(other.start_ns == one.start_ns);
      CHECK(other.end_ns == one.end_ns);
      const bool is_sure = std::find(doubtful.begin(), doubtful.end(), i) == doubtful.end();
      if (is_sure) {
        CHECK((one.start_ns && one.end_ns && *one.start_ns >= 0 && *one.end_ns >= *one.start_ns));
      }
      sure += is_sure ? 1 : 0;
    }
    CHECK(taken.extent_ns() == again.extent_ns());
  }
  CHECK(sure > 1000);
}

TEST_CASE("packed operations may have any bytes: what is taken can be read", "[one-thread]") {
  std::mt19937_64 random(4);
  Operations all;
  for (std::size_t i = 0; i < 300; ++i) {
    all.push_back(draw_operation(random, i));
  }
  std::string whole;
  all.append_packed(whole);
  std::size_t taken = 0;
  for (std::size_t at = 0; at < whole.size(); ++at) {
    std::string bytes = whole;
    bytes[at] = static_cast<char>(random());
    Operations some;
    std::vector<std::size_t> doubtful;
    if (some.take_packed(all.shapes(), all.size(), bytes, doubtful)) {
      ++taken;
      for (std::size_t i = 0; i < some.size(); ++i) {
        CHECK(some[i].bytes.value_or(3) < 3);  // one of the shapes
      }
    }
  }
  CHECK(taken > 100);
  CHECK(taken < whole.size());
}

TEST_CASE("operations of the same shapes are appended block by block, and others one by one") {
  for (const std::uint64_t bytes : {7U, 8U}) {
    Operations all;
    for (std::uint64_t part = 0; part < 3; ++part) {
      Operations some;
      for (std::uint64_t i = 0; i < 256; ++i) {
        Operation one = operation_of({5, 9}, 256 * part + i);
        one.bytes = part == 1 ? bytes : 7;
        some.push_back(one);
      }
      all.append(std::move(some));
    }
    REQUIRE(all.size() == 768);
    for (std::uint64_t i = 0; i < 768; ++i) {
      check(all, i, {5, 9}, i);
      CHECK(all[i].bytes == (i / 256 == 1 ? bytes : 7));
    }
  }
}

}  // namespace
}  // namespace ringside::model
