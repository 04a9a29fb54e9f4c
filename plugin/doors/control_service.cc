// SPDX-License-Identifier: Apache-2.0
#include "plugin/doors/control_service.h"

#include <cerrno>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "plugin/config/version.h"
#include "plugin/doors/control_request.h"
#include "plugin/export/lines/chrome_trace.h"
#include "plugin/nvtx/markers.h"
#include "plugin/record/recorder.h"
#include "plugin/result/result.h"
#include "plugin/threads/mutex.h"

namespace ringside::doors {
namespace {

using Answer = ControlSocket::Answer;
using Json = nlohmann::ordered_json;

constexpr int kProtocol = 1;

// Bytes that are not UTF-8, as a path may have them, become U+FFFD.
std::string text_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string error_line(std::string_view error, std::string_view message) {
  return text_of({{"version", kProtocol}, {"ok", false}, {"error", error}, {"message", message}});
}

Answer refused(std::string_view error, std::string_view message) {
  return {error_line(error, message), nullptr};
}

const char* state_text(session::Recording::State state) {
  constexpr std::array kTexts = {"stopped", "waiting", "masked", "recording"};
  return kTexts[static_cast<std::size_t>(state)];
}

void add_plan(const session::Status& status, Json& json) {
  if (const auto& start = status.plan.start()) {
    json["start_at_realtime_ns"] = start->at_realtime_ns;
    if (start->operations != 0) {
      json["start_operations"] = start->operations;
    }
    if (start->duration_ns != 0) {
      json["start_duration_ns"] = start->duration_ns;
    }
  }
  if (status.plan.stop_at_realtime_ns() != 0) {
    json["stop_at_realtime_ns"] = status.plan.stop_at_realtime_ns();
  }
  if (const auto left_ns = status.plan.left_ns(status.now)) {
    json["left_ns"] = *left_ns;
  }
  if (const auto left = status.plan.left_operations(status.now)) {
    json["left_operations"] = *left;
  }
}

// `more`: an object with members that go behind those of every answer; empty: there are none.
std::string status_line(session::Session& session, std::string_view verb,
                        std::string_view more = {}) {
  const session::Status status = session.status();
  const ringside_status_info& info = status.info;
  const exporting::ProcessFacts& facts = session.writer().facts();
  char run_id[24];
  std::snprintf(run_id, sizeof run_id, "0x%llx", static_cast<unsigned long long>(facts.run_id));
  Json json{{"version", kProtocol},
            {"ok", true},
            {"verb", verb},
            {"ringside_version", config::kVersion},
            {"job", facts.job},
            {"host", facts.host},
            {"pid", facts.pid},
            {"run_id", run_id},
            {"directory", session.writer().directory()},
            {"trace_path", info.trace_path}};
  if (info.nccl_version != 0) {
    json["nccl_version"] = exporting::nccl_version_text(info.nccl_version);
  }
  json["abi_version"] = info.abi_version;
  if (facts.launcher_rank >= 0) {
    json["launcher_rank"] = facts.launcher_rank;
  }
  json["wanted_mask"] = info.wanted_mask;
  json["actual_mask"] = info.actual_mask;
  json["communicators"] = info.communicators;
  json["windows"] = info.windows;
  json["callbacks"] = info.callbacks;
  json["operations"] = info.operations;
  json["dropped"] = info.dropped;
  json["bytes_written"] = info.bytes_written;
  json["bytes_kept"] = info.bytes_kept;
  json["rotated"] = info.rotated;
  json["trouble"] = info.trouble != 0;
  json["flight_recorder"] = info.flight_recorder != 0;
  json["ranges_without_room"] = nvtx::ranges_without_room();
  json["given_up"] = session.writer().figures().given_up.load();
  json["captured"] = session.writer().figures().captured.load();
  json["replayed"] = session.writer().figures().replayed.load();
  json["state"] = state_text(status.state);
  json["mask_changed"] = status.mask_changed;
  if (status.rank >= 0) {
    json["rank"] = status.rank;
  }
  add_plan(status, json);
  std::string line = text_of(json);
  if (!more.empty()) {
    line.back() = ',';
    line.append(more.substr(1));
  }
  return line;
}

Answer answer_status(session::Session& session, ControlRequest& request) {
  request.allow({});
  return {status_line(session, "status"), nullptr};
}

Answer answer_start(session::Session& session, ControlRequest& request) {
  session::PlannedStart start;
  request.allow({"events", "at_realtime_ns", "operations", "seconds"});
  start.at_realtime_ns = request.moment_ns();
  start.operations = static_cast<std::uint64_t>(request.integer("operations"));
  start.duration_ns = request.duration_ns();
  if (const std::string events = request.text("events"); !events.empty()) {
    std::string unknown;
    start.events = config::parse_events(events, unknown);
    if (!start.events) {
      request.refuse("events must be a list of names as RINGSIDE_EVENTS takes them" +
                     (unknown.empty() ? std::string() : "; '" + unknown + "' is none of them"));
    }
  }
  if (!request.error().empty()) {
    return {};
  }
  if (!session.order_start(start)) {
    return refused("busy", "4096 starts and stops wait to be written");
  }
  if (start.at_realtime_ns != 0) {
    return {status_line(session, "start"), nullptr};
  }
  return {{}, [&session](std::string& line) {
            if (session.has_start_at_once()) {
              return false;
            }
            line = status_line(session, "start");
            return true;
          }};
}

Answer answer_stop(session::Session& session, ControlRequest& request) {
  request.allow({"at_realtime_ns"});
  const std::int64_t at_realtime_ns = request.moment_ns();
  if (!request.error().empty()) {
    return {};
  }
  session.order_stop(at_realtime_ns);
  return {status_line(session, "stop"), nullptr};
}

Answer answer_mark(session::Session& session, ControlRequest& request) {
  request.allow({"text"});
  const std::string text = request.text("text");
  if (text.empty()) {
    request.refuse("mark needs a text");
  }
  if (!request.error().empty()) {
    return {};
  }
  if (!record::g_recorder.mark(text)) {
    return refused("busy", "more marks wait than there is room for: it is lost, and counted");
  }
  return {status_line(session, "mark"), nullptr};
}

Answer answer_dump(session::Session& session, ControlRequest& request) {
  request.allow({"path"});
  const std::string path = request.text("path");
  if (!path.empty() && path[0] != '/') {
    request.refuse("path must begin with /: the working directory of this process is not yours");
  }
  if (!request.error().empty()) {
    return {};
  }
  const std::shared_ptr<drain::Dump> dump = session.order_dump(path);
  if (dump == nullptr) {
    return refused("disabled", "this process has no thread that could write");
  }
  return {{}, [&session, dump](std::string& line) {
            const std::optional<Result> result = dump->result();
            if (!result) {
              return false;
            }
            line = result->is_ok()
                       ? status_line(session, "dump", text_of({{"dump_path", dump->path()}}))
                       : error_line(result->error() == EEXIST ? "exists" : "io",
                                    dump->path() + ": " + result->text());
            return true;
          }};
}

// The drain thread alone knows what is assembled.
Answer answer_live(session::Session& session, ControlRequest& request) {
  struct Made {
    threads::Mutex mutex;
    std::optional<std::string> members RINGSIDE_GUARDED_BY(mutex);
  };
  request.allow({"series"});
  const bool with_series = request.integer("series") != 0;
  if (!request.error().empty()) {
    return {};
  }
  auto made = std::make_shared<Made>();
  const bool is_accepted = session.tell_drain_thread(
      [made, with_series](drain::TraceWriter& writer) RINGSIDE_REQUIRES(threads::kDrainThread) {
        std::string members = writer.live_members(with_series);
        const threads::MutexLock lock(made->mutex);
        made->members = std::move(members);
      });
  if (!is_accepted) {
    return refused("busy", "too many requests wait for the thread that writes the trace");
  }
  return {{}, [&session, made](std::string& line) {
            const threads::MutexLock lock(made->mutex);
            if (!made->members) {
              return false;
            }
            line = status_line(session, "live", "{" + made->members->substr(1) + "}");
            return true;
          }};
}

Answer answer_request(session::Session& session, std::string_view line) {
  struct Verb {
    std::string_view name;
    Answer (*answer)(session::Session&, ControlRequest&);
  };
  constexpr Verb kVerbs[] = {{"status", answer_status}, {"start", answer_start},
                             {"stop", answer_stop},     {"mark", answer_mark},
                             {"dump", answer_dump},     {"live", answer_live}};
  const auto request = ControlRequest::parse(line);
  if (request == nullptr) {
    return refused("request", "a request is one JSON object in UTF-8 a line, with plain values");
  }
  if (!request->has_version(kProtocol)) {
    return refused("version", "this process speaks version " + std::to_string(kProtocol));
  }
  const std::string name = request->verb();
  for (const Verb& verb : kVerbs) {
    if (verb.name == name) {
      Answer given = verb.answer(session, *request);
      return request->error().empty() ? given : refused("argument", request->error());
    }
  }
  return refused("verb", "verb must be status, start, stop, mark, dump or live");
}

}  // namespace

void begin_control(ControlSocket& socket, session::Session& session, const config::Config& config,
                   posix::Log& log) {
  const session::RingDirectory& directory = session.directory();
  if (!config.control || !directory.is_open()) {
    return;
  }
  const Result begun = socket.begin(
      directory.path(),
      [&session](std::string_view request) { return answer_request(session, request); },
      error_line);
  if (!begun.is_ok() && begun.error() != ECANCELED) {
    log.warn("no control socket in " + directory.path() + " (" + begun.text() +
             "): `ringside ctl` does not reach this process");
  }
}

}  // namespace ringside::doors
