// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/time_report.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "analyzer/match/describe.h"
#include "analyzer/metrics/rows.h"
#include "analyzer/model/saturating.h"
#include "analyzer/report/numbers.h"
#include "analyzer/report/summary.h"

namespace ringside::report {
namespace {

using metrics::Spent;

double percent(std::int64_t part_ns, std::int64_t whole_ns) {
  return whole_ns > 0 ? 100 * static_cast<double>(part_ns) / static_cast<double>(whole_ns) : 0;
}

Table overlap_table(const metrics::Overlap& overlap) {
  Table table{"ranks",
              "Time in operations, by rank",
              {{"rank", "rank"},
               {"host", "host"},
               {"operations", "operations", Shown::kInteger},
               {"span_ns", "from first to last", Shown::kDuration},
               {"busy_ns", "communicating", Shown::kDuration},
               {"busy_percent", "of that", Shown::kNumber, "%", 1},
               {"waiting_ns", "waiting", Shown::kDuration},
               {"waiting_least_ns", "at least", Shown::kDuration},
               {"waiting_most_ns", "at most", Shown::kDuration},
               {"waiting_unknown", "not known", Shown::kInteger, "operations"},
               {"together_ns", "two at once", Shown::kDuration},
               {"summed_ns", "summed", Shown::kDuration},
               {"without_times", "no times", Shown::kInteger}},
              {}};
  table.gives_way = {
      "without_times", "summed_ns", "waiting_least_ns", "waiting_most_ns", "waiting_unknown",
      "span_ns",       "host",      "operations"};
  for (const metrics::RankOverlap& rank : overlap.ranks) {
    const bool has_times = rank.operations == 0 || rank.without_times < rank.operations;
    const auto known = [&](auto value) { return has_times ? Cell(value) : Cell(); };
    table.rows.push_back({rank.label, rank.host, rank.operations, known(rank.span_ns),
                          known(rank.busy_ns), known(percent(rank.busy_ns, rank.span_ns)),
                          rank.knows_waiting() ? known(rank.waiting_ns) : Cell(),
                          known(rank.waiting_least_ns), known(rank.waiting_most_ns),
                          known(rank.waiting_unknown), known(rank.together_ns),
                          known(rank.summed_ns), rank.without_times});
  }
  return table;
}

std::string waiting_text(const metrics::RankOverlap& all) {
  const std::string bounds =
      human_duration(all.waiting_least_ns) + " to " + human_duration(all.waiting_most_ns);
  return all.knows_waiting() ? "in " + human_duration(all.waiting_ns) + " (" + bounds +
                                   ") they waited for other ranks"
                             : "they waited for other ranks in " + bounds + " of it";
}

Table kinds_table(const metrics::CriticalPath& path, const model::Traces& traces,
                  const match::Matches& matches, metrics::RowsBy by) {
  using Kind = std::tuple<std::string, std::string, std::uint64_t, std::string>;
  struct Sum {
    std::uint64_t times = 0;
    std::int64_t spent_ns = 0;
  };
  std::map<Kind, Sum> sums;
  for (const metrics::PathPart& part : path.parts) {
    if (part.spent != Spent::kTransfer) {
      continue;
    }
    const metrics::PathOperation& operation = path.described.at(part.operation);
    Sum& sum = sums[{label_of(matches.communicators[operation.matched.communicator]),
                     std::string(metrics::function_of(traces, operation.matched)),
                     operation.bytes.value_or(0), operation.group}];
    ++sum.times;
    sum.spent_ns += part.end_ns - part.start_ns;
  }
  std::vector<std::pair<Kind, Sum>> sorted(sums.begin(), sums.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    return a.second.spent_ns > b.second.spent_ns;
  });
  Table table{"operations",
              "Operations on the path",
              {{"communicator", "communicator"},
               {"function", "function"},
               {"bytes", "size", Shown::kBytes},
               {"times", "times", Shown::kInteger},
               {"spent_ns", "time", Shown::kDuration},
               {"spent_percent", "of the path", Shown::kNumber, "%", 1}},
              {}};
  if (by != metrics::RowsBy::kKind) {
    table.columns.insert(table.columns.begin(), {column_of(by), title_of(by)});
  }
  for (const auto& [kind, sum] : sorted) {
    std::vector<Cell>& cells = table.rows.emplace_back();
    if (by != metrics::RowsBy::kKind) {
      cells.push_back(group_cell(by, std::get<3>(kind)));
    }
    cells.insert(cells.end(), {std::get<0>(kind), std::get<1>(kind), std::get<2>(kind), sum.times,
                               sum.spent_ns, percent(sum.spent_ns, path.length_ns)});
  }
  return table;
}

Table parts_table(const metrics::CriticalPath& path, const model::Traces& traces,
                  const match::Matches& matches) {
  std::vector<const metrics::PathPart*> longest;
  for (const metrics::PathPart& part : path.parts) {
    longest.push_back(&part);
  }
  std::stable_sort(longest.begin(), longest.end(),
                   [](const metrics::PathPart* a, const metrics::PathPart* b) {
                     return a->end_ns - a->start_ns > b->end_ns - b->start_ns;
                   });
  Table table{"longest",
              "Its longest parts",
              {{"start_ns", "at", Shown::kMoment, "UTC"},
               {"duration_ns", "time", Shown::kDuration},
               {"spent", "spent on"},
               {"rank", "rank"},
               {"operation", "operation"},
               {"communicator", "communicator"}},
              {}};
  constexpr const char* kSpent[] = {"transfer", "launch", "other work on the stream",
                                    "before the call"};
  for (const metrics::PathPart* part : longest) {
    const match::MatchedOperation& operation = path.described.at(part->operation).matched;
    table.rows.push_back({part->start_ns, part->end_ns - part->start_ns,
                          std::string(kSpent[static_cast<std::size_t>(part->spent)]),
                          path.ranks[part->rank].label, match::operation_text(traces, operation),
                          label_of(matches.communicators[operation.communicator])});
  }
  return table;
}

Table ranks_table(const metrics::CriticalPath& path) {
  Table table{"ranks",
              "Ranks, by their time on the path",
              {{"rank", "rank"},
               {"host", "host"},
               {"arrivals", "last to come", Shown::kInteger},
               {"application_ns", "before its calls", Shown::kDuration},
               {"stream_ns", "other work on the stream", Shown::kDuration},
               {"launch_ns", "launch", Shown::kDuration},
               {"transfer_ns", "transfer", Shown::kDuration},
               {"gain_ns", "gain without", Shown::kDuration},
               {"gain_percent", "of the path", Shown::kNumber, "%", 1}},
              {}};
  table.gives_way = {"launch_ns", "stream_ns", "arrivals", "host", "transfer_ns"};
  for (const metrics::RankOnPath& rank : path.ranks) {
    const auto spent = [&](Spent kind) { return rank.spent_ns[static_cast<std::size_t>(kind)]; };
    table.rows.push_back({rank.label, rank.host, rank.arrivals, spent(Spent::kApplication),
                          spent(Spent::kStream), spent(Spent::kLaunch), spent(Spent::kTransfer),
                          rank.gain_ns, percent(rank.gain_ns, path.length_ns)});
  }
  return table;
}

}  // namespace

