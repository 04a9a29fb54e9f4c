// SPDX-License-Identifier: Apache-2.0
#include "analyzer/align/rows_elsewhere.h"

#include <algorithm>
#include <utility>

#include "analyzer/align/points/tightest_points.h"

namespace ringside::align {
namespace {

RowsElsewhere* g_rows = nullptr;

// Bounds that are in memory at one time: a range has no more, or so few operations.
constexpr std::uint64_t kMostBounds = std::uint64_t{1} << 18;

CommunicatorElsewhere place_communicator(const HostClocks& clocks, std::int64_t zero_ns,
                                         const match::Communicator& communicator) {
  CommunicatorElsewhere placed;
  for (const match::Member& member : communicator.members) {
    const std::uint32_t host = clocks.host_of_file[member.file];
    // Ranks of a host mostly follow each other.
    auto known = std::find(placed.hosts.rbegin(), placed.hosts.rend(), host);
    if (known == placed.hosts.rend()) {
      placed.hosts.push_back(host);
      known = placed.hosts.rbegin();
    }
    placed.members.push_back({member.file, member.context, *member.rank,
                              static_cast<std::uint32_t>(placed.hosts.rend() - known - 1),
                              clocks.since_epoch_ns[member.file] - zero_ns});
  }
  return placed;
}

}  // namespace

RowsElsewhere* rows_elsewhere() {
  return g_rows;
}

void set_rows_elsewhere(RowsElsewhere* rows) {
  g_rows = rows;
}

SyncPoints find_points_elsewhere(const model::Traces& traces, const match::Matches& matches,
                                 const match::AlikeCalls& calls, const HostClocks& clocks,
                                 const StampErrors& errors) {
  SyncPoints made;
  made.zero_ns = zero_of(traces, clocks);
  made.untrusted = matches.untrusted;
  std::vector<CommunicatorElsewhere> placed(calls.functions.size());
  for (std::uint32_t c = 0; c < placed.size(); ++c) {
    if (calls.needs_rows(c)) {
      continue;
    }
    placed[c] = place_communicator(clocks, made.zero_ns, calls.matches.communicators[c]);
    for (const auto& [function, count] : calls.functions[c]) {
      placed[c].functions.emplace_back(traces.names.text(function));
    }
  }
  rows_elsewhere()->place(traces, placed);
  StepsElsewhere steps{
      stride_of_steps(traces), {}, files_with_steps(traces, matches, clocks, made.zero_ns)};
  steps.before.resize(placed.size());
  TightestPoints tightest;
  std::uint32_t series = 0;
  std::uint64_t operations = 0;  // that were seen, with or without a point
  const auto count_operations = [&](std::uint64_t more) {
    const std::uint64_t portions = operations / kPointPortion;
    operations += more;
    if (operations / kPointPortion > portions) {
      tightest.thin_if_many(made);
    }
  };
  std::size_t next = 0;  // of the operations that are here
  for (std::uint32_t c = 0; c < placed.size(); ++c) {
    if (calls.needs_rows(c)) {
      const std::size_t first = next;
      while (next < matches.operations.size() && matches.operations[next].communicator == c) {
        ++next;
      }
      const OperationRange range{first, next, operations};
      series = add_points(traces, matches, range, clocks, errors, series + 1, tightest, made);
      add_stepped(traces, matches, range, steps.stride, steps.files);
      operations += next - first;
      continue;
    }
    const std::vector<std::uint32_t>& hosts = placed[c].hosts;
    std::vector<std::pair<std::uint32_t, HostBounds>> of_operation;
    for (std::uint32_t f = 0; f < placed[c].functions.size(); ++f) {
      ++series;
      steps.before[c].push_back(operations);
      const std::uint64_t all = calls.functions[c][f].second;
      const auto rule = rule_of(placed[c].functions[f]);
      if (!rule || hosts.size() < 2) {
        count_operations(all);
        continue;
      }
      const std::uint64_t most = kMostBounds / hosts.size() + 1;
      for (std::uint64_t first = 0; first < all; first += most) {
        const std::uint64_t count = std::min(most, all - first);
        const std::vector<HostBounds> bounds = rows_elsewhere()->bounds({c, f, first, count});
        for (std::uint64_t i = 0; i < count; ++i) {
          of_operation.clear();
          for (std::size_t h = 0; h < hosts.size(); ++h) {
            of_operation.emplace_back(hosts[h], bounds[i * hosts.size() + h]);
          }
          add_point(rule->kind, series, of_operation, made);
          count_operations(1);
        }
      }
    }
  }
  tightest.thin_if_many(made);
  if (!steps.files.empty()) {
    add_chunks(rows_elsewhere()->chunks(std::move(steps)), made);
    tightest.thin_if_many(made);
  }
  return made;
}

}  // namespace ringside::align
