// SPDX-License-Identifier: Apache-2.0
#include "analyzer/lint/event_rules.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <span>
#include <string>

#include "analyzer/lint/machine_rules.h"
#include "ringside/trace_schema.h"

namespace ringside::lint {
namespace {

using Keys = std::initializer_list<std::string_view>;
constexpr std::int64_t kMaxId = 4294967295;

constexpr std::array kCategories = {
    std::string_view(schema::kCategoryApi),   std::string_view(schema::kCategoryOperation),
    std::string_view(schema::kCategoryProxy), std::string_view(schema::kCategoryStep),
    std::string_view(schema::kCategoryGpu),   std::string_view(schema::kCategoryControl),
    std::string_view(schema::kCategoryNet),   std::string_view(schema::kCategoryCopyEngine),
    std::string_view(schema::kCategoryPhase), std::string_view(schema::kCategoryMark)};

struct MetadataLine {
  std::string_view name;
  std::array<std::string_view, 4> keys;  // that args must have; unused ones are empty
};

constexpr std::array<MetadataLine, 19> kMetadata = {{
    {"process_name", {"name"}},
    {"process_sort_index", {"sort_index"}},
    {"thread_name", {"name"}},
    {"thread_sort_index", {"sort_index"}},
    {schema::kLineTrace, {}},
    {schema::kLineCommunicator, {"context", "created_ns"}},
    {schema::kLineClock, {"ts_ns", "realtime_ns", "monotonic_ns", "uncertainty_ns"}},
    {schema::kLineGpuClock, {"context", "gpu_ref", "ts_ref_ns", "drift_ppb"}},
    {schema::kLineWindow, {"window", "start_ns"}},
    {schema::kLineMark, {"mark", "name", "tid", "start_ns"}},
    {schema::kLineAccount, {"ts_ns", "by_type"}},
    {schema::kLineTopology, {"ts_ns", "state", "gpus", "ports"}},
    {schema::kLineGpu, {"ts_ns", "index", "links"}},
    {schema::kLinePort, {"ts_ns", "device", "port", "counters"}},
    {schema::kLineEnd, {"ts_ns", "operations"}},
    {schema::kLineMerged, {"format_version", "base_time_s", "processes", "part"}},
    {schema::kLineMergedHost, {"host", "is_reference"}},
    {schema::kLineMergedForeign, {"from", "file"}},
    {schema::kLineMergedEnd, {"lines", "lines_left_out"}},
}};

void require(const Event& event, const simdjson::dom::object& object,
             std::span<const std::string_view> keys, Rule rule, std::string_view where,
             Findings& findings) {
  for (const std::string_view key : keys) {
    if (!key.empty() && !has(object, key)) {
      findings.add(event.line, rule, "no " + std::string(where) + std::string(key));
    }
  }
}

void require(const Event& event, Keys keys, Findings& findings) {
  require(event, event.object, {keys.begin(), keys.size()}, Rule::kRequiredKeys, "", findings);
}

void check_keys(const Event& event, Findings& findings) {
  require(event, {"ph", "pid", "tid", "ts", "name"}, findings);
  if (event.phase == "X") {
    require(event, {"cat", "dur", "args"}, findings);
  } else if (event.phase == "b" || event.phase == "e" || (event.is_merged && event.phase == "n")) {
    require(event, {"cat"}, findings);
    if (event.id.empty()) {
      findings.add(event.line, Rule::kRequiredKeys, "no id2.local (a string)");
    }
  } else if (event.phase == "M" || event.phase == "C") {
    require(event, {"args"}, findings);
  } else if (event.phase == "i") {
    require(event, {"cat", "s"}, findings);
  } else if (!event.phase.empty()) {
    findings.add(event.line, Rule::kPhase, "ph is \"" + std::string(event.phase) + '"');
  }
}

void check_ids(const Event& event, Findings& findings) {
  if (has(event.object, "pid") && (event.pid < 0 || event.pid > kMaxId)) {
    findings.add(event.line, Rule::kIdRange, "pid is not an integer from 0 to 4294967295");
  }
  if (has(event.object, "tid") && (event.tid < 1 || event.tid > kMaxId)) {
    findings.add(event.line, Rule::kIdRange, "tid is not an integer from 1 to 4294967295");
  }
}

void check_times(const Event& event, Findings& findings) {
  if (event.phase == "M") {
    if (has(event.object, "ts") && event.scan.ts != "0") {
      findings.add(event.line, Rule::kTimeFormat, "ts of metadata is not 0");
    }
    return;
  }
  if (has(event.object, "ts") && !event.ts_ns) {
    findings.add(event.line, Rule::kTimeFormat,
                 "ts is " + std::string(event.scan.ts) + ", not like 12.345");
  }
  if (has(event.object, "dur") && !event.dur_ns) {
    findings.add(event.line, Rule::kTimeFormat,
                 "dur is " + std::string(event.scan.dur) + ", not like 12.345");
  }
}

void check_metadata(const Event& event, Findings& findings) {
  const auto* const line =
      std::find_if(kMetadata.begin(), kMetadata.end(),
                   [&](const MetadataLine& m) { return m.name == event.name; });
  if (line == kMetadata.end()) {
    findings.add(event.line, Rule::kMetadataName,
                 "unknown metadata \"" + std::string(event.name) + '"');
    return;
  }
  if (!event.arguments) {
    return;
  }
  // The second line of a window has its end.
  const bool is_end_of_window =
      event.name == schema::kLineWindow && has(*event.arguments, "end_ns");
  const std::size_t count = is_end_of_window ? 1 : line->keys.size();
  require(event, *event.arguments, std::span(line->keys).first(count), Rule::kMetadataKeys, "args.",
          findings);
  if (event.name != schema::kLineClock) {
    check_machine(event, findings);
    return;
  }
  for (const std::string_view key : {"estimated_error_ns", "maximum_error_ns"}) {
    std::int64_t error_ns = 0;
    if (has(*event.arguments, key) &&
        ((*event.arguments)[key].get(error_ns) != simdjson::SUCCESS || error_ns <= 0)) {
      findings.add(event.line, Rule::kMetadataKeys,
                   "args." + std::string(key) + " is not above 0: what is unknown is absent");
    }
  }
}

void check_counter(const Event& event, Findings& findings) {
  std::size_t series = 0;
  for (const auto& field : *event.arguments) {
    ++series;
    if (!field.value.is_number()) {
      findings.add(event.line, Rule::kCounterArgs,
                   "args." + std::string(field.key) + " is not a number");
    }
  }
  if (series == 0) {
    findings.add(event.line, Rule::kCounterArgs, "args has no series");
  }
}

void check_category(const Event& event, Findings& findings) {
  const bool is_known =
      std::find(kCategories.begin(), kCategories.end(), event.category) != kCategories.end();
  if (!event.category.empty() && !is_known) {
    findings.add(event.line, Rule::kCategory, "unknown cat \"" + std::string(event.category) + '"');
  }
  if (event.phase == "X" && is_known && !event.is_merged &&
      event.category != schema::kCategoryApi && event.category != schema::kCategoryMark) {
    findings.add(event.line, Rule::kSliceCategory,
                 "an X slice in cat \"" + std::string(event.category) + '"');
  }
}

}  // namespace

void check_event(const Event& event, Findings& findings) {
  if (event.is_foreign) {
    require(event, {"ph", "pid", "tid", "ts", "name"}, findings);
    check_ids(event, findings);
    check_times(event, findings);
    return;
  }
  check_keys(event, findings);
  check_ids(event, findings);
  check_times(event, findings);
  check_category(event, findings);
  if (event.phase == "M") {
    check_metadata(event, findings);
  } else if (event.phase == "C" && event.arguments) {
    check_counter(event, findings);
  } else if (event.phase == "i") {
    const std::string_view scope = text_at(event.object, "s");
    if (has(event.object, "s") && scope != "g" && scope != "p" && scope != "t") {
      findings.add(event.line, Rule::kInstantScope, "s is not g, p or t");
    }
  }
}

void check_first_event(const Event& event, Findings& findings) {
  if (event.phase != "M" || (event.name != schema::kLineTrace && !event.is_merged) ||
      !event.arguments) {
    findings.add(event.line, Rule::kFirstLine, "not a ringside_trace event");
    return;
  }
  constexpr std::array<std::string_view, 15> kKeys = {
      "format_version", "plugin_version", "run_id",       "job", "host",  "boot_id", "pid",
      "base_time_s",    "start_ns",       "nccl_version", "abi", "clock", "events",  "config",
      "environment"};
  if (!event.is_merged) {
    require(event, *event.arguments, kKeys, Rule::kFirstLine, "args.", findings);
  }
  const auto version = integer_at(*event.arguments, "format_version");
  if (version && *version != schema::kFormatVersion) {
    findings.add(event.line, Rule::kFirstLine,
                 "format_version is " + std::to_string(*version) + ", not " +
                     std::to_string(schema::kFormatVersion));
  }
}

}  // namespace ringside::lint
