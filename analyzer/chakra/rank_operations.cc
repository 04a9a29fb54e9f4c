// SPDX-License-Identifier: Apache-2.0
#include "analyzer/chakra/rank_operations.h"

#include <algorithm>
#include <deque>
#include <limits>
#include <span>
#include <string>
#include <tuple>

#include "analyzer/match/executions.h"
#include "analyzer/match/membership.h"
#include "analyzer/model/saturating.h"

namespace ringside::chakra {
namespace {

constexpr std::size_t kAtATime = 1024;

// A process with several ranks has a GPU for each, and a rank has the same GPU in every
// communicator.
std::string gpu_of(const model::Traces& traces, const match::Member& member) {
  const model::Context& context = traces.files[member.file].contexts.at(member.context);
  return context.gpu_uuid.empty() ? context.gpu_pci : context.gpu_uuid;
}

std::vector<std::vector<std::optional<std::uint32_t>>> find_job_ranks(
    const model::Traces& traces, const match::Matches& matches) {
  std::vector<std::vector<std::optional<std::uint32_t>>> ranks;
  std::map<std::pair<std::uint32_t, std::string>, std::uint32_t> by_gpu;
  const auto memberships = match::find_memberships(traces, matches);
  for (std::size_t c = 0; c < memberships.size(); ++c) {
    const auto& members = matches.communicators[c].members;
    ranks.push_back(memberships[c].global_ranks);
    for (std::size_t m = 0; m < members.size(); ++m) {
      const std::string gpu = gpu_of(traces, members[m]);
      if (ranks[c][m] && !gpu.empty()) {
        by_gpu.emplace(std::pair(members[m].file, gpu), *ranks[c][m]);
      }
    }
  }
  for (std::size_t c = 0; c < ranks.size(); ++c) {
    const auto& members = matches.communicators[c].members;
    for (std::size_t m = 0; m < members.size(); ++m) {
      const auto found = by_gpu.find({members[m].file, gpu_of(traces, members[m])});
      if (!ranks[c][m] && found != by_gpu.end()) {
        ranks[c][m] = found->second;
      }
    }
  }
  return ranks;
}

class Finder {
 public:
  explicit Finder(const facts::Facts& facts)
      : facts_(facts), traces_(facts.traces()), matches_(facts.matches()) {}

  RankOperations find() {
    found_.job_ranks = find_job_ranks(traces_, matches_);
    std::map<std::uint32_t, std::uint32_t> in_run;
    for (const match::Communicator& communicator : matches_.communicators) {
      found_.group_numbers.push_back(in_run[communicator.run]++);
    }
    for (std::size_t first = 0; first < matches_.operations.size(); first += kAtATime) {
      const auto some = match::portion_of(first, kAtATime, matches_.operations.size());
      facts_.ranks_of_each(some, [&](std::size_t, const facts::SeenOperation& seen) { add(seen); });
    }
    return std::move(found_);
  }

 private:
  // A rank of the job that is another's peer.
  using Direction = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;  // run, from, to

  std::optional<std::uint32_t> job_rank(std::uint32_t communicator,
                                        std::optional<std::uint32_t> rank) const {
    const auto& members = matches_.communicators[communicator].members;
    for (std::size_t m = 0; rank && m < members.size(); ++m) {
      // Nearly always the members are all ranks, in their order.
      const std::size_t at = (m + *rank) % members.size();
      if (members[at].rank == rank) {
        return found_.job_ranks[communicator][at];
      }
    }
    return std::nullopt;
  }

  RankOperation times_of(const match::Part& part, const model::Execution& execution) const {
    RankOperation made;
    made.has_execution =
        facts::ran_to_its_end(execution) && traces_.files[part.file].process.tells_start;
    const auto& start_ns = made.has_execution           ? execution.start_ns
                           : execution.enqueue_start_ns ? execution.enqueue_start_ns
                                                        : execution.start_ns;
    made.start_ns = facts_.alignment().to_common_ns(part.file, start_ns.value_or(0));
    made.end_ns = made.there_ns = made.start_ns;
    if (made.has_execution) {
      made.end_ns = add_saturating(
          made.start_ns,
          std::max<std::int64_t>(subtract_saturating(*execution.end_ns, *execution.start_ns), 0));
    }
    return made;
  }

