// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/iterations_report.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <utility>

#include "analyzer/match/group_patterns.h"
#include "analyzer/match/verdict/describe.h"
#include "analyzer/metrics/iterations/period.h"
#include "analyzer/metrics/rows/rows.h"
#include "analyzer/report/document/numbers.h"
#include "analyzer/report/summary/summary.h"

namespace ringside::report {
namespace {

using metrics::Iteration;
using metrics::RunIterations;

double seconds(std::int64_t time_ns) {
  return static_cast<double>(time_ns) / 1e9;
}

// An operation of an iteration, with all that the table shows of it, and its equals in a row.
struct PeriodRow {
  std::vector<Cell> cells;
  std::uint64_t times = 1;
};

class IterationsReport {
 public:
  IterationsReport(const std::vector<RunIterations>& runs, const model::Traces& traces,
                   const match::Matches& matches, bool is_series)
      : runs_(runs), traces_(traces), matches_(matches), is_series_(is_series) {}

  Document make() {
    document_.command = "iterations";
    make_tables();
    if (runs_.empty()) {
      document_.sentences.emplace_back("There are no operations.");
    }
    for (const RunIterations& run : runs_) {
      if (run.iterations.empty()) {
        say_why_not(run);
        continue;
      }
      say_what(run);
      add_rows(run);
      note(run);
    }
    document_.tables = {std::move(series_), std::move(spread_), std::move(period_)};
    return std::move(document_);
  }

 private:
  void make_tables() {
    series_ = {"iterations",
               is_series_ ? "Iterations, by time" : "Iterations, the slowest first",
               {{"run", "run", Shown::kInteger},
                {"iteration", "iteration", Shown::kInteger},
                {"start_s", "start", Shown::kNumber, "s", 6},
                {"duration_ns", "duration", Shown::kDuration},
                {"busy_ns", "communicating", Shown::kDuration},
                {"wait_ns", "waiting", Shown::kDuration, "all ranks"},
                {"slowest", "mostly for", Shown::kRank},
                {"host", "host"},
                {"delay_ns", "late by", Shown::kDuration},
                {"operations", "operations", Shown::kInteger},
                {"ranks", "ranks", Shown::kInteger}},
               {}};
    series_.is_whole = is_series_;
    series_.gives_way = {"ranks", "operations", "busy_ns", "run", "host", "start_s"};
    spread_ = {"distribution",
               "Over all iterations",
               {{"run", "run", Shown::kInteger},
                {"figure", "figure"},
                {"iterations", "iterations", Shown::kInteger},
                {"min_ns", "min", Shown::kDuration},
                {"median_ns", "median", Shown::kDuration, "", 1},
                {"p90_ns", "p90", Shown::kDuration},
                {"p99_ns", "p99", Shown::kDuration},
                {"max_ns", "max", Shown::kDuration}},
               {}};
    spread_.is_whole = true;
    spread_.gives_way = {"run", "p90_ns"};
    period_ = {"period",
               "Operations of one iteration, in their order",
               {{"run", "run", Shown::kInteger},
                {"communicator", "communicator"},
                {"function", "function"},
                {"bytes", "size", Shown::kBytes},
                {"datatype", "datatype"},
                {"root", "root", Shown::kInteger},
                {"peers", "from and to"},
                {"times", "times in a row", Shown::kInteger}},
               {}};
    period_.gives_way = {"run", "root", "datatype", "peers"};
  }

  // The operations that were looked through.
  std::string where(const RunIterations& run) const {
    std::string text = "the " + counted(run.operations, "operation") + " of " + run.reference;
    if (run.scope.communicator) {
      text += " in communicator " + label_of(matches_.communicators[*run.scope.communicator]);
    }
    return text;
  }

  // Names the run, where there are several.
  std::string of_run(const RunIterations& run, const std::string& sentence) const {
    return matches_.runs.runs.size() > 1 ? "Run " + std::to_string(run.run + 1) + ": " + sentence
                                         : capitalised(sentence);
  }

  void say_why_not(const RunIterations& run) {
    std::string text =
        "no iterations are seen: no sequence repeats beyond chance and makes up half of " +
        where(run);
    if (run.operations < metrics::kLeastInARow) {
      text = "no iterations are seen in " + where(run) + ": it takes " +
             std::to_string(metrics::kLeastInARow) + " at least";
    } else if (run.nearest_length) {
      text += "; the nearest, of " + counted(*run.nearest_length, "operation") + ", makes up " +
              fixed(run.nearest_coverage * 100, 0) + " %";
    }
    document_.sentences.push_back(of_run(run, text) + '.');
  }

  void say_what(const RunIterations& run) {
    const std::string what = counted(run.period.size(), "operation");
    const std::string times = counted(run.iterations.size(), "time");
    std::string text =
        of_run(run, run.name.empty()
                        ? "a sequence of " + what + " repeats " + times + " in " + where(run)
                        : "the application names " + counted(run.iterations.size(), "iteration") +
                              " (" + run.name + "), most often of " + what + ", in " + where(run));
    if (run.duration) {
      text += ": an iteration takes " + human_duration(run.duration->median_ns) + " (median; p99 " +
              human_duration(run.duration->p99_ns) + ")";
    }
    document_.sentences.push_back(text + '.');
    const auto slowest = std::max_element(
        run.iterations.begin(), run.iterations.end(), [](const Iteration& a, const Iteration& b) {
          return a.duration_ns.value_or(-1) < b.duration_ns.value_or(-1);
        });
    if (!slowest->duration_ns) {
      return;
    }
    text = "The slowest is iteration " + std::to_string(slowest - run.iterations.begin() + 1) +
           ", at " + fixed(seconds(slowest->start_ns - run.zero_ns), 3) +
           " s: " + human_duration(*slowest->duration_ns);
    if (!slowest->slowest.empty()) {
      text += "; ranks waited " + human_duration(*slowest->waited_ns) +
              " of GPU time in it, mostly for " + slowest->slowest + " (" + slowest->slowest_host +
              ")";
    }
    document_.sentences.push_back(text + '.');
  }