Document overlap_document(const metrics::Overlap& overlap, const match::Matches& matches) {
  Document document;
  document.command = "overlap";
  metrics::RankOverlap all;
  for (const metrics::RankOverlap& rank : overlap.ranks) {
    all.operations += rank.operations;
    all.without_times += rank.without_times;
    all.span_ns = add_saturating(all.span_ns, rank.span_ns);
    all.busy_ns = add_saturating(all.busy_ns, rank.busy_ns);
    all.together_ns = add_saturating(all.together_ns, rank.together_ns);
    all.waiting_ns = add_saturating(all.waiting_ns, rank.waiting_ns);
    all.waiting_least_ns = add_saturating(all.waiting_least_ns, rank.waiting_least_ns);
    all.waiting_most_ns = add_saturating(all.waiting_most_ns, rank.waiting_most_ns);
    all.waiting_unknown += rank.waiting_unknown;
  }
  if (all.busy_ns == 0) {
    document.sentences.push_back("No operation has known times of execution: nothing can be said.");
  } else {
    document.sentences.push_back(
        std::string("Over all ranks, ") +
        (all.without_times > 0 ? "as far as times are known, " : "") + "operations ran in " +
        human_duration(all.busy_ns) + " of " + human_duration(all.span_ns) + " (" +
        fixed(percent(all.busy_ns, all.span_ns), 1) + " %); " + waiting_text(all) + ", and in " +
        human_duration(all.together_ns) + " those of several communicators ran at once.");
  }
  document.tables.push_back(overlap_table(overlap));
  Table pairs{"pairs",
              "Communicators at the same time, over all ranks",
              {{"first", "communicator"},
               {"second", "and"},
               {"together_ns", "together", Shown::kDuration},
               {"first_percent", "of the first", Shown::kNumber, "%", 1},
               {"second_percent", "of the second", Shown::kNumber, "%", 1}},
              {}};
  const auto busy_ns = [&](std::uint32_t communicator) {
    const auto found = overlap.of_communicator.find(communicator);
    return found != overlap.of_communicator.end() ? found->second : 0;
  };
  for (const metrics::PairOverlap& pair : overlap.pairs) {
    pairs.rows.push_back({label_of(matches.communicators[pair.first]),
                          label_of(matches.communicators[pair.second]), pair.together_ns,
                          percent(pair.together_ns, busy_ns(pair.first)),
                          percent(pair.together_ns, busy_ns(pair.second))});
  }
  document.tables.push_back(std::move(pairs));
  document.notes.push_back(
      "what the GPU computes meanwhile is not in these traces: communication is exposed for at "
      "most "
      "the time that operations run");
  if (all.waiting_most_ns > 0) {
    document.notes.push_back(
        "waiting is at least and at most what the clocks, the stamps and the buffers on the way "
        "leave open; docs/metrics.md says who waits for whom in which function");
  }
  if (all.waiting_unknown > 0) {
    document.notes.push_back("in " + counted(all.waiting_unknown, "operation") +
                             " of a rank the times contradict each other: how long it waited is in "
                             "no figure");
  }
  if (all.without_times > 0) {
    document.notes.push_back("the times of " + counted(all.without_times, "operation") +
                             " of a rank are not known; they count nowhere");
  }
  return document;
}

