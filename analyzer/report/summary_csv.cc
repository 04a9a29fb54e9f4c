// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <optional>
#include <string_view>

#include "analyzer/report/numbers.h"
#include "analyzer/report/summary.h"

namespace ringside::report {
namespace {

std::string quoted(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) {
    return std::string(text);
  }
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"') {
      result += '"';
    }
    result += c;
  }
  return result + '"';
}

std::string optional_number(const std::optional<double>& value, int decimals) {
  return value ? fixed(*value, decimals) : std::string();
}

std::string optional_integer(const std::optional<std::uint64_t>& value) {
  return value ? std::to_string(*value) : std::string();
}

std::string in_us(const std::optional<double>& time_ns) {
  return time_ns ? fixed(*time_ns / 1000, 3) : std::string();
}

std::string shown_gb_s(const std::optional<metrics::Figure>& gb_s) {
  return gb_s ? optional_number(gb_s->shown(), 6) : std::string();
}

}  // namespace

std::string summary_as_csv(const Summary& summary) {
  std::string text =
      "communicator,name,nranks,nranks_inferred,function,bytes,datatype,algorithm,protocol,count,"
      "partial,ranks,ranks_seen,time_median_us,time_p99_us,algbw_gb_s,busbw_gb_s,times_from,wall_"
      "median_us,"
      "wait_median_us,on_some_ranks,excluded,bytes_min,bytes_max,time_least_us,time_most_us,"
      "busbw_least_gb_s,busbw_most_gb_s";
  const bool is_sampled = !summary.inputs.samplings.empty();
  text += is_sampled ? ",count_scaled" : "";
  text += summary.by_range ? ",range\n" : "\n";
  for (std::size_t i = 0; i < summary.communicators.size(); ++i) {
    const match::Communicator& communicator = summary.communicators[i];
    const std::string id = communicator.hash.empty() ? label_of(communicator)
                           : communicator.instance > 0
                               ? communicator.hash + '#' + std::to_string(communicator.instance + 1)
                               : communicator.hash;
    const std::string prefix = quoted(id) + ',' + quoted(communicator.name) + ',' +
                               std::to_string(communicator.nranks) + ',' +
                               (communicator.nranks_inferred ? "true" : "false") + ',';
    for (const metrics::Row& row : summary.rows[i].rows) {
      text += prefix + quoted(row.function) + ',' + optional_integer(row.bytes) + ',' +
              quoted(row.datatype) + ',' + quoted(row.algorithm) + ',' + quoted(row.protocol) +
              ',' + std::to_string(row.count) + ',' + std::to_string(row.partial) + ',' +
              std::to_string(row.ranks) + ',' + std::to_string(row.ranks_seen) + ',' +
              (row.busy ? in_us(row.busy->median.shown()) : "") + ',' +
              (row.busy ? in_us(row.busy->p99.shown()) : "") + ',' + shown_gb_s(row.algbw_gb_s) +
              ',' + shown_gb_s(row.busbw_gb_s) + ',' + times_from_name(row.times_from) + ',' +
              (row.wall ? in_us(row.wall->median.best) : "") + ',' + in_us(shown_wait_ns(row)) +
              ',' + std::to_string(row.on_some_ranks) + ',' + std::to_string(row.excluded) + ',' +
              optional_integer(row.bytes_min) + ',' + optional_integer(row.bytes_max) + ',' +
              (row.busy && !row.is_least_open() ? in_us(row.busy->median.least) : "") + ',' +
              (row.busy ? in_us(row.busy->median.most) : "") + ',' +
              (row.busbw_gb_s ? fixed(row.busbw_gb_s->least, 6) : "") + ',' +
              (row.busbw_gb_s && !row.is_least_open() && std::isfinite(row.busbw_gb_s->most)
                   ? fixed(row.busbw_gb_s->most, 6)
                   : "") +
              (is_sampled ? ',' + fixed(row.count_scaled, 0) : std::string()) +
              (summary.by_range ? ',' + quoted(row.range) : std::string()) + '\n';
    }
  }
  return text;
}

}  // namespace ringside::report
