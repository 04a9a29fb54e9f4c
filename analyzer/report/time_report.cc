// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/time_report.h"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "analyzer/metrics/rows/rows.h"
#include "analyzer/model/saturating.h"
#include "analyzer/report/document/columns.h"
#include "analyzer/report/document/numbers.h"
#include "analyzer/report/document/slow_text.h"
#include "analyzer/report/summary/summary.h"
#include "plugin/assemble/operation_name.h"

namespace ringside::report {
namespace {

using replay::Spent;

using Waits = std::map<std::pair<std::uint32_t, std::string>, std::int64_t>;

std::optional<std::int64_t> wait_of(const Waits& waits_ns, const metrics::RankOverlap& rank) {
  const auto known = waits_ns.find({rank.file, rank.label});
  return known == waits_ns.end() ? std::nullopt
                                 : std::optional(std::min(known->second, rank.busy_ns));
}

Table overlap_table(const metrics::Overlap& overlap, const Waits& waits_ns) {
  using Rank = metrics::RankOverlap;
  const auto known = [](auto value) {
    return [value](const Rank& rank) {
      const bool has_times = rank.operations == 0 || rank.without_times < rank.operations;
      return has_times ? cell_of(std::invoke(value, rank)) : Cell();
    };
  };
  return table_of("ranks", "Time in operations, by rank", overlap.ranks,
                  {{"rank", "rank", Shown::kRank, &Rank::label},
                   {"host", "host", &Rank::host},
                   {"operations", "operations", Shown::kInteger, &Rank::operations},
                   {"span_ns", "from first to last", Shown::kDuration, known(&Rank::span_ns)},
                   {"busy_ns", "communicating", Shown::kDuration, known(&Rank::busy_ns)},
                   {"busy_percent", "of that", Shown::kNumber, "%", 1,
                    known([](auto& rank) { return percent_of(rank.busy_ns, rank.span_ns); })},
                   {"waiting_ns", "waiting", Shown::kDuration,
                    known([&](const Rank& rank) { return wait_of(waits_ns, rank); })},
                   {"together_ns", "two at once", Shown::kDuration, known(&Rank::together_ns)},
                   {"summed_ns", "summed", Shown::kDuration, known(&Rank::summed_ns)},
                   {"without_times", "no times", Shown::kInteger, &Rank::without_times}},
                  {"without_times", "summed_ns", "span_ns", "host", "operations"});
}

Table kinds_table(const replay::CriticalPath& path, const replay::Job& job,
                  const model::Traces& traces, const match::Matches& matches,
                  const metrics::Grouping& grouping) {
  // By communicator first.
  using Kind = std::tuple<std::uint32_t, std::string, std::uint64_t, std::string>;
  struct Sum {
    std::uint64_t times = 0;
    std::int64_t spent_ns = 0;
  };
  std::map<Kind, Sum> sums;
  for (const replay::PathPart& part : path.parts) {
    if (part.spent == Spent::kTransfer) {
      const auto& operation = matches.operations[job.kernels[part.kernel].operation];
      const auto transfers = job.transfers_of(part.kernel);
      Sum& sum = sums[{operation.communicator, std::string(metrics::function_of(traces, operation)),
                       transfers.empty() ? 0 : job.transfers[transfers.front()].bytes,
                       grouping.text_of(grouping.group_of(operation))}];
      ++sum.times;
      sum.spent_ns = add_saturating(sum.spent_ns, part.time_ns);
    }
  }
  std::vector<std::pair<Kind, Sum>> sorted(sums.begin(), sums.end());
  std::stable_sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) {
    return a.second.spent_ns > b.second.spent_ns;
  });
  return table_of(
      "operations", "Operations on the path", sorted,
      {{group_column(grouping.by()),
        [&](auto& one) { return group_cell(grouping.by(), std::get<3>(one.first)); }},
       {"communicator", "communicator",
        [&](auto& one) { return label_of(matches.communicators[std::get<0>(one.first)]); }},
       {"function", "function", [](auto& one) { return std::get<1>(one.first); }},
       {"bytes", "size", Shown::kBytes, [](auto& one) { return std::get<2>(one.first); }},
       {"times", "times", Shown::kInteger, [](auto& one) { return one.second.times; }},
       {"spent_ns", "time", Shown::kDuration, [](auto& one) { return one.second.spent_ns; }},
       {"spent_percent", "of the path", Shown::kNumber, "%", 1,
        [&](auto& one) { return percent_of(one.second.spent_ns, path.length_ns); }}});
}

