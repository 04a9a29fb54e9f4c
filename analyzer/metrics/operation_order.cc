// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/operation_order.h"

#include <algorithm>
#include <optional>
#include <queue>
#include <span>
#include <utility>

#include "analyzer/match/executions.h"
#include "analyzer/metrics/merge_runs.h"
#include "analyzer/model/parallel.h"

namespace ringside::metrics {
namespace {

using MomentKey = std::pair<std::int64_t, std::uint32_t>;  // a moment, and the operation

// An operation of a file: in Matches::operations, and in its file.
struct Call {
  std::uint32_t matched = 0;
  std::uint32_t own = 0;
};

// The matched operations of which the file has a start, in the order of these. Puts `calls` in the
// order of the matched operations.
std::vector<std::uint32_t> by_start(const model::Operations& operations, std::vector<Call>& calls) {
  // These have come in another order if not all ranks are in each operation.
  const auto is_before = [](const Call& a, const Call& b) { return a.matched < b.matched; };
  if (!std::is_sorted(calls.begin(), calls.end(), is_before)) {
    std::stable_sort(calls.begin(), calls.end(), is_before);
  }
  std::vector<MomentKey> starts;
  starts.reserve(calls.size());
  for (const Call& call : calls) {
    const model::Execution one = operations.execution(call.own);
    const auto& start_ns = facts::ran_to_its_end(one) ? one.start_ns : one.enqueue_start_ns;
    if (start_ns && !starts.empty() && starts.back().second == call.matched) {
      starts.back().first = std::min(starts.back().first, *start_ns);
    } else if (start_ns) {
      starts.emplace_back(*start_ns, call.matched);
    }
  }
  merge_runs(starts);  // the calls of each function come in their order
  std::vector<std::uint32_t> ordered;
  ordered.reserve(starts.size());
  for (const MomentKey& start : starts) {
    ordered.push_back(start.second);
  }
  return ordered;
}

// The operations of each file by their starts, and all of them.
struct Starts {
  std::vector<std::vector<std::uint32_t>> of_files;
  std::vector<std::uint32_t> all;
};

Starts find_starts(const facts::Facts& facts) {
  const match::Matches& matches = facts.matches();
  std::vector<std::vector<Call>> calls(facts.traces().files.size());
  for (std::size_t file = 0; file < calls.size(); ++file) {
    calls[file].reserve(facts.traces().files[file].operations.size());
  }
  Starts starts;
  for (std::uint32_t i = 0; i < matches.operations.size(); ++i) {
    if (match::ranks_expected(matches, matches.operations[i]) >= 2) {
      starts.all.push_back(i);
    }
  }
  // The calls of each file are in pages of their own, so a few are added to each at a time.
  constexpr std::size_t kAtATime = match::Executions::kAtATime;
  for (std::size_t first = 0; first < starts.all.size(); first += kAtATime) {
    const auto some =
        std::span(starts.all).subspan(first, std::min(kAtATime, starts.all.size() - first));
    match::visit_rank_by_rank(matches, some, [&](std::size_t i, std::size_t number) {
      const match::Part part = matches.parts[matches.operations[some[i]].first_part + number];
      calls[part.file].push_back({some[i], part.operation});
    });
  }
  starts.of_files.resize(calls.size());
  for_each_on_cores(calls.size(), [&](std::size_t /*thread*/, std::size_t file) {
    starts.of_files[file] = by_start(facts.traces().files[file].operations, calls[file]);
    calls[file] = {};
  });
  return starts;
}

}  // namespace

std::vector<std::pair<std::uint32_t, std::uint32_t>> find_inversions(
    const facts::Facts& facts, const std::vector<std::uint32_t>& places) {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> inversions;
  for (const std::vector<std::uint32_t>& operations : find_starts(facts).of_files) {
    for (std::size_t i = 1; i < operations.size(); ++i) {
      const std::uint32_t before = places[operations[i - 1]];
      const std::uint32_t place = places[operations[i]];
      if (place < before) {
        inversions.emplace_back(place, before);
      }
    }
  }
  return inversions;
}

std::vector<std::uint32_t> order_operations(const facts::Facts& facts, bool* is_contradictory) {
  const match::Matches& matches = facts.matches();
  Starts starts = find_starts(facts);
  std::vector<std::vector<std::uint32_t>>& of_files = starts.of_files;
  std::vector<std::uint32_t>& left = starts.all;
  // Often all ranks have the same operations in the same order, and nothing else is there to order.
  if (!of_files.empty() && of_files.front().size() == left.size() &&
      std::all_of(of_files.begin(), of_files.end(),
                  [&](const auto& one) { return one == of_files.front(); })) {
    return std::move(of_files.front());
  }
  std::vector<std::uint32_t> waits_for(matches.operations.size());
  for (const auto& operations : of_files) {
    for (const std::uint32_t operation : operations) {
      ++waits_for[operation];
    }
  }
  // Last arrivals are looked up when they are asked for first: a single communicator needs none.
  std::vector<std::optional<std::int64_t>> last_ns(matches.operations.size());
  std::vector<facts::RankTimes> rows;
  const auto key_of = [&](std::uint32_t operation) {
    if (!last_ns[operation]) {
      last_ns[operation] = facts.last_arrival_ns(operation, rows);
    }
    return MomentKey(*last_ns[operation], operation);
  };
  const auto is_later = [&](std::uint32_t a, std::uint32_t b) { return key_of(a) > key_of(b); };
  std::vector<std::size_t> next(of_files.size());
  std::priority_queue<std::uint32_t, std::vector<std::uint32_t>, decltype(is_later)> ready(
      is_later);
  const auto advance = [&](std::size_t file) {
    if (next[file] < of_files[file].size()) {
      const std::uint32_t operation = of_files[file][next[file]];
      if (--waits_for[operation] == 0) {
        ready.push(operation);
      }
    }
  };
  for (std::size_t file = 0; file < of_files.size(); ++file) {
    advance(file);
  }
  std::vector<std::uint32_t> order;
  const std::size_t count = left.size();
  order.reserve(count);
  std::vector<bool> is_done(matches.operations.size());
  bool is_sorted = false;
  while (order.size() < count) {
    if (ready.empty()) {
      // Streams that run side by side may contradict each other: then the clocks decide.
      if (!std::exchange(is_sorted, true)) {
        if (is_contradictory != nullptr) {
          *is_contradictory = true;
        }
        std::sort(left.begin(), left.end(), is_later);
      }
      ready.push(left.back());
      left.pop_back();
    }
    const std::uint32_t operation = ready.top();
    ready.pop();
    if (is_done[operation]) {
      continue;
    }
    is_done[operation] = true;
    order.push_back(operation);
    for (const match::Part& part : match::parts_of(matches, matches.operations[operation])) {
      while (next[part.file] < of_files[part.file].size() &&
             is_done[of_files[part.file][next[part.file]]]) {
        ++next[part.file];
        advance(part.file);
      }
    }
  }
  return order;
}

}  // namespace ringside::metrics
