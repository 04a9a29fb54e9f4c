// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/live/dump_evidence.h"

#include <algorithm>
#include <string>
#include <utility>

#include "analyzer/match/verdict/verdict.h"
#include "analyzer/metrics/hang/hang_positions.h"
#include "analyzer/report/hang/hang_report.h"
#include "analyzer/report/match_report.h"

namespace ringside::cli {
namespace {

constexpr char kByDumps[] = "By the dumps of PyTorch's Flight Recorder: ";
constexpr char kByTraces[] = "By the traces: ";

// A choice that fits the traces may not fit the dumps, whose functions have other names.
bool may_judge(const AnalysisOptions& options, const Analysis& analysis) {
  return !analysis.dumps.files.empty() && !match::chooses_operations(options.selection) &&
         !match::chooses_files(options.selection);
}

void put_first(std::string sentence, report::Document& document) {
  document.sentences.front().insert(0, kByTraces);
  document.sentences.insert(document.sentences.begin(), kByDumps + std::move(sentence));
}

}  // namespace

bool is_surely_stuck(const metrics::Hang& hang) {
  return std::any_of(hang.operations.begin(), hang.operations.end(), [](const auto& operation) {
    return !operation.is_unknown && (operation.waited_ns || !operation.is_doubtful);
  });
}

namespace {

// Whether it is said of one of the operations who has not joined it, or in what the ranks disagree,
// or that all have joined.
bool is_explained(const metrics::Hang& hang) {
  return std::any_of(
      hang.operations.begin(), hang.operations.end(), [&](const metrics::StuckOperation& stuck) {
        return !stuck.is_unknown && (!hang.has_unknown_rank(stuck) || !stuck.blockers.empty() ||
                                     stuck.differs != match::Difference::kNone);
      });
}

}  // namespace

bool add_hang_of_dumps(const AnalysisOptions& options, const metrics::Hang& hang,
                       Analysis& analysis, report::Document& document) {
  if (!may_judge(options, analysis)) {
    return false;
  }
  model::Traces dumps = std::move(analysis.dumps);
  metrics::keep_latest_files(dumps);
  const align::Alignment clocks = align::Alignment::none(dumps);
  const metrics::Hang of_dumps = metrics::find_hang(dumps, clocks, 0);
  report::Document made = report::make_hang_report(dumps, clocks, of_dumps, 0);
  const bool is_sure = is_surely_stuck(of_dumps);
  if (is_explained(of_dumps) && !is_explained(hang)) {
    put_first(std::move(made.sentences.front()), document);
    std::move(made.findings.begin(), made.findings.end(), std::back_inserter(document.findings));
  } else if (is_sure || (of_dumps.operations.empty() != hang.operations.empty())) {
    // A trace's verdict outweighs dumps that cannot know.
    document.sentences.push_back(kByDumps + std::move(made.sentences.front()));
  }
  return is_sure;
}

void add_mismatches_of_dumps(const AnalysisOptions& options, Analysis& analysis,
                             report::Document& document) {
  if (!may_judge(options, analysis)) {
    return;
  }
  model::Traces dumps = std::move(analysis.dumps);
  metrics::keep_latest_files(dumps);
  const align::Alignment clocks = align::Alignment::none(dumps);
  const match::Matches matches = match::match_operations(dumps, align::clock_of(clocks));
  report::Document made = report::match_document(dumps, matches, clocks, 1);
  const auto is_error = [](const report::Finding& finding) {
    return finding.severity == report::Severity::kError;
  };
  const auto found = std::find_if(made.findings.begin(), made.findings.end(), is_error);
  if (found == made.findings.end()) {
    return;
  }
  std::string sentence = found->text + '.';
  if (std::none_of(document.findings.begin(), document.findings.end(), is_error)) {
    document.findings.push_back(std::move(*found));
    put_first(std::move(sentence), document);
  } else {
    document.sentences.push_back(kByDumps + std::move(sentence));
  }
}

}  // namespace ringside::cli
