// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/page/wait_map.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "analyzer/model/saturating.h"
#include "analyzer/replay/waits.h"

namespace ringside::report {
namespace {

using metrics::RunIterations;
using replay::Job;
using replay::JobRank;
using replay::kNone;

std::int64_t start_of(const RunIterations& run, std::size_t iteration) {
  return subtract_saturating(run.iterations[iteration].start_ns, run.iterations.front().start_ns);
}

// From the start of an iteration to that of the one so many later; the last ends by itself. 0 where
// that is not known.
std::int64_t duration_of(const RunIterations& run, std::size_t first, std::size_t count) {
  constexpr std::int64_t kUnknown_ns = std::numeric_limits<std::int64_t>::min();
  const std::size_t last = run.iterations.size() - 1;
  const std::int64_t end_ns =
      first + count <= last
          ? start_of(run, first + count)
          : add_saturating(start_of(run, last),
                           run.iterations[last].duration_ns.value_or(kUnknown_ns));
  return std::max<std::int64_t>(subtract_saturating(end_ns, start_of(run, first)), 0);
}

std::vector<WaitColumn> columns_of(const RunIterations& run, std::size_t per_column) {
  std::vector<WaitColumn> columns;
  for (std::size_t i = 0; i < run.iterations.size(); i += per_column) {
    columns.push_back({i + 1, std::min(i + per_column, run.iterations.size()), start_of(run, i),
                       duration_of(run, i, per_column)});
  }
  return columns;
}

// By kernel.
std::vector<std::uint32_t> columns_of_time(const Job& job, WaitMap& map) {
  std::vector<std::int64_t> since_ns(job.kernels.size());
  std::int64_t length_ns = 0;
  for (const JobRank& rank : job.ranks) {
    const std::int64_t zero_ns = job.kernels[rank.first_kernel].end_ns;
    for (const std::uint32_t i : Job::indices_of(rank)) {
      // Those of a transfer end at the same time.
      const std::int64_t end_ns = job.kernels[i].end_ns;
      since_ns[i] = std::max<std::int64_t>(subtract_saturating(end_ns, zero_ns), 0);
      length_ns = std::max(length_ns, since_ns[i]);
    }
  }
  const std::int64_t width_ns = length_ns / static_cast<std::int64_t>(kMapColumns) + 1;
  for (std::int64_t start_ns = 0; start_ns <= length_ns; start_ns += width_ns) {
    map.columns.push_back({0, 0, start_ns, length_ns > 0 ? width_ns : 0});
  }
  std::vector<std::uint32_t> columns;
  columns.reserve(since_ns.size());
  for (const std::int64_t since_one_ns : since_ns) {
    columns.push_back(static_cast<std::uint32_t>(since_one_ns / width_ns));
  }
  return columns;
}

void add_rows(const Job& job, std::vector<std::vector<std::int64_t>>&& cells, WaitMap& map) {
  for (std::size_t rank = 0; rank < cells.size(); ++rank) {
    const std::int64_t sum_ns =
        std::accumulate(cells[rank].begin(), cells[rank].end(), std::int64_t{0}, add_saturating);
    if (sum_ns > 0) {
      map.rows.push_back(
          {job.ranks[rank].label, job.ranks[rank].host, 1, sum_ns, std::move(cells[rank])});
    }
  }
  std::stable_sort(map.rows.begin(), map.rows.end(), [](const WaitRow& a, const WaitRow& b) {
    return a.others_waited_ns > b.others_waited_ns;
  });
  if (map.rows.size() <= kMapRows + 1) {
    return;
  }
  WaitRow others{"", "", 0, 0, std::vector<std::int64_t>(map.columns.size())};
  for (auto row = map.rows.begin() + kMapRows; row != map.rows.end(); ++row) {
    ++others.ranks;
    others.others_waited_ns = add_saturating(others.others_waited_ns, row->others_waited_ns);
    std::transform(row->cells_ns.begin(), row->cells_ns.end(), others.cells_ns.begin(),
                   others.cells_ns.begin(), add_saturating);
  }
  map.rows.resize(kMapRows);
  map.rows.push_back(std::move(others));
}

}  // namespace

WaitMap make_wait_map(const Job& job, const RunIterations* iterations) {
  WaitMap map;
  map.run = job.run;
  map.ranks = job.ranks.size();
  std::vector<std::uint32_t> columns;  // by kernel
  map.has_iterations = iterations != nullptr && !iterations->iterations.empty();
  if (map.has_iterations) {
    const std::size_t per_column = (iterations->iterations.size() + kMapColumns - 1) / kMapColumns;
    map.columns = columns_of(*iterations, per_column);
    columns = replay::iterations_of(job, *iterations);
    for (std::uint32_t& column : columns) {
      column = column == kNone ? kNone : column / static_cast<std::uint32_t>(per_column);
    }
  } else {
    columns = columns_of_time(job, map);
  }
  std::vector<std::vector<std::int64_t>> cells(job.ranks.size());
  replay::for_each_waited_for(job, std::move(columns), [&](const replay::WaitedFor& one) {
    cells[one.rank].resize(map.columns.size());
    std::int64_t& cell_ns = cells[one.rank][one.column];
    cell_ns = add_saturating(cell_ns, one.waited_ns);
  });
  add_rows(job, std::move(cells), map);
  return map;
}

}  // namespace ringside::report
