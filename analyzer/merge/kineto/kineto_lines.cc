// SPDX-License-Identifier: Apache-2.0
#include "analyzer/merge/kineto/kineto_lines.h"

#include <functional>

#include "analyzer/load/json/dom_value.h"
#include "analyzer/merge/line.h"
#include "ringside/trace_schema.h"

namespace ringside::merge {
namespace {

std::string raw_of(const simdjson::dom::object& event, std::string_view key) {
  simdjson::dom::element value;
  return event[key].get(value) == simdjson::SUCCESS ? std::string(simdjson::minify(value))
                                                    : std::string();
}

// Kineto gives the end of its window ("Record Window End") neither a process nor a thread: both are
// empty texts. It belongs where the window's beginning is.
constexpr std::string_view kEmptyText = R"("")";
constexpr std::string_view kWindowProcess = "Traces";
constexpr std::string_view kWindowThread = R"("Trace PyTorch Profiler")";

bool is_flow(std::string_view phase) {
  return phase == "s" || phase == "t" || phase == "f";
}

}  // namespace

KinetoLines::KinetoLines(const model::Traces& traces, const align::Alignment& alignment,
                         const Plan& plan, std::uint32_t number, std::uint32_t free_pid)
    : alignment_(alignment),
      plan_(plan),
      planned_(plan.kineto[number - 1]),
      process_(plan.processes[planned_.process]),
      of_(traces.files[process_.file].process),
      number_(number),
      free_pid_(free_pid) {}

std::optional<std::string> KinetoLines::write(const std::function<void(std::string_view)>& put) {
  std::string text;
  load::KinetoFile file;
  auto error = file.read(planned_.path, [&](std::size_t place, const Object& event) {
    const auto link = planned_.links.find(place);
    text.clear();
    if (!take(event, link != planned_.links.end() ? &link->second : nullptr, text)) {
      ++damaged_;
      return;
    }
    if (!new_group_.empty()) {
      ++written_;
      put(new_group_);
      new_group_.clear();
    }
    if (!text.empty()) {
      ++written_;
      put(text);
    }
  });
  damaged_ += file.damaged();
  text.clear();
  name_groups(text);
  put(text);
  return error;
}

std::optional<std::int64_t> KinetoLines::line_ns(std::int64_t epoch_ns) const {
  const std::int64_t own_ns = epoch_ns - of_.base_time_s * 1'000'000'000;  // also before the base
  const std::int64_t moved_ns =
      alignment_.to_common_ns(process_.file, own_ns) - plan_.base_time_s * 1'000'000'000;
  return moved_ns >= 0 ? std::optional(moved_ns) : std::nullopt;
}

bool KinetoLines::is_left_out(const Object& event, std::int64_t begin_ns,
                              std::int64_t end_ns) const {
  const std::int64_t base_ns = plan_.base_time_s * 1'000'000'000;
  // A flow without its slices would be a finding of viewers.
  return plan_.is_part && (is_flow(load::text_at(event, "ph")) ||
                           !is_in_spans(plan_, begin_ns + base_ns, end_ns + base_ns));
}

KinetoLines::Group& KinetoLines::group_of(const Object& event) {
  std::string raw = raw_of(event, "pid");
  const bool is_window = raw == kEmptyText;
  if (is_window) {
    raw = '"' + std::string(kWindowProcess) + '"';
  }
  Group& group = groups_[raw];
  if (group.pid == 0) {
    group.pid = free_pid_++;
    const std::string pid = std::to_string(group.pid);
    new_group_ = "{\"ph\":\"M\",\"pid\":" + pid + ",\"tid\":" + pid + ",\"ts\":0,\"name\":\"" +
                 schema::kLineMergedForeign + R"(","args":{"from":"PyTorch","file":)";
    append_quoted(planned_.path.substr(planned_.path.rfind('/') + 1), new_group_);
    new_group_ += "}},\n";
    group.name = is_window ? kWindowProcess : load::text_at(event, "pid");
  }
  return group;
}

// Viewers want numbers, and take 0 for the idle task; "PyTorch Profiler" and the like are no
// thread's.
std::string KinetoLines::thread_of(const Object& event, Group& group) {
  std::int64_t tid = 0;
  if (event["tid"].get_int64().get(tid) == simdjson::SUCCESS && tid > 0 && tid <= UINT32_MAX) {
    return std::to_string(tid);
  }
  constexpr std::uint32_t kFirst = 1U << 30;
  const auto next = static_cast<std::uint32_t>(kFirst + group.named_threads.size());
  std::string raw = raw_of(event, "tid");
  if (raw == kEmptyText) {
    raw = kWindowThread;
  }
  return std::to_string(group.named_threads.try_emplace(raw, next).first->second);
}

void KinetoLines::take_metadata(const Object& event, std::string_view name, std::string& output) {
  Group& group = group_of(event);
  Object arguments;
  if (event["args"].get_object().get(arguments) != simdjson::SUCCESS) {
    return;
  }
  if (name == "process_name") {
    group.name = load::text_at(arguments, "name");
  } else if (name == "process_labels") {
    group.labels = load::text_at(arguments, "labels");
  } else if (name == "thread_name" || name == "thread_sort_index") {
    output = "{\"ph\":\"M\",\"pid\":" + std::to_string(group.pid) +
             ",\"tid\":" + thread_of(event, group) + ",\"ts\":0,\"name\":";
    append_quoted(name, output);
    output += ",\"args\":" + raw_of(event, "args") + "},\n";
  }
}

// Flows of one trace must not meet those of another. Viewers take integers only, below 2^53.
std::uint64_t KinetoLines::flow_id(const simdjson::dom::element& id) const {
  constexpr std::uint64_t kOwnBits = 40;
  constexpr std::uint64_t kMostTraces = 1U << 13;
  std::uint64_t own = 0;
  if (id.get_uint64().get(own) != simdjson::SUCCESS) {
    own = std::hash<std::string>{}(simdjson::minify(id));
  }
  return number_ % kMostTraces << kOwnBits | (own & ((std::uint64_t{1} << kOwnBits) - 1));
}

bool KinetoLines::take(const Object& event, const KinetoLink* link, std::string& output) {
  const std::string_view phase = load::text_at(event, "ph");
  if (phase == "M") {
    take_metadata(event, load::text_at(event, "name"), output);
    return true;
  }
  const auto since_base_ns = load::KinetoFile::since_base_ns(event);
  const auto duration_ns = phase == "X" ? load::KinetoFile::duration_ns(event) : 0;
  std::int64_t time_ns = 0;
  std::int64_t last_ns = 0;
  if (!since_base_ns || !duration_ns ||
      __builtin_add_overflow(*since_base_ns, planned_.base_ns, &time_ns) ||
      __builtin_add_overflow(time_ns, *duration_ns, &last_ns)) {
    return false;
  }
  const auto begin_ns = line_ns(time_ns);
  const auto end_ns = line_ns(last_ns);
  if (!begin_ns || !end_ns || *end_ns < *begin_ns) {
    return false;
  }
  if (is_left_out(event, *begin_ns, *end_ns)) {
    return true;
  }
  Group& group = group_of(event);
  output = "{\"ph\":";
  append_quoted(phase, output);
  output +=
      ",\"pid\":" + std::to_string(group.pid) + ",\"tid\":" + thread_of(event, group) + ",\"ts\":";
  append_microseconds(*begin_ns, output);
  if (phase == "X") {
    output += ",\"dur\":";
    append_microseconds(*end_ns - *begin_ns, output);
  }
  for (const auto member : event) {
    const std::string_view key = member.key;
    if (key == "ph" || key == "pid" || key == "tid" || key == "ts" || key == "dur") {
      continue;
    }
    output += ',';
    append_quoted(key, output);
    output += ':';
    if (key == "id") {
      output += std::to_string(flow_id(member.value));
    } else if (key == "args" && link != nullptr && member.value.is_object()) {
      const std::string arguments(simdjson::minify(member.value));
      output += arguments.substr(0, arguments.size() - 1) + (arguments.size() > 2 ? "," : "") +
                link->arguments + '}';
    } else {
      output += simdjson::minify(member.value);
    }
  }
  if (link != nullptr && link->arrow > 0) {
    output += ",\"bind_id\":";
    append_hex(kArrowBit | link->arrow, output);
    output += ",\"flow_out\":true";
  }
  output += "},\n";
  return true;
}

void KinetoLines::name_groups(std::string& output) {
  for (const auto& [raw, group] : groups_) {
    const std::string ids = "\"pid\":" + std::to_string(group.pid);
    const auto add = [&](std::uint32_t tid, std::string_view what, std::string_view value) {
      output += "{\"ph\":\"M\"," + ids + ",\"tid\":" + std::to_string(tid) + ",\"ts\":0,\"name\":";
      append_quoted(what, output);
      output += ",\"args\":{";
      append_quoted(what.ends_with("_name") ? "name" : "sort_index", output);
      output.append(":").append(value).append("}},\n");
      ++written_;
    };
    const auto quoted = [](std::string_view text) {
      std::string result;
      append_quoted(text, result);
      return result;
    };
    std::string what = group.labels.empty() ? group.name : group.labels;
    what = what.empty() ? raw : what;
    add(group.pid, "process_name", quoted(process_.label + " PyTorch: " + what));
    // Behind its rank, where a viewer honours it: equal numbers keep the order of the file.
    add(group.pid, "process_sort_index", std::to_string(planned_.process + 1));
    for (const auto& [name, tid] : group.named_threads) {
      if (name.starts_with('"')) {
        add(tid, "thread_name", name);
      }
    }
  }
}

}  // namespace ringside::merge
