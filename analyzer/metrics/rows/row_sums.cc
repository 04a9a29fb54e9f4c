// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/rows/row_sums.h"

#include <algorithm>
#include <limits>
#include <string_view>

#include "analyzer/metrics/bandwidth.h"
#include "analyzer/metrics/percentile.h"

namespace ringside::metrics {
namespace {

using Sized = RowSums::Sized;

void sum_up_sizes(const std::vector<Sized>& sized, Row& row) {
  if (sized.empty()) {
    return;
  }
  std::vector<std::uint64_t> sizes_bytes;
  sizes_bytes.reserve(sized.size());
  for (const Sized& one : sized) {
    sizes_bytes.push_back(one.bytes);
  }
  std::sort(sizes_bytes.begin(), sizes_bytes.end());
  row.bytes = sizes_bytes[(sizes_bytes.size() - 1) / 2];
  row.bytes_min = sizes_bytes.front();
  row.bytes_max = sizes_bytes.back();
}

using Which = std::optional<double> Bandwidth::*;

// The longest time makes the least bandwidth. A time that may be 0 leaves the most open.
std::optional<Figure> bandwidth_figure(std::string_view function, std::uint64_t bytes,
                                       std::uint32_t ranks, const Figure& time_ns, Which which) {
  const auto least = bandwidth(function, bytes, ranks, time_ns.most).*which;
  const auto best = bandwidth(function, bytes, ranks, time_ns.best).*which;
  const auto most = bandwidth(function, bytes, ranks, time_ns.least).*which;
  if (!least || !best) {
    return std::nullopt;
  }
  return Figure{*least, *best, most.value_or(std::numeric_limits<double>::infinity())};
}

// The median over operations of each one's own bandwidth: a time says nothing without its size.
std::optional<Figure> median_bandwidth(std::string_view function, const std::vector<Sized>& sized,
                                       std::uint32_t ranks, Which which) {
  std::vector<double> least;
  std::vector<double> best;
  std::vector<double> most;
  for (const Sized& one : sized) {
    if (!one.busy) {
      continue;
    }
    const Figure time_ns{static_cast<double>(one.busy->least_ns),
                         static_cast<double>(one.best_busy_ns),
                         static_cast<double>(one.busy->most_ns)};
    if (const auto figure = bandwidth_figure(function, one.bytes, ranks, time_ns, which)) {
      least.push_back(figure->least);
      best.push_back(figure->best);
      most.push_back(figure->most);
    }
  }
  if (least.empty()) {
    return std::nullopt;
  }
  return Figure{*median_of(std::move(least)), *median_of(std::move(best)),
                *median_of(std::move(most))};
}

std::optional<Figure> over(const std::optional<double>& of_1_ns, const Figure& time_ns) {
  if (!of_1_ns || time_ns.best <= 0) {
    return std::nullopt;
  }
  const auto at = [&](double time) {
    return time > 0 ? *of_1_ns / time : std::numeric_limits<double>::infinity();
  };
  return Figure{at(time_ns.most), at(time_ns.best), at(time_ns.least)};
}

void find_bandwidth(const match::Communicator& communicator, const std::vector<Sized>& sized,
                    Row& row) {
  // One rank by itself says nothing of how many there are: what depends on that is left out.
  const std::uint32_t ranks =
      !communicator.why_alone.empty() && communicator.nranks_inferred ? 1 : row.ranks;
  const auto figure = [&](Which which) {
    return sized.empty()
               ? bandwidth_figure(row.function, *row.bytes, ranks, row.busy->median, which)
               : median_bandwidth(row.function, sized, ranks, which);
  };
  row.algbw_gb_s = figure(&Bandwidth::algbw_gb_s);
  row.busbw_gb_s = figure(&Bandwidth::busbw_gb_s);
  row.nominal_gb_s = figure(&Bandwidth::nominal_gb_s);
  row.algbw_inferred = row.ranks_inferred && size_depends_on_ranks(row.function);
  row.busbw_inferred = row.ranks_inferred && busbw_depends_on_ranks(row.function);
}

// If most operations are unbroken repeats, the time of each is that of a turn: from the end of the
// operation before to its own end. nccl-tests counts the launch in between, too.
void take_turns(std::vector<std::pair<std::int64_t, std::uint64_t>> repeats, Row& row) {
  std::uint64_t count = 0;
  for (const auto& [turn_ns, operations] : repeats) {
    count += operations;
  }
  if (!row.busy || !row.wall || count <= row.count / 2) {
    return;
  }
  std::sort(repeats.begin(), repeats.end());
  std::uint64_t before = 0;
  const auto middle = std::find_if(repeats.begin(), repeats.end(), [&](const auto& one) {
    before += one.second;
    return 2 * before >= count;
  });
  const auto turn_ns = static_cast<double>(middle->first);
  for (Spread* const spread : {&*row.busy, &*row.wall}) {
    spread->median = {turn_ns, turn_ns, turn_ns};
    for (Figure Spread::*const which : {&Spread::p90, &Spread::p99, &Spread::max}) {
      Figure& figure = (*spread).*which;
      figure = {std::max(figure.least, turn_ns), std::max(figure.best, turn_ns),
                std::max(figure.most, turn_ns)};
    }
  }
  for (Figure Spread::*const which : {&Spread::median, &Spread::p90, &Spread::p99, &Spread::max}) {
    Figure& wait = (*row.wait).*which;
    wait.best = std::min(wait.best, ((*row.wall).*which).best);
    wait.least = std::min(wait.least, wait.best);
  }
}

Row finish_row(const RowKey& key, const match::Communicator& communicator, RowSums&& sums) {
  Row row = std::move(sums.row);
  row.by = key.by;
  row.function = key.function;
  row.bytes = row.bytes_min = row.bytes_max = key.bytes;
  sum_up_sizes(sums.sized, row);
  row.datatype = key.datatype;
  row.algorithm = key.algorithm;
  row.protocol = key.protocol;
  row.times_from = key.times_from;
  const auto [busy, wall, wait] = sums.times.spreads();
  row.busy = busy;
  row.wall = wall;
  row.wait = wait;
  row.waited_ns = sums.times.waited_ns();
  take_turns(std::move(sums.repeats), row);
  if (sums.of_group && row.busy) {
    row.algbw_gb_s = over(sums.of_group->algbw_of_1_ns, row.busy->median);
    row.busbw_gb_s = over(sums.of_group->busbw_of_1_ns, row.busy->median);
    row.nominal_gb_s = over(sums.of_group->nominal_of_1_ns, row.busy->median);
  } else if (!key.is_group && model::tells_execution(key.times_from) && row.bytes && row.busy) {
    find_bandwidth(communicator, sums.sized, row);
  }
  return row;
}

}  // namespace

void RowSums::take_times(RowSums&& other) {
  row.on_some_ranks += other.row.on_some_ranks;
  row.excluded += other.row.excluded;
  times.take(std::move(other.times));
  sized.insert(sized.end(), other.sized.begin(), other.sized.end());
  repeats.insert(repeats.end(), other.repeats.begin(), other.repeats.end());
}

std::vector<CommunicatorRows> finish_rows(const match::Matches& matches, SummedRows&& sums) {
  std::vector<CommunicatorRows> finished = std::move(sums.communicators);
  for (auto& [key, row] : sums.rows) {
    finished[key.communicator].rows.push_back(
        finish_row(key, matches.communicators[key.communicator], std::move(row)));
  }
  return finished;
}

}  // namespace ringside::metrics
