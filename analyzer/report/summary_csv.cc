// SPDX-License-Identifier: Apache-2.0
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

std::string median_us(const std::optional<metrics::Distribution>& times) {
  return times ? fixed(times->median_ns / 1000, 3) : std::string();
}

}  // namespace

std::string summary_as_csv(const Summary& summary) {
  std::string text =
      "communicator,name,nranks,nranks_inferred,function,bytes,datatype,algorithm,protocol,count,"
      "partial,ranks,ranks_seen,time_median_us,time_p99_us,algbw_gb_s,busbw_gb_s,times_from,wall_"
      "median_us,"
      "wait_median_us,by_least,excluded,bytes_min,bytes_max";
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
              median_us(row.busy) + ',' +
              (row.busy ? fixed(static_cast<double>(row.busy->p99_ns) / 1000, 3) : "") + ',' +
              optional_number(row.bandwidth.algbw_gb_s, 6) + ',' +
              optional_number(row.bandwidth.busbw_gb_s, 6) + ',' + times_from_name(row.times_from) +
              ',' + median_us(row.wall) + ',' + median_us(row.wait) + ',' +
              std::to_string(row.by_least) + ',' + std::to_string(row.excluded) + ',' +
              optional_integer(row.bytes_min) + ',' + optional_integer(row.bytes_max) +
              (is_sampled ? ',' + fixed(row.count_scaled, 0) : std::string()) +
              (summary.by_range ? ',' + quoted(row.range) : std::string()) + '\n';
    }
  }
  return text;
}

}  // namespace ringside::report
