// SPDX-License-Identifier: Apache-2.0
#include "live/metrics/exporter.h"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "launch/ring_holder.h"
#include "live/metrics/process_metrics.h"

namespace ringside::live {
namespace {

using Clock = std::chrono::steady_clock;

// An answer has 200 series and 1000 communicators, of some 1500 bytes each at most.
constexpr std::size_t kMostAnswer_bytes = std::size_t{4} << 20;
// Of one user, so that nobody keeps the others' processes out.
constexpr std::size_t kMostDirectories = 4096;
constexpr std::size_t kMostProcesses = 256;

struct OfUser {
  std::size_t directories = 0, processes = 0;
};

}  // namespace

std::vector<Exchange> Exporter::ask(const Request& request, Counts& states) const {
  std::vector<Exchange> asked;
  std::map<uid_t, OfUser> of_users;
  for (const std::string& parent : options_.parents) {
    std::string error;  // a directory may come later, with the first job
    for (Endpoint& endpoint : find_endpoints(parent, error)) {
      if (!options_.all_users && !endpoint.is_own()) {
        continue;
      }
      OfUser& of = of_users[endpoint.uid];
      if (++of.directories > kMostDirectories) {
        ++states["left_out"];
      } else if (launch::holder_of(endpoint.path).state == launch::RingHolder::State::kDead) {
        ++states["dead"];
      } else if (++of.processes > kMostProcesses) {
        ++states["left_out"];
      } else {
        Exchange& exchange = asked.emplace_back();
        exchange.endpoint = std::move(endpoint);
        exchange.request = request.line();
        exchange.most_bytes = kMostAnswer_bytes;
      }
    }
  }
  ask_all(asked, options_.timeout);
  return asked;
}

std::vector<Reply> Exporter::statuses() const {
  Counts states;
  const std::vector<Exchange> asked = ask(Request("status"), states);
  std::vector<Reply> replies(asked.size());
  std::transform(asked.begin(), asked.end(), replies.begin(), read_reply);
  return replies;
}

std::string Exporter::scrape(MetricsForm form, std::string_view resource) {
  const Clock::time_point begin = Clock::now();
  Counts states = {{"answered", 0}, {"dead", 0}, {"failed", 0}, {"left_out", 0}, {"no_socket", 0}};
  const std::vector<Exchange> asked = ask(Request("live").integer("series", 1), states);
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  MetricsPage page(
      form,
      static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count()),
      resource);
  std::set<std::string> known;
  const auto fail = [&](std::string_view reason) {
    const std::lock_guard lock(mutex_);
    ++errors_[reason];
    ++states["failed"];
  };
  for (const Exchange& exchange : asked) {
    if (exchange.silence == Silence::kDead || exchange.silence == Silence::kNoSocket) {
      ++states[exchange.silence == Silence::kDead ? "dead" : "no_socket"];
    } else if (exchange.silence != Silence::kNone) {
      fail(exchange.silence == Silence::kTimeout ? "timeout" : "trouble");
    } else if (const auto metrics =
                   ProcessMetrics::read(read_reply(exchange), exchange.endpoint.uid);
               !metrics) {
      fail("refused");
    } else if (!known.insert(metrics->labels()).second) {
      fail("double");
    } else {
      metrics->add_to(page, events_);
      ++states["answered"];
    }
  }
  if (options_.findings != nullptr) {
    options_.findings->add_to(page);
  }
  add_own(states, std::chrono::duration<double>(Clock::now() - begin).count(), page);
  return page.text();
}

void Exporter::add_own(const Counts& states, double seconds, MetricsPage& page) {
  page.family("ringside_exporter_processes", "gauge",
              "Ring directories that this scrape has found, by the state of their process.");
  for (const auto& [state, processes] : states) {
    page.sample(label("state", state), processes);
  }
  page.family("ringside_exporter_errors", "counter",
              "Live processes that gave no metrics, summed over all scrapes.");
  const std::lock_guard lock(mutex_);
  for (const auto& [reason, errors] : errors_) {
    page.sample(label("reason", reason), errors);
  }
  page.family("ringside_exporter_scrape_duration_seconds", "gauge",
              "Time that this scrape took to ask the processes.");
  page.sample({}, seconds);
  page.family("ringside_exporter_build_info", "gauge", "The exporter; the value is 1.");
  page.sample(label("version", RINGSIDE_VERSION), std::uint64_t{1});
}

}  // namespace ringside::live
