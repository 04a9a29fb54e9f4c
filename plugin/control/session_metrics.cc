// SPDX-License-Identifier: Apache-2.0
//
// What the session tells others of the running job: questions to the drain thread, and the metrics
// as a file and by HTTP.
#include <cstring>

#include "plugin/control/listen_address.h"
#include "plugin/control/session.h"

namespace ringside::control {

std::optional<std::string> Session::ask(Question question) {
  constexpr auto kPatience = std::chrono::seconds(2);
  auto answer = std::make_shared<std::optional<std::string>>();  // guarded by mutex_
  std::unique_lock lock(mutex_);
  if (!thread_running_ || !thread_wanted_) {
    return std::nullopt;
  }
  notes_.push_back([this, answer, question = std::move(question)](TraceWriter& writer) {
    std::string text = question(writer);
    const std::lock_guard answering(mutex_);
    *answer = std::move(text);
    answered_.notify_all();
  });
  wake_.notify_one();
  answered_.wait_for(lock, kPatience,
                     [&] { return answer->has_value() || !thread_wanted_ || thread_ended_; });
  return *answer;
}

void Session::start_metrics_server() {
  const auto address = parse_listen_address(config_.metrics_listen);
  if (!address) {
    return;
  }
  const auto text = [this](exporting::MetricsForm form) {
    return ask([form](TraceWriter& writer) { return writer.metrics_text(form); });
  };
  if (metrics_server_.start(*address, text)) {
    log_.info("metrics at http://" + metrics_server_.address() + "/metrics");
  } else {
    log_.warn("no metrics by HTTP (RINGSIDE_METRICS_LISTEN=" + config_.metrics_listen +
              "): " + metrics_server_.why());
  }
}

void Session::write_metrics_file() {
  if (!metrics_file_.is_due(writer_.now_ns())) {
    return;
  }
  const int error = metrics_file_.write(writer_.metrics_text(exporting::MetricsForm::kPrometheus));
  if (error != 0 && !metrics_told_) {
    metrics_told_ = true;
    log_.warn("cannot write " + metrics_file_.path() + " (" + std::strerror(error) +
              "): RINGSIDE_METRICS_DIR must be a directory that is there and can be written");
  }
}

}  // namespace ringside::control
