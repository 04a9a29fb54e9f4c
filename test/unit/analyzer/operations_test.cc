// SPDX-License-Identifier: Apache-2.0
#include "analyzer/model/operations.h"

#include <limits>
#include <optional>
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

}  // namespace
}  // namespace ringside::model
