// SPDX-License-Identifier: Apache-2.0
#include "analyzer/lint/async_rules.h"

#include <algorithm>

namespace ringside::lint {

void AsyncRules::take(const Event& event) {
  if ((event.phase != "b" && event.phase != "e") || !event.ts_ns || event.id.empty()) {
    return;
  }
  Edge edge;
  edge.ts_ns = *event.ts_ns;
  edge.line = event.line;
  edge.name = names_.id(event.name);
  edge.is_begin = event.phase == "b";
  edge.in_flight = event.arguments && is_true_at(*event.arguments, "in_flight");
  tracks_[{event.pid, names_.id(event.category), names_.id(event.id)}].push_back(edge);
}

void AsyncRules::finish(bool is_closed, Findings& findings) {
  for (auto& [key, track] : tracks_) {
    check(track, is_closed, findings);
  }
}

void AsyncRules::match_end(const Edge& end, std::vector<Edge>& open, std::vector<Edge>& early,
                           Findings& findings) const {
  const auto begin = std::find_if(open.rbegin(), open.rend(),
                                  [&](const Edge& edge) { return edge.name == end.name; });
  if (begin == open.rend()) {
    early.push_back(end);
    return;
  }
  if (begin != open.rbegin()) {
    findings.add(end.line, Rule::kAsyncOverlap,
                 quoted(end.name) + " ends while " + quoted(open.back().name) +
                     " of the same id, begun within it, goes on");
  }
  open.erase(std::next(begin).base());
}

void AsyncRules::check(Track& track, bool is_closed, Findings& findings) const {
  // As Perfetto reads them: by time, those of the same time as they are in the file.
  std::stable_sort(track.begin(), track.end(),
                   [](const Edge& a, const Edge& b) { return a.ts_ns < b.ts_ns; });
  std::vector<Edge> open;
  std::vector<Edge> early;  // ends whose beginning has not come yet
  for (const Edge& edge : track) {
    if (!edge.is_begin) {
      match_end(edge, open, early, findings);
      continue;
    }
    const auto end = std::find_if(early.begin(), early.end(),
                                  [&](const Edge& e) { return e.name == edge.name; });
    if (end == early.end()) {
      open.push_back(edge);
      continue;
    }
    findings.add(end->line, Rule::kAsyncOrder,
                 "the end of " + quoted(edge.name) + " is before its begin in line " +
                     std::to_string(edge.line));
    early.erase(end);
  }
  for (const Edge& edge : early) {
    findings.add(edge.line, Rule::kAsyncUnbalanced, "no b for the e of " + quoted(edge.name));
  }
  const bool in_flight = std::any_of(track.begin(), track.end(), [](const Edge& edge) {
    return edge.in_flight;  // the slice around an operation has no args of its own
  });
  for (const Edge& edge : open) {
    if (is_closed && !in_flight) {
      findings.add(edge.line, Rule::kAsyncUnfinished,
                   "no e for the b of " + quoted(edge.name) + ", and no in_flight");
    }
  }
}

}  // namespace ringside::lint
