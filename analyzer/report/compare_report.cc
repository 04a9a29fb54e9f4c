// SPDX-License-Identifier: Apache-2.0
#include "analyzer/report/compare_report.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "analyzer/match/verdict/describe.h"
#include "analyzer/report/document/columns.h"
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

const char* judged_by(const Change& change) {
  switch (change.judged_by) {
    case metrics::JudgedBy::kBlocks:
      return "blocks";
    case metrics::JudgedBy::kRuns:
      return "runs";
    default:
      return "";
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
  } else if (std::abs(change.percent()) > threshold_percent) {
    document.sentences.push_back(iterations_text(change) +
                                 "; this may be chance: longer runs, or several of each, show it.");
  }
  using One = IterationChange;
  document.tables.push_back(table_of(
      "iterations", "Iterations, median", std::vector{change},
      {{"count_a", "count A", Shown::kInteger, &One::count_a},
       {"count_b", "count B", Shown::kInteger, &One::count_b},
       {"median_a_ns", "time A", Shown::kDuration, "", 1, &One::median_a_ns},
       {"median_b_ns", "time B", Shown::kDuration, "", 1, &One::median_b_ns},
       {"time_change_percent", "time", Shown::kNumber, "%", 1, &One::percent},
       {"chance", "by chance", Shown::kNumber, "", 6,
        [&](auto& one) { return is_judged ? Cell(one.difference.chance) : Cell(); }},
       {"waited_a_ns", "waiting A", Shown::kDuration, "of a rank", 1, &One::waited_a_ns},
       {"waited_b_ns", "waiting B", Shown::kDuration, "of a rank", 1, &One::waited_b_ns}}));
}

Table changes_table(const std::vector<Change>& changes, metrics::RowsBy by) {
  const bool with_peaks = std::any_of(changes.begin(), changes.end(), [](const Change& change) {
    return change.peak_a || change.peak_b;
  });
  const Shown of_peaks = with_peaks ? Shown::kNot : Shown::kAbsent;
  const Shown efficiency = with_peaks ? Shown::kNumber : Shown::kAbsent;
  const auto gb_s = [](auto& peak) { return peak ? Cell(peak->busbw_gb_s) : Cell(); };
  const auto bound = [](auto& peak) { return peak ? text_cell(peak->bound) : Cell(); };
  return table_of(
      "changes", "Kinds of operations, by change of the time", changes,
      {{group_column(by), [by](auto& change) { return group_cell(by, change.kind.by); }},
       {"communicator", "communicator",
        [](auto& change) { return text_cell(change.kind.communicator); }},
       {"nranks", "ranks", Shown::kInteger, [](auto& change) { return change.kind.nranks; }},
       {"hosts", "hosts", Shown::kInteger, [](auto& change) { return change.kind.hosts; }},
       {"function", "function", [](auto& change) { return change.kind.function; }},
       {"bytes", "message", Shown::kBytes, &Change::bytes},
       {"datatype", "datatype",
        [](auto& change) { return match::datatype_name(change.kind.datatype); }},
       {"in", "in",
        [](auto& change) {
          return !change.is_in_b ? "A only" : !change.is_in_a ? "B only" : "both";
        }},
       {"count_a", "count A", Shown::kInteger, &Change::count_a},
       {"count_b", "count B", Shown::kInteger, &Change::count_b},
       {"median_a_ns", "time A", Shown::kDuration, "", 1, &Change::median_a_ns},
       {"median_b_ns", "time B", Shown::kDuration, "", 1, &Change::median_b_ns},
       {"busbw_a_gb_s", "busbw A", Shown::kNumber, "GB/s", &Change::busbw_a_gb_s},
       {"busbw_b_gb_s", "busbw B", Shown::kNumber, "GB/s", &Change::busbw_b_gb_s},
       {"efficiency_a_percent", "of peak A", efficiency, "%", 1, &Change::efficiency_a_percent},
       {"efficiency_b_percent", "of peak B", efficiency, "%", 1, &Change::efficiency_b_percent},
       {"time_change_percent", "time", Shown::kNumber, "%", 1, &Change::percent},
       {"chance", "by chance", Shown::kNumber, "", 6, &Change::chance},
       {"bytes_min", "", Shown::kNot, &Change::bytes_min},
       {"bytes_max", "", Shown::kNot, &Change::bytes_max},
       {"time_change_least_percent", "", Shown::kNot, "", 1, &Change::percent_least},
       {"time_change_most_percent", "", Shown::kNot, "", 1, &Change::percent_most},
       {"judged_by", "judged by", [](auto& change) { return text_cell(judged_by(change)); }},
       {"units_a", "", Shown::kNot, &Change::units_a},
       {"units_b", "", Shown::kNot, &Change::units_b},
       {"peak_a_gb_s", "", of_peaks, [=](auto& change) { return gb_s(change.peak_a); }},
       {"peak_b_gb_s", "", of_peaks, [=](auto& change) { return gb_s(change.peak_b); }},
       {"peak_a_bound", "", of_peaks, [=](auto& change) { return bound(change.peak_a); }},
       {"peak_b_bound", "", of_peaks, [=](auto& change) { return bound(change.peak_b); }}},
      {"hosts", "judged_by", "count_a", "count_b", "nranks", "datatype", "in", "communicator",
       "chance", "median_a_ns", "median_b_ns"});
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
  Document document{"compare"};
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
  document.tables.push_back(changes_table(sorted, by));
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
