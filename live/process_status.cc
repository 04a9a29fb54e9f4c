// SPDX-License-Identifier: Apache-2.0
#include "live/process_status.h"

#include "live/json_members.h"

namespace ringside::live {
namespace {

std::optional<ProcessStatus> read_status(const JsonObject& object) {
  ProcessStatus status;
  if (!take(object, "host", status.host, "job", status.job, "directory", status.directory, "state",
            status.state, "trace_path", status.trace_path, "pid", status.pid, "windows",
            status.windows, "communicators", status.communicators, "operations", status.operations,
            "dropped", status.dropped, "trouble", status.trouble)) {
    return std::nullopt;
  }
  take(object, "dump_path", status.dump_path);
  // Left out by earlier plugins.
  take(object, "mask_changed", status.mask_changed);
  take(object, "callbacks", status.callbacks);
  take(object, "captured", status.captured, "replayed", status.replayed);
  take(object, "rank", status.rank);
  take(object, "start_at_realtime_ns", status.start_at_realtime_ns);
  take(object, "start_duration_ns", status.start_duration_ns);
  take(object, "start_operations", status.start_operations);
  take(object, "stop_at_realtime_ns", status.stop_at_realtime_ns);
  take(object, "left_ns", status.left_ns);
  take(object, "left_operations", status.left_operations);
  return status;
}

}  // namespace

Reply read_reply(const Exchange& exchange) {
  Reply reply;
  reply.endpoint = exchange.endpoint;
  reply.silence = exchange.silence;
  if (exchange.silence != Silence::kNone) {
    reply.error = exchange.reason;
    return reply;
  }
  reply.answer = exchange.answer;
  constexpr char kStrange[] = "answers what is not Ringside's protocol";
  simdjson::dom::parser parser;
  JsonObject object;
  bool is_ok = false;
  if (parser.parse(exchange.answer).get_object().get(object) != simdjson::SUCCESS ||
      !take(object, "ok", is_ok)) {
    reply.error = kStrange;
    return reply;
  }
  if (is_ok) {
    reply.status = read_status(object);
    reply.error = reply.status ? "" : kStrange;
  } else if (!take(object, "message", reply.error) || reply.error.empty()) {
    reply.error = kStrange;
  }
  return reply;
}

}  // namespace ringside::live
