// SPDX-License-Identifier: Apache-2.0
#include "analyzer/lint/slice_rules.h"

#include <algorithm>
#include <string>

namespace ringside::lint {

void SliceRules::take(const Event& event) {
  if (event.phase != "X" || !event.ts_ns || !event.dur_ns) {
    return;
  }
  Thread& thread = threads_[{event.pid, event.tid}];
  thread.exact.push_back({*event.ts_ns, *event.dur_ns, event.line});
  thread.rounded.push_back({perfetto_ns(event.scan.ts), perfetto_ns(event.scan.dur), event.line});
}

// Pairs of lines: a slice, and the one that it begins within and outlasts.
std::vector<std::pair<std::uint64_t, std::uint64_t>> SliceRules::overlaps(
    std::vector<Slice>& slices) {
  std::stable_sort(slices.begin(), slices.end(), [](const Slice& a, const Slice& b) {
    return a.start_ns != b.start_ns ? a.start_ns < b.start_ns : a.dur_ns > b.dur_ns;
  });
  std::vector<std::pair<std::uint64_t, std::uint64_t>> found;
  std::vector<Slice> open;
  for (const Slice& slice : slices) {
    while (!open.empty() && open.back().start_ns + open.back().dur_ns <= slice.start_ns) {
      open.pop_back();
    }
    if (!open.empty() &&
        slice.start_ns + slice.dur_ns > open.back().start_ns + open.back().dur_ns) {
      found.emplace_back(slice.line, open.back().line);
    }
    open.push_back(slice);
  }
  return found;
}

void SliceRules::finish(Findings& findings) {
  for (auto& [ids, thread] : threads_) {
    auto exact = overlaps(thread.exact);
    for (const auto& [line, other] : exact) {
      findings.add(line, Rule::kSliceOverlap,
                   "overlaps the slice of line " + std::to_string(other));
    }
    std::sort(exact.begin(), exact.end());
    for (const auto& pair : overlaps(thread.rounded)) {
      if (!std::binary_search(exact.begin(), exact.end(), pair)) {
        findings.add(pair.first, Rule::kSliceOverlapRounded,
                     "overlaps the slice of line " + std::to_string(pair.second) +
                         " once Perfetto has rounded its times");
      }
    }
  }
}

}  // namespace ringside::lint
