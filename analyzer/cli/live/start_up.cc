// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/live/start_up.h"

#include <algorithm>

#include "analyzer/cli/launch.h"
#include "analyzer/model/joined.h"
#include "analyzer/report/document/numbers.h"
#include "launch/text.h"
#include "live/hosts/relay.h"

namespace ringside::cli {

std::vector<live::StartingRank> starting_ranks_of(const live::Choice& choice) {
  std::vector<live::StartingRank> ranks =
      choice.hosts ? live::starting_on(*choice.hosts) : live::starting_ranks();
  std::erase_if(ranks, [&](const live::StartingRank& rank) {
    return (!choice.directory.empty() && rank.directory != choice.directory) ||
           (!choice.job.empty() && rank.job != choice.job);
  });
  return ranks;
}

std::string start_up_sentence(const std::vector<live::StartingRank>& ranks, std::size_t ready) {
  constexpr std::size_t kMostNamed = 4;
  std::vector<std::string> names;
  double longest_s = 0;
  for (const live::StartingRank& rank : ranks) {
    names.push_back("rank " + launch::printable(rank.rank) + " (pid " + std::to_string(rank.pid) +
                    (rank.host.empty() ? "" : ", " + launch::printable(rank.host)) + ')');
    longest_s = std::max(longest_s, rank.since_s);
  }
  return (ready == 0 ? "None" : std::to_string(ready)) + " of " +
         report::counted(ranks.size() + ready, "process", "processes") +
         (ready <= 1 ? " has" : " have") + " a communicator; " + model::joined(names, kMostNamed) +
         (ranks.size() == 1 ? " has" : " have") + " been in start-up for " +
         (ranks.size() == 1 ? "" : "up to ") + report::fixed(longest_s, 0) + " s.";
}

std::vector<live::StartingRank> say_start_up(const live::Choice& choice,
                                             const std::vector<live::Reply>& replies,
                                             const char* command) {
  std::vector<live::StartingRank> ranks = starting_ranks_of(choice);
  const auto ready = std::count_if(replies.begin(), replies.end(),
                                   [](const live::Reply& one) { return one.status.has_value(); });
  if (!ranks.empty()) {
    print_launch_notes(command, {start_up_sentence(ranks, static_cast<std::size_t>(ready))});
  }
  return ranks;
}

StacksToTake stacks_of_start_up(const live::Choice& choice,
                                const std::vector<live::StartingRank>& ranks) {
  constexpr std::size_t kMostOfHost = 16;
  StacksToTake stacks{choice.hosts ? *choice.hosts : live::this_host(), {}, true};
  for (const live::StartingRank& rank : ranks) {
    auto& of_host = stacks.processes[rank.host];
    if (of_host.size() < kMostOfHost) {
      of_host.push_back(
          {rank.pid,
           "Rank " + launch::printable(rank.rank) + " (process " + std::to_string(rank.pid) + ')',
           false});
    }
  }
  return stacks;
}

}  // namespace ringside::cli
