// SPDX-License-Identifier: Apache-2.0
#include "live/process_status.h"

#include <simdjson.h>

namespace ringside::live {
namespace {

using Object = simdjson::dom::object;

bool take(const Object& object, std::string_view name, std::string& text) {
  std::string_view found;
  if (object[name].get_string().get(found) != simdjson::SUCCESS) {
    return false;
  }
  text = found;
  return true;
}

bool take(const Object& object, std::string_view name, std::int64_t& number) {
  return object[name].get_int64().get(number) == simdjson::SUCCESS;
}

bool take(const Object& object, std::string_view name, std::uint64_t& number) {
  return object[name].get_uint64().get(number) == simdjson::SUCCESS;
}

template <typename Integer>
void take_if_there(const Object& object, std::string_view name, std::optional<Integer>& number) {
  Integer value = 0;
  if (take(object, name, value)) {
    number = value;
  }
}

std::optional<ProcessStatus> read_status(const Object& object) {
  ProcessStatus status;
  if (!take(object, "host", status.host) || !take(object, "job", status.job) ||
      !take(object, "directory", status.directory) || !take(object, "state", status.state) ||
      !take(object, "trace_path", status.trace_path) || !take(object, "pid", status.pid) ||
      !take(object, "windows", status.windows) ||
      !take(object, "communicators", status.communicators) ||
      !take(object, "operations", status.operations) || !take(object, "dropped", status.dropped) ||
      object["trouble"].get_bool().get(status.trouble) != simdjson::SUCCESS) {
    return std::nullopt;
  }
  take(object, "dump_path", status.dump_path);
  // Left out by earlier plugins.
  status.mask_changed =
      object["mask_changed"].get_bool().get(status.mask_changed) == simdjson::SUCCESS &&
      status.mask_changed;
  take_if_there(object, "callbacks", status.callbacks);
  take_if_there(object, "rank", status.rank);
  take_if_there(object, "start_at_realtime_ns", status.start_at_realtime_ns);
  take_if_there(object, "start_duration_ns", status.start_duration_ns);
  take_if_there(object, "start_operations", status.start_operations);
  take_if_there(object, "stop_at_realtime_ns", status.stop_at_realtime_ns);
  take_if_there(object, "left_ns", status.left_ns);
  take_if_there(object, "left_operations", status.left_operations);
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
  Object object;
  bool is_ok = false;
  if (parser.parse(exchange.answer).get_object().get(object) != simdjson::SUCCESS ||
      object["ok"].get_bool().get(is_ok) != simdjson::SUCCESS) {
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
