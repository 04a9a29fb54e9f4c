// SPDX-License-Identifier: Apache-2.0
#include "analyzer/merge/process_lines.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "analyzer/merge/overview/operation_counters.h"
#include "ringside/trace_schema.h"

namespace ringside::merge {
namespace {

// Keys, numbers and short names of a line that is added take no more than this.
constexpr std::size_t kWords_bytes = 256;

// Alignment::to_common_ns clamps what is beyond.
constexpr std::int64_t kMostTime_ns = std::int64_t{1} << 60;

constexpr const char* kNoPlace = "its time has no place on the common time line";

std::string gpu_text(const std::set<std::int64_t>& gpus) {
  std::string text;
  for (const std::int64_t gpu : gpus) {
    text += (text.empty() ? (gpus.size() > 1 ? ", GPUs " : ", GPU ") : ", ") + std::to_string(gpu);
  }
  return text;
}

}  // namespace

ProcessLines::ProcessLines(const model::Traces& traces, const align::Alignment& alignment,
                           const Plan& plan, std::uint32_t number, bool has_steps,
                           HostCounters& counters, std::vector<std::string>& spare_texts)
    : traces_(traces),
      file_(traces.files[plan.processes[number - 1].file]),
      alignment_(alignment),
      plan_(plan),
      process_(plan.processes[number - 1]),
      base_ns_(plan.base_time_s * 1'000'000'000),
      has_steps_(has_steps),
      counters_(counters),
      spare_texts_(spare_texts),
      names_(traces, file_),
      has_extended_wait_(process_.waits.size()),
      has_extended_arrow_(process_.arrow_ends.size()) {
  open_.reserve(spare_texts.size());  // as many as another process had at its end
  const std::string pid = std::to_string(process_.pid);
  ids_ = "\"pid\":" + pid + ",\"tid\":" + pid;
  slice_start_ = R"({"ph":"X","cat":"op","pid":)" + pid + ",\"tid\":";
  place_.pid = process_.pid;
  place_.number = number;
  place_.time = [this](std::int64_t time_ns) -> std::optional<std::int64_t> {
    if (time_ns > kMostTime_ns) {
      return std::nullopt;
    }
    const std::int64_t moved_ns = to_line_ns(alignment_.to_common_ns(process_.file, time_ns));
    return moved_ns >= 0 ? std::optional(moved_ns) : std::nullopt;
  };
}

std::int64_t ProcessLines::to_line_ns(std::int64_t common_ns) const {
  return common_ns - base_ns_;
}

std::optional<std::string> ProcessLines::take(std::string_view json, std::string& output) {
  if (auto failure = line_.parse(json)) {
    return failure;
  }
  if (load::is_text(line_.phase, "M")) {
    if (line_.gpu_index) {
      gpus_.insert(*line_.gpu_index);
    }
    const bool is_named_anew = line_.name == "process_name" || line_.name == "process_sort_index";
    return is_named_anew ? std::nullopt : append(output);
  }
  if (!has_steps_ && line_.category == schema::kCategoryStep) {
    return std::nullopt;
  }
  if (load::is_text(line_.phase, "b") || load::is_text(line_.phase, "e")) {
    return take_async(output);
  }
  if (plan_.is_part && !keeps(line_)) {
    return std::nullopt;
  }
  return append(output);
}

// A line that belongs to no operation is kept while one of those that are kept is under way.
bool ProcessLines::keeps(const EventLine& line) const {
  if (line.arguments().op.value_or(0) != 0) {
    return std::binary_search(process_.operations.begin(), process_.operations.end(),
                              *line.arguments().op);
  }
  const std::int64_t begin_ns = std::min(*line.ts_ns, kMostTime_ns);
  const std::int64_t duration_ns = std::min(line.dur_ns, kMostTime_ns);
  return is_in_spans(plan_, alignment_.to_common_ns(process_.file, begin_ns),
                     alignment_.to_common_ns(process_.file, begin_ns + duration_ns));
}

// The slice of the key, which is made if there is none.
ProcessLines::AsyncSlice& ProcessLines::open_slice() {
  if (const auto slice = open_.find(key_); slice != open_.end()) {
    return slice->second;
  }
  if (spare_.empty()) {
    AsyncSlice& slice = open_[key_];
    if (!spare_texts_.empty()) {
      slice.members = std::move(spare_texts_.back());
      spare_texts_.pop_back();
    }
    return slice;
  }
  OpenSlices::node_type node = std::move(spare_.back());
  spare_.pop_back();
  node.key() = key_;
  return open_.insert(std::move(node)).position->second;
}

void ProcessLines::close_slice(OpenSlices::iterator slice) {
  slice->second.row.clear();
  slice->second.members.clear();
  slice->second.operation.reset();
  spare_.push_back(open_.extract(slice));
}

// An async slice of a trace becomes a slice in one of the rows when its end has come. The frame
// around an operation only has the row's name.
std::optional<std::string> ProcessLines::take_async(std::string& output) {
  key_.assign(line_.category).append(1, '\n').append(line_.id);
  if (load::is_text(line_.phase, "e")) {
    const auto slice = open_.find(key_);
    if (slice == open_.end()) {
      return std::nullopt;  // of a frame, or of what is not kept
    }
    const auto end_ns = place_.time(*line_.ts_ns);
    if (end_ns) {
      append_slice(slice->second, *end_ns, output);
    }
    close_slice(slice);
    return end_ns ? std::nullopt : std::optional<std::string>(kNoPlace);
  }
  AsyncSlice& slice = open_slice();
  if (line_.category == schema::kCategoryOperation && line_.arguments().op.value_or(0) == 0) {
    slice.row = line_.name;
    return std::nullopt;
  }
  if (!slice.members.empty()) {
    append_slice(slice, last_ns_, output);  // its end is lost
    slice.members.clear();
    slice.operation.reset();
  }
  const bool is_kept = !plan_.is_part || keeps(line_);
  auto failure = is_kept ? begin_async(slice) : std::nullopt;
  if (!is_kept || failure) {
    close_slice(open_.find(key_));
  }
  return failure;
}

std::optional<std::string> ProcessLines::begin_async(AsyncSlice& slice) {
  const auto begin_ns =
      line_.append_members(place_, names_.name_of(line_), names_.caller_of(line_), slice.members);
  if (!begin_ns) {
    return kNoPlace;
  }
  slice.begin_ns = *begin_ns;
  last_ns_ = std::max(last_ns_, *begin_ns);
  slice.category = line_.category;
  if (line_.category == schema::kCategoryOperation) {
    slice.operation = line_.arguments().op;
    if (const auto context = process_.names.empty() ? std::nullopt : names_.context_of(line_)) {
      slice.row = process_.name_of(*context, slice.row);
    }
  }
  if (slice.row.empty()) {
    slice.row = SliceNames::row_of(line_);
  }
  return std::nullopt;
}

std::optional<std::string> ProcessLines::append(std::string& output) {
  const auto begin_ns = line_.append_moved(place_, output);
  if (!begin_ns) {
    return kNoPlace;
  }
  last_ns_ = std::max(last_ns_, *begin_ns);
  output += ",\n";
  ++written_;
  return std::nullopt;
}

void ProcessLines::append_slice(const AsyncSlice& slice, std::int64_t end_ns, std::string& output) {
  if (slice.members.empty()) {
    return;
  }
  end_ns = std::max(end_ns, slice.begin_ns);
  last_ns_ = std::max(last_ns_, end_ns);
  const SliceRows::Row row = rows_.place(slice.category, slice.row, slice.begin_ns, end_ns);
  if (row.is_new) {
    const std::string tid = std::to_string(row.tid);
    const std::string ids =
        R"({"ph":"M","pid":)" + std::to_string(process_.pid) + ",\"tid\":" + tid + ",\"ts\":0,";
    output.append(ids).append(R"("name":"thread_name","args":{"name":)");
    append_quoted(slice.row, output);
    output.append("}},\n").append(ids).append(
        R"("name":"thread_sort_index","args":{"sort_index":)");
    output.append(tid).append("}},\n");
    written_ += 2;
  }
  Appender(output, slice.members.size() + kWords_bytes)
      .put(R"({"ph":"X","tid":)")
      .number(row.tid)
      .put(",\"dur\":")
      .microseconds(end_ns - slice.begin_ns)
      .put(slice.members)
      .put("},\n");
  ++written_;
  if (slice.operation) {
    append_additions(*slice.operation, row.tid, slice.begin_ns, end_ns, output);
  }
}

void ProcessLines::begin_slice(std::uint32_t tid, std::int64_t begin_ns, std::int64_t end_ns,
                               std::string_view name, Appender& text) {
  text.put(slice_start_)
      .number(tid)
      .put(",\"ts\":")
      .microseconds(begin_ns)
      .put(",\"dur\":")
      .microseconds(end_ns - begin_ns)
      .put(",\"name\":")
      .quoted(name);
  ++written_;
}

void ProcessLines::append_additions(std::uint64_t operation, std::uint32_t tid,
                                    std::int64_t begin_ns, std::int64_t end_ns,
                                    std::string& output) {
  // Mostly an operation follows the one before it in the plan, too.
  const auto find = [&](const auto& all, std::size_t& next) {
    const bool is_next = (next == 0 || all[next - 1].operation < operation) &&
                         (next == all.size() || all[next].operation >= operation);
    if (!is_next) {
      const auto found = std::partition_point(
          all.begin(), all.end(), [&](const auto& one) { return one.operation < operation; });
      next = static_cast<std::size_t>(found - all.begin());
    }
  };
  find(process_.waits, next_wait_);
  for (; next_wait_ < process_.waits.size() && process_.waits[next_wait_].operation == operation;
       ++next_wait_) {
    const Wait& wait = process_.waits[next_wait_];
    const std::int64_t until_ns = std::min(to_line_ns(wait.until_ns), end_ns);
    if (has_extended_wait_[next_wait_] || until_ns <= begin_ns) {
      continue;
    }
    has_extended_wait_[next_wait_] = true;
    const std::string& last = plan_.processes[wait.last].label;
    name_.assign("waiting for ").append(last);
    Appender text(output, kWords_bytes + slice_start_.size() + 2 * Appender::quoted_bytes(name_));
    begin_slice(tid, begin_ns, until_ns, name_, text);
    text.put(",\"args\":{\"for\":")
        .quoted(last)
        .put(",\"waiting_ns\":")
        .number(static_cast<std::uint64_t>(until_ns - begin_ns))
        .put(",\"uncertainty_ns\":")
        .number(static_cast<std::uint64_t>(wait.uncertainty_ns))
        .put("}},\n");
  }
  find(process_.arrow_ends, next_arrow_end_);
  for (; next_arrow_end_ < process_.arrow_ends.size() &&
         process_.arrow_ends[next_arrow_end_].operation == operation;
       ++next_arrow_end_) {
    const ArrowEnd& end = process_.arrow_ends[next_arrow_end_];
    // Within the slice, however a viewer rounds: at its end another one may begin.
    const std::int64_t at_ns =
        std::clamp(to_line_ns(end.at_ns), begin_ns, std::max(begin_ns, end_ns - 2));
    if (has_extended_arrow_[next_arrow_end_]) {
      continue;
    }
    has_extended_arrow_[next_arrow_end_] = true;
    name_.assign(end.is_of_kernel ? "kernel" : end.begins ? "releases" : "released by ");
    if (!end.is_of_kernel && !end.begins) {
      name_.append(plan_.processes[end.from].label);
    }
    Appender text(output, kWords_bytes + slice_start_.size() + Appender::quoted_bytes(name_));
    begin_slice(tid, at_ns, at_ns, name_, text);
    text.put(",\"args\":{},\"bind_id\":")
        .hex(kArrowBit | end.arrow)
        .put(end.begins ? ",\"flow_out\":true},\n" : ",\"flow_in\":true},\n");
  }
}

// Until when slices last whose line of the end is lost: up to the end of the trace, but an
// operation has told its end when it began, unless it was in flight.
std::vector<ProcessLines::Endless> ProcessLines::endless_slices() {
  if (file_.last_ns) {
    last_ns_ = std::max(last_ns_, place_.time(*file_.last_ns).value_or(last_ns_));
  }
  std::vector<Endless> slices;
  slices.reserve(open_.size());
  for (auto& [key, slice] : open_) {
    slices.push_back({slice.operation.value_or(0), last_ns_, key, &slice});
  }
  std::sort(slices.begin(), slices.end(),
            [](const Endless& a, const Endless& b) { return a.operation < b.operation; });
  auto slice = slices.begin();
  for (std::size_t i = 0; i < file_.operations.size() && !slices.empty(); ++i) {
    const std::uint64_t id = file_.operations.id(i);
    // Mostly it follows the one before it there, too.
    if (slice == slices.end() || slice->operation != id ||
        (slice != slices.begin() && std::prev(slice)->operation == id)) {
      slice = std::partition_point(slices.begin(), slices.end(),
                                   [&](const Endless& one) { return one.operation < id; });
    }
    for (; id != 0 && slice != slices.end() && slice->operation == id; ++slice) {
      const model::Execution one = file_.operations.execution(i);
      if (one.end_ns && !one.in_flight) {
        slice->end_ns = place_.time(*one.end_ns).value_or(last_ns_);
      }
    }
  }
  // In order, so that bytes are the same. Mostly it is that of the operations.
  const auto comes_before = [](const Endless& a, const Endless& b) {
    return std::pair(a.slice->begin_ns, a.key) < std::pair(b.slice->begin_ns, b.key);
  };
  if (!std::is_sorted(slices.begin(), slices.end(), comes_before)) {
    std::sort(slices.begin(), slices.end(), comes_before);
  }
  return slices;
}

void ProcessLines::append_counters(std::string& output) {
  for (const OperationCounter& counter : operation_counters(traces_, process_)) {
    for (const CounterValue& value : counter.values) {
      const auto line_ns = place_.time(value.at_ns);
      if (!line_ns) {
        continue;
      }
      // This is so of a part, too: what the others have adds up to the same.
      counters_.add(alignment_.host_of(process_.file), place_.number, counter.name, counter.unit,
                    *line_ns, value.value);
      const std::int64_t common_ns = *line_ns + base_ns_;
      if (!plan_.is_part || is_in_spans(plan_, common_ns, common_ns)) {
        append_counter(ids_, *line_ns, counter.name, counter.unit, thousandths_of(value.value),
                       output);
        ++written_;
      }
    }
  }
}

void ProcessLines::finish(std::string& output) {
  for (const Endless& endless : endless_slices()) {
    append_slice(*endless.slice, endless.end_ns, output);
    endless.slice->members.clear();
    spare_texts_.push_back(std::move(endless.slice->members));
  }
  output += "{\"ph\":\"M\"," + ids_ + ",\"ts\":0,\"name\":\"process_name\",\"args\":{\"name\":";
  append_quoted(process_.label + " (" + file_.process.host + gpu_text(gpus_) + ')', output);
  output += "}},\n{\"ph\":\"M\"," + ids_ +
            ",\"ts\":0,\"name\":\"process_sort_index\",\"args\":{\"sort_index\":" +
            std::to_string(place_.number) + "}},\n";
  written_ += 2;
  for (const Mark& mark : process_.marks) {
    const std::int64_t at_ns = to_line_ns(mark.at_ns);
    if (at_ns < 0) {
      continue;
    }
    output += R"({"ph":"i","cat":"mark","s":"p",)" + ids_ + ",\"ts\":";
    append_microseconds(at_ns, output);
    output += ",\"name\":";
    append_quoted(mark.text, output);
    output += "},\n";
    ++written_;
  }
}

}  // namespace ringside::merge
