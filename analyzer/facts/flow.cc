// SPDX-License-Identifier: Apache-2.0
#include "analyzer/facts/flow.h"

#include <algorithm>
#include <optional>

namespace ringside::facts {
namespace {

// Finds rows by member, and members by rank. Both are nearly always at the same place.
class Places {
 public:
  Places(const match::Communicator& communicator, std::span<const RankTimes> rows)
      : communicator_(communicator), row_of_(communicator.members.size(), RankTimes::kNobody) {
    for (std::uint32_t i = 0; i < rows.size(); ++i) {
      row_of_[rows[i].member] = i;
    }
  }

  std::uint32_t row_of_member(std::uint32_t member) const { return row_of_[member]; }

  std::uint32_t row_of_rank(std::uint32_t rank) const {
    const auto& members = communicator_.members;
    if (rank < members.size() && members[rank].rank == rank) {
      return row_of_[rank];
    }
    const auto found = std::lower_bound(members.begin(), members.end(), rank,
                                        [](const match::Member& member, std::uint32_t wanted) {
                                          return member.rank < std::optional<std::uint32_t>(wanted);
                                        });
    return found != members.end() && found->rank == rank
               ? row_of_[static_cast<std::size_t>(found - members.begin())]
               : RankTimes::kNobody;
  }

 private:
  const match::Communicator& communicator_;
  std::vector<std::uint32_t> row_of_;
};

// A receive names its link as well as the send does, so receives suffice. They count only if they
// carry bytes: nobody waits for a message of none.
std::vector<Link> links_of(const model::Traces& traces, const match::Matches& matches,
                           const match::MatchedOperation& operation, const Places& places) {
  std::vector<Link> links;
  for (const match::Part& part : match::parts_of(matches, operation)) {
    const model::Operation one = match::operation_of(traces, part);
    if (traces.names.text(one.func) != "Recv" || !one.peer || one.bytes == 0U) {
      continue;
    }
    const Link link{places.row_of_rank(*one.peer), places.row_of_member(part.member)};
    if (link.source != RankTimes::kNobody && link.destination != RankTimes::kNobody &&
        link.source != link.destination) {
      links.push_back(link);
    }
  }
  return links;
}

}  // namespace

bool all_need_all(const model::Traces& traces, const match::MatchedOperation& operation) {
  return operation.way == match::Way::kPair || operation.way == match::Way::kGroup
             ? operation.pattern == match::Pattern::kAlltoAll
             : flow_of_function(traces.names.text(operation.func)) == Flow::kAll;
}

FlowOfOperation flow_of(const model::Traces& traces, const match::Matches& matches,
                        const match::MatchedOperation& operation, std::span<const RankTimes> rows) {
  FlowOfOperation made;
  if (operation.way != match::Way::kPair && operation.way != match::Way::kGroup) {
    made.flow = flow_of_function(traces.names.text(operation.func));
    if (made.flow != Flow::kFromRoot && made.flow != Flow::kToRoot) {
      return made;
    }
    const auto root = match::operation_of(traces, matches.parts[operation.first_part]).root;
    if (root) {
      made.root = Places(matches.communicators[operation.communicator], rows).row_of_rank(*root);
    }
    return made;
  }
  if (operation.pattern == match::Pattern::kAlltoAll) {
    made.flow = Flow::kAll;
    return made;
  }
  made.flow = Flow::kLinks;
  const Places places(matches.communicators[operation.communicator], rows);
  made.links = links_of(traces, matches, operation, places);
  return made;
}

}  // namespace ringside::facts
