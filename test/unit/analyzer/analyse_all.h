// SPDX-License-Identifier: Apache-2.0
//
// Everything that the analyzer ever does with traces, for what must hold of any input.
#ifndef RINGSIDE_TEST_UNIT_ANALYZER_ANALYSE_ALL_H
#define RINGSIDE_TEST_UNIT_ANALYZER_ANALYSE_ALL_H

#include <cstddef>
#include <string>

#include "analyzer/align/alignment.h"
#include "analyzer/match/communicators/duplicate_files.h"
#include "analyzer/match/matcher.h"
#include "analyzer/metrics/hang/hang.h"
#include "analyzer/metrics/iterations/iterations.h"
#include "analyzer/metrics/network/network.h"
#include "analyzer/metrics/overlap/overlap.h"
#include "analyzer/replay/run_replay.h"
#include "analyzer/report/hang/hang_report.h"
#include "analyzer/report/iterations_report.h"
#include "analyzer/report/match_report.h"
#include "analyzer/report/network_report.h"
#include "analyzer/report/page/page_data.h"
#include "analyzer/report/plot.h"
#include "analyzer/report/summary/stragglers_report.h"
#include "analyzer/report/summary/summary.h"
#include "analyzer/report/time_report.h"

namespace ringside {

/// Returns how much text came of it.
inline std::size_t analyse_all(model::Traces& traces, const model::Problems& problems) {
  const auto hang_alignment = align::Alignment::estimate(traces);
  const metrics::Hang hang = metrics::find_hang(traces, hang_alignment, 0);
  auto documents = {report::make_hang_report(traces, hang_alignment, hang, 0)};
  std::size_t bytes = 0;
  for (const report::Document& document : documents) {
    bytes += report::render(document, "table").size();
  }
  const auto duplicates = match::remove_duplicate_files(traces);
  const auto alignment = align::Alignment::estimate(traces);
  const match::Matches matches = match::match_operations(traces);
  const facts::Facts facts(traces, matches, alignment);
  const report::Summary summary = report::make_summary(facts, problems, duplicates);
  bytes += report::summary_as_json(summary).size() + report::summary_as_csv(summary).size() +
           report::summary_as_markdown(summary, true).size() +
           report::summary_as_table(summary, true).size();
  const replay::Replays replays = replay::find_replays(facts);
  for (const report::Document& document :
       {report::stragglers_document(replays),
        report::overlap_document(metrics::find_overlap(facts), replays, matches, traces, {}),
        report::critical_path_document(replays.runs.empty() ? nullptr : replays.runs.front().get(),
                                       traces, matches, alignment),
        report::iterations_document(metrics::find_iterations(facts, 0), traces, matches, true),
        report::match_document(traces, matches, alignment, 10),
        report::communicators_document(traces, matches),
        report::make_network_report(traces, metrics::find_network(traces, alignment), 0, true)}) {
    for (const char* const format : report::kFormats) {
      bytes += report::render(document, format).size();
    }
  }
  report::PageData page = report::make_page_data(facts, problems, duplicates);
  page.hang = *documents.begin();
  return bytes + report::page_json(page).size() + report::bandwidth_plot(summary, 0, true).size();
}

}  // namespace ringside

#endif  // RINGSIDE_TEST_UNIT_ANALYZER_ANALYSE_ALL_H
