// SPDX-License-Identifier: Apache-2.0
#include "analyzer/match/membership.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "analyzer/model/natural_order.h"

namespace ringside::match {
namespace {

struct RankFacts {
  std::uint32_t largest = 0;  // index of its largest communicator, or of the first of them
  std::uint32_t largest_nranks = 0;
  std::uint32_t most_ranks = 0;  // the most ranks that it has in one communicator
};

std::vector<RankFacts> find_rank_facts(const model::Traces& traces, const Matches& matches) {
  std::vector<RankFacts> facts(traces.files.size());
  for (std::uint32_t c = 0; c < matches.communicators.size(); ++c) {
    const Communicator& communicator = matches.communicators[c];
    std::map<std::uint32_t, std::uint32_t> ranks;
    for (const Member& member : communicator.members) {
      RankFacts& of_file = facts[member.file];
      of_file.most_ranks = std::max(of_file.most_ranks, ++ranks[member.file]);
      if (communicator.identity != Identity::kAlone &&
          communicator.nranks > of_file.largest_nranks) {
        of_file.largest = c;
        of_file.largest_nranks = communicator.nranks;
      }
    }
  }
  return facts;
}

std::optional<std::uint32_t> global_rank(const model::Traces& traces, const Matches& matches,
                                         const RankFacts& of_file, const Communicator& communicator,
                                         const Member& member) {
  if (of_file.most_ranks == 1) {
    const auto& rank = traces.files[member.file].process.launcher_rank;
    if (rank && *rank >= 0 && *rank <= std::numeric_limits<std::uint32_t>::max()) {
      return static_cast<std::uint32_t>(*rank);
    }
  }
  if (of_file.largest_nranks == 0) {
    return std::nullopt;
  }
  const Communicator& largest = matches.communicators[of_file.largest];
  if (&largest == &communicator) {
    return member.rank;
  }
  for (const Member& other : largest.members) {
    if (of_file.most_ranks == 1 && other.file == member.file) {
      return other.rank;
    }
  }
  return std::nullopt;
}

using RankSet = std::vector<std::uint32_t>;  // sorted; empty if not all are known

RankSet rank_set(const Communicator& communicator, const Membership& membership) {
  RankSet ranks;
  for (const auto& rank : membership.global_ranks) {
    if (!rank) {
      return {};
    }
    ranks.push_back(*rank);
  }
  std::sort(ranks.begin(), ranks.end());
  const bool is_whole = communicator.members.size() == communicator.nranks &&
                        std::adjacent_find(ranks.begin(), ranks.end()) == ranks.end();
  return is_whole ? ranks : RankSet{};
}

// A communicator with all these ranks has the first of them, too, so only such ones are tried,
// small ones first.
void find_inside(const Matches& matches, std::vector<Membership>& memberships) {
  std::vector<RankSet> sets;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<std::uint32_t>> holders;
  for (std::uint32_t c = 0; c < memberships.size(); ++c) {
    sets.push_back(rank_set(matches.communicators[c], memberships[c]));
    for (const std::uint32_t rank : sets.back()) {
      holders[{matches.communicators[c].run, rank}].push_back(c);
    }
  }
  for (auto& [rank, list] : holders) {
    std::stable_sort(list.begin(), list.end(), [&](std::uint32_t a, std::uint32_t b) {
      return sets[a].size() < sets[b].size();
    });
  }
  for (std::uint32_t c = 0; c < memberships.size(); ++c) {
    if (sets[c].empty()) {
      continue;
    }
    for (const std::uint32_t other : holders[{matches.communicators[c].run, sets[c].front()}]) {
      if (sets[other].size() > sets[c].size() &&
          std::includes(sets[other].begin(), sets[other].end(), sets[c].begin(), sets[c].end())) {
        memberships[c].inside = other;
        break;
      }
    }
  }
}

}  // namespace

std::vector<Membership> find_memberships(const model::Traces& traces, const Matches& matches) {
  const std::vector<RankFacts> facts = find_rank_facts(traces, matches);
  std::vector<Membership> memberships(matches.communicators.size());
  for (std::size_t c = 0; c < memberships.size(); ++c) {
    const Communicator& communicator = matches.communicators[c];
    std::set<std::string, model::NaturalLess> hosts;
    for (const Member& member : communicator.members) {
      hosts.insert(traces.files[member.file].process.host);
      memberships[c].global_ranks.push_back(
          global_rank(traces, matches, facts[member.file], communicator, member));
    }
    memberships[c].hosts.assign(hosts.begin(), hosts.end());
  }
  for (const MatchedOperation& operation : matches.operations) {
    ++memberships[operation.communicator].operations;
  }
  find_inside(matches, memberships);
  return memberships;
}

}  // namespace ringside::match
