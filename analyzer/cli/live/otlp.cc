// SPDX-License-Identifier: Apache-2.0
#include "analyzer/cli/live/otlp.h"

#include <charconv>
#include <map>
#include <string_view>
#include <strings.h>
#include <unistd.h>
#include <utility>
#include <vector>

#include "analyzer/cli/launch.h"
#include "analyzer/cli/live/watch_takers.h"
#include "analyzer/cli/output.h"
#include "analyzer/model/percent_decoded.h"
#include "launch/text.h"
#include "live/metrics/metrics_page.h"

namespace ringside::cli {
namespace {

constexpr std::string_view kMetricsPath = "/v1/metrics";

std::string variable(const char* name, const std::string& otherwise = {}) {
  const char* const text = get_variable(name);
  return text != nullptr && *text != '\0' ? text : otherwise;
}

// The variable of metrics comes before the one of all signals.
std::string of_metrics(const std::string& end) {
  return variable(("OTEL_EXPORTER_OTLP_METRICS_" + end).c_str(),
                  variable(("OTEL_EXPORTER_OTLP_" + end).c_str()));
}

std::string with_path(std::string url) {
  if (!url.ends_with(kMetricsPath)) {
    url += url.ends_with('/') ? kMetricsPath.substr(1) : kMetricsPath;
  }
  return url;
}

// The list has the form KEY=VALUE, KEY=VALUE, with blanks around each or none (W3C's Baggage).
std::vector<std::pair<std::string, std::string>> pairs_of(const std::string& list,
                                                          std::string& error) {
  std::vector<std::pair<std::string, std::string>> pairs;
  for (std::string_view rest = list; !rest.empty();) {
    const std::string_view one = rest.substr(0, rest.find(','));
    rest.remove_prefix(one.size() + (one.size() < rest.size() ? 1 : 0));
    const std::size_t equals = one.find('=');
    const std::string key = model::percent_decoded(trimmed(one.substr(0, equals)));
    if (equals == one.npos || key.find_first_of("\r\n\"=") != key.npos) {
      error = '"' + launch::printable(std::string(one)) + "\" is not of the form KEY=VALUE";
      return {};
    }
    pairs.emplace_back(key, model::percent_decoded(trimmed(one.substr(equals + 1))));
  }
  return pairs;
}

void take_milliseconds(const std::string& text, std::chrono::milliseconds& value,
                       std::string& error) {
  constexpr std::int64_t kMost_ms = 86'400'000;
  std::int64_t number = 0;
  const char* const end = text.data() + text.size();
  if (text.empty()) {
    return;
  }
  if (std::from_chars(text.data(), end, number).ptr != end || number < 1 || number > kMost_ms) {
    error = launch::printable(text) + " is no number of milliseconds up to a day";
  }
  value = std::chrono::milliseconds(number);
}

}  // namespace

OtlpTarget otlp_target(const std::string& asked, std::string& error) {
  OtlpTarget target;
  target.is_disabled = strcasecmp(variable("OTEL_SDK_DISABLED").c_str(), "true") == 0;
  if (target.is_disabled) {
    return target;
  }
  std::string url =
      asked == "env" ? variable("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT") : with_path(asked);
  if (url.empty()) {
    url = variable("OTEL_EXPORTER_OTLP_ENDPOINT");
    if (url.empty()) {
      error = "env needs OTEL_EXPORTER_OTLP_ENDPOINT";
      return target;
    }
    url = with_path(url);
  }
  if (asked == "env" && of_metrics("PROTOCOL") == "grpc") {
    error = "env: OTEL_EXPORTER_OTLP_PROTOCOL is grpc; name the address for HTTP, http://HOST:4318";
  }
  take_milliseconds(of_metrics("TIMEOUT"), target.timeout, error);
  take_milliseconds(variable("OTEL_METRIC_EXPORT_INTERVAL"), target.interval, error);
  std::string headers;
  for (const auto& [key, value] : pairs_of(of_metrics("HEADERS"), error)) {
    headers.append(key).append(": ").append(launch::printable(value)).append("\n");
  }
  std::string host(256, '\0');
  gethostname(host.data(), host.size() - 1);
  std::map<std::string, std::string> resource = {{"service.name", "ringside"},
                                                 {"host.name", host.c_str()}};
  for (const auto& [key, value] : pairs_of(variable("OTEL_RESOURCE_ATTRIBUTES"), error)) {
    resource[key] = value;
  }
  resource["service.name"] = variable("OTEL_SERVICE_NAME", resource["service.name"]);
  for (const auto& [key, value] : resource) {
    target.resource += (target.resource.empty() ? "" : ",") + live::label(key, value);
  }
  const std::string compression = of_metrics("COMPRESSION");
  const bool is_packed = compression == "gzip";
  headers += is_packed ? "Content-Encoding: gzip\n" : "";
  target.command = post_command(url, headers, error);
  if (is_packed) {
    const std::initializer_list<std::string> first = {"sh", "-c", "gzip -c | \"$@\"", "sh"};
    target.command.words.insert(target.command.words.begin(), first);
  }
  if (!compression.empty() && compression != "none" && (!is_packed || !is_in_path("gzip"))) {
    error = "OTEL_EXPORTER_OTLP_COMPRESSION is " + launch::printable(compression) +
            (is_packed ? ", and there is no program gzip" : ", which is neither gzip nor none");
  }
  return target;
}

}  // namespace ringside::cli
