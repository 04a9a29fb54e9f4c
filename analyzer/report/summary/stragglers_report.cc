// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/summary/stragglers_report.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "analyzer/metrics/rows/rows.h"
#include "analyzer/model/nth_value.h"
#include "analyzer/model/saturating.h"
#include "analyzer/report/document/columns.h"
#include "analyzer/report/document/numbers.h"
#include "analyzer/report/document/slow_text.h"
#include "analyzer/report/summary/summary.h"

namespace ringside::report {
namespace {

using replay::Replays;
using replay::RunReplay;
using replay::Slow;

// What the verdict rests on: its own time and waiting against those of the others.
std::string evidence(const RunReplay& run) {
  const Slow& worst = *run.slow().worst;
  if (worst.ranks.size() != 1) {
    return {};
  }
  const std::uint32_t rank = worst.ranks.front();
  std::vector<std::int64_t> waited_ns;
  for (std::uint32_t i = 0; i < run.ranks().size(); ++i) {
    if (i != rank) {
      waited_ns.push_back(run.ranks()[i].waited_ns);
    }
  }
  const replay::RankFigures& own = run.ranks()[rank];
  return "It waited " + human_duration(own.waited_ns) + " for the others, which waited " +
         human_duration(model::upper_median(waited_ns)) + " each (median)" +
         (own.own_ratio ? "; between its operations it took " + fixed(*own.own_ratio, 2) +
                              " times as long as they did."
                        : ".");
}

std::vector<std::uint32_t> by_cost(const RunReplay& run) {
  std::vector<std::uint32_t> order(run.ranks().size());
  std::iota(order.begin(), order.end(), 0);
  const auto cost = [&](std::uint32_t rank) {
    const std::optional<Slow>& slow = run.slow().ranks[rank];
    return slow ? slow->cost.best : -1;
  };
  std::stable_sort(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) {
    return cost(a) != cost(b) ? cost(a) > cost(b)
                              : run.ranks()[a].waited_ns < run.ranks()[b].waited_ns;
  });
  return order;
}

Table worst_table() {
  return {"slow",
          "Who slows the job",
          {{"run", "run", Shown::kNot},
           {"who", "who"},
           {"group", "group", Shown::kNot},
           {"ranks", "ranks", Shown::kNot},
           {"cost_percent", "costs", Shown::kNumber, "% of wall time", 1},
           {"cost_least_percent", "at least", Shown::kNumber, "%", 1},
           {"cost_most_percent", "at most", Shown::kNumber, "%", 1},
           {"slow_iterations", "slow in", Shown::kInteger, "iterations"},
           {"iterations", "of", Shown::kInteger},
           {"first_slow_iteration", "first", Shown::kInteger}},
          {}};
}

void add_worst(const RunReplay& run, Table& table) {
  const Slow& slow = *run.slow().worst;
  const replay::Job& job = run.job();
  std::vector<std::string> labels;
  for (const std::uint32_t rank : slow.ranks) {
    labels.push_back(job.ranks[rank].label);
  }
  constexpr const char* kGroups[] = {"rank", "host", "role", "several"};
  table.rows.push_back({std::uint64_t{job.run} + 1, names_of(slow, job),
                        std::string(kGroups[static_cast<std::size_t>(slow.group)]),
                        cell_of_ranks(labels), 100 * slow.cost.best, 100 * slow.cost.least,
                        100 * slow.cost.most, std::uint64_t{slow.slow_iterations},
                        std::uint64_t{slow.iterations}, std::uint64_t{slow.first_slow} + 1});
}

Table ranks_table(const Replays& replays) {
  Table table{"ranks",
              "Ranks, by what they cost by themselves",
              {{"run", "run", replays.runs.size() > 1 ? Shown::kInteger : Shown::kNot},
               {"rank", "rank", Shown::kRank},
               {"host", "host"},
               {"pid", "pid", Shown::kInteger},
               {"is_straggler", "slow"},
               {"cost_percent", "costs", Shown::kNumber, "% of wall time", 1},
               {"cost_least_percent", "at least", Shown::kNot, "%", 1},
               {"cost_most_percent", "at most", Shown::kNot, "%", 1},
               {"own_ns", "own time", Shown::kDuration},
               {"own_ratio", "of the others'", Shown::kNumber},
               {"waited_ns", "waited", Shown::kDuration},
               {"waited_percent", "waiting", Shown::kNumber, "% of wall time", 1},
               {"kernels", "operations", Shown::kInteger}},
              {}};
  table.gives_way = {"pid", "is_straggler", "kernels", "own_ns", "waited_ns", "host"};
  for (const auto& run : replays.runs) {
    const replay::Job& job = run->job();
    const auto wall_ns = static_cast<double>(std::max<std::int64_t>(job.wall_ns, 1));
    for (const std::uint32_t rank : by_cost(*run)) {
      const replay::JobRank& one = job.ranks[rank];
      const replay::RankFigures& own = run->ranks()[rank];
      const std::optional<Slow>& slow = run->slow().ranks[rank];
      const std::optional<Slow>& worst = run->slow().worst;
      const bool is_named =
          worst && std::find(worst->ranks.begin(), worst->ranks.end(), rank) != worst->ranks.end();
      const auto cost = [&](double replay::Cost::*part) {
        return slow ? Cell(100 * (slow->cost.*part)) : Cell();
      };
      table.rows.push_back({std::uint64_t{job.run} + 1, one.label, one.host, one.pid, is_named,
                            cost(&replay::Cost::best), cost(&replay::Cost::least),
                            cost(&replay::Cost::most), own.own_ns, cell_of(own.own_ratio),
                            own.waited_ns, 100 * static_cast<double>(own.waited_ns) / wall_ns,
                            std::uint64_t{one.kernel_count}});
    }
  }
  return table;
}

// What was waited in the operations of one line of the program, or whatever they are grouped by.
struct Waited {
  std::uint64_t kernels = 0;
  std::int64_t waited_ns = 0;
};
using GroupKey = std::pair<std::string, std::string>;  // group, function

std::vector<std::pair<GroupKey, Waited>> waited_by_group(const Replays& replays,
                                                         const model::Traces& traces,
                                                         const match::Matches& matches,
                                                         const metrics::Grouping& grouping) {
  std::vector<Waited> by_operation(matches.operations.size());
  for (const auto& run : replays.runs) {
    const replay::Job& job = run->job();
    for (const replay::JobRank& rank : job.ranks) {
      for (const replay::Kernel& kernel : job.kernels_of(rank)) {
        ++by_operation[kernel.operation].kernels;
      }
      for (const replay::Kernel& kernel : job.waits_of(rank)) {
        std::int64_t& sum_ns = by_operation[kernel.operation].waited_ns;
        sum_ns = add_saturating(sum_ns, kernel.waited_ns);
      }
    }
  }
  std::map<GroupKey, Waited> sums;
  for (std::size_t i = 0; i < by_operation.size(); ++i) {
    if (by_operation[i].kernels > 0) {
      const match::MatchedOperation& one = matches.operations[i];
      Waited& sum = sums[{grouping.text_of(grouping.group_of(one)),
                          std::string(metrics::function_of(traces, one))}];
      sum.kernels += by_operation[i].kernels;
      sum.waited_ns = add_saturating(sum.waited_ns, by_operation[i].waited_ns);
    }
  }
  std::vector<std::pair<GroupKey, Waited>> groups(sums.begin(), sums.end());
  std::stable_sort(groups.begin(), groups.end(), [](const auto& a, const auto& b) {
    return a.second.waited_ns > b.second.waited_ns;
  });
  return groups;
}

Table groups_table(metrics::RowsBy by, const std::vector<std::pair<GroupKey, Waited>>& groups,
                   std::int64_t all_ns) {
  const auto [key, title] = [&]() -> std::pair<const char*, const char*> {
    switch (by) {
      case metrics::RowsBy::kRange:
        return {"ranges", "Ranges of the application, by the waiting in what was called there"};
      case metrics::RowsBy::kUserTag:
        return {"user_tags", "User tags of NCCL, by the waiting in the calls that have them"};
      default:
        return {"callers", "Lines of the program, by the waiting in what they called"};
    }
  }();
  return table_of(
      key, title, groups,
      {{group_column(by), [by](auto& one) { return group_cell(by, one.first.first); }},
       {"function", "function", [](auto& one) { return one.first.second; }},
       {"kernels", "operations", Shown::kInteger, "of ranks",
        [](auto& one) { return one.second.kernels; }},
       {"waited_ns", "waited", Shown::kDuration, [](auto& one) { return one.second.waited_ns; }},
       {"wait_share_percent", "waiting", Shown::kNumber, "% of all",
        [&](auto& one) { return percent_of(one.second.waited_ns, all_ns); }}});
}

}  // namespace

