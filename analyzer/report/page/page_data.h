// SPDX-License-Identifier: Apache-2.0
//
// The content of the report's page, and its data as JSON. The page draws what is in the JSON and
// computes no figure. Data that does not fit is put together or counted here, so that the page of
// a large job stays small.
#ifndef RINGSIDE_ANALYZER_REPORT_PAGE_PAGE_DATA_H
#define RINGSIDE_ANALYZER_REPORT_PAGE_PAGE_DATA_H

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/align/alignment.h"
#include "analyzer/match/matcher.h"
#include "analyzer/match/verdict/verdict.h"
#include "analyzer/metrics/iterations/iterations.h"
#include "analyzer/metrics/network/network.h"
#include "analyzer/metrics/overlap/time_shares.h"
#include "analyzer/model/trace.h"
#include "analyzer/replay/run_replay.h"
#include "analyzer/report/document/document.h"
#include "analyzer/report/document/json_writer.h"
#include "analyzer/report/page/wait_map.h"
#include "analyzer/report/summary/health.h"
#include "analyzer/report/summary/summary.h"

namespace ringside::report {

/// Refers to the traces and their matches, which must outlive it.
struct PageData {
  const model::Traces& traces;
  const match::Matches& matches;
  const align::Alignment& alignment;
  const std::vector<match::Judgement>& judgements;
  bool is_all_read = true;  // nothing was damaged or could not be read
  Summary summary{};
  replay::Replays replays{};
  std::vector<metrics::RunIterations> iterations{};
  metrics::FoundShares shares{};
  std::vector<WaitMap> wait_maps{};
  metrics::Network network{};
  std::optional<Document> hang{};  // nothing where no operation is in flight
  /// Gives the findings their commands; nothing: they have none.
  std::function<void(Health&)> add_commands{};

  /// Else waiting is in RankShares::transfer_ns, and nobody knows how much.
  bool knows_waits() const { return replays.all_coverage().shows_waits(); }
};

/// Measures all but `hang`, on all cores.
PageData make_page_data(const facts::Facts& facts, const model::Problems& problems,
                        std::vector<std::string> duplicates);

/// The whole data of the page. docs/report.md describes it.
std::string page_json(const PageData& data);

/// The page itself: one HTML file that needs nothing else. `json` is of page_json(). Nothing if
/// this build has no library for charts.
std::optional<std::string> page_html(std::string_view json);

/// Tables that are the page's own.
Table bandwidth_table(const Summary& summary);
Table shares_table(const PageData& data);
Table traces_table(const PageData& data);

/// Writes key "share_bars", key "wait_maps" and key "matrices".
void write_share_bars(JsonWriter& json, const PageData& data);
void write_wait_maps(JsonWriter& json, const PageData& data);
void write_matrices(JsonWriter& json, const metrics::Network& network);

/// Raised when the page of an older version would misread the data; docs/report.md lists the keys.
inline constexpr std::uint64_t kPageVersion = 1;

/// Writes a table, of its rows those that a page has.
void write_table(JsonWriter& json, const std::string& key, const Table& table);

/// Integers that JavaScript's numbers cannot hold are written as text.
void write_integer(JsonWriter& json, std::int64_t value, std::string_view key = {});

}  // namespace ringside::report

#endif  // RINGSIDE_ANALYZER_REPORT_PAGE_PAGE_DATA_H
