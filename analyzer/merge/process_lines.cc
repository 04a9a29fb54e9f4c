// SPDX-License-Identifier: Apache-2.0
#include "analyzer/merge/process_lines.h"

#include <algorithm>
#include <utility>

#include "ringside/trace_schema.h"

namespace ringside::merge {
namespace {

// Alignment::to_common_ns clamps what is beyond.
constexpr std::int64_t kMostTime_ns = std::int64_t{1} << 60;

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
                           HostCounters& counters)
    : file_(traces.files[plan.processes[number - 1].file]),
      alignment_(alignment),
      plan_(plan),
      process_(plan.processes[number - 1]),
      base_ns_(plan.base_time_s * 1'000'000'000),
      has_steps_(has_steps),
      counters_(counters),
      has_extended_wait_(process_.waits.size()),
      has_extended_arrow_(process_.arrow_ends.size()) {
  const std::string pid = std::to_string(process_.pid);
  ids_ = "\"pid\":" + pid + ",\"tid\":" + pid;
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
  if (line_.phase == "M") {
    if (line_.gpu_index) {
      gpus_.insert(*line_.gpu_index);
    }
    const bool is_named_anew = line_.name == "process_name" || line_.name == "process_sort_index";
    return is_named_anew ? std::nullopt : append(output);
  }
  if (!has_steps_ && line_.category == schema::kCategoryStep) {
    return std::nullopt;
  }
  const bool is_async = line_.phase == "b" || line_.phase == "e" || line_.phase == "n";
  if (plan_.is_part && is_async) {
    return take_async(output);
  }
  // This is so of a part, too: what the others have adds up to the same.
  for (const auto& [unit, value] : line_.values) {
    if (const auto line_ns = place_.time(*line_.ts_ns)) {
      counters_.add(alignment_.host_of(process_.file), place_.number, line_.name, unit, *line_ns,
                    value);
    }
  }
  if (plan_.is_part && !keeps(line_)) {
    return std::nullopt;
  }
  return append(output);
}

// A line that belongs to no operation is kept while one of those that are kept is under way.
bool ProcessLines::keeps(const EventLine& line) const {
  if (line.operation.value_or(0) != 0) {
    return std::binary_search(process_.operations.begin(), process_.operations.end(),
                              *line.operation);
  }
  const std::int64_t begin_ns = std::min(*line.ts_ns, kMostTime_ns);
  const std::int64_t duration_ns = std::min(line.dur_ns, kMostTime_ns);
  return is_in_spans(plan_, alignment_.to_common_ns(process_.file, begin_ns),
                     alignment_.to_common_ns(process_.file, begin_ns + duration_ns));
}

// Only one line of an async slice says what it belongs to, and the slice around an operation begins
// before that.
std::optional<std::string> ProcessLines::take_async(std::string& output) {
  std::string key = std::string(line_.category).append(1, '\n').append(line_.id);
  const auto place = tracks_.try_emplace(std::move(key)).first;
  Track& track = place->second;
  const bool is_frame =
      line_.category == schema::kCategoryOperation && line_.operation.value_or(0) == 0;
  if (!track.is_known && line_.phase == "b" && !is_frame) {
    track.is_known = true;
    track.is_kept = keeps(line_);
    if (track.is_kept) {
      written_ += track.depth;
      output += track.held;
    }
    track.held.clear();
  }
  std::optional<std::string> failure;
  if (!track.is_known) {
    const std::uint64_t written = written_;
    failure = append(track.held);
    written_ = written;
  } else if (track.is_kept) {
    failure = append(output);
  }
  if (line_.phase == "b") {
    ++track.depth;
  } else if (line_.phase == "e" && (track.depth == 0 || --track.depth == 0)) {
    tracks_.erase(place);
  }
  return failure;
}

std::optional<std::string> ProcessLines::append(std::string& output) {
  const auto begin_ns = line_.append_moved(place_, output);
  if (!begin_ns) {
    return "its time has no place on the common time line";
  }
  output += ",\n";
  ++written_;
  if (line_.phase == "b" && line_.category == schema::kCategoryOperation && line_.operation) {
    append_additions(*begin_ns + base_ns_, output);
  }
  return std::nullopt;
}

void ProcessLines::begin_async(char phase, std::int64_t common_ns, std::string_view name,
                               std::string& output) {
  output.append("{\"ph\":\"").append(1, phase).append("\",\"cat\":\"op\",\"id2\":{\"local\":");
  append_quoted(line_.id, output);
  output.append("},").append(ids_).append(",\"ts\":");
  append_microseconds(to_line_ns(common_ns), output);
  output.append(",\"name\":");
  append_quoted(name, output);
  ++written_;
}

// Behind the beginning of the operation in the file, so before its end where the times are equal.
void ProcessLines::append_additions(std::int64_t begin_ns, std::string& output) {
  const std::uint64_t operation = *line_.operation;
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
    if (has_extended_wait_[next_wait_] || wait.until_ns <= begin_ns) {
      continue;
    }
    has_extended_wait_[next_wait_] = true;
    begin_async('b', begin_ns, "waiting", output);
    output += ",\"args\":{\"for\":";
    append_quoted(plan_.processes[wait.last].label, output);
    output += ",\"waiting_ns\":" + std::to_string(wait.until_ns - begin_ns) +
              ",\"uncertainty_ns\":" + std::to_string(wait.uncertainty_ns) + "}},\n";
    begin_async('e', wait.until_ns, "waiting", output);
    output += "},\n";
  }
  find(process_.arrow_ends, next_arrow_end_);
  for (; next_arrow_end_ < process_.arrow_ends.size() &&
         process_.arrow_ends[next_arrow_end_].operation == operation;
       ++next_arrow_end_) {
    const ArrowEnd& end = process_.arrow_ends[next_arrow_end_];
    if (has_extended_arrow_[next_arrow_end_] || end.at_ns < begin_ns) {
      continue;
    }
    has_extended_arrow_[next_arrow_end_] = true;
    begin_async('n', end.at_ns,
                end.is_of_kernel ? "kernel"
                : end.begins     ? "releases"
                                 : "released",
                output);
    output += ",\"bind_id\":";
    append_hex(kArrowBit | end.arrow, output);
    output += end.begins ? ",\"flow_out\":true},\n" : ",\"flow_in\":true},\n";
  }
}

void ProcessLines::finish(std::string& output) {
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
