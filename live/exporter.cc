// SPDX-License-Identifier: Apache-2.0
#include "live/exporter.h"

#include <algorithm>
#include <optional>
#include <simdjson.h>
#include <string_view>
#include <utility>
#include <vector>

#include "live/request.h"

namespace ringside::live {
namespace {

using Clock = std::chrono::steady_clock;

// A process keeps 200 series apart, of some forty lines each.
constexpr std::size_t kMostAnswer_bytes = std::size_t{32} << 20;

/// The text of an answer to `metrics`; nothing where the process refused, or speaks otherwise.
std::optional<std::string> metrics_in(const std::string& answer) {
  simdjson::dom::parser parser;
  simdjson::dom::object object;
  std::string_view text;
  if (parser.parse(answer).get_object().get(object) != simdjson::SUCCESS ||
      object["metrics"].get_string().get(text) != simdjson::SUCCESS) {
    return std::nullopt;
  }
  return std::string(text);
}

std::string labelled(std::string_view name, std::string_view value) {
  return std::string(name) + "=\"" + std::string(value) + "\"";
}

std::size_t count(const std::vector<Exchange>& asked, Silence silence) {
  return static_cast<std::size_t>(
      std::count_if(asked.begin(), asked.end(),
                    [&](const Exchange& exchange) { return exchange.silence == silence; }));
}

}  // namespace

std::string Exporter::scrape(MetricsForm form) {
  const Clock::time_point begin = Clock::now();
  Request request("metrics");
  request.text("form", form == MetricsForm::kOpenMetrics ? "openmetrics" : "prometheus");
  std::vector<Exchange> asked;
  for (const std::string& parent : options_.parents) {
    std::string error;  // a directory may come later, with the first job
    for (Endpoint& endpoint : find_endpoints(parent, error)) {
      if (options_.all_users || endpoint.is_own) {
        Exchange& exchange = asked.emplace_back();
        exchange.endpoint = std::move(endpoint);
        exchange.request = request.line();
        exchange.most_bytes = kMostAnswer_bytes;
      }
    }
  }
  ask_all(asked, options_.timeout);
  MetricsPage page(form);
  std::size_t answered = 0;
  for (const Exchange& exchange : asked) {
    if (exchange.silence == Silence::kTimeout) {
      ++errors_[kTimeout];
    } else if (exchange.silence == Silence::kTrouble || exchange.silence == Silence::kForbidden) {
      ++errors_[kTrouble];
    } else if (exchange.silence == Silence::kNone) {
      if (const auto text = metrics_in(exchange.answer)) {
        page.add(*text);
        ++answered;
      } else {
        ++errors_[kRefused];
      }
    }
  }
  if (options_.findings != nullptr) {
    options_.findings->add_to(page);
  }
  add_own(asked, answered, std::chrono::duration<double>(Clock::now() - begin).count(), page);
  return page.text();
}

void Exporter::add_own(const std::vector<Exchange>& asked, std::size_t answered, double seconds,
                       MetricsPage& page) const {
  const std::size_t dead = count(asked, Silence::kDead);
  const std::size_t without_socket = count(asked, Silence::kNoSocket);
  page.family("ringside_exporter_processes", "gauge",
              "Ring directories that this scrape has found, by the state of their process.");
  page.sample(labelled("state", "answered"), static_cast<double>(answered));
  page.sample(labelled("state", "dead"), static_cast<double>(dead));
  page.sample(labelled("state", "failed"),
              static_cast<double>(asked.size() - answered - dead - without_socket));
  page.sample(labelled("state", "no_socket"), static_cast<double>(without_socket));
  page.family("ringside_exporter_errors", "counter",
              "Live processes that gave no metrics, summed over all scrapes.");
  constexpr std::array<std::string_view, kErrors> kReasons = {"timeout", "refused", "trouble"};
  for (std::size_t i = 0; i < kErrors; ++i) {
    page.sample(labelled("reason", kReasons[i]), static_cast<double>(errors_[i].load()));
  }
  page.family("ringside_exporter_scrape_duration_seconds", "gauge",
              "Time that this scrape took to ask the processes.");
  page.sample({}, seconds);
  page.family("ringside_exporter_build_info", "gauge", "The exporter; the value is 1.");
  page.sample(labelled("version", RINGSIDE_VERSION), 1);
}

}  // namespace ringside::live