  void add_rows(const RunIterations& run) {
    const Cell number = std::uint64_t{run.run} + 1;
    std::vector<std::size_t> order(run.iterations.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    if (!is_series_) {
      std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return run.iterations[a].duration_ns.value_or(-1) >
               run.iterations[b].duration_ns.value_or(-1);
      });
    }
    for (const std::size_t i : order) {
      const Iteration& one = run.iterations[i];
      const bool has_slowest = !one.slowest.empty();
      series_.rows.push_back(
          {number, std::uint64_t{i} + 1, seconds(one.start_ns - run.zero_ns),
           cell_of(one.duration_ns), cell_of(one.busy_ns), cell_of(one.waited_ns),
           has_slowest ? Cell(one.slowest) : Cell(), has_slowest ? Cell(one.slowest_host) : Cell(),
           has_slowest ? Cell(one.delay_ns) : Cell(), one.operations, one.ranks});
    }
    add_spread(number, "duration", run.duration, &Iteration::duration_ns, run);
    add_spread(number, "communicating", run.busy, &Iteration::busy_ns, run);
    add_spread(number, "waiting", run.waited, &Iteration::waited_ns, run);
    add_period(number, run);
  }

  void add_spread(const Cell& number, const char* figure,
                  const std::optional<metrics::Distribution>& spread,
                  std::optional<std::int64_t> Iteration::*value, const RunIterations& run) {
    if (!spread) {
      return;
    }
    const auto known = static_cast<std::uint64_t>(
        std::count_if(run.iterations.begin(), run.iterations.end(),
                      [&](const Iteration& one) { return (one.*value).has_value(); }));
    spread_.rows.push_back({number, std::string(figure), known, spread->min_ns, spread->median_ns,
                            spread->p90_ns, spread->p99_ns, spread->max_ns});
  }

  // Takes the lowest rank's records; equal operations in a row are one line.
  void add_period(const Cell& number, const RunIterations& run) {
    std::vector<PeriodRow> rows;
    for (const metrics::PeriodCall& one : run.period) {
      const match::MatchedOperation& matched = one.matched;
      const bool has_size =
          run.scope.with_sizes && matched.pattern != match::Pattern::kAlltoAllv && one.bytes;
      PeriodRow row;
      row.cells = {number,
                   label_of(matches_.communicators[matched.communicator]),
                   std::string(metrics::function_of(traces_, matched)),
                   has_size ? Cell(std::uint64_t{*one.bytes}) : Cell(),
                   match::datatype_name(traces_.names.text(one.datatype)),
                   run.scope.with_roots && one.root ? Cell(std::uint64_t{*one.root}) : Cell(),
                   matched.way == match::Way::kPair ? Cell(std::to_string(matched.source) + " to " +
                                                           std::to_string(matched.destination))
                                                    : Cell()};
      if (!rows.empty() && rows.back().cells == row.cells) {
        ++rows.back().times;
      } else {
        rows.push_back(std::move(row));
      }
    }
    for (PeriodRow& row : rows) {
      row.cells.emplace_back(row.times);
      period_.rows.push_back(std::move(row.cells));
    }
  }

  void note(const RunIterations& run) {
    auto& notes = document_.notes;
    if (run.before + run.between + run.after > 0) {
      notes.push_back(counted(run.before, "operation") + " before the first iteration, " +
                      std::to_string(run.between) + " between two, " + std::to_string(run.after) +
                      " after the last: in none");
    }
    if (!run.scope.with_sizes) {
      notes.emplace_back("sizes are left out: with them nothing repeats");
    }
    if (!run.scope.with_roots) {
      notes.emplace_back("roots are left out: with them nothing repeats, or a longer sequence");
    }
    if (!run.other_lengths.empty()) {
      std::string lengths;
      for (const std::size_t length : run.other_lengths) {
        lengths += (lengths.empty() ? "" : ", ") + std::to_string(length);
      }
      notes.push_back("sequences of other lengths repeat too, within these or around them: " +
                      lengths + "; --period LENGTH takes one of them for the iteration");
    }
    if (run.ranks_apart > 0) {
      notes.push_back(counted(run.ranks_apart, "rank") + " of " + std::to_string(run.ranks) +
                      " share no operation of an iteration with " + run.reference +
                      ": they are in no figure");
    }
  }

  const std::vector<RunIterations>& runs_;
  const model::Traces& traces_;
  const match::Matches& matches_;
  const bool is_series_;
  Document document_;
  Table series_;
  Table spread_;
  Table period_;
};

}  // namespace

Document iterations_document(const std::vector<RunIterations>& runs, const model::Traces& traces,
                             const match::Matches& matches, bool is_series) {
  return IterationsReport(runs, traces, matches, is_series).make();
}

}  // namespace ringside::report
