// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/overlap/time_shares.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <utility>

#include "analyzer/metrics/interval_sweep.h"
#include "analyzer/metrics/own_calls.h"
#include "analyzer/model/parallel.h"
#include "analyzer/model/saturating.h"

namespace ringside::metrics {
namespace {

// A rank in one operation.
struct Stay {
  std::int64_t call_ns = 0;
  std::int64_t arrival_ns = 0;
  std::int64_t end_ns = 0;
};

void divide_time(const std::vector<Stay>& stays, RankShares& rank) {
  // From the call, and from the arrival.
  std::array<std::vector<std::pair<std::int64_t, std::int64_t>>, 2> until_end;
  std::int64_t first_ns = std::numeric_limits<std::int64_t>::max();
  std::int64_t last_ns = std::numeric_limits<std::int64_t>::min();
  for (const Stay& stay : stays) {
    if (stay.call_ns < stay.end_ns) {
      until_end[0].emplace_back(stay.call_ns, stay.end_ns);
      until_end[1].emplace_back(stay.arrival_ns, stay.end_ns);
      first_ns = std::min(first_ns, stay.call_ns);
      last_ns = std::max(last_ns, stay.end_ns);
    }
  }
  // A rank may do both at once. Then what has begun counts before what is enqueued.
  const std::int64_t called_ns = union_ns(until_end[0]);
  rank.transfer_ns = union_ns(until_end[1]);
  rank.enqueued_ns = called_ns - rank.transfer_ns;
  rank.span_ns = first_ns < last_ns ? subtract_saturating(last_ns, first_ns) : 0;
  rank.outside_ns = rank.span_ns - called_ns;
}

}  // namespace

void RankShares::set_waiting(std::int64_t waited_ns) {
  waiting_ns = std::min(waited_ns, transfer_ns);
  transfer_ns -= waiting_ns;
}

TimeShares::TimeShares(const facts::Facts& facts)
    : facts_(facts), who_(facts.traces(), facts.matches()), of_thread_(core_count()) {
  for (OfThread& own : of_thread_) {
    own.counts.resize(who_.all().size());
  }
}

void TimeShares::add(std::size_t thread, const facts::SeenOperation& seen) {
  const std::uint32_t communicator = facts_.matches().operations[seen.index].communicator;
  const std::span<const match::Part> parts = seen.parts;
  OfThread& own = of_thread_[thread];
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::int64_t call_ns = call_time(seen.executions[i]).value_or(0);
    own.first_call_ns =
        std::min(own.first_call_ns, facts_.alignment().to_common_ns(parts[i].file, call_ns));
    if (i == 0 || parts[i].member != parts[i - 1].member) {
      Counts& rank = own.counts[who_.of(communicator, parts[i].member)];
      ++rank.operations;
      ++rank.without_times;
    }
  }
  add_stays(seen, own);
}

void TimeShares::add_stays(const facts::SeenOperation& seen, OfThread& own) const {
  const match::MatchedOperation& operation = facts_.matches().operations[seen.index];
  for (const facts::RankTimes& row : seen.rows) {
    if (!row.has_execution) {
      continue;
    }
    const std::uint32_t number = who_.of(operation.communicator, row.member);
    Counts& rank = own.counts[number];
    --rank.without_times;
    const model::Execution& one = seen.executions[row.part - operation.first_part];
    const std::int64_t queued_ns =
        row.open_ns > 0 ? 0 : subtract_saturating(*one.start_ns, *call_time(one));
    const std::int64_t call_ns =
        subtract_saturating(row.arrival_ns, std::max<std::int64_t>(queued_ns, 0));
    own.tables[number % kParts].push_back({number, call_ns, row.arrival_ns, row.end_ns});
  }
}

// Adds the ranks of one part.
void TimeShares::finish_part(std::size_t part, std::vector<RankShares>& ranks) {
  const std::size_t first = ranks.size();
  for (std::size_t number = part; number < who_.all().size(); number += kParts) {
    RankShares rank;
    for (const OfThread& own : of_thread_) {
      const Counts& counts = own.counts[number];
      rank.operations += counts.operations;
      rank.without_times += counts.without_times;
    }
    if (rank.operations > 0) {
      rank.rank = static_cast<std::uint32_t>(number);
      rank.label = who_.all()[number].label;
      rank.file = who_.all()[number].file;
      rank.host = facts_.traces().files[rank.file].process.host;
      ranks.push_back(std::move(rank));
    }
  }
  std::map<std::uint32_t, std::vector<Stay>> of_rank;
  for (OfThread& own : of_thread_) {
    const Table table = std::exchange(own.tables[part], {});
    for (std::size_t i = 0; i < table.size(); ++i) {
      const auto [rank, call_ns, arrival_ns, end_ns] = table.first(i);
      of_rank[static_cast<std::uint32_t>(rank)].push_back({call_ns, arrival_ns, end_ns});
    }
  }
  for_each_on_cores(ranks.size() - first, [&](std::size_t, std::size_t i) {
    RankShares& rank = ranks[first + i];
    const auto own = of_rank.find(rank.rank);
    divide_time(own == of_rank.end() ? std::vector<Stay>() : std::move(own->second), rank);
  });
}

FoundShares TimeShares::finish() {
  FoundShares found;
  for (const OfThread& own : of_thread_) {
    found.first_call_ns = std::min(found.first_call_ns, own.first_call_ns);
  }
  for (std::size_t part = 0; part < kParts; ++part) {
    finish_part(part, found.ranks);
  }
  std::sort(found.ranks.begin(), found.ranks.end(),
            [](const RankShares& a, const RankShares& b) { return a.rank < b.rank; });
  return found;
}

}  // namespace ringside::metrics