Document stragglers_document(const Replays& replays) {
  Document document{"stragglers"};
  Table worst = worst_table();
  std::int64_t waited_ns = 0;
  double all_ns = 0;
  for (const auto& run : replays.runs) {
    waited_ns = add_saturating(waited_ns, run->waited_ns());
    all_ns +=
        static_cast<double>(run->job().wall_ns) * static_cast<double>(run->job().ranks.size());
    std::optional<Finding> finding = slow_finding(*run);
    if (!finding) {
      continue;
    }
    if (replays.runs.size() > 1) {
      finding->text = "run " + std::to_string(run->job().run + 1) + ": " + finding->text;
    }
    document.sentences.push_back(finding->text + ".");
    document.findings.push_back(*std::move(finding));
    if (run->slow().worst) {
      if (const std::string why = evidence(*run); !why.empty()) {
        document.sentences.push_back(why);
      }
      add_worst(*run, worst);
    }
  }
  std::string unseen = unseen_sentence(replays);
  document.is_open = is_open(replays);
  if (document.findings.empty()) {
    const std::string nobody = !unseen.empty()        ? std::exchange(unseen, {})
                               : replays.runs.empty() ? "nothing was seen of who slows the job"
                                                      : nobody_sentence(*replays.runs.front());
    document.sentences.push_back(capitalised(nobody) + ".");
  }
  if (waited_ns > 0) {
    document.sentences.push_back(
        "All ranks together waited " + human_duration(waited_ns) + " of GPU time for each other, " +
        percent_text(static_cast<double>(waited_ns) / all_ns) + " of their time.");
  }
  if (!worst.rows.empty()) {
    document.tables.push_back(std::move(worst));
  }
  document.tables.push_back(ranks_table(replays));
  if (!unseen.empty()) {
    document.notes.push_back(unseen);
  }
  const replay::Coverage all = replays.all_coverage();
  document.notes.push_back(
      "all ranks were seen to run " + std::to_string(all.seen) + " of " +
      counted(all.operations, "operation of several ranks", "operations of several ranks") +
      (all.at_edges == 0 ? ""
                         : "; " + counted(all.at_edges, "more operation") +
                               " before or behind what the profiles of all ranks recorded " +
                               (all.at_edges == 1 ? "is" : "are") + " left out"));
  return document;
}

void add_waits_by(const Replays& replays, const model::Traces& traces,
                  const match::Matches& matches, metrics::RowsBy by, Document& document) {
  const auto groups =
      waited_by_group(replays, traces, matches, metrics::Grouping(traces, matches, by));
  if (std::all_of(groups.begin(), groups.end(),
                  [](const auto& one) { return one.first.first.empty(); })) {
    return;
  }
  std::int64_t waited_ns = 0;
  for (const auto& run : replays.runs) {
    waited_ns = add_saturating(waited_ns, run->waited_ns());
  }
  const auto& [group, function] = groups.front().first;
  if (waited_ns > 0 && !group.empty()) {
    const bool is_line = by == metrics::RowsBy::kCaller;
    document.sentences.push_back(
        function + (is_line ? " from " : std::string(" of ") + group_column(by).title + ' ') +
        group + ": " + fixed(percent_of(groups.front().second.waited_ns, waited_ns), 0) +
        " % of all waiting.");
  }
  document.tables.push_back(groups_table(by, groups, waited_ns));
}

}  // namespace ringside::report