Table parts_table(const replay::CriticalPath& path, const replay::Job& job,
                  const model::Traces& traces, const match::Matches& matches,
                  const align::Alignment& alignment) {
  std::vector<replay::PathPart> longest = path.parts;
  std::stable_sort(
      longest.begin(), longest.end(),
      [](const replay::PathPart& a, const replay::PathPart& b) { return a.time_ns > b.time_ns; });
  const auto operation_of = [&](const replay::PathPart& part) -> const match::MatchedOperation& {
    return matches.operations[job.kernels[part.kernel].operation];
  };
  constexpr const char* kSpent[] = {"transfer", "before the call", "after the call"};
  return table_of(
      "longest", "Its longest parts", longest,
      {{"start_ns", "at", Shown::kMoment, "UTC",
        [&](auto& part) {
          const replay::Kernel& kernel = job.kernels[part.kernel];
          const std::int64_t start_ns =
              part.spent == Spent::kTransfer ? kernel.start_ns
              : part.spent == Spent::kAfterCall
                  ? kernel.start_ns - part.time_ns
                  : std::min(kernel.start_ns, kernel.call_ns) - part.time_ns;
          return alignment.to_common_ns(job.ranks[part.rank].file, start_ns);
        }},
       {"duration_ns", "time", Shown::kDuration, &replay::PathPart::time_ns},
       {"spent", "spent on",
        [&](auto& part) { return kSpent[static_cast<std::size_t>(part.spent)]; }},
       {"rank", "rank", Shown::kRank, [&](auto& part) { return job.ranks[part.rank].label; }},
       {"operation", "operation",
        [&](auto& part) {
          const match::MatchedOperation& one = operation_of(part);
          const std::string function(metrics::function_of(traces, one));
          return job.transfers_of(part.kernel).empty() ? function
                                                       : assemble::numbered(function, one.number);
        }},
       {"communicator", "communicator", [&](auto& part) {
          return label_of(matches.communicators[operation_of(part).communicator]);
        }}});
}

Table ranks_table(const replay::CriticalPath& path, const replay::RunReplay& run) {
  const auto all_of = [&](std::uint32_t rank) {
    return std::accumulate(path.of_rank_ns[rank].begin(), path.of_rank_ns[rank].end(),
                           std::int64_t{0}, add_saturating);
  };
  std::vector<std::uint32_t> order(path.of_rank_ns.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return all_of(a) > all_of(b); });
  const auto spent = [&](Spent kind) {
    return [&, kind](std::uint32_t rank) {
      return path.of_rank_ns[rank][static_cast<std::size_t>(kind)];
    };
  };
  return table_of(
      "ranks", "Ranks, by their time on the path", order,
      {{"rank", "rank", Shown::kRank, [&](auto rank) { return run.job().ranks[rank].label; }},
       {"host", "host", [&](auto rank) { return run.job().ranks[rank].host; }},
       {"before_call_ns", "before its calls", Shown::kDuration, spent(Spent::kBeforeCall)},
       {"after_call_ns", "after its calls", Shown::kDuration, spent(Spent::kAfterCall)},
       {"transfer_ns", "transfer", Shown::kDuration, spent(Spent::kTransfer)},
       {"path_percent", "of the path", Shown::kNumber, "%", 1,
        [&](auto rank) { return percent_of(all_of(rank), path.length_ns); }},
       {"cost_percent", "costs", Shown::kNumber, "% of wall time", 1,
        [&](auto rank) {
          const auto& slow = run.slow().ranks[rank];
          return slow ? Cell(100 * slow->cost.best) : Cell();
        }}},
      {"host", "transfer_ns"});
}

