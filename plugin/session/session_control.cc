// SPDX-License-Identifier: Apache-2.0
//
// What comes in through the control socket, and what is answered: docs/control.md.
#include <cerrno>
#include <cmath>
#include <cstring>
#include <initializer_list>
#include <variant>

#include "plugin/config/version.h"
#include "plugin/export/json_text.h"
#include "plugin/export/process_facts.h"
#include "plugin/session/session.h"

namespace ringside::control {
namespace {

using exporting::JsonText;

constexpr int kProtocol = 1;
constexpr std::int64_t kSecond_ns = 1'000'000'000;
constexpr std::int64_t kMostAhead_ns = kSecond_ns * 30 * 24 * 3600;

std::string error_line(std::string_view error, std::string_view message) {
  JsonText json;
  json.raw("{\"version\":").integer(kProtocol).key("ok").raw("false");
  json.member_string("error", error).member_string("message", message).raw("}");
  return std::string(json.text());
}

ControlSocket::Answer refused(std::string_view error, std::string_view message) {
  return {error_line(error, message), nullptr};
}

ControlSocket::Answer wrong(const std::string& message) {
  return refused("argument", message);
}

const FlatValue* find(const std::vector<FlatMember>& members, std::string_view name) {
  for (const FlatMember& member : members) {
    if (member.name == name) {
      return &member.value;
    }
  }
  return nullptr;
}

// The first member that is none of these; empty: there is none. A member that is not known is not
// passed over: it may be a bound that somebody relies on.
std::string stranger(const std::vector<FlatMember>& members,
                     std::initializer_list<std::string_view> known) {
  for (const FlatMember& member : members) {
    bool is_known = member.name == "version" || member.name == "verb";
    for (const std::string_view name : known) {
      is_known = is_known || member.name == name;
    }
    if (!is_known) {
      return "this verb has no " + member.name;
    }
  }
  return {};
}

// An integer from 1 on. What is wrong, or "".
std::string read_integer(const std::vector<FlatMember>& members, std::string_view name,
                         std::int64_t& value) {
  const FlatValue* const given = find(members, name);
  if (given == nullptr) {
    return {};
  }
  const auto* const integer = std::get_if<std::int64_t>(given);
  if (integer == nullptr || *integer < 1) {
    return std::string(name) + " must be an integer from 1 on";
  }
  value = *integer;
  return {};
}

std::string read_text(const std::vector<FlatMember>& members, std::string_view name,
                      std::string& text) {
  const FlatValue* const given = find(members, name);
  if (given == nullptr) {
    return {};
  }
  const auto* const string = std::get_if<std::string>(given);
  if (string == nullptr || string->empty()) {
    return std::string(name) + " must be a text";
  }
  text = *string;
  return {};
}

// What was ordered for a moment that has passed would make windows that differ from host to host.
std::string read_moment(const std::vector<FlatMember>& members, std::int64_t now_ns,
                        std::int64_t& at_realtime_ns) {
  std::string error = read_integer(members, "at_realtime_ns", at_realtime_ns);
  if (error.empty() && at_realtime_ns != 0 &&
      (at_realtime_ns <= now_ns || at_realtime_ns - now_ns > kMostAhead_ns)) {
    error = "at_realtime_ns has passed, or is more than 30 days ahead, by the clock of this host";
  }
  return error;
}

std::string read_seconds(const std::vector<FlatMember>& members, std::int64_t& duration_ns) {
  const FlatValue* const given = find(members, "seconds");
  if (given == nullptr) {
    return {};
  }
  const auto* const integer = std::get_if<std::int64_t>(given);
  const auto* const real = std::get_if<double>(given);
  const double seconds = integer != nullptr ? static_cast<double>(*integer)
                         : real != nullptr  ? *real
                                            : 0;
  constexpr double kLeast_s = 0.001;
  constexpr double kMost_s = 30.0 * 24 * 3600;
  if (!(seconds >= kLeast_s && seconds <= kMost_s)) {
    return "seconds must be from 0.001 to 2592000";
  }
  duration_ns = std::llround(seconds * 1e9);
  return {};
}

std::string read_start(const std::vector<FlatMember>& request, std::int64_t now_ns,
                       PlannedStart& start) {
  std::int64_t operations = 0;
  std::string events;
  std::string error = stranger(request, {"events", "at_realtime_ns", "operations", "seconds"});
  if (error.empty()) {
    error = read_moment(request, now_ns, start.at_realtime_ns);
  }
  if (error.empty()) {
    error = read_integer(request, "operations", operations);
  }
  if (error.empty()) {
    error = read_seconds(request, start.duration_ns);
  }
  if (error.empty()) {
    error = read_text(request, "events", events);
  }
  start.operations = static_cast<std::uint64_t>(operations);
  if (error.empty() && !events.empty()) {
    std::string unknown;
    start.events = parse_events(events, unknown);
    if (!start.events) {
      error = "events must be a list of names as RINGSIDE_EVENTS takes them" +
              (unknown.empty() ? std::string() : "; '" + unknown + "' is none of them");
    }
  }
  return error;
}

}  // namespace

void Session::begin_control() {
  const RingDirectory& directory = control_directory();
  if (!config_.control || !directory.is_open()) {
    return;
  }
  const int error = control_.begin(
      directory.descriptor(), directory.path(),
      [this](std::string_view request) { return answer(request); }, error_line);
  if (error != 0 && error != ECANCELED) {
    log_.warn("no control socket in " + directory.path() + " (" + std::strerror(error) +
              "): `ringside ctl` does not reach this process");
  }
}

ControlSocket::Answer Session::answer(std::string_view line) {
  const auto request = parse_flat_json(line);
  if (!request) {
    return refused("request", "a request is one JSON object a line, with plain values");
  }
  const FlatValue* const version = find(*request, "version");
  if (version == nullptr || *version != FlatValue(std::int64_t{kProtocol})) {
    return refused("version", "this process speaks version " + std::to_string(kProtocol));
  }
  const FlatValue* const given = find(*request, "verb");
  const auto* const verb = given != nullptr ? std::get_if<std::string>(given) : nullptr;
  if (verb != nullptr && *verb == "status") {
    const std::string error = stranger(*request, {});
    return error.empty() ? ControlSocket::Answer{status_line(*verb), nullptr} : wrong(error);
  }
  if (verb != nullptr && *verb == "start") {
    return answer_start(*request);
  }
  if (verb != nullptr && *verb == "stop") {
    return answer_stop(*request);
  }
  if (verb != nullptr && *verb == "mark") {
    return answer_mark(*request);
  }
  if (verb != nullptr && *verb == "dump") {
    return answer_dump(*request);
  }
  if (verb != nullptr && *verb == "live") {
    const std::string error = stranger(*request, {});
    return error.empty() ? answer_live() : wrong(error);
  }
  if (verb != nullptr && *verb == "metrics") {
    return answer_metrics(*request);
  }
  return refused("verb", "verb must be status, start, stop, mark, dump, live or metrics");
}

ControlSocket::Answer Session::answer_start(const std::vector<FlatMember>& request) {
  PlannedStart start;
  {
    const std::lock_guard lock(mutex_);
    const std::string error = read_start(request, plan_time().realtime_ns, start);
    if (!error.empty()) {
      return wrong(error);
    }
    if (!has_room_to_start(start.events.has_value())) {
      return refused("busy", "4096 starts and stops wait to be written");
    }
    if (start.at_realtime_ns != 0 || start.operations != 0 || start.duration_ns != 0) {
      plan_.order_start(start);
      plan_new_ = true;
    } else {
      plan_.clear();
      start_with(start.events.value_or(started_ ? choice_ : config_.events));
    }
    wake_.notify_one();
  }
  if (start.at_realtime_ns != 0) {
    return {status_line("start"), nullptr};
  }
  return {{}, [this](std::string& line) {
            {
              const std::lock_guard lock(mutex_);
              if (plan_.start() && plan_.start()->at_realtime_ns == 0) {
                return false;
              }
            }
            line = status_line("start");
            return true;
          }};
}

ControlSocket::Answer Session::answer_stop(const std::vector<FlatMember>& request) {
  std::int64_t at_realtime_ns = 0;
  std::string error = stranger(request, {"at_realtime_ns"});
  {
    const std::lock_guard lock(mutex_);
    if (error.empty()) {
      error = read_moment(request, plan_time().realtime_ns, at_realtime_ns);
    }
    if (!error.empty()) {
      return wrong(error);
    }
    if (at_realtime_ns != 0) {
      plan_.order_stop(at_realtime_ns);
      plan_new_ = true;
    } else {
      plan_.clear();
      end_window();
    }
    wake_.notify_one();
  }
  return {status_line("stop"), nullptr};
}

ControlSocket::Answer Session::answer_mark(const std::vector<FlatMember>& request) {
  std::string text;
  std::string error = stranger(request, {"text"});
  if (error.empty()) {
    error = read_text(request, "text", text);
  }
  if (error.empty() && text.empty()) {
    error = "mark needs a text";
  }
  if (!error.empty()) {
    return wrong(error);
  }
  if (mark(text.c_str()) != RINGSIDE_OK) {
    return refused("busy", "more marks wait than there is room for: it is lost, and counted");
  }
  return {status_line("mark"), nullptr};
}

ControlSocket::Answer Session::answer_dump(const std::vector<FlatMember>& request) {
  std::string path;
  std::string error = stranger(request, {"path"});
  if (error.empty()) {
    error = read_text(request, "path", path);
  }
  if (error.empty() && !path.empty() && path[0] != '/') {
    error = "path must begin with /: the working directory of this process is not yours";
  }
  if (!error.empty()) {
    return wrong(error);
  }
  std::shared_ptr<Dump> dump;
  {
    const std::lock_guard lock(mutex_);
    dump = order_dump(path);
  }
  if (dump == nullptr) {
    return refused("disabled", "this process has no thread that could write");
  }
  return {{}, [this, dump](std::string& line) {
            const std::optional<int> result = dump->result();
            if (!result) {
              return false;
            }
            JsonText more;
            more.member_string("dump_path", dump->path());
            line = *result == 0 ? status_line("dump", more.text())
                                : error_line(*result == EEXIST ? "exists" : "io",
                                             dump->path() + ": " + std::strerror(*result));
            return true;
          }};
}

ControlSocket::Answer Session::answer_live() {
  return answer_of_drain("live", [](TraceWriter& writer) { return writer.live_members(); });
}

ControlSocket::Answer Session::answer_metrics(const std::vector<FlatMember>& request) {
  std::string form;
  std::string error = stranger(request, {"form"});
  if (error.empty()) {
    error = read_text(request, "form", form);
  }
  if (error.empty() && !form.empty() && form != "prometheus" && form != "openmetrics") {
    error = "form must be prometheus or openmetrics";
  }
  if (!error.empty()) {
    return wrong(error);
  }
  const auto wanted = form == "openmetrics" ? exporting::MetricsForm::kOpenMetrics
                                            : exporting::MetricsForm::kPrometheus;
  return answer_of_drain("metrics", [wanted](TraceWriter& writer) {
    JsonText json;
    json.member_string("metrics", writer.metrics_text(wanted));
    return std::string(json.text());
  });
}

ControlSocket::Answer Session::answer_of_drain(std::string verb,
                                               std::function<std::string(TraceWriter&)> make) {
  auto members = std::make_shared<std::optional<std::string>>();  // guarded by mutex_
  {
    const std::lock_guard lock(mutex_);
    notes_.push_back([this, members, make = std::move(make)](TraceWriter& writer) {
      std::string text = make(writer);
      const std::lock_guard answering(mutex_);
      *members = std::move(text);
    });
    wake_.notify_one();
  }
  return {{}, [this, members, verb = std::move(verb)](std::string& line) {
            {
              const std::lock_guard lock(mutex_);
              if (!members->has_value()) {
                return false;
              }
            }
            line = status_line(verb, **members);
            return true;
          }};
}

std::string Session::status_line(std::string_view verb, std::string_view more) {
  ringside_status_info info{};
  info.struct_size = sizeof info;
  status(info);
  const exporting::ProcessFacts& facts = writer_.facts();
  JsonText json;
  json.raw("{\"version\":").integer(kProtocol).key("ok").raw("true");
  json.member_string("verb", verb).member_string("ringside_version", kVersion);
  json.member_string("job", facts.job).member_string("host", facts.host);
  json.member("pid", facts.pid).member_hex("run_id", facts.run_id);
  json.member_string("directory", writer_.directory());
  json.member_string("trace_path", info.trace_path);
  if (info.nccl_version != 0) {
    json.member_string("nccl_version", exporting::nccl_version_text(info.nccl_version));
  }
  json.member("abi_version", info.abi_version);
  json.member("wanted_mask", info.wanted_mask).member("actual_mask", info.actual_mask);
  json.member("communicators", info.communicators).member("windows", info.windows);
  json.member("callbacks", info.callbacks).member("operations", info.operations);
  json.member("dropped", info.dropped).member("bytes_written", info.bytes_written);
  json.member("bytes_kept", info.bytes_kept).member("rotated", info.rotated);
  json.key("trouble").raw(info.trouble != 0 ? "true" : "false");
  json.key("flight_recorder").raw(info.flight_recorder != 0 ? "true" : "false");
  json.member("ranges_without_room", nvtx::ranges_without_room());
  json.member("lines_lost", writer_.lines_lost()).member("given_up", writer_.given_up());
  const std::lock_guard lock(mutex_);
  json.member("marks_lost", mark_room_.marks_lost());
  json.member("ranges_lost", mark_room_.ranges_lost());
  const bool waits = started_ && nccl_.abi_version == 0;
  json.member_string("state", recorded_ != 0 ? "recording"
                              : wanted_ != 0 ? "masked"
                              : waits        ? "waiting"
                                             : "stopped");
  json.key("mask_changed").raw(masks_.missing() != 0 ? "true" : "false");
  if (const int rank = facts.launcher_rank >= 0 ? facts.launcher_rank : rank_.rank; rank >= 0) {
    json.member("rank", rank);
  }
  const PlanTime now = plan_time();
  if (const auto& start = plan_.start()) {
    json.member("start_at_realtime_ns", start->at_realtime_ns);
    if (start->operations != 0) {
      json.member("start_operations", start->operations);
    }
    if (start->duration_ns != 0) {
      json.member("start_duration_ns", start->duration_ns);
    }
  }
  if (plan_.stop_at_realtime_ns() != 0) {
    json.member("stop_at_realtime_ns", plan_.stop_at_realtime_ns());
  }
  if (const auto left_ns = plan_.left_ns(now)) {
    json.member("left_ns", *left_ns);
  }
  if (const auto left = plan_.left_operations(now)) {
    json.member("left_operations", *left);
  }
  return std::string(json.raw(more).raw("}").text());
}

}  // namespace ringside::control
