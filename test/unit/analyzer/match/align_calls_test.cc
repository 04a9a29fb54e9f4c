// SPDX-License-Identifier: Apache-2.0
#include "analyzer/match/untrusted/align_calls.h"

#include <algorithm>
#include <random>

#include "test/unit/catch.h"

namespace ringside::match {
namespace {

// The true calls, and those that two ranks recorded.
struct World {
  std::vector<Call> reference;
  std::vector<Call> calls;              // positions from 0, or by number
  std::vector<std::int64_t> positions;  // the true ones of `calls`
  std::int64_t shift = 0;               // where positions are true but for a shift
};

struct Options {
  std::uint32_t signatures = 3;
  bool is_periodic = false;  // a training step that repeats
  bool is_timed = true;
  bool has_numbers = true;  // lost calls leave a gap
  double lost_share = 0;
  double lost_share_of_reference = 0;
  std::int64_t offset_ns = 0;  // of the second rank's clock
};

World make_world(std::mt19937_64& random, const Options& options) {
  const auto pick = [&](std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(random);
  };
  const auto is_lost = [&](double share) {
    return std::uniform_real_distribution<double>(0, 1)(random) < share;
  };
  constexpr std::int64_t kCalls = 200;
  const std::int64_t period = pick(1, 9);
  const std::int64_t reference_first = pick(0, 60);
  const std::int64_t reference_last = pick(120, kCalls);
  const std::int64_t first = pick(0, 120);
  const std::int64_t last = pick(first + 1, kCalls);
  World world;
  std::vector<std::uint64_t> signatures;
  std::int64_t now_ns = 1'000'000;
  for (std::int64_t i = 0; i < kCalls; ++i) {
    const bool repeats = options.is_periodic && i >= period;
    signatures.push_back(repeats ? signatures[static_cast<std::size_t>(i - period)]
                                 : static_cast<std::uint64_t>(pick(1, options.signatures)));
    // Two ranks start; neither ends before both have.
    const std::int64_t starts[] = {now_ns + pick(0, 50'000), now_ns + pick(0, 50'000)};
    const std::int64_t both_ns = std::max(starts[0], starts[1]);
    const std::int64_t ends[] = {both_ns + pick(1, 30'000), both_ns + pick(1, 30'000)};
    for (int rank = 0; rank < 2; ++rank) {
      Call call;
      call.signature = signatures.back();
      const std::int64_t clock_ns = rank == 0 ? 0 : options.offset_ns;
      call.enqueued_ns = starts[rank] - pick(1'000, 400'000) + clock_ns;
      if (options.is_timed) {
        call.start_ns = starts[rank] + clock_ns;
        call.end_ns = ends[rank] + clock_ns;
      }
      if (rank == 0 && i >= reference_first && i < reference_last &&
          !is_lost(options.lost_share_of_reference)) {
        call.position = i - reference_first;
        world.reference.push_back(call);
      } else if (rank == 1 && i >= first && i < last && !is_lost(options.lost_share)) {
        call.position =
            options.has_numbers ? i - first : static_cast<std::int64_t>(world.calls.size());
        world.calls.push_back(call);
        world.positions.push_back(i - reference_first);
      }
    }
    // A rank starts the next call once it has ended this one, the other may still be busy.
    now_ns = std::max(ends[0], ends[1]) + pick(-1, 80'000);
  }
  world.shift = first - reference_first;
  return world;
}

TEST_CASE("a shift is the true one or none, whatever was lost", "[one-thread]") {
  std::mt19937_64 random(20260917);
  int found = 0;
  int rounds = 0;
  for (int i = 0; i < 4000; ++i) {
    Options options;
    options.signatures = i % 3 == 0 ? 1 : i % 3 == 1 ? 3 : 40;
    options.is_periodic = i % 4 < 2;
    options.is_timed = i % 5 != 0;
    options.lost_share = i % 7 < 3 ? 0.2 : 0;
    options.lost_share_of_reference = i % 11 < 4 ? 0.2 : 0;
    constexpr std::int64_t kUncertainty_ns = 20'000;
    options.offset_ns = i % 2 == 0 ? kUncertainty_ns : -kUncertainty_ns;
    const World world = make_world(random, options);
    if (world.calls.empty()) {
      continue;
    }
    const Piece reference{world.reference, true, false, false};
    const auto shift = find_shift(reference, count_signatures(world.reference),
                                  {world.calls, true, false, false}, kUncertainty_ns);
    ++rounds;
    if (shift) {
      ++found;
      CHECK(*shift == world.shift);
    }
  }
  // It would be no use if it never dared: these have time, or signatures that tell.
  INFO(found << " of " << rounds);
  CHECK(found > rounds / 2);
}

TEST_CASE("positions of a piece that lost calls are the true ones or none") {
  std::mt19937_64 random(42);
  std::size_t found = 0;
  std::size_t all = 0;
  for (int i = 0; i < 1000; ++i) {
    Options options;
    options.signatures = i % 2 == 0 ? 1 : 4;
    options.is_periodic = i % 3 == 0;
    options.is_timed = i % 5 != 0;
    options.has_numbers = false;
    options.lost_share = 0.3;
    options.offset_ns = i % 2 == 0 ? 5'000 : -5'000;
    const World world = make_world(random, options);
    const auto positions =
        find_positions({world.reference, true, false, false}, world.calls, 5'000);
    REQUIRE(positions.size() == world.calls.size());
    for (std::size_t c = 0; c < positions.size(); ++c) {
      ++all;
      if (positions[c]) {
        ++found;
        REQUIRE(*positions[c] == world.positions[c]);
      }
    }
  }
  INFO(found << " of " << all);
  CHECK(found > all / 4);
}

TEST_CASE("signatures alone align what does not repeat, and nothing that does") {
  std::mt19937_64 random(7);
  const bool is_periodic = GENERATE(true, false);
  int found = 0;
  for (int i = 0; i < 50; ++i) {
    Options options;
    options.signatures = 40;
    options.is_timed = false;
    options.is_periodic = is_periodic;
    const World world = make_world(random, options);
    if (world.calls.size() < 60) {
      continue;
    }
    const auto shift =
        find_shift({world.reference, true, false, false}, count_signatures(world.reference),
                   {world.calls, true, false, false}, 1000);
    found += shift ? 1 : 0;
    CHECK((!shift || *shift == world.shift));
  }
  CHECK((is_periodic ? found == 0 : found > 10));
}

TEST_CASE("a common start or end needs neither signatures nor times") {
  std::vector<Call> reference(10);
  std::vector<Call> calls(4);
  for (std::int64_t i = 0; i < 10; ++i) {
    reference[static_cast<std::size_t>(i)].position = i;
  }
  for (std::int64_t i = 0; i < 4; ++i) {
    calls[static_cast<std::size_t>(i)].position = i;
  }
  const auto counts = count_signatures(reference);
  CHECK(find_shift({reference, true, true, false}, counts, {calls, true, true, false}, 0) == 0);
  CHECK(find_shift({reference, true, true, true}, counts, {calls, true, false, true}, 0) == 6);
  CHECK_FALSE(find_shift({reference, true, true, false}, counts, {calls, true, false, true}, 0));
}

TEST_CASE("absurd numbers cost no more than sane ones") {
  std::vector<Call> reference(2);
  reference[1].position = std::int64_t{1} << 59;
  std::vector<Call> calls(2);
  calls[1].position = 77;
  calls[1].start_ns = std::numeric_limits<std::int64_t>::max() - 1;
  calls[0].end_ns = std::numeric_limits<std::int64_t>::min() + 1;
  reference[0].start_ns = std::numeric_limits<std::int64_t>::max();
  const auto counts = count_signatures(reference);
  find_shift({reference, true, false, false}, counts, {calls, true, false, false},
             std::numeric_limits<std::int64_t>::max());
  CHECK_FALSE(find_shift({reference, true, false, false}, counts, {calls, true, false, false}, 0));
}

}  // namespace
}  // namespace ringside::match