// Says how much of the communication is exposed, where profiles show it.
void add_exposed(const model::Traces& traces, const std::vector<match::KinetoFileJoin>& profiles,
                 Document& document) {
  std::vector<match::KinetoFileJoin const*> shown;
  std::int64_t communicating_ns = 0;
  std::int64_t exposed_ns = 0;
  const auto own_ns = [](const match::KinetoFileJoin* one) {
    return one->gpu.communicating_ns - one->gpu.both_ns;
  };
  for (const match::KinetoFileJoin& profile : profiles) {
    if (profile.gpu.communicating_ns > 0) {
      communicating_ns = add_saturating(communicating_ns, profile.gpu.communicating_ns);
      exposed_ns = add_saturating(exposed_ns, own_ns(&profile));
      shown.push_back(&profile);
    }
  }
  if (shown.empty()) {
    document.notes.push_back(
        "what the GPU computes meanwhile is not in these traces: communication is exposed for at "
        "most the time that operations run; --kineto PROFILES of the job shows it");
    return;
  }
  document.sentences.push_back("Of " + human_duration(communicating_ns) +
                               " of communication in the profiles, " + human_duration(exposed_ns) +
                               " (" + fixed(percent_of(exposed_ns, communicating_ns), 1) +
                               " %) are exposed: the GPU computed nothing meanwhile.");
  const auto process = [&](auto* one) -> auto& {
    return traces.files[one->file].process;
  };
  document.tables.push_back(table_of(
      "gpus", "GPUs, by traces of PyTorch's profiler", shown,
      {{"rank", "rank", Shown::kRank, [&](auto* one) { return process(one).launcher_rank; }},
       {"host", "host", [&](auto* one) { return process(one).host; }},
       {"span_ns", "from first to last", Shown::kDuration,
        [](auto* one) { return one->gpu.span_ns; }},
       {"computing_ns", "computing", Shown::kDuration,
        [](auto* one) { return one->gpu.computing_ns; }},
       {"communicating_ns", "communicating", Shown::kDuration,
        [](auto* one) { return one->gpu.communicating_ns; }},
       {"exposed_ns", "exposed", Shown::kDuration, own_ns},
       {"exposed_percent", "of the span", Shown::kNumber, "%", 1,
        [&](auto* one) { return percent_of(own_ns(one), one->gpu.span_ns); }},
       {"overlapped_percent", "overlapped", Shown::kNumber, "% of communicating", 1,
        [](auto* one) { return percent_of(one->gpu.both_ns, one->gpu.communicating_ns); }}}));
}

}  // namespace

