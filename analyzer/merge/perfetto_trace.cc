// SPDX-License-Identifier: Apache-2.0
#include "analyzer/merge/perfetto_trace.h"

#include <algorithm>
#include <cmath>

#include "analyzer/load/dom_value.h"
#include "analyzer/merge/line.h"
#include "analyzer/merge/perfetto_fields.h"

namespace ringside::merge {

using namespace perfetto;

namespace {

constexpr std::size_t kMostInternedText_bytes = 64;
// Its metadata lines are about no process, and are in the name of one.
constexpr std::string_view kOfTheFile = "ringside_merged";

// Exact: below 2^43 us, which base times keep to, a double is within half a nanosecond.
std::optional<std::uint64_t> time_of(const simdjson::dom::object& line, std::string_view key) {
  constexpr double kMost_us = 8.7e12;
  double time_us = 0;
  if (line[key].get_double().get(time_us) != simdjson::SUCCESS ||
      !(time_us >= 0 && time_us < kMost_us)) {
    return std::nullopt;
  }
  return static_cast<std::uint64_t>(std::llround(time_us * 1e3));
}

}  // namespace

PerfettoTrace::PerfettoTrace(const Plan& plan, std::function<void(std::string_view)> write)
    : write_(std::move(write)) {
  for (const ProcessPlan& process : plan.processes) {
    for (const ArrowEnd& end : process.arrow_ends) {
      arrow_ends_.resize(std::max<std::size_t>(arrow_ends_.size(), end.arrow + 1));
      arrow_ends_[end.arrow] += end.begins ? 0 : 1;
    }
  }
  arrows_bound_.resize(arrow_ends_.size());
  Message first;
  first.integer(packet_field::kFlags, kStateCleared).integer(packet_field::kFirst, 1);
  packet(first);
  Message root;
  root.integer(track_field::kUuid, 0).integer(track_field::kProcessOrdering, 1);  // explicit
  describe(root);
}

void PerfettoTrace::take(std::string_view lines) {
  while (!lines.empty()) {
    const std::size_t end = lines.find('\n');
    std::string_view json = lines.substr(0, end);
    lines.remove_prefix(end == std::string_view::npos ? lines.size() : end + 1);
    json.remove_prefix(json.starts_with('[') ? 1 : 0);
    json.remove_suffix(json.ends_with(',') ? 1 : 0);
    if (json.starts_with('{')) {
      take_line(json);
    }
  }
}

void PerfettoTrace::take_line(std::string_view json) {
  line_.assign(json);
  line_.reserve(line_.size() + simdjson::SIMDJSON_PADDING);
  Object line;
  if (parser_.parse(line_.data(), line_.size(), false).get_object().get(line) !=
      simdjson::SUCCESS) {
    return;  // cannot be: the merge has written it
  }
  const std::string_view phase = load::text_at(line, "ph");
  const std::string_view name = load::text_at(line, "name");
  if (phase == "M" && name.starts_with(kOfTheFile)) {
    Object arguments;
    if (line["args"].get_object().get(arguments) == simdjson::SUCCESS) {
      notes_.emplace_back(name, simdjson::minify(arguments));
    }
    return;
  }
  if (const std::int64_t pid = load::integer_at(line, "pid").value_or(0);
      pid != pid_ || process_track_ == 0) {
    end_process();
    begin_process(pid);
  }
  if (phase == "M") {
    take_metadata(line, name);
    return;
  }
  const auto at = time_of(line, "ts");
  if (!at) {
    return;
  }
  const std::uint64_t at_ns = *at;
  first_ns_ = std::min(first_ns_, at_ns);
  if (phase == "X") {
    take_slice(line, at_ns);
  } else if (phase == "C") {
    take_counter(line, at_ns);
  } else if (phase == "i") {
    const bool is_of_thread = load::text_at(line, "s") == "t";
    put(at_ns, event_of(line, kInstant,
                        is_of_thread ? thread_track(load::integer_at(line, "tid").value_or(0))
                                     : process_track_));
  } else {
    take_async(line, phase, at_ns);
  }
}

void PerfettoTrace::take_metadata(const Object& line, std::string_view name) {
  Object arguments;
  if (line["args"].get_object().get(arguments) != simdjson::SUCCESS) {
    return;
  }
  if (name == "process_name") {
    process_name_ = load::text_at(arguments, "name");
  } else if (name == "process_sort_index") {
    sort_index_ = load::integer_at(arguments, "sort_index").value_or(0);
  } else if (name == "thread_name") {
    const std::int64_t tid = load::integer_at(line, "tid").value_or(0);
    thread_track(tid);
    threads_[tid].second = load::text_at(arguments, "name");
  }
}

void PerfettoTrace::take_slice(const Object& line, std::uint64_t begin_ns) {
  const auto duration_ns = time_of(line, "dur");
  Slice slice;
  slice.tid = load::integer_at(line, "tid").value_or(0);
  slice.begin_ns = begin_ns;
  slice.end_ns = begin_ns + duration_ns.value_or(0);
  bool leaves = false;
  if (line["flow_out"].get_bool().get(leaves) == simdjson::SUCCESS && leaves) {
    slice.flow_out = hex_number(load::text_at(line, "bind_id")).value_or(0);
  }
  const Message event = event_of(line, kSliceBegin, thread_track(slice.tid));
  slice.event = std::string(event.text());
  // What it names for the first time is known from here on, and the slice is written later.
  if (!new_interned_.empty()) {
    packet({});
  }
  slices_.push_back(std::move(slice));
}

void PerfettoTrace::take_counter(const Object& line, std::uint64_t at_ns) {
  Object values;
  if (line["args"].get_object().get(values) != simdjson::SUCCESS) {
    return;
  }
  for (const auto value : values) {
    double number = 0;
    if (value.value.get_double().get(number) != simdjson::SUCCESS) {
      continue;
    }
    std::string name(load::text_at(line, "name"));
    name.append(" (").append(value.key).append(")");
    std::uint64_t& track = counter_tracks_[name];
    if (track == 0) {
      track = ++tracks_;
      Message made;
      made.integer(track_field::kUuid, track)
          .integer(track_field::kParent, process_track_)
          .bytes(track_field::kName, name)
          .message(track_field::kCounter, {});
      describe(made);
    }
    Message event;
    event.integer(event_field::kType, kCounter)
        .integer(event_field::kTrack, track)
        .real(event_field::kDoubleCounter, number);
    put(at_ns, event);
  }
}

void PerfettoTrace::take_async(const Object& line, std::string_view phase, std::uint64_t at_ns) {
  const std::uint64_t track = async_track(line, load::text_at(line, "name"));
  if (phase == "e") {
    Message event;
    event.integer(event_field::kType, kSliceEnd).integer(event_field::kTrack, track);
    put(at_ns, event);
  } else if (phase == "b" || phase == "n") {
    Message event = event_of(line, phase == "b" ? kSliceBegin : kInstant, track);
    add_flow(line, event);
    put(at_ns, event);
  }
}

Message PerfettoTrace::event_of(const Object& line, std::uint64_t type, std::uint64_t track) {
  Message event;
  event.integer(event_field::kType, type).integer(event_field::kTrack, track);
  const auto named = [&](InternTable& table, std::uint32_t in, std::uint32_t number,
                         std::uint32_t text, std::string_view value) {
    if (value.empty()) {
      return;
    }
    if (const std::uint64_t found = interned(table, in, value); found != 0) {
      event.integer(number, found);
    } else {
      event.bytes(text, value);
    }
  };
  named(categories_, interned_field::kCategories, event_field::kCategory,
        event_field::kCategoryText, load::text_at(line, "cat"));
  named(names_, interned_field::kNames, event_field::kName, event_field::kNameText,
        load::text_at(line, "name"));
  Object arguments;
  if (line["args"].get_object().get(arguments) == simdjson::SUCCESS) {
    for (const auto argument : arguments) {
      add_argument(event_field::kArgument, argument.key, argument.value, event);
    }
  }
  return event;
}

void PerfettoTrace::add_flow(const Object& line, Message& event) {
  const auto bind_id = hex_number(load::text_at(line, "bind_id"));
  if (!bind_id) {
    return;
  }
  bool leaves = false;
  const bool is_out = line["flow_out"].get_bool().get(leaves) == simdjson::SUCCESS && leaves;
  if ((*bind_id & kArrowBit) == 0) {
    if (!is_out) {
      event.fixed64(event_field::kFlowEnd, flow_id(*bind_id, flow_ends_[*bind_id]++));
    }
    return;  // what leaves is an enqueue, a slice of a thread: end_process()
  }
  const std::uint64_t arrow = *bind_id & ~kArrowBit;
  if (arrow >= arrow_ends_.size()) {
    return;
  }
  if (!is_out) {
    event.fixed64(event_field::kFlowEnd, flow_id(*bind_id, arrows_bound_[arrow]++));
    return;
  }
  for (std::uint32_t end = 0; end < arrow_ends_[arrow]; ++end) {
    event.fixed64(event_field::kFlow, flow_id(*bind_id, end));
  }
}

void PerfettoTrace::add_argument(std::uint32_t field, std::optional<std::string_view> key,
                                 const Element& value, Message& event) {
  Message annotation;
  if (key) {
    if (const std::uint64_t found = interned(keys_, interned_field::kKeys, *key); found != 0) {
      annotation.integer(argument_field::kKey, found);
    } else {
      annotation.bytes(argument_field::kKeyText, *key);
    }
  }
  add_value(value, annotation);
  event.message(field, annotation);
}

void PerfettoTrace::add_value(const Element& value, Message& annotation) {
  using simdjson::dom::element_type;
  switch (value.type()) {
    case element_type::STRING: {
      const std::string_view text = value.get_string().value_unsafe();
      const std::uint64_t found = text.size() <= kMostInternedText_bytes
                                      ? interned(texts_, interned_field::kTexts, text)
                                      : 0;
      if (found != 0) {
        annotation.integer(argument_field::kInternedText, found);
      } else {
        annotation.bytes(argument_field::kText, text);
      }
      break;
    }
    case element_type::INT64:
      annotation.integer(argument_field::kSigned,
                         static_cast<std::uint64_t>(value.get_int64().value_unsafe()));
      break;
    case element_type::UINT64:
      annotation.integer(argument_field::kUnsigned, value.get_uint64().value_unsafe());
      break;
    case element_type::DOUBLE:
      annotation.real(argument_field::kDouble, value.get_double().value_unsafe());
      break;
    case element_type::BOOL:
      annotation.integer(argument_field::kBool, value.get_bool().value_unsafe() ? 1 : 0);
      break;
    case element_type::OBJECT: {
      const Object members = value.get_object().value_unsafe();
      for (const auto member : members) {
        add_argument(argument_field::kEntry, member.key, member.value, annotation);
      }
      break;
    }
    case element_type::ARRAY: {
      const simdjson::dom::array items = value.get_array().value_unsafe();
      for (const Element item : items) {
        add_argument(argument_field::kItem, std::nullopt, item, annotation);
      }
      break;
    }
    case element_type::NULL_VALUE:
      break;
  }
}

}  // namespace ringside::merge
