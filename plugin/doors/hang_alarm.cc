// SPDX-License-Identifier: Apache-2.0
#include "plugin/doors/hang_alarm.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "plugin/drain/trace_account.h"

namespace ringside::doors {

HangAlarm::HangAlarm(const config::Config& config, posix::Log& log, session::Session& session)
    : config_(config),
      log_(log),
      session_(session),
      watch_(config.hang_seconds),
      command_(config.on_hang) {}

std::shared_ptr<drain::Dump> HangAlarm::look(drain::TraceWriter& writer) {
  if (!watch_.is_due(writer.now_ns())) {
    return nullptr;
  }
  command_.reap();
  const std::vector<assemble::InFlight> stuck =
      watch_.take_unreported(writer.in_flight_for(watch_.limit_ns()));
  if (stuck.empty()) {
    return nullptr;
  }
  // One at a time: a dump that is being written shows the stall, too.
  const bool wants_dump = dumps_ < HangWatch::kMostDumps && dump_ == nullptr;
  std::string path;
  if (wants_dump) {
    ++dumps_;
    path = session_.next_dump_path();
  }
  const HangFacts facts{config_.hang_seconds, writer.now_ns(),
                        drain::TraceAccount::of_threads().dropped(), path};
  for (const assemble::InFlight& operation : stuck) {
    log_.warn(hang_line(operation, writer.find_communicator(operation.operation.context), facts));
  }
  if (wants_dump) {
    dump_ = std::make_shared<drain::Dump>(path);
  }
  return wants_dump ? dump_ : nullptr;
}

void HangAlarm::follow() {
  const std::optional<Result> result = dump_ != nullptr ? dump_->result() : std::nullopt;
  if (!result) {
    return;
  }
  std::string path = std::exchange(dump_, nullptr)->path();
  if (!result->is_ok()) {
    log_.warn("cannot write " + path + " (" + result->text() + ")");
    path.clear();
  }
  if (const Result started = command_.run(path); !started.is_ok()) {
    log_.warn(std::string("RINGSIDE_ON_HANG: /bin/sh cannot be started (") + started.text() + ")");
  }
}

}  // namespace ringside::doors
