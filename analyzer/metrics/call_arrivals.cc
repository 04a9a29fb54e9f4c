// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/call_arrivals.h"

#include <algorithm>
#include <limits>

#include "analyzer/model/saturating.h"

namespace ringside::metrics {
namespace {

constexpr std::int64_t kNotYet = std::numeric_limits<std::int64_t>::min();

}  // namespace

CallArrivals::CallArrivals(const facts::Facts& facts) : facts_(facts) {
  for (const match::Communicator& communicator : facts.matches().communicators) {
    ready_ns_.emplace_back(communicator.members.size(), kNotYet);
    is_ready_seen_.emplace_back(communicator.members.size());
  }
}

void CallArrivals::take_calls(std::uint32_t communicator,
                              std::vector<facts::RankTimes>& rows) const {
  std::int64_t last_ns = kNotYet;
  for (facts::RankTimes& row : rows) {
    const auto call_ns =
        match::operation_of(facts_.traces(), facts_.matches().parts[row.part]).enqueue_start_ns;
    if (row.has_execution && call_ns) {
      row.arrival_ns = facts_.alignment().to_common_ns(row.file, *call_ns);
    }
    row.arrival_ns = std::max(row.arrival_ns, ready_ns_[communicator][row.member]);
    row.error = align::kCallError;
    last_ns = std::max(last_ns, row.arrival_ns);
  }
  for (facts::RankTimes& row : rows) {
    row.end_ns = last_ns;
    row.wait = {};
    row.waits_for = facts::RankTimes::kNobody;
  }
}

void CallArrivals::note_ends(std::uint32_t communicator, const std::vector<facts::RankTimes>& rows,
                             bool is_by_call) {
  for (const facts::RankTimes& row : rows) {
    is_ready_seen_[communicator][row.member] = !is_by_call;
    // An operation with times from the network began when its data moved: its ranks' waits before
    // that are not in it.
    if (row.times_from != model::TimesFrom::kProxy) {
      std::int64_t& ready_ns = ready_ns_[communicator][row.member];
      ready_ns = std::max(ready_ns, row.end_ns);
    }
  }
}

std::optional<std::int64_t> CallArrivals::own_time_ns(std::uint32_t communicator,
                                                      const facts::RankTimes& row) const {
  const std::int64_t ready_ns = ready_ns_[communicator][row.member];
  return is_ready_seen_[communicator][row.member]
             ? std::optional(subtract_saturating(row.arrival_ns, ready_ns))
             : std::nullopt;
}

}  // namespace ringside::metrics