Document critical_path_document(const metrics::CriticalPath& path, const model::Traces& traces,
                                const match::Matches& matches, metrics::RowsBy by) {
  Document document;
  document.command = "critical-path";
  if (path.operations == 0) {
    document.sentences.push_back(
        "No operation has known times of execution: there is no path to follow.");
    return document;
  }
  const auto spent = [&](Spent kind) { return path.spent_ns[static_cast<std::size_t>(kind)]; };
  const auto part = [&](Spent kind) {
    return human_duration(spent(kind)) + " (" + fixed(percent(spent(kind), path.length_ns), 1) +
           " %)";
  };
  document.sentences.push_back("The longest chain takes " + human_duration(path.length_ns) +
                               " over " + counted(path.operations, "operation") + ": " +
                               part(Spent::kTransfer) + " transfer, " + part(Spent::kLaunch) +
                               " from call to start, " + part(Spent::kStream) +
                               " other work on the stream, " + part(Spent::kApplication) +
                               " before calls, in the application.");
  const auto top = std::max_element(path.ranks.begin(), path.ranks.end(),
                                    [](const metrics::RankOnPath& a, const metrics::RankOnPath& b) {
                                      return a.gain_ns < b.gain_ns;
                                    });
  if (top->gain_ns > 0) {
    document.sentences.push_back(
        "If " + top->label + " (" + top->host + ") had come with the one before it " +
        (top->arrivals == 1 ? "the one time" : "each of the " + counted(top->arrivals, "time")) +
        " that it was the last, the path would be " + human_duration(top->gain_ns) + " shorter (" +
        fixed(percent(top->gain_ns, path.length_ns), 1) + " %).");
  }
  document.tables.push_back(ranks_table(path));
  document.tables.push_back(kinds_table(path, traces, matches, by));
  document.tables.push_back(parts_table(path, traces, matches));
  if (path.undecided > 0) {
    document.notes.push_back("in " + counted(path.undecided, "operation") +
                             " of the path it is not sure for which rank the others waited");
  }
  document.notes.push_back("a gain is an estimate: what comes later may hide a part of it");
  return document;
}

}  // namespace ringside::report
