// SPDX-License-Identifier: Apache-2.0
#include "analyzer/replay/waits.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <optional>
#include <utility>

#include "analyzer/model/saturating.h"
#include "analyzer/replay/slow_ranks.h"

namespace ringside::replay {

void for_each_waited_for(const Job& job, std::vector<std::uint32_t> columns,
                         const std::function<void(const WaitedFor&)>& visit) {
  std::vector<std::int64_t> before_ns(job.kernels.size());  // by its rank, in its column
  for (const JobRank& rank : job.ranks) {
    columns[rank.first_kernel] = kNone;  // it waits for the start of the others
    for (const std::uint32_t i : Job::indices_of(rank)) {
      if (i > rank.first_kernel && columns[i] == columns[i - 1]) {
        before_ns[i] = add_saturating(before_ns[i - 1], job.kernels[i - 1].waited_ns);
      }
    }
  }
  // Of two that came in the same moment, the one that waited less before brought the delay.
  const auto waits_less = [&](std::uint32_t a, std::uint32_t b) {
    return std::pair(job.kernels[a].waited_ns / kSameMoment_ns, before_ns[a]) <
           std::pair(job.kernels[b].waited_ns / kSameMoment_ns, before_ns[b]);
  };
  std::vector<std::uint32_t> last_of;  // by transfer: the kernel that waited least
  for (const Transfer& transfer : job.transfers) {
    const std::span<const std::uint32_t> members = job.kernels_of(transfer);
    last_of.push_back(*std::min_element(members.begin(), members.end(), waits_less));
  }
  // The one that a kernel waited for.
  const auto transfer_of = [&](std::uint32_t kernel) {
    const std::span<const std::uint32_t> own = job.transfers_of(kernel);
    return *std::min_element(own.begin(), own.end(), [&](std::uint32_t a, std::uint32_t b) {
      return waits_less(last_of[a], last_of[b]);
    });
  };
  for (std::uint32_t i = 0; i < job.transfers.size(); ++i) {
    const std::uint32_t last = last_of[i];
    WaitedFor found{job.kernels[last].rank, columns[last]};
    for (const std::uint32_t kernel : job.kernels_of(job.transfers[i])) {
      if (found.column == kNone || kernel == last || columns[kernel] == kNone ||
          transfer_of(kernel) != i) {
        continue;
      }
      const std::int64_t passed_on_ns =
          std::max<std::int64_t>(before_ns[last] - before_ns[kernel], 0);
      const std::int64_t own_ns =
          std::max<std::int64_t>(job.kernels[kernel].waited_ns - passed_on_ns, 0);
      found.waited_ns = add_saturating(found.waited_ns, own_ns);
      found.longest_ns = std::max(found.longest_ns, own_ns);
    }
    if (found.waited_ns > 0) {
      visit(found);
    }
  }
}

std::vector<std::uint32_t> iterations_of(const Job& job, const metrics::RunIterations& run) {
  static_assert(metrics::kNoIteration == kNone);
  std::vector<std::uint32_t> iterations;
  for (const Kernel& one : job.kernels) {
    iterations.push_back(run.iterations.empty() ? kNone : run.iteration_of[one.operation]);
  }
  return iterations;
}

metrics::RunIterations* add_waits(const Job& job, bool names_ranks,
                                  std::vector<metrics::RunIterations>& runs) {
  const auto found = std::find_if(runs.begin(), runs.end(), [&](const metrics::RunIterations& run) {
    return run.run == job.run;
  });
  if (found == runs.end()) {
    return nullptr;
  }
  metrics::RunIterations& run = *found;
  const std::vector<std::uint32_t> columns = iterations_of(job, run);
  std::vector<std::optional<std::int64_t>> waited_ns(run.iterations.size());
  for (const JobRank& rank : job.ranks) {
    for (const std::uint32_t i : Job::indices_of(rank, 1)) {
      if (columns[i] != kNone) {
        auto& sum_ns = waited_ns[columns[i]];
        sum_ns = add_saturating(sum_ns.value_or(0), job.kernels[i].waited_ns);
      }
    }
  }
  std::map<std::pair<std::uint32_t, std::uint32_t>, WaitedFor> by_rank;  // by iteration first
  for_each_waited_for(job, columns, [&](const WaitedFor& one) {
    WaitedFor& sum = by_rank[{one.column, one.rank}];
    sum.waited_ns = add_saturating(sum.waited_ns, one.waited_ns);
    sum.longest_ns = add_saturating(sum.longest_ns, one.longest_ns);
  });
  std::vector<std::int64_t> all_ns;
  for (std::size_t i = 0; i < waited_ns.size(); ++i) {
    run.iterations[i].waited_ns = waited_ns[i];
    if (waited_ns[i]) {
      all_ns.push_back(*waited_ns[i]);
    }
  }
  run.waited = metrics::distribution_of(all_ns);
  const double least_ns = kLeastCost * (run.duration ? run.duration->median_ns : 0);
  for (auto first = by_rank.begin(); names_ranks && least_ns > 0 && first != by_rank.end();) {
    const auto end = by_rank.lower_bound({first->first.first + 1, 0});
    const auto most = std::max_element(first, end, [](const auto& a, const auto& b) {
      return a.second.waited_ns < b.second.waited_ns;
    });
    if (static_cast<double>(most->second.longest_ns) >= least_ns) {
      metrics::Iteration& iteration = run.iterations[first->first.first];
      iteration.slowest = job.ranks[most->first.second].label;
      iteration.slowest_host = job.ranks[most->first.second].host;
      iteration.delay_ns = most->second.longest_ns;
    }
    first = end;
  }
  return &run;
}

}  // namespace ringside::replay
