// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/compare_report.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "analyzer/match/verdict/describe.h"
#include "analyzer/report/document/numbers.h"
#include "analyzer/report/summary/summary.h"

namespace ringside::report {
namespace {

using metrics::Change;
using metrics::IterationChange;

bool got_faster(const Change& change, double threshold_percent) {
  return change.is_significant() && change.percent && *change.percent < -threshold_percent;
}

// "AllReduce 64 MiB ncclFloat32 of world"
std::string name_of_kind(const Change& change) {
  const metrics::OperationKind& kind = change.kind;
  std::string text = kind.function;
  if (change.bytes) {
    text += ' ' + human_bytes(*change.bytes_min);
    if (change.bytes_min != change.bytes_max) {
      text += " to " + human_bytes(*change.bytes_max);
    }
  }
  if (!kind.datatype.empty()) {
    text += ' ' + match::datatype_name(kind.datatype);
  }
  return text + " of " +
         (kind.communicator.empty() ? "a communicator of " + counted(kind.nranks, "rank")
                                    : kind.communicator) +
         (kind.by.empty() ? "" : " (" + kind.by + ')');
}

std::string signed_percent(double percent) {
  return (percent > 0 ? "+" : "") + fixed(percent, 1) + " %";
}

// The bandwidth where there is one: its change is not that of the time.
std::string figures_of(const Change& change) {
  if (change.busbw_a_gb_s && change.busbw_b_gb_s && *change.busbw_a_gb_s > 0) {
    return "busbw " + fixed(*change.busbw_a_gb_s, 1) + " to " + fixed(*change.busbw_b_gb_s, 1) +
           " GB/s (" + signed_percent((*change.busbw_b_gb_s / *change.busbw_a_gb_s - 1) * 100) +
           ')';
  }
  return "time " + human_duration(*change.median_a_ns) + " to " +
         human_duration(*change.median_b_ns) + " (" + signed_percent(*change.percent) + ')';
}

Cell judged_by(const Change& change) {
  switch (change.judged_by) {
    case metrics::JudgedBy::kBlocks:
      return std::string("blocks");
    case metrics::JudgedBy::kRuns:
      return std::string("runs");
    default:
      return {};
  }
}

std::string iterations_text(const IterationChange& change) {
  const bool is_slower = change.percent() > 0;
  std::string text = "Iterations got " + std::string(is_slower ? "slower" : "faster") + ": " +
                     human_duration(change.median_a_ns) + " to " +
                     human_duration(change.median_b_ns) + " (" + signed_percent(change.percent()) +
                     ')';
  if (change.waited_a_ns && change.waited_b_ns) {
    text += ", of it waiting " + human_duration(*change.waited_a_ns) + " to " +
            human_duration(*change.waited_b_ns);
  }
  return text;
}

// The whole job comes first.
void add_iterations(const IterationChange& change, double threshold_percent, Document& document) {
  const bool is_judged = change.difference.judged_by != metrics::JudgedBy::kNothing;
  if (change.is_significant() && std::abs(change.percent()) > threshold_percent) {
    const bool is_slower = got_slower(change, threshold_percent);
    document.findings.insert(document.findings.begin(),
                             {is_slower ? Severity::kError : Severity::kNote,
                              is_slower ? "slower" : "faster", iterations_text(change)});
    document.sentences.push_back(iterations_text(change) + '.');
  }
  document.tables.push_back(
      {"iterations",
       "Iterations, median",
       {{"count_a", "count A", Shown::kInteger},
        {"count_b", "count B", Shown::kInteger},
        {"median_a_ns", "time A", Shown::kDuration, "", 1},
        {"median_b_ns", "time B", Shown::kDuration, "", 1},
        {"time_change_percent", "time", Shown::kNumber, "%", 1},
        {"chance", "by chance", Shown::kNumber, "", 6},
        {"waited_a_ns", "waiting A", Shown::kDuration, "of a rank", 1},
        {"waited_b_ns", "waiting B", Shown::kDuration, "of a rank", 1}},
       {{change.count_a, change.count_b, change.median_a_ns, change.median_b_ns, change.percent(),
         is_judged ? Cell(change.difference.chance) : Cell(), cell_of(change.waited_a_ns),
         cell_of(change.waited_b_ns)}}});
}

Table table_of(const std::vector<Change>& changes, metrics::RowsBy by) {
  Table table{"changes",
              "Kinds of operations, by change of the time",
              {{"communicator", "communicator"},
               {"nranks", "ranks", Shown::kInteger},
               {"hosts", "hosts", Shown::kInteger},
               {"function", "function"},
               {"bytes", "message", Shown::kBytes},
               {"datatype", "datatype"},
               {"in", "in"},
               {"count_a", "count A", Shown::kInteger},
               {"count_b", "count B", Shown::kInteger},
               {"median_a_ns", "time A", Shown::kDuration, "", 1},
               {"median_b_ns", "time B", Shown::kDuration, "", 1},
               {"busbw_a_gb_s", "busbw A", Shown::kNumber, "GB/s"},
               {"busbw_b_gb_s", "busbw B", Shown::kNumber, "GB/s"},
               {"time_change_percent", "time", Shown::kNumber, "%", 1},
               {"chance", "by chance", Shown::kNumber, "", 6},
               {"bytes_min", "", Shown::kNot},
               {"bytes_max", "", Shown::kNot},
               {"time_change_least_percent", "", Shown::kNot, "", 1},
               {"time_change_most_percent", "", Shown::kNot, "", 1},
               {"judged_by", "judged by"},
               {"units_a", "", Shown::kNot},
               {"units_b", "", Shown::kNot}},
              {}};
  table.gives_way = {"hosts", "judged_by",    "count_a", "count_b",     "nranks",     "datatype",
                     "in",    "communicator", "chance",  "median_a_ns", "median_b_ns"};
  const bool with_peaks = std::any_of(changes.begin(), changes.end(), [](const Change& change) {
    return change.peak_a || change.peak_b;
  });
  constexpr std::ptrdiff_t kBehindBusbw = 13;
  if (with_peaks) {
    table.columns.insert(table.columns.begin() + kBehindBusbw,
                         {{"efficiency_a_percent", "of peak A", Shown::kNumber, "%", 1},
                          {"efficiency_b_percent", "of peak B", Shown::kNumber, "%", 1}});
    table.columns.insert(table.columns.end(), {{"peak_a_gb_s", "", Shown::kNot},
                                               {"peak_b_gb_s", "", Shown::kNot},
                                               {"peak_a_bound", "", Shown::kNot},
                                               {"peak_b_bound", "", Shown::kNot}});
  }
  if (by != metrics::RowsBy::kKind) {
    table.columns.insert(table.columns.begin(), {column_of(by), title_of(by)});
  }
  for (const Change& change : changes) {
    const metrics::OperationKind& kind = change.kind;
    std::vector<Cell>& cells = table.rows.emplace_back();
    if (by != metrics::RowsBy::kKind) {
      cells.push_back(group_cell(by, kind.by));
    }
    cells.insert(cells.end(), {kind.communicator.empty() ? Cell() : Cell(kind.communicator),
                               std::uint64_t{kind.nranks},
                               std::uint64_t{kind.hosts},
                               kind.function,
                               cell_of(change.bytes),
                               match::datatype_name(kind.datatype),
                               !change.is_in_b   ? "A only"
                               : !change.is_in_a ? "B only"
                                                 : "both",
                               change.count_a,
                               change.count_b,
                               cell_of(change.median_a_ns),
                               cell_of(change.median_b_ns),
                               cell_of(change.busbw_a_gb_s),
                               cell_of(change.busbw_b_gb_s),
                               cell_of(change.percent),
                               cell_of(change.chance),
                               cell_of(change.bytes_min),
                               cell_of(change.bytes_max),
                               cell_of(change.percent_least),
                               cell_of(change.percent_most),
                               judged_by(change),
                               std::uint64_t{change.units_a},
                               std::uint64_t{change.units_b}});
    if (with_peaks) {
      const auto gb_s = [](const auto& peak) { return peak ? Cell(peak->busbw_gb_s) : Cell(); };
      const auto bound = [](const auto& peak) {
        return peak ? Cell(std::string(peak->bound)) : Cell();
      };
      const std::ptrdiff_t groups = by != metrics::RowsBy::kKind ? 1 : 0;
      cells.insert(cells.begin() + kBehindBusbw + groups, {cell_of(change.efficiency_a_percent()),
                                                           cell_of(change.efficiency_b_percent())});
      cells.insert(cells.end(), {gb_s(change.peak_a), gb_s(change.peak_b), bound(change.peak_a),
                                 bound(change.peak_b)});
    }
  }
  return table;
}

}  // namespace

bool got_slower(const Change& change, double threshold_percent) {
  return change.is_significant() && change.percent && *change.percent > threshold_percent;
}

bool got_slower(const std::optional<IterationChange>& iterations, double threshold_percent) {
  return iterations && iterations->is_significant() && iterations->percent() > threshold_percent;
}

Document compare_document(const std::optional<IterationChange>& iterations,
                          const std::vector<Change>& changes, double threshold_percent,
                          metrics::RowsBy by) {
  Document document;
  document.command = "compare";
  std::vector<Change> sorted = changes;
  std::stable_sort(sorted.begin(), sorted.end(), [](const Change& a, const Change& b) {
    return a.percent.has_value() != b.percent.has_value() ? a.percent.has_value()
                                                          : a.percent && *a.percent > *b.percent;
  });
  std::uint64_t compared = 0;
  std::uint64_t judged = 0;
  std::uint64_t few = 0;
  std::uint64_t alike = 0;
  std::uint64_t by_blocks = 0;
  std::uint64_t by_size = 0;
  std::uint64_t faster = 0;
  std::uint64_t only_a = 0;
  std::uint64_t only_b = 0;
  std::vector<const Change*> slower;
  for (const Change& change : sorted) {
    only_a += change.is_in_b ? 0 : 1;
    only_b += change.is_in_a ? 0 : 1;
    const bool is_compared = change.count_a > 0 && change.count_b > 0;
    const bool is_few = std::min(change.count_a, change.count_b) < metrics::kLeastToJudge;
    compared += is_compared ? 1 : 0;
    judged += change.chance ? 1 : 0;
    few += is_compared && is_few && !change.chance ? 1 : 0;
    alike += is_compared && !is_few && !change.chance ? 1 : 0;
    by_blocks += change.judged_by == metrics::JudgedBy::kBlocks ? 1 : 0;
    by_size += change.kind.is_size_class && is_compared && !change.percent ? 1 : 0;
    if (got_slower(change, threshold_percent)) {
      slower.push_back(&change);
    } else if (got_faster(change, threshold_percent)) {
      ++faster;
      document.findings.push_back(
          {Severity::kNote, "faster", name_of_kind(change) + " got faster: " + figures_of(change)});
    }
  }
  // The worst first, and what got faster most first among the notes.
  std::reverse(document.findings.begin(), document.findings.end());
  std::vector<Finding> findings;
  findings.reserve(slower.size());
  for (const Change* const change : slower) {
    findings.push_back({Severity::kError, "slower",
                        name_of_kind(*change) + " got slower: " + figures_of(*change)});
  }
  findings.insert(findings.end(), document.findings.begin(), document.findings.end());
  document.findings = std::move(findings);
  if (iterations) {
    add_iterations(*iterations, threshold_percent, document);
  }
  const std::string of = " of " + counted(judged, "kind of operations", "kinds of operations");
  if (compared == 0) {
    document.sentences.push_back("A and B have no kind of operations in common that has times.");
  } else if (judged == 0) {
    document.sentences.push_back(
        "Nothing can be judged: no kind has enough independent operations of known time in both "
        "A and B.");
  } else if (!slower.empty()) {
    document.sentences.push_back(std::to_string(slower.size()) + of + " got slower, the most " +
                                 name_of_kind(*slower.front()) + ": " +
                                 figures_of(*slower.front()) + '.');
  } else {
    document.sentences.push_back(
        "None" + of + " got slower by more than " + fixed(threshold_percent, 1) +
        " % and beyond chance" +
        (faster > 0 ? "; " + std::to_string(faster) + " got faster." : "."));
  }
  document.tables.push_back(table_of(sorted, by));
  if (by_blocks > 0) {
    document.notes.push_back(
        "A and B hold one run each, so how much one run differs from the next is not known: a "
        "change may be of these runs only");
  }
  if (few > 0) {
    document.notes.push_back(counted(few, "kind", "kinds") + " with fewer than " +
                             std::to_string(metrics::kLeastToJudge) +
                             " operations of known time in a run of A or B: shown, not judged");
  }
  if (alike > 0) {
    document.notes.push_back(counted(alike, "kind", "kinds") +
                             " whose times follow each other too closely: fewer than " +
                             std::to_string(metrics::kLeastBlocks) +
                             " stretches of a run are independent; shown, not judged");
  }
  if (by_size > 0) {
    document.notes.push_back(counted(by_size, "kind", "kinds") +
                             " whose time and time per byte did not change alike: other sizes may "
                             "be all there is to it");
  }
  if (only_a + only_b > 0) {
    document.notes.push_back("in A only: " + counted(only_a, "kind") +
                             "; in B only: " + counted(only_b, "kind"));
  }
  return document;
}

}  // namespace ringside::report
