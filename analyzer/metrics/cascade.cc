// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/cascade.h"

#include <algorithm>

#include "analyzer/model/saturating.h"

namespace ringside::metrics {

using facts::RankTimes;

Cascade::Cascade(const facts::Facts& facts, const GlobalRanks& who)
    : facts_(facts), who_(who), visits_(who.all().size()) {
  const match::Matches& matches = facts.matches();
  std::size_t communicators = 0;
  for (std::uint32_t i = 0; i < matches.communicators.size(); ++i) {
    auto& ranks = ranks_.emplace_back();
    for (std::uint32_t member = 0; member < matches.communicators[i].members.size(); ++member) {
      ranks.push_back(who.of(i, member));
    }
    std::sort(ranks.begin(), ranks.end());
    communicators += ranks.size() > 1 ? 1 : 0;
  }
  // In a single communicator where all operations are of all its ranks, everybody has waited for
  // the same before.
  is_needed_ =
      communicators > 1 || std::any_of(matches.operations.begin(), matches.operations.end(),
                                       [](const match::MatchedOperation& operation) {
                                         return operation.way == match::Way::kPair;
                                       });
}

std::uint32_t Cascade::rank_of(std::size_t operation, const RankTimes& row) const {
  return who_.of(facts_.matches().operations[operation].communicator, row.member);
}

bool Cascade::takes_part(std::size_t operation, std::uint32_t rank) const {
  const match::MatchedOperation& matched = facts_.matches().operations[operation];
  if (matched.way != match::Way::kPair) {
    const auto& ranks = ranks_[matched.communicator];
    return std::binary_search(ranks.begin(), ranks.end(), rank);
  }
  const auto parts = match::parts_of(facts_.matches(), matched);
  return std::any_of(parts.begin(), parts.end(), [&](const match::Part& part) {
    return who_.of(matched.communicator, part.member) == rank;
  });
}

std::int64_t Cascade::divide(std::size_t operation, const std::vector<RankTimes>& rows,
                             const Charge& charge, std::vector<Origin>& origins) {
  origins.clear();
  const std::uint32_t late = rank_of(operation, rows[charge.charged]);
  std::int64_t left_ns = charge.waited_ns;
  if (is_needed_) {
    const std::uint32_t waiter = rank_of(operation, rows[charge.waiter]);
    const model::Operation own =
        match::operation_of(facts_.traces(), facts_.matches().parts[rows[charge.charged].part]);
    for (const Visit& visit : visits_[late]) {
      const bool has_to_wait =
          visit.thread == own.tid || (visit.stream != model::kNoName && visit.stream == own.stream);
      if (left_ns <= 0 || visit.end_ns > rows[charge.charged].arrival_ns) {
        continue;
      }
      // What both went through delayed both.
      if (takes_part(visit.operation, waiter)) {
        break;
      }
      std::int64_t waited_ns = 0;
      for (const Origin& origin : visit.waited) {
        waited_ns = add_saturating(waited_ns, origin.waited_ns);
      }
      const std::int64_t passed_ns = std::min(left_ns, waited_ns);
      if (!has_to_wait || passed_ns <= 0) {
        continue;
      }
      std::int64_t given_ns = 0;
      for (std::size_t i = 0; i < visit.waited.size(); ++i) {
        const Origin& origin = visit.waited[i];
        const double part = static_cast<double>(origin.waited_ns) / static_cast<double>(waited_ns);
        const std::int64_t given =
            i + 1 == visit.waited.size()
                ? passed_ns - given_ns
                : std::min(passed_ns - given_ns,
                           static_cast<std::int64_t>(static_cast<double>(passed_ns) * part));
        origins.push_back({origin.rank, given});
        given_ns += given;
      }
      left_ns -= passed_ns;
    }
  }
  origins.push_back({late, left_ns});
  return left_ns;
}

void Cascade::remember(std::size_t operation, const std::vector<RankTimes>& rows,
                       const std::vector<std::vector<Origin>>& origins) {
  if (!is_needed_) {
    return;
  }
  for (std::size_t i = 0; i < rows.size(); ++i) {
    auto& visits = visits_[rank_of(operation, rows[i])];
    const model::Operation own =
        match::operation_of(facts_.traces(), facts_.matches().parts[rows[i].part]);
    if (visits.size() == kVisits) {
      visits.pop_back();
    }
    visits.push_front({operation, rows[i].end_ns, own.tid, own.stream, origins[i]});
  }
}

}  // namespace ringside::metrics
