// SPDX-License-Identifier: Apache-2.0
#include "analyzer/merge/perfetto/perfetto_trace.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "analyzer/load/json/dom_value.h"
#include "analyzer/load/json/parse_number.h"
#include "analyzer/merge/line.h"
#include "analyzer/merge/perfetto/perfetto_fields.h"
#include "analyzer/merge/slice_rows.h"

namespace ringside::merge {

using namespace perfetto;

namespace {

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
    : packets_(std::move(write)) {
  for (const ProcessPlan& process : plan.processes) {
    for (const ArrowEnd& end : process.arrow_ends) {
      arrow_ends_.resize(std::max<std::size_t>(arrow_ends_.size(), end.arrow + 1));
      arrow_ends_[end.arrow] += end.begins ? 0 : 1;
    }
  }
  arrows_bound_.resize(arrow_ends_.size());
  Message root;
  root.integer(track_field::kUuid, 0).integer(track_field::kProcessOrdering, 1);  // explicit
  packets_.describe(root);
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
    packets_.put(at_ns, packets_.event_of(
                            line, kInstant,
                            is_of_thread ? thread_track(load::integer_at(line, "tid").value_or(0))
                                         : process_track_));
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
    if (tid >= kFirstRow) {
      Message row;
      row.integer(track_field::kUuid, thread_track(tid))
          .integer(track_field::kParent, rows_track())
          .bytes(track_field::kName, threads_[tid].second)
          .integer(track_field::kOrder, static_cast<std::uint64_t>(tid));
      packets_.describe(row);
    }
  }
}

void PerfettoTrace::take_slice(const Object& line, std::uint64_t begin_ns) {
  const auto duration_ns = time_of(line, "dur");
  const std::int64_t tid = load::integer_at(line, "tid").value_or(0);
  if (tid >= kFirstRow) {
    Message begin = packets_.event_of(line, kSliceBegin, thread_track(tid));
    add_flow(line, begin);
    packets_.put(begin_ns, begin);
    Message end;
    end.integer(event_field::kType, kSliceEnd).integer(event_field::kTrack, thread_track(tid));
    packets_.put(begin_ns + duration_ns.value_or(0), end);
    return;
  }
  Slice slice;
  slice.tid = tid;
  slice.begin_ns = begin_ns;
  slice.end_ns = begin_ns + duration_ns.value_or(0);
  bool leaves = false;
  if (line["flow_out"].get_bool().get(leaves) == simdjson::SUCCESS && leaves) {
    slice.flow_out = load::parse_hex(load::text_at(line, "bind_id")).value_or(0);
  }
  const Message event = packets_.event_of(line, kSliceBegin, thread_track(slice.tid));
  slice.event = std::string(event.text());
  // A name that it has for the first time is known from here on, and the slice is written later.
  packets_.put_names();
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
      track = packets_.new_track();
      Message made;
      made.integer(track_field::kUuid, track)
          .integer(track_field::kParent, process_track_)
          .bytes(track_field::kName, name)
          .message(track_field::kCounter, {});
      packets_.describe(made);
    }
    Message event;
    event.integer(event_field::kType, kCounter)
        .integer(event_field::kTrack, track)
        .real(event_field::kDoubleCounter, number);
    packets_.put(at_ns, event);
  }
}

void PerfettoTrace::add_flow(const Object& line, Message& event) {
  const auto bind_id = load::parse_hex(load::text_at(line, "bind_id"));
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

void PerfettoTrace::begin_process(std::int64_t pid) {
  pid_ = pid;
  process_track_ = packets_.new_track();
}

std::uint64_t PerfettoTrace::thread_track(std::int64_t tid) {
  std::uint64_t& track = threads_[tid].first;
  if (track == 0) {
    track = packets_.new_track();
  }
  return track;
}

// Perfetto orders what is in a process by name, and what is in a track as that says.
std::uint64_t PerfettoTrace::rows_track() {
  if (rows_track_ == 0) {
    rows_track_ = packets_.new_track();
    Message made;
    made.integer(track_field::kUuid, rows_track_)
        .integer(track_field::kParent, process_track_)
        .integer(track_field::kChildren, kByOrder)
        .bytes(track_field::kName, "NCCL");
    packets_.describe(made);
  }
  return rows_track_;
}

void PerfettoTrace::end_process() {
  if (process_track_ == 0) {
    return;
  }
  const auto pid = static_cast<std::uint64_t>(pid_);
  Message process;
  process.integer(process_field::kPid, pid).bytes(process_field::kName, process_name_);
  Message made;
  made.integer(track_field::kUuid, process_track_)
      .integer(track_field::kOrder, static_cast<std::uint64_t>(sort_index_))
      .message(track_field::kProcess, process);
  packets_.describe(made);
  for (const auto& [tid, track] : threads_) {
    if (tid >= kFirstRow) {
      continue;
    }
    Message thread;
    thread.integer(thread_field::kPid, pid)
        .integer(thread_field::kTid, static_cast<std::uint64_t>(tid))
        .bytes(thread_field::kName, track.second);
    made.clear();
    made.integer(track_field::kUuid, track.first)
        .integer(track_field::kParent, process_track_)
        .message(track_field::kThread, thread);
    packets_.describe(made);
  }
  write_slices();
  threads_.clear();
  counter_tracks_.clear();
  flow_ends_.clear();
  process_name_.clear();
  process_track_ = 0;
  rows_track_ = 0;
}

// An end closes the slice of its track that began last: what began earlier, or ends later, goes
// first.
void PerfettoTrace::write_slices() {
  std::stable_sort(slices_.begin(), slices_.end(), [](const Slice& a, const Slice& b) {
    return std::tuple(a.tid, a.begin_ns, b.end_ns) < std::tuple(b.tid, b.begin_ns, a.end_ns);
  });
  std::vector<const Slice*> open;
  const auto end_until = [&](std::int64_t tid, std::uint64_t time_ns) {
    while (!open.empty() && (open.back()->tid != tid || open.back()->end_ns <= time_ns)) {
      Message event;
      event.integer(event_field::kType, kSliceEnd)
          .integer(event_field::kTrack, threads_[open.back()->tid].first);
      packets_.put(open.back()->end_ns, event);
      open.pop_back();
    }
  };
  for (const Slice& slice : slices_) {
    end_until(slice.tid, slice.begin_ns);
    Message event;
    event.raw(slice.event);
    if (slice.flow_out != 0) {
      const auto ends = flow_ends_.find(slice.flow_out);
      for (std::uint32_t end = 0; ends != flow_ends_.end() && end < ends->second; ++end) {
        event.fixed64(event_field::kFlow, flow_id(slice.flow_out, end));
      }
    }
    packets_.put(slice.begin_ns, event);
    open.push_back(&slice);
  }
  end_until(0, UINT64_MAX);
  slices_.clear();
}

void PerfettoTrace::finish() {
  end_process();
  const std::uint64_t track = packets_.new_track();
  Message made;
  made.integer(track_field::kUuid, track).bytes(track_field::kName, "Ringside");
  packets_.describe(made);
  for (const auto& [name, arguments] : notes_) {
    Message event;
    event.integer(event_field::kType, kInstant)
        .integer(event_field::kTrack, track)
        .bytes(event_field::kNameText, name);
    Object parsed;
    if (parser_.parse(arguments).get_object().get(parsed) == simdjson::SUCCESS) {
      for (const auto argument : parsed) {
        packets_.add_argument(event_field::kArgument, argument.key, argument.value, event);
      }
    }
    packets_.put(first_ns_ == UINT64_MAX ? 0 : first_ns_, event);
  }
}

}  // namespace ringside::merge
