// SPDX-License-Identifier: Apache-2.0
#include "analyzer/match/group_patterns.h"

#include <functional>

#include "analyzer/match/verdict/function_mismatch.h"
#include "analyzer/metrics/rows/rows.h"
#include "test/unit/analyzer/trace_builder.h"
#include "test/unit/catch.h"

namespace ringside::match {
namespace {

// The size that rank `from` sends to rank `to`; nothing if it does not send.
using Sizes = std::function<std::optional<std::uint64_t>(std::uint32_t from, std::uint32_t to)>;

// `nranks` ranks call all that `sizes` says in one group each, receives first, and do it twice.
TraceBuilder grouped(std::uint32_t nranks, const Sizes& sizes) {
  TraceBuilder builder;
  for (std::uint32_t rank = 0; rank < nranks; ++rank) {
    builder.add_file(rank, "0x1", nranks);
    for (std::uint64_t group = 1; group <= 2; ++group) {
      for (const bool receives : {true, false}) {
        for (std::uint32_t peer = 0; peer < nranks; ++peer) {
          if (const auto bytes = receives ? sizes(peer, rank) : sizes(rank, peer)) {
            model::Operation& operation = builder.add_transfer(receives ? "Recv" : "Send", peer);
            operation.bytes = bytes;
            operation.group = group;
          }
        }
      }
    }
  }
  return builder;
}

Sizes links(const std::function<bool(std::uint32_t, std::uint32_t)>& is_link) {
  return [is_link](std::uint32_t from, std::uint32_t to) {
    return is_link(from, to) ? std::optional<std::uint64_t>(1000) : std::nullopt;
  };
}

void check_pattern(TraceBuilder builder, Pattern pattern, std::size_t parts, std::uint64_t bytes) {
  const Matches matches = match_operations(builder.traces());
  REQUIRE(matches.operations.size() == 2);
  for (const MatchedOperation& operation : matches.operations) {
    CHECK(operation.way == Way::kGroup);
    CHECK(operation.pattern == pattern);
    CHECK(operation.part_count == parts);
    CHECK(group_bytes(builder.traces(), matches, operation) == bytes);
    CHECK(judge(builder.traces(), matches, operation).verdict == Verdict::kMatched);
    // The first group of each rank is one operation, the second the other.
    for (const Part& part : parts_of(matches, operation)) {
      CHECK(operation_of(builder.traces(), part).group == operation.number + 1);
    }
  }
  CHECK(matches.parts.size() == 2 * parts);
}

TEST_CASE("grouped sends and receives are recognised") {
  const auto any = [](std::uint32_t, std::uint32_t) { return true; };
  check_pattern(grouped(4, links(any)), Pattern::kAlltoAll, 32, 1000);
  check_pattern(grouped(4, links([](auto from, auto to) { return from != to; })),
                Pattern::kAlltoAll, 24, 1000);
  check_pattern(grouped(3, [](auto from, auto to) { return std::optional(10 * from + to + 1); }),
                Pattern::kAlltoAllv, 18, (2 + 3 + 11 + 13 + 21 + 22) / 3);
  check_pattern(grouped(4, links([](auto, auto to) { return to == 2; })), Pattern::kGather, 8,
                1000);
  check_pattern(grouped(4, links([](auto from, auto to) { return from == 2 && to != 2; })),
                Pattern::kScatter, 6, 1000);
  check_pattern(grouped(4, links([](auto from, auto to) { return to == (from + 3) % 4; })),
                Pattern::kRing, 8, 1000);
  check_pattern(grouped(2, links([](auto from, auto to) { return from != to; })), Pattern::kRing, 4,
                1000);
}

// As a mixture of experts has it: the sizes follow the data, and what is empty is not sent.
TEST_CASE("an AlltoAllv without its empty sends is one") {
  const auto sizes = [](std::uint32_t from, std::uint32_t to) {
    return (from * 3 + to) % 4 == 1 ? std::nullopt
                                    : std::optional<std::uint64_t>(1000 * (1 + from) + to);
  };
  std::size_t parts = 0;
  std::uint64_t sent = 0;
  for (std::uint32_t from = 0; from < 6; ++from) {
    for (std::uint32_t to = 0; to < 6; ++to) {
      parts += sizes(from, to) ? 2 : 0;
      sent += from != to ? sizes(from, to).value_or(0) : 0;
    }
  }
  CHECK(parts == 54);
  check_pattern(grouped(6, sizes), Pattern::kAlltoAllv, parts, (sent + 3) / 6);
}

TEST_CASE("neighbours that exchange are no AlltoAllv") {
  // A ring in both directions, and a pipeline.
  const bool is_ring = GENERATE(true, false);
  for (const std::uint32_t ranks : {4U, 5U, 6U, 8U}) {
    TraceBuilder builder = grouped(ranks, links([is_ring, ranks](auto from, auto to) {
                                     const std::uint32_t last = ranks - 1;
                                     return to == from + 1 || from == to + 1 ||
                                            (is_ring && from + to == last && from % last == 0);
                                   }));
    INFO(ranks);
    const Matches matches = match_operations(builder.traces());
    for (const MatchedOperation& operation : matches.operations) {
      CHECK(operation.way == Way::kPair);
    }
  }
}

TEST_CASE("what is no pattern stays pairs") {
  TraceBuilder builder = grouped(4, links([](auto from, auto to) { return from != to; }));
  auto& operations = builder.operations(1);
  std::size_t groups = 1;  // the second one is whole in all sections but one
  SECTION("a send has no receive") {
    operations.erase(operations.begin());
  }
  SECTION("the ends of a pair disagree on the size") {
    operations[0].bytes = 7;
  }
  SECTION("a call was not in the group") {
    operations[0].group.reset();
  }
  SECTION("a rank needed two groups") {
    operations[0].group = 77;
  }
  SECTION("some links are absent") {
    builder = grouped(4, links([](auto from, auto to) { return from < to; }));
    groups = 0;
  }
  const Matches matches = match_operations(builder.traces());
  std::size_t found = 0;
  for (const MatchedOperation& operation : matches.operations) {
    found += operation.way == Way::kGroup ? 1 : 0;
  }
  // A receive that is not there shifts the order of its pair: then neither group is whole.
  CHECK(found <= groups);
}

TEST_CASE("a group's time is a rank's from its first start to its last end") {
  TraceBuilder builder = grouped(2, links([](auto, auto) { return true; }));
  const Matches matches = match_operations(builder.traces());
  const align::Alignment alignment = align::Alignment::estimate(builder.traces());
  const auto rows = metrics::make_rows(facts::Facts(builder.traces(), matches, alignment));
  REQUIRE(rows[0].rows.size() == 1);
  CHECK(rows[0].rows[0].function == "AlltoAll");
  // Four calls of 1000 ns, one begins as the one before ends.
  CHECK(rows[0].rows[0].busy->median.best == 4000);
  // S = 2 x 1000 bytes in 4000 ns; half of it crosses the link.
  CHECK(rows[0].rows[0].algbw_gb_s->best == 0.5);
  CHECK(rows[0].rows[0].busbw_gb_s->best == 0.25);
}

TEST_CASE("AlltoAllv of all sizes are one row, each with its own bandwidth") {
  // Each of 3 ranks sends so many bytes to each other one, a hundred more in the one direction.
  constexpr std::uint64_t kSmall = 1000;
  constexpr std::uint64_t kLarge = 5000;
  TraceBuilder builder;
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    builder.add_file(rank, "0x1", 3);
    for (std::uint64_t group = 1; group <= 3; ++group) {
      for (const char* const func : {"Recv", "Send"}) {
        for (std::uint32_t peer = 0; peer < 3; ++peer) {
          if (peer == rank) {
            continue;
          }
          const bool up = (*func == 'S') == (peer > rank);
          model::Operation& one = builder.add_transfer(func, peer);
          one.bytes = (group == 2 ? kLarge : kSmall) + (up ? 100 : 0);
          one.group = group;
          one.start_ns = static_cast<std::int64_t>(group) * 1'000'000;
          one.end_ns = *one.start_ns + (group == 3 ? 2000 : 1000);
        }
      }
    }
  }
  const Matches matches = match_operations(builder.traces());
  REQUIRE(matches.operations.size() == 3);
  const align::Alignment alignment = align::Alignment::estimate(builder.traces());
  const auto rows = metrics::make_rows(facts::Facts(builder.traces(), matches, alignment));
  REQUIRE(rows[0].rows.size() == 1);
  const metrics::Row& row = rows[0].rows[0];
  CHECK(row.function == "AlltoAllv");
  CHECK(row.count == 3);
  // The six sends of a group are three of 1100 and three of 1000 bytes: 6300 / 3 ranks = 2100, in
  // the second group 3 x 5100 + 3 x 5000 = 30,300 / 3 = 10,100.
  CHECK(row.bytes == 2100U);
  CHECK(row.bytes_min == 2100U);
  CHECK(row.bytes_max == 10'100U);
  // 2100 / 1000 ns, 10,100 / 1000 ns, 2100 / 2000 ns: 2.1, 10.1 and 1.05 GB/s.
  CHECK(row.algbw_gb_s->best == Approx(2.1));
  CHECK(row.busbw_gb_s->best == Approx(2.1));
}

}  // namespace
}  // namespace ringside::match
