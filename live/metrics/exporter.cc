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

std::size_t count(const std::vector<Exchange>& asked, Silence silence) {
  return static_cast<std::size_t>(
      std::count_if(asked.begin(), asked.end(),
                    [&](const Exchange& exchange) { return exchange.silence == silence; }));
}

}  // namespace

std::vector<Exchange> Exporter::ask(const Request& request, States& states) const {
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
        ++states.left_out;
      } else if (launch::holder_of(endpoint.path).state == launch::RingHolder::State::kDead) {
        ++states.dead;
      } else if (++of.processes > kMostProcesses) {
        ++states.left_out;
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
  States states;
  const std::vector<Exchange> asked = ask(Request("status"), states);
  std::vector<Reply> replies(asked.size());
  std::transform(asked.begin(), asked.end(), replies.begin(), read_reply);
  return replies;
}

std::string Exporter::scrape(MetricsForm form, std::string_view resource) {
  const Clock::time_point begin = Clock::now();
  States states;
  const std::vector<Exchange> asked = ask(Request("live").integer("series", 1), states);
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  MetricsPage page(
      form,
      static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(now).count()),
      resource);
  std::set<std::string> known;
  for (const Exchange& exchange : asked) {
    if (exchange.silence == Silence::kTimeout) {
      ++errors_[kTimeout];
    } else if (exchange.silence == Silence::kTrouble || exchange.silence == Silence::kForbidden) {
      ++errors_[kTrouble];
    } else if (exchange.silence == Silence::kNone) {
      const Reply reply = read_reply(exchange);
      const auto metrics = ProcessMetrics::read(reply, exchange.endpoint.uid);
      if (!metrics) {
        ++errors_[kRefused];
      } else if (!known.insert(metrics->labels()).second) {
        ++errors_[kDouble];
      } else {
        metrics->add_to(page, events_);
        ++states.answered;
      }
    }
  }
  if (options_.findings != nullptr) {
    options_.findings->add_to(page);
  }
  const std::size_t dead = count(asked, Silence::kDead);
  states.no_socket = count(asked, Silence::kNoSocket);
  states.failed = asked.size() - states.answered - dead - states.no_socket;
  states.dead += dead;
  add_own(states, std::chrono::duration<double>(Clock::now() - begin).count(), page);
  return page.text();
}

void Exporter::add_own(const States& states, double seconds, MetricsPage& page) const {
  page.family("ringside_exporter_processes", "gauge",
              "Ring directories that this scrape has found, by the state of their process.");
  const auto state = [&](std::string_view name, std::size_t processes) {
    page.sample(label("state", name), std::uint64_t{processes});
  };
  state("answered", states.answered);
  state("dead", states.dead);
  state("failed", states.failed);
  state("left_out", states.left_out);
  state("no_socket", states.no_socket);
  page.family("ringside_exporter_errors", "counter",
              "Live processes that gave no metrics, summed over all scrapes.");
  constexpr std::array<std::string_view, kErrors> kReasons = {"timeout", "refused", "trouble",
                                                              "double"};
  for (std::size_t i = 0; i < kErrors; ++i) {
    page.sample(label("reason", kReasons[i]), errors_[i].load());
  }
  page.family("ringside_exporter_scrape_duration_seconds", "gauge",
              "Time that this scrape took to ask the processes.");
  page.sample({}, seconds);
  page.family("ringside_exporter_build_info", "gauge", "The exporter; the value is 1.");
  page.sample(label("version", RINGSIDE_VERSION), std::uint64_t{1});
}

}  // namespace ringside::live
