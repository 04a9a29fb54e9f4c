// SPDX-License-Identifier: Apache-2.0
#include "analyzer/match/ranges.h"

#include <algorithm>
#include <limits>

namespace ringside::match {

Ranges::Ranges(const model::Traces& traces) : names_(traces.names), files_(traces.files.size()) {
  for (std::size_t file = 0; file < traces.files.size(); ++file) {
    std::map<std::uint32_t, std::vector<model::Mark>> by_thread;
    for (const auto& [number, mark] : traces.files[file].marks) {
      if (mark.is_range) {
        by_thread[mark.tid].push_back(mark);
      }
    }
    for (auto& [tid, marks] : by_thread) {
      // Marks are numbered in the order in which they begin.
      std::stable_sort(marks.begin(), marks.end(), [](const auto& one, const auto& other) {
        return one.start_ns < other.start_ns;
      });
      nest(marks, files_[file][tid]);
    }
  }
}

void Ranges::nest(const std::vector<model::Mark>& marks, Thread& thread) {
  std::vector<std::uint32_t> open;
  for (const model::Mark& mark : marks) {
    while (!open.empty() && thread[open.back()].end_ns <= mark.start_ns) {
      open.pop_back();
    }
    if (open.size() == kMostNested) {
      continue;
    }
    Range range;
    range.start_ns = mark.start_ns;
    range.end_ns = mark.end_ns.value_or(std::numeric_limits<std::int64_t>::max());
    range.around = open.empty() ? kNone : open.back();
    const RangePath around = open.empty() ? kNoRange : thread[open.back()].path;
    const auto next = static_cast<RangePath>(paths_.size());
    const auto [place, is_new] = numbers_.try_emplace({around, mark.name}, next);
    if (is_new) {
      paths_.push_back({around, mark.name});
    }
    range.path = place->second;
    open.push_back(static_cast<std::uint32_t>(thread.size()));
    thread.push_back(range);
  }
}

RangePath Ranges::of(std::uint32_t file, const model::Operation& operation) const {
  const auto& threads = files_[file];
  const auto time_ns = operation.enqueue_start_ns ? operation.enqueue_start_ns : operation.start_ns;
  auto own = threads.find(operation.tid);
  if (own == threads.end() && threads.size() == 1) {
    own = threads.begin();
  }
  if (own == threads.end() || !time_ns) {
    return kNoRange;
  }
  const Thread& thread = own->second;
  const auto next = std::upper_bound(
      thread.begin(), thread.end(), *time_ns,
      [](std::int64_t at_ns, const Range& range) { return at_ns < range.start_ns; });
  for (auto index = static_cast<std::uint32_t>(next - thread.begin()) - 1; index != kNone;
       index = thread[index].around) {
    if (*time_ns < thread[index].end_ns) {
      return thread[index].path;
    }
  }
  return kNoRange;
}

RangePath Ranges::of(const model::Traces& traces, const Matches& matches,
                     const MatchedOperation& operation) const {
  for (const Part& part : parts_of(matches, operation)) {
    if (const RangePath path = of(part.file, operation_of(traces, part)); path != kNoRange) {
      return path;
    }
  }
  return kNoRange;
}

std::string Ranges::text(RangePath path) const {
  std::string text;
  for (; path != kNoRange; path = paths_[path].around) {
    const std::string_view name = names_.text(paths_[path].name);
    text.insert(0, text.empty() ? std::string(name) : std::string(name) + " / ");
  }
  return text;
}

}  // namespace ringside::match
