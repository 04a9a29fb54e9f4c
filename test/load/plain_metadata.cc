// SPDX-License-Identifier: Apache-2.0
#include "test/load/plain_metadata.h"

#include <map>
#include <optional>
#include <string>

#include "test/load/plain_json.h"
#include "test/load/plain_machine.h"

namespace ringside::plain {
namespace {

bool read_gpu(const Members& args, model::Context& context) {
  for (const Member& member : args) {
    if (member.key != "gpu") {
      continue;
    }
    const auto members = members_of(member.value);
    if (!members || !take(*members, "pci", context.gpu_pci) ||
        !take(*members, "uuid", context.gpu_uuid)) {
      return false;
    }
  }
  return true;
}

bool read_communicator(const Members& args, model::TraceFile& file) {
  std::optional<std::uint32_t> number;
  model::Context context;
  if (!take(args, "context", number) || !number || !take(args, "comm", context.comm) ||
      !take(args, "name", context.name) || !take(args, "rank", context.rank) ||
      !take(args, "nranks", context.nranks) || !take(args, "created_ns", context.created_ns) ||
      !take(args, "finalized_ns", context.finalized_ns) || !read_gpu(args, context)) {
    return false;
  }
  context.operations = file.contexts[*number].operations;
  file.contexts[*number] = context;
  return true;
}

bool read_window(const Members& args, model::TraceFile& file) {
  std::optional<std::uint64_t> number;
  std::optional<std::int64_t> start_ns;
  std::optional<std::int64_t> end_ns;
  if (!take(args, "window", number) || !number || !take(args, "start_ns", start_ns) ||
      !take(args, "end_ns", end_ns)) {
    return false;
  }
  model::Window& window = file.windows[*number];
  window.start_ns = start_ns.value_or(window.start_ns);
  window.end_ns = end_ns;
  return true;
}

bool read_mark(const Members& args, model::NameTable& names, model::TraceFile& file) {
  std::optional<std::uint64_t> number;
  std::optional<std::string> name;
  std::optional<std::string> source;
  std::optional<std::uint32_t> tid;
  std::optional<std::int64_t> start_ns;
  model::Mark mark;
  if (!take(args, "source", source) || !take(args, "mark", number) || !take(args, "name", name) ||
      !take(args, "tid", tid) || !take(args, "range", mark.is_range) ||
      !take(args, "start_ns", start_ns) || !take(args, "end_ns", mark.end_ns) || !number || !name ||
      !tid || !start_ns) {
    return false;
  }
  if (mark.is_range && name->rfind("torch.", 0) == 0) {
    name = source.value_or("") + (source.value_or("").empty() ? "" : " ") +
           name->substr(0, name->find(' '));
  }
  mark.name = names.id(*name);
  mark.tid = *tid;
  mark.start_ns = *start_ns;
  model::Mark& known = file.marks[*number];
  if (mark.end_ns || !known.end_ns) known = mark;
  return true;
}

// Adds to a sum that must stay in 64 bits.
bool add(std::uint64_t number, std::uint64_t& sum) {
  sum += number;
  return sum >= number;
}

bool add_counts(const std::string& type, const Members& counts, model::Account& account) {
  for (const Member& count : counts) {
    const auto number = value_of<std::uint64_t>(count.value);
    bool is_good = number.has_value();
    if (is_good && count.key == "produced") {
      is_good = add(*number, account.produced);
    } else if (is_good && count.key == "sampled_out") {
      is_good = add(*number, account.sampled_out);
    } else if (is_good && count.key == "in_rings") {
      is_good = add(*number, account.in_rings);
    } else if (is_good && count.key == "rotated") {
      is_good = add(*number, account.rotated);
    } else if (is_good && count.key.starts_with("dropped_") && *number > 0) {
      is_good = add(*number, account.dropped[type + " " + count.key]);
    }
    if (!is_good) {
      return false;
    }
  }
  return true;
}

bool add_given_up(const Members& counts, model::Account& account) {
  for (const Member& count : counts) {
    const auto number = value_of<std::uint64_t>(count.value);
    if (!number || !add(*number, account.given_up)) {
      return false;
    }
  }
  return true;
}

bool read_account(const Members& args, model::TraceFile& file) {
  model::Account account;
  std::optional<std::int64_t> ts_ns;
  if (!take(args, "ts_ns", ts_ns)) {
    return false;
  }
  for (const Member& member : args) {
    if (member.key == "given_up") {
      const auto counts = members_of(member.value);
      if (!counts || !add_given_up(*counts, account)) {
        return false;
      }
    }
    if (member.key != "by_type") {
      continue;
    }
    const auto types = members_of(member.value);
    if (!types) {
      return false;
    }
    for (const Member& type : *types) {
      if (type.key == "Mark" || type.key == "Range") {
        continue;
      }
      const auto counts = members_of(type.value);
      if (!counts || !add_counts(type.key, *counts, account)) {
        return false;
      }
    }
  }
  file.account = account;
  file.last_ns = ts_ns;
  return true;
}

bool take_hex(const Members& args, const char* key, std::optional<std::int64_t>& number) {
  for (const Member& member : args) {
    if (member.key != key) {
      continue;
    }
    const auto text = text_of(member.value);
    const auto value =
        text && text->starts_with("0x") ? digits_of(text->substr(2), 16) : std::nullopt;
    if (!value) {
      return false;
    }
    number = value;
  }
  return true;
}

bool read_clock(const Members& args, model::TraceFile& file) {
  std::optional<std::int64_t> ts_ns;
  std::optional<std::int64_t> realtime_ns;
  std::optional<std::int64_t> monotonic_ns;
  std::optional<std::int64_t> uncertainty_ns;
  if (!take(args, "ts_ns", ts_ns) || !take_hex(args, "realtime_ns", realtime_ns) ||
      !take_hex(args, "monotonic_ns", monotonic_ns) ||
      !take(args, "uncertainty_ns", uncertainty_ns) || !ts_ns || !realtime_ns || !monotonic_ns ||
      !uncertainty_ns) {
    return false;
  }
  model::ClockReading reading{*ts_ns, *realtime_ns, *monotonic_ns, *uncertainty_ns};
  if (!take(args, "synchronised", reading.is_synchronised) ||
      !take(args, "estimated_error_ns", reading.estimated_error_ns) ||
      !take(args, "maximum_error_ns", reading.maximum_error_ns) ||
      !take(args, "step_after_ns", reading.step_after_ns)) {
    return false;
  }
  file.clocks.push_back(reading);
  return true;
}

bool read_end(const Members& args, model::TraceFile& file) {
  std::optional<std::int64_t> ts_ns;
  std::optional<std::uint64_t> operations;
  std::optional<std::uint64_t> next_segment;
  std::optional<bool> recovered;
  std::optional<std::int64_t> silent_ns;
  std::optional<std::uint64_t> marks_lost;
  std::optional<std::uint64_t> ranges_lost;
  if (!take(args, "ts_ns", ts_ns) || !take(args, "operations", operations) ||
      !take(args, "next_segment", next_segment) || !take(args, "recovered", recovered) ||
      !take(args, "silent_ns", silent_ns) || !take(args, "marks_lost", marks_lost) ||
      !take(args, "ranges_lost", ranges_lost)) {
    return false;
  }
  file.closed = true;
  if (ts_ns) file.last_ns = ts_ns;
  if (operations) file.operations_written = operations;
  if (next_segment) file.next_segment = next_segment;
  if (recovered) file.recovered = *recovered;
  if (silent_ns) file.silent_ns = silent_ns;
  if (marks_lost) file.marks_lost = marks_lost;
  if (ranges_lost) file.ranges_lost = ranges_lost;
  return true;
}

bool read_sampling(const Members& args, model::Sampling& sampling) {
  for (const Member& member : args) {
    if (member.key != "sampling") {
      continue;
    }
    const auto members = members_of(member.value);
    if (!members || !take(*members, "coll_of", sampling.coll_of) ||
        !take(*members, "p2p_of", sampling.p2p_of) ||
        !take(*members, "window_ns", sampling.window_ns) ||
        !take(*members, "period_ns", sampling.period_ns) ||
        !take(*members, "min_bytes", sampling.min_bytes)) {
      return false;
    }
  }
  return true;
}

bool read_start(const Members& args, bool& starts_at_load) {
  for (const Member& member : args) {
    if (member.key != "config") {
      continue;
    }
    const auto members = members_of(member.value);
    std::string start;
    if (!members || !take(*members, "RINGSIDE_START", start)) {
      return false;
    }
    starts_at_load = start == "1";
  }
  return true;
}

bool read_environment(const Members& args, std::map<std::string, std::string>& kept) {
  for (const Member& member : args) {
    if (member.key != "environment") {
      continue;
    }
    const auto members = members_of(member.value);
    if (!members) {
      return false;
    }
    for (const char* const name : {"NCCL_HOSTID", "NCCL_IB_DISABLE", "NCCL_IB_HCA", "NCCL_NET",
                                   "NCCL_P2P_LEVEL", "NCCL_P2P_DISABLE"}) {
      if (!take(*members, name, kept[name])) {
        return false;
      }
    }
  }
  return true;
}

bool read_events(const Members& args, bool& has_events) {
  for (const Member& member : args) {
    if (member.key != "events") {
      continue;
    }
    const auto count = strings_in(member.value);
    if (!count) {
      return false;
    }
    has_events = *count > 0;
  }
  return true;
}

}  // namespace

bool read_process(const std::string& arguments, model::Process& process) {
  const auto args = members_of(arguments);
  std::optional<std::int64_t> version;
  std::optional<std::int64_t> base_time_s;
  if (!args || !take(*args, "format_version", version) || version != 1 ||
      !take(*args, "base_time_s", base_time_s) || !base_time_s ||
      !take(*args, "run_id", process.run_id) || !take(*args, "dump", process.dump) ||
      !take(*args, "segment", process.segment) ||
      !take(*args, "segment_start_ns", process.segment_start_ns) ||
      !take(*args, "job", process.job) || !take(*args, "host", process.host) ||
      !take(*args, "boot_id", process.boot_id) || !take(*args, "pid", process.pid) ||
      !take(*args, "launcher_rank", process.launcher_rank) ||
      !take(*args, "start_ns", process.start_ns) || !take(*args, "abi", process.abi) ||
      !read_sampling(*args, process.sampling) || !read_start(*args, process.starts_at_load) ||
      !read_environment(*args, process.nccl_environment) ||
      !read_events(*args, process.has_events)) {
    return false;
  }
  for (const Member& member : *args) {
    if (member.key == "nccl_version" && member.value != "null") {
      const auto text = text_of(member.value);
      if (!text) {
        return false;
      }
      process.nccl_version = *text;
    }
  }
  process.base_time_s = *base_time_s;
  return true;
}

bool read_metadata(const std::string& name, const std::string& arguments, model::NameTable& names,
                   model::TraceFile& file) {
  const bool is_ours = name == "ringside_communicator" || name == "ringside_window" ||
                       name == "ringside_mark" || name == "ringside_account" ||
                       name == "ringside_clock" || name == "ringside_end" || is_of_machine(name);
  if (!is_ours) {
    return true;
  }
  const auto args = members_of(arguments);
  if (!args) {
    return false;
  }
  if (name == "ringside_communicator") return read_communicator(*args, file);
  if (name == "ringside_window") return read_window(*args, file);
  if (name == "ringside_mark") return read_mark(*args, names, file);
  if (name == "ringside_account") return read_account(*args, file);
  if (name == "ringside_clock") return read_clock(*args, file);
  if (is_of_machine(name)) return read_machine(name, *args, file);
  return read_end(*args, file);
}

}  // namespace ringside::plain
