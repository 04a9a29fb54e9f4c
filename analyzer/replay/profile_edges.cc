// SPDX-License-Identifier: Apache-2.0
#include "analyzer/replay/profile_edges.h"

#include <algorithm>
#include <limits>
#include <map>

#include "analyzer/metrics/own_calls.h"
#include "analyzer/model/profiled_run.h"

namespace ringside::replay {

ProfileEdges::ProfileEdges(const model::Traces& traces, const match::Matches& matches) {
  const auto& files = traces.files;
  const auto is_whole = [&](const match::MatchedOperation& one) {
    return match::ranks_seen(matches, one) >= match::ranks_expected(matches, one);
  };
  if (files.empty() || !model::is_profile(files.front()) ||
      std::all_of(matches.operations.begin(), matches.operations.end(), is_whole)) {
    return;
  }
  constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
  const auto for_each_call = [&](bool are_whole, const auto& visit) {
    for (const match::MatchedOperation& one : matches.operations) {
      for (const match::Part& part : match::parts_of(matches, one)) {
        const auto call_ns = metrics::call_time(match::execution_of(traces, part));
        if (call_ns && one.way == match::Way::kSequence && is_whole(one) == are_whole) {
          visit(std::pair(one.communicator, part.file), *call_ns);
        }
      }
    }
  };
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::pair<std::int64_t, std::int64_t>> whole_ns;
  for_each_call(true, [&](const auto& of, std::int64_t call_ns) {
    auto& [first_ns, last_ns] = whole_ns.try_emplace(of, call_ns, call_ns).first->second;
    first_ns = std::min(first_ns, call_ns);
    last_ns = std::max(last_ns, call_ns);
  });
  edges_ns_.assign(files.size(), {-kNever, kNever});
  for_each_call(false, [&](const auto& of, std::int64_t call_ns) {
    const auto whole = whole_ns.find(of);
    if (whole != whole_ns.end()) {
      auto& [from_ns, to_ns] = edges_ns_[of.second];
      from_ns = call_ns < whole->second.first ? std::max(from_ns, call_ns) : from_ns;
      to_ns = call_ns > whole->second.second ? std::min(to_ns, call_ns) : to_ns;
    }
  });
}

bool ProfileEdges::hold(std::span<const match::Part> parts,
                        std::span<const model::Execution> executions) const {
  for (std::size_t i = 0; i < parts.size() && !edges_ns_.empty(); ++i) {
    const auto& [from_ns, to_ns] = edges_ns_[parts[i].file];
    const auto call_ns = metrics::call_time(executions[i]);
    if (call_ns && (*call_ns <= from_ns || *call_ns >= to_ns)) {
      return true;
    }
  }
  return false;
}

}  // namespace ringside::replay