Document overlap_document(const metrics::Overlap& overlap, const replay::Replays& replays,
                          const match::Matches& matches, const model::Traces& traces,
                          const std::vector<match::KinetoFileJoin>& profiles) {
  Document document{"overlap"};
  const Waits waits_ns = replays.waits_by_rank();
  metrics::RankOverlap all;
  std::int64_t waited_ns = 0;
  for (const metrics::RankOverlap& rank : overlap.ranks) {
    waited_ns = add_saturating(waited_ns, wait_of(waits_ns, rank).value_or(0));
    all.operations += rank.operations;
    all.without_times += rank.without_times;
    all.span_ns = add_saturating(all.span_ns, rank.span_ns);
    all.busy_ns = add_saturating(all.busy_ns, rank.busy_ns);
    all.together_ns = add_saturating(all.together_ns, rank.together_ns);
  }
  if (all.busy_ns == 0) {
    document.sentences.push_back("No operation has known times of execution: nothing can be said.");
  } else {
    const std::string waited = waits_ns.empty() ? ""
                                                : "; in " + human_duration(waited_ns) +
                                                      " of it they waited for other ranks";
    document.sentences.push_back(
        std::string("Over all ranks, ") +
        (all.without_times > 0 ? "as far as times are known, " : "") + "operations ran in " +
        human_duration(all.busy_ns) + " of " + human_duration(all.span_ns) + " (" +
        fixed(percent_of(all.busy_ns, all.span_ns), 1) + " %)" + waited +
        (all.together_ns == 0 ? ". No two communicators had operations at the same time."
                              : ". In " + human_duration(all.together_ns) +
                                    " those of several communicators ran at once."));
  }
  document.tables.push_back(overlap_table(overlap, waits_ns));
  using Pair = metrics::PairOverlap;
  const auto busy_ns = [&](std::uint32_t communicator) {
    const auto found = overlap.of_communicator.find(communicator);
    return found != overlap.of_communicator.end() ? found->second : 0;
  };
  const auto label = [&](std::uint32_t Pair::*side) {
    return [&, side](const Pair& pair) { return label_of(matches.communicators[pair.*side]); };
  };
  const auto share = [&](std::uint32_t Pair::*side) {
    return
        [&, side](const Pair& pair) { return percent_of(pair.together_ns, busy_ns(pair.*side)); };
  };
  document.tables.push_back(table_of(
      "pairs", "Communicators at the same time, over all ranks", overlap.pairs,
      {{"first", "communicator", label(&Pair::first)},
       {"second", "and", label(&Pair::second)},
       {"together_ns", "together", Shown::kDuration, &Pair::together_ns},
       {"first_percent", "of the first", Shown::kNumber, "%", 1, share(&Pair::first)},
       {"second_percent", "of the second", Shown::kNumber, "%", 1, share(&Pair::second)}}));
  add_exposed(traces, profiles, document);
  if (waits_ns.empty() && all.busy_ns > 0) {
    document.notes.push_back(
        "how long ranks waited for others is not known, since these traces do not show "
        "all ranks of the operations");
  }
  if (all.without_times > 0) {
    document.notes.push_back("the times of " + counted(all.without_times, "operation") +
                             " of a rank are not known; they count nowhere");
  }
  return document;
}

Document critical_path_document(replay::RunReplay* run, const model::Traces& traces,
                                const match::Matches& matches, const align::Alignment& alignment,
                                metrics::RowsBy by) {
  Document document{"critical-path"};
  const replay::CriticalPath path =
      run == nullptr ? replay::CriticalPath{} : replay::find_critical_path(*run);
  if (path.parts.empty()) {
    document.sentences.push_back(
        run == nullptr ? "No operation has known times of execution: there is no path to follow."
                       : "There is no path: a replay of what was recorded does not take the time "
                         "that the job took.");
    return document;
  }
  const auto part = [&](Spent kind) {
    const std::int64_t spent_ns = path.spent_ns[static_cast<std::size_t>(kind)];
    return human_duration(spent_ns) + " (" + fixed(percent_of(spent_ns, path.length_ns), 1) + " %)";
  };
  const auto operations = static_cast<std::uint64_t>(
      std::count_if(path.parts.begin(), path.parts.end(),
                    [](const replay::PathPart& one) { return one.spent == Spent::kTransfer; }));
  document.sentences.push_back("The end of the run waited for " + human_duration(path.length_ns) +
                               ": " + part(Spent::kTransfer) + " transfer in " +
                               counted(operations, "operation") + ", " + part(Spent::kBeforeCall) +
                               " of ranks before they called an operation, " +
                               part(Spent::kAfterCall) + " after that until it started.");
  if (run->slow().worst) {
    document.sentences.push_back(slow_sentence(*run->slow().worst, run->job()) + ".");
  }
  document.tables.push_back(ranks_table(path, *run));
  document.tables.push_back(
      kinds_table(path, run->job(), traces, matches, metrics::Grouping(traces, matches, by)));
  document.tables.push_back(parts_table(path, run->job(), traces, matches, alignment));
  return document;
}

}  // namespace ringside::report
