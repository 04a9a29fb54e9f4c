// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "analyzer/cli/analysis/analysis.h"
#include "analyzer/cli/analysis/baseline.h"
#include "analyzer/cli/commands.h"
#include "analyzer/cli/output.h"
#include "analyzer/metrics/compare/compare.h"
#include "analyzer/report/compare_report.h"
#include "analyzer/report/summary/align_report.h"

namespace ringside::cli {
namespace {

struct CompareOptions : AnalysisOptions {
  double threshold_percent = 5;
  metrics::RowsBy by = metrics::RowsBy::kKind;
  std::string baseline;
};

constexpr char kCompareExample[] =
    "This command compares the iterations, then the times of operations of the same kind: "
    "communicator (name, ranks, hosts), function, bytes, datatype. A change counts if chance does "
    "not explain it, and if it is greater than --threshold. Where A or B holds several runs, runs "
    "are compared; else how much one run differs from the next is not known.\n\n"
    "Examples:\n"
    "  ringside compare yesterday/ today/\tstatus 1 if something became slower\n"
    "  ringside compare --threshold 10 --func AllReduce a/ b/\tonly AllReduce, and changes above "
    "10 %\n"
    "  ringside compare --format csv a/ b/\tevery kind, for a script\n";

struct Side {
  metrics::IterationTimes iterations;
  std::vector<metrics::TimesOfKind> kinds;
};

// Analyses one side; the limits of its analysis are added to the notes.
std::unique_ptr<Side> times_of(const CompareOptions& options, std::size_t side,
                               std::vector<std::string>& notes) {
  AnalysisOptions one = options;
  one.inputs = {options.inputs[side]};
  const auto analysis = analyse(one);
  if (analysis == nullptr) {
    return nullptr;
  }
  for (const std::string& note : report::limits(analysis->traces, &analysis->alignment)) {
    notes.push_back((side == 0 ? "A: " : "B: ") + note);
  }
  if (const std::string open = report::not_closed_sentence(analysis->traces); !open.empty()) {
    notes.push_back((side == 0 ? "A: " : "B: ") + open);
  }
  return std::make_unique<Side>(
      Side{metrics::iteration_times(analysis->iterations(0)),
           metrics::times_of_kinds(analysis->facts(), options.by, !options.baseline.empty())});
}

// Both sides are held against the same. Operations that were called together have none, and sizes
// that differ have no one size.
void take_peaks(const metrics::Baseline& baseline, std::vector<metrics::TimesOfKind>& kinds) {
  for (metrics::TimesOfKind& times : kinds) {
    const metrics::OperationKind& kind = times.kind;
    times.peak = times.is_grouped || kind.is_size_class
                     ? std::nullopt
                     : baseline.peak_of(kind.function, kind.bytes, times.ranks);
  }
}

ExitStatus run_compare(const CompareOptions& options) {
  std::vector<std::string> notes;
  // One after the other: the traces of both need not fit into memory together.
  const auto a = times_of(options, 0, notes);
  const auto b = a == nullptr ? nullptr : times_of(options, 1, notes);
  if (b == nullptr) {
    return kExitNoInput;
  }
  if (!options.baseline.empty()) {
    const auto baseline = read_baseline("ringside compare", options.baseline);
    if (!baseline) {
      return kExitNoInput;
    }
    take_peaks(*baseline, a->kinds);
    take_peaks(*baseline, b->kinds);
  }
  const auto iterations = metrics::compare(a->iterations, b->iterations);
  const auto changes = metrics::compare(a->kinds, b->kinds);
  const double threshold_percent = options.threshold_percent;
  report::Document document =
      report::compare_document(iterations, changes, threshold_percent, options.by);
  report::Table& table = document.tables.back();
  if (const std::size_t most = options.most_rows(); most > 0 && table.rows.size() > most) {
    table.left_out = table.rows.size() - most;
    table.rows.resize(most);
  }
  document.notes.insert(document.notes.end(), notes.begin(), notes.end());
  const bool is_judged =
      (iterations && iterations->difference.judged_by != metrics::JudgedBy::kNothing) ||
      std::any_of(changes.begin(), changes.end(),
                  [](const auto& change) { return change.chance.has_value(); });
  return show_document(document, options, is_judged ? kExitOk : kExitIncomplete);
}

}  // namespace

void add_compare(CLI::App& app, Chosen& chosen) {
  const auto options = std::make_shared<CompareOptions>();
  CLI::App* const command =
      app.add_subcommand("compare", "Say what got slower or faster from one run to another");
  add_analysis_options(*command, *options);
  command->get_option("DIR_OR_FILE")->expected(2)->description("A and B: a directory or file each");
  command->remove_option(command->get_option("--align-report"));
  add_by_option(*command, options->by,
                "Split the kinds of operations by the range of the application (range), the line "
                "of the program (caller) or NCCL's tag of the call (user-tag)");
  add_baseline_option(*command, options->baseline);
  command
      ->add_option("--threshold", options->threshold_percent,
                   "Ignore changes of the time up to this")
      ->type_name("PERCENT")
      ->check(CLI::Range(0.0, 1e6))
      ->capture_default_str();
  set_command(*command, kCompareExample,
              {{1, "something became slower"},
               {3, kNothingFits},
               {4, "too little data to compare any kind of operation"}},
              options, chosen, run_compare);
}

}  // namespace ringside::cli