  void add(const facts::SeenOperation& seen) {
    const match::MatchedOperation& operation = matches_.operations[seen.index];
    made_.clear();
    for (std::size_t i = 0; i < operation.part_count; ++i) {
      const auto part = static_cast<std::uint32_t>(operation.first_part + i);
      made_.push_back(times_of(seen.parts[i], seen.executions[i]));
      made_.back().matched = seen.index;
      made_.back().part = part;
    }
    if (!seen.facts.is_impossible && operation.way != match::Way::kGroup) {
      for (const facts::RankTimes& row : seen.rows) {
        RankOperation& one = made_[row.part - operation.first_part];
        if (row.has_execution && one.has_execution) {
          one.has_wait = true;
          one.wait_ns = row.best_wait_ns;
          one.wait = row.wait;
          one.there_ns = add_saturating(one.start_ns, one.wait_ns);
        }
      }
    }
    if (operation.way == match::Way::kPair || operation.way == match::Way::kGroup) {
      add_peers(operation, seen);
    }
    for (const RankOperation& one : made_) {
      const match::Part part = matches_.parts[one.part];
      if (const auto& rank = found_.job_ranks[operation.communicator][part.member]) {
        found_.of_rank[{matches_.communicators[operation.communicator].run, *rank}].push_back(one);
      } else {
        ++found_.without_rank;
      }
    }
  }

  // The k-th send of a rank to another within the operation is what the k-th receive there gets.
  void add_peers(const match::MatchedOperation& operation, const facts::SeenOperation& seen) {
    const match::Communicator& communicator = matches_.communicators[operation.communicator];
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::deque<std::size_t>> sends;
    const auto ends_of = [&](std::size_t i, bool is_send) {
      const std::uint32_t own =
          communicator.members[matches_.parts[made_[i].part].member].rank.value_or(
              std::numeric_limits<std::uint32_t>::max());
      const std::uint32_t peer = *seen.executions[i].peer;
      return is_send ? std::pair(own, peer) : std::pair(peer, own);
    };
    const auto is_send = [&](std::size_t i) {
      const match::Part part = matches_.parts[made_[i].part];
      return traces_.names.text(traces_.files[part.file].operations.call(part.operation).func) ==
             "Send";
    };
    for (const bool wants_sends : {true, false}) {
      for (std::size_t i = 0; i < made_.size(); ++i) {
        if (!seen.executions[i].peer || is_send(i) != wants_sends) {
          continue;
        }
        RankOperation& one = made_[i];
        one.peer = job_rank(operation.communicator, seen.executions[i].peer);
        const auto ends = ends_of(i, wants_sends);
        if (wants_sends) {
          one.tag = next_tag(operation.communicator, ends);
          sends[ends].push_back(i);
          if (operation.way == match::Way::kGroup) {
            one.has_wait = one.has_execution;  // nothing is sure to be waited for
          }
          continue;
        }
        auto& waiting = sends[ends];
        if (waiting.empty()) {
          one.tag = next_tag(operation.communicator, ends);
          continue;
        }
        const RankOperation& send = made_[waiting.front()];
        waiting.pop_front();
        one.tag = send.tag;
        if (operation.way == match::Way::kGroup && one.has_execution && send.has_execution) {
          wait_for(send, one);
        }
      }
    }
  }

  void wait_for(const RankOperation& send, RankOperation& receive) const {
    const std::int64_t wall_ns = receive.end_ns - receive.start_ns;
    const std::int64_t later_ns = subtract_saturating(send.start_ns, receive.start_ns);
    const std::int64_t error_ns =
        facts_.alignment()
            .uncertainty_ns(matches_.parts[send.part].file, matches_.parts[receive.part].file,
                            receive.start_ns)
            .value_or(facts::kUnknownClock_ns);
    receive.has_wait = true;
    receive.there_ns = std::clamp(send.start_ns, receive.start_ns, receive.end_ns);
    receive.wait_ns = std::clamp<std::int64_t>(later_ns, 0, wall_ns);
    receive.wait = {std::clamp<std::int64_t>(subtract_saturating(later_ns, error_ns), 0, wall_ns),
                    std::clamp<std::int64_t>(add_saturating(later_ns, error_ns), 0, wall_ns)};
  }

  std::optional<std::int32_t> next_tag(std::uint32_t communicator,
                                       std::pair<std::uint32_t, std::uint32_t> ends) {
    const auto from = job_rank(communicator, ends.first);
    const auto to = job_rank(communicator, ends.second);
    if (!from || !to) {
      return std::nullopt;
    }
    std::int32_t& next = tags_[{matches_.communicators[communicator].run, *from, *to}];
    return next == std::numeric_limits<std::int32_t>::max() ? std::nullopt : std::optional(next++);
  }

  const facts::Facts& facts_;
  const model::Traces& traces_;
  const match::Matches& matches_;
  RankOperations found_;
  std::vector<RankOperation> made_;  // of the operation at hand
  std::map<Direction, std::int32_t> tags_;
};

}  // namespace

RankOperations find_rank_operations(const facts::Facts& facts) {
  return Finder(facts).find();
}

}  // namespace ringside::chakra
