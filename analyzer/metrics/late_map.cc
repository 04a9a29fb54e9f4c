// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/late_map.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "analyzer/metrics/global_ranks.h"
#include "analyzer/model/saturating.h"

namespace ringside::metrics {
namespace {

using LateTable = LateWaits::mapped_type;

using Cells = std::map<std::uint32_t, std::vector<std::int64_t>>;  // by rank

void add_to(Cells& cells, std::uint32_t rank, std::size_t column, std::size_t columns,
            std::int64_t waited_ns) {
  auto& row = cells[rank];
  row.resize(columns);
  row[column] = add_saturating(row[column], waited_ns);
}

std::int64_t sum_of(const std::vector<std::int64_t>& values) {
  std::int64_t sum = 0;
  for (const std::int64_t value : values) {
    sum = add_saturating(sum, value);
  }
  return sum;
}

void add_rows(const model::Traces& traces, const GlobalRanks& who, Cells& cells, LateMap& map) {
  for (auto& [rank, values] : cells) {
    const GlobalRank& one = who.all()[rank];
    const std::int64_t caused_wait_ns = sum_of(values);
    map.rows.push_back(
        {one.label, traces.files[one.file].process.host, 1, caused_wait_ns, std::move(values)});
  }
  std::stable_sort(map.rows.begin(), map.rows.end(), [](const LateRow& a, const LateRow& b) {
    return a.caused_wait_ns > b.caused_wait_ns;
  });
  if (map.rows.size() <= kLateRows + 1) {
    return;
  }
  LateRow others{"", "", 0, 0, std::vector<std::int64_t>(map.columns.size())};
  for (std::size_t i = kLateRows; i < map.rows.size(); ++i) {
    ++others.ranks;
    others.caused_wait_ns = add_saturating(others.caused_wait_ns, map.rows[i].caused_wait_ns);
    for (std::size_t column = 0; column < others.cells_ns.size(); ++column) {
      others.cells_ns[column] =
          add_saturating(others.cells_ns[column], map.rows[i].cells_ns[column]);
    }
  }
  map.rows.resize(kLateRows);
  map.rows.push_back(std::move(others));
}

std::int64_t start_of(const RunIterations& run, std::size_t iteration) {
  return subtract_saturating(run.iterations[iteration].start_ns, run.iterations.front().start_ns);
}

// From the start of an iteration to that of the one so many later; the last ends by itself. 0 where
// that is not known.
std::int64_t duration_of(const RunIterations& run, std::size_t first, std::size_t count) {
  const std::size_t last = std::min(first + count, run.iterations.size()) - 1;
  const bool is_last = last + 1 == run.iterations.size();
  if (is_last && !run.iterations[last].duration_ns) {
    return 0;
  }
  const std::int64_t end_ns =
      is_last ? add_saturating(start_of(run, last), *run.iterations[last].duration_ns)
              : start_of(run, last + 1);
  return std::max<std::int64_t>(subtract_saturating(end_ns, start_of(run, first)), 0);
}

// Empty if nobody waited in any of the iterations.
LateMap by_iteration(const model::Traces& traces, const GlobalRanks& who,
                     const RunIterations& run) {
  LateMap map;
  map.run = run.run;
  map.has_iterations = true;
  const std::size_t count = run.iterations.size();
  const std::size_t per_column = (count + kLateColumns - 1) / kLateColumns;
  const std::size_t columns = per_column == 0 ? 0 : (count + per_column - 1) / per_column;
  Cells cells;
  for (std::size_t i = 0; i < count; ++i) {
    if (i % per_column == 0) {
      map.columns.push_back({i + 1, std::min(i + per_column, count), start_of(run, i),
                             duration_of(run, i, per_column), 0, 0});
    }
    map.columns.back().operations += run.iterations[i].synchronising;
    map.columns.back().decided += run.iterations[i].decided;
    for (const WaitedFor& one : run.iterations[i].waited_for) {
      add_to(cells, one.rank, i / per_column, columns, one.waited_ns);
    }
  }
  add_rows(traces, who, cells, map);
  return map;
}

LateMap by_time(const model::Traces& traces, const GlobalRanks& who, std::uint32_t run,
                const LateTable& waits) {
  LateMap map;
  map.run = run;
  std::int64_t zero_ns = std::numeric_limits<std::int64_t>::max();
  std::int64_t last_ns = std::numeric_limits<std::int64_t>::min();
  for (std::size_t i = 0; i < waits.size(); ++i) {
    const std::int64_t at_ns = waits.at<1>(i);
    zero_ns = std::min(zero_ns, at_ns);
    last_ns = std::max(last_ns, at_ns);
  }
  const std::int64_t length_ns = std::max<std::int64_t>(subtract_saturating(last_ns, zero_ns), 0);
  const std::int64_t width_ns = length_ns / static_cast<std::int64_t>(kLateColumns) + 1;
  const auto column_at = [&](std::int64_t at_ns) {
    return static_cast<std::size_t>(std::min(subtract_saturating(at_ns, zero_ns), length_ns) /
                                    width_ns);
  };
  const std::size_t columns = column_at(last_ns) + 1;
  for (std::size_t i = 0; i < columns; ++i) {
    map.columns.push_back(
        {0, 0, static_cast<std::int64_t>(i) * width_ns, length_ns > 0 ? width_ns : 0, 0, 0});
  }
  Cells cells;
  for (std::size_t i = 0; i < waits.size(); ++i) {
    const auto [rank, at_ns, waited_ns, is_first] = waits.first(i);
    LateColumn& column = map.columns[column_at(at_ns)];
    column.operations += is_first != 0 ? 1 : 0;
    if (rank != LateTable::kAbsent) {
      column.decided += is_first != 0 ? 1 : 0;
      add_to(cells, static_cast<std::uint32_t>(rank), column_at(at_ns), columns, waited_ns);
    }
  }
  add_rows(traces, who, cells, map);
  return map;
}

std::uint64_t count_ranks(const match::Matches& matches, const GlobalRanks& who,
                          std::uint32_t run) {
  std::set<std::uint32_t> ranks;
  for (std::uint32_t c = 0; c < matches.communicators.size(); ++c) {
    for (std::uint32_t member = 0;
         matches.communicators[c].run == run && member < matches.communicators[c].members.size();
         ++member) {
      ranks.insert(who.of(c, member));
    }
  }
  return ranks.size();
}

}  // namespace

LateWaits find_late_waits(const facts::Facts& facts, const std::vector<std::uint32_t>& but) {
  const match::Matches& matches = facts.matches();
  const GlobalRanks who(facts.traces(), matches);
  LateWaits waits;
  std::vector<std::uint32_t> wanted;
  for (std::uint32_t i = 0; i < matches.operations.size(); ++i) {
    const match::MatchedOperation& operation = matches.operations[i];
    const std::uint32_t run = matches.communicators[operation.communicator].run;
    if (std::find(but.begin(), but.end(), run) == but.end() &&
        match::ranks_expected(matches, operation) >= 2) {
      wanted.push_back(i);
    }
  }
  facts.ranks_of_each(wanted, [&](std::size_t, const facts::SeenOperation& seen) {
    const facts::OperationFacts& known = seen.facts;
    if (!known.has_all_ranks || known.is_impossible) {
      return;
    }
    const std::uint32_t communicator = matches.operations[seen.index].communicator;
    std::map<std::uint32_t, std::int64_t> of_rank;  // what others waited for it
    for (const facts::RankTimes& row : seen.rows) {
      if (row.waits_for != facts::RankTimes::kNobody) {
        std::int64_t& waited_ns = of_rank[who.of(communicator, seen.rows[row.waits_for].member)];
        waited_ns = add_saturating(waited_ns, row.best_wait_ns);
      }
    }
    LateTable& here = waits[matches.communicators[communicator].run];
    if (of_rank.empty()) {
      here.push_back({LateTable::kAbsent, known.last_arrival_ns, 0, 1});
    }
    std::int64_t is_first = 1;
    for (const auto& [rank, waited_ns] : of_rank) {
      here.push_back({rank, known.last_arrival_ns, waited_ns, std::exchange(is_first, 0)});
    }
  });
  return waits;
}

std::vector<LateMap> find_late_maps(
    const model::Traces& traces, const match::Matches& matches,
    const std::vector<RunIterations>& runs,
    const std::function<LateWaits(const std::vector<std::uint32_t>& but)>& find) {
  const GlobalRanks who(traces, matches);
  std::map<std::uint32_t, LateMap> maps;  // by run
  const auto keep = [&](LateMap map) {
    if (!map.rows.empty()) {
      map.ranks = count_ranks(matches, who, map.run);
      maps.emplace(map.run, std::move(map));
    }
  };
  for (const RunIterations& run : runs) {
    keep(by_iteration(traces, who, run));
  }
  std::vector<std::uint32_t> have_maps;
  have_maps.reserve(maps.size());
  for (const auto& [run, map] : maps) {
    have_maps.push_back(run);
  }
  for (const auto& [run, waits] : find(have_maps)) {
    keep(by_time(traces, who, run, waits));
  }
  std::vector<LateMap> in_order;
  in_order.reserve(maps.size());
  for (auto& [run, map] : maps) {
    in_order.push_back(std::move(map));
  }
  return in_order;
}

std::vector<LateMap> find_late_maps(const facts::Facts& facts,
                                    const std::vector<RunIterations>& runs) {
  return find_late_maps(
      facts.traces(), facts.matches(), runs,
      [&](const std::vector<std::uint32_t>& but) { return find_late_waits(facts, but); });
}

}  // namespace ringside::metrics
