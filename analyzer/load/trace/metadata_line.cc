// SPDX-License-Identifier: Apache-2.0
#include "analyzer/load/trace/metadata_line.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "analyzer/load/json/json_value.h"
#include "analyzer/load/json/parse_number.h"
#include "analyzer/load/trace/callers.h"
#include "analyzer/load/trace/machine_line.h"
#include "ringside/trace_schema.h"

namespace ringside::load {
namespace {

using simdjson::error_code;
using Value = simdjson::ondemand::value;

error_code take_gpu(Value& value, model::Context& context) {
  return visit_object(value, [&](std::string_view key, Value& member) {
    if (key == "pci") {
      const error_code error = take_text(member, context.gpu_pci);
      context.gpu_pci = topology::sysfs_address(context.gpu_pci);
      return error;
    }
    return key == "uuid" ? take_text(member, context.gpu_uuid) : simdjson::SUCCESS;
  });
}

Failure read_communicator(EventParser& parser, const Event& event, Part& part) {
  model::Context context;
  std::optional<std::uint32_t> number;
  auto failure = parser.visit_arguments(event, [&](std::string_view key, Value& value) {
    if (key == "context") return take_integer(value, number);
    if (key == "comm") return take_text(value, context.comm.emplace());
    if (key == "name") return take_text(value, context.name);
    if (key == "rank") return take_integer(value, context.rank);
    if (key == "nranks") return take_integer(value, context.nranks);
    if (key == "created_ns") return take_integer(value, context.created_ns);
    if (key == "finalized_ns") return take_integer(value, context.finalized_ns);
    if (key == "gpu") return take_gpu(value, context);
    return simdjson::SUCCESS;
  });
  if (failure) {
    return failure;
  }
  if (!number) {
    return failure_of(simdjson::NO_SUCH_FIELD, "context");
  }
  part.described_contexts.insert(*number);
  model::Context& known = part.file.contexts[*number];
  context.operations = known.operations;
  known = std::move(context);
  return std::nullopt;
}

Failure read_window(EventParser& parser, const Event& event, Part& part) {
  std::optional<std::uint64_t> number;
  std::optional<std::int64_t> start_ns;
  std::optional<std::int64_t> end_ns;
  auto failure = parser.visit_arguments(event, [&](std::string_view key, Value& value) {
    if (key == "window") return take_integer(value, number);
    if (key == "start_ns") return take_integer(value, start_ns);
    if (key == "end_ns") return take_integer(value, end_ns);
    return simdjson::SUCCESS;
  });
  if (failure) {
    return failure;
  }
  if (!number) {
    return failure_of(simdjson::NO_SUCH_FIELD, "window");
  }
  model::Window& window = part.file.windows[*number];
  if (start_ns) {
    part.started_windows.insert(*number);
    window.start_ns = *start_ns;
  }
  window.end_ns = end_ns;
  return std::nullopt;
}

Failure read_mark(EventParser& parser, const Event& event, Part& part) {
  model::Mark mark;
  std::optional<std::uint64_t> number;
  std::optional<std::uint32_t> tid;
  std::optional<std::int64_t> start_ns;
  std::optional<std::string> name;
  std::string source;
  auto failure = parser.visit_arguments(event, [&](std::string_view key, Value& value) {
    if (key == "mark") return take_integer(value, number);
    if (key == "name") return take_text(value, name.emplace());
    if (key == "source") return take_text(value, source);
    if (key == "tid") return take_integer(value, tid);
    if (key == "range") return take_bool(value, mark.is_range);
    if (key == "start_ns") return take_integer(value, start_ns);
    if (key == "end_ns") return take_integer(value, mark.end_ns);
    return simdjson::SUCCESS;
  });
  if (failure) {
    return failure;
  }
  if (!number || !name || !tid || !start_ns) {
    return "one of mark, name, tid and start_ns of a mark is missing";
  }
  mark.tid = *tid;
  mark.start_ns = *start_ns;
  name_mark(*name, source, part.names, mark);
  take_mark(*number, mark, part.file);
  return std::nullopt;
}

error_code add(std::uint64_t callbacks, std::uint64_t& sum) {
  sum += callbacks;
  return sum < callbacks ? simdjson::NUMBER_OUT_OF_RANGE : simdjson::SUCCESS;
}

error_code add_type(std::string_view type, Value& counts, model::Account& account) {
  if (type == schema::kTypeMark || type == schema::kTypeRange) {
    return simdjson::SUCCESS;  // no operation lacks anything without them; the last line counts
                               // them
  }
  return visit_object(counts, [&](std::string_view reason, Value& value) {
    std::uint64_t callbacks = 0;
    if (const auto error = take_integer(value, callbacks)) return error;
    if (reason == "produced") return add(callbacks, account.produced);
    if (reason == "sampled_out") return add(callbacks, account.sampled_out);
    if (reason == schema::kReasonRotated) return add(callbacks, account.rotated);
    if (reason == "in_rings") return add(callbacks, account.in_rings);
    if (reason.starts_with("dropped_") && callbacks > 0) {
      return add(callbacks, account.dropped[std::string(type) + ' ' + std::string(reason)]);
    }
    return simdjson::SUCCESS;
  });
}

error_code add_given_up(Value& counts, model::Account& account) {
  return visit_object(counts, [&](std::string_view /*type*/, Value& value) {
    std::uint64_t events = 0;
    const error_code error = take_integer(value, events);
    return error ? error : add(events, account.given_up);
  });
}

Failure read_account(EventParser& parser, const Event& event, Part& part) {
  model::Account account;
  std::optional<std::int64_t> ts_ns;
  auto failure = parser.visit_arguments(event, [&](std::string_view key, Value& value) {
    if (key == "ts_ns") return take_integer(value, ts_ns);
    if (key == "given_up") return add_given_up(value, account);
    return key != "by_type" ? simdjson::SUCCESS
                            : visit_object(value, [&](std::string_view type, Value& counts) {
                                return add_type(type, counts, account);
                              });
  });
  if (!failure) {
    part.has_account = true;
    part.file.account = std::move(account);
    part.file.last_ns = ts_ns;
  }
  return failure;
}

Failure read_end(EventParser& parser, const Event& event, Part& part) {
  std::optional<std::int64_t> ts_ns;
  std::optional<std::uint64_t> operations;
  std::optional<std::uint64_t> next_segment;
  std::optional<bool> recovered;
  std::optional<std::int64_t> silent_ns;
  std::optional<std::uint64_t> marks_lost;
  std::optional<std::uint64_t> ranges_lost;
  auto failure = parser.visit_arguments(event, [&](std::string_view key, Value& value) {
    if (key == "ts_ns") return take_integer(value, ts_ns);
    if (key == "operations") return take_integer(value, operations);
    if (key == "silent_ns") return take_integer(value, silent_ns);
    if (key == "marks_lost") return take_integer(value, marks_lost);
    if (key == "ranges_lost") return take_integer(value, ranges_lost);
    if (key == "recovered") return take_bool(value, recovered.emplace());
    if (key == "next_segment") return take_integer(value, next_segment);
    return simdjson::SUCCESS;
  });
  if (failure) {
    return failure;
  }
  model::TraceFile& file = part.file;
  file.closed = true;
  if (ts_ns) file.last_ns = ts_ns;
  if (operations) file.operations_written = operations;
  if (next_segment) file.next_segment = next_segment;
  if (silent_ns) file.silent_ns = silent_ns;
  if (marks_lost) file.marks_lost = marks_lost;
  if (ranges_lost) file.ranges_lost = ranges_lost;
  if (recovered) {
    part.has_recovered = true;
    file.recovered = *recovered;
  }
  return std::nullopt;
}

error_code take_hex(Value& value, std::optional<std::int64_t>& result) {
  std::string_view text;
  if (const auto error = value.get_string().get(text)) {
    return error;
  }
  if (!text.starts_with("0x")) return simdjson::INCORRECT_TYPE;
  const auto number = parse_hex(text);
  if (!number || !std::in_range<std::int64_t>(*number)) {
    return simdjson::NUMBER_OUT_OF_RANGE;
  }
  result = static_cast<std::int64_t>(*number);
  return simdjson::SUCCESS;
}

Failure read_clock(EventParser& parser, const Event& event, Part& part) {
  std::optional<std::int64_t> ts_ns;
  std::optional<std::int64_t> realtime_ns;
  std::optional<std::int64_t> monotonic_ns;
  std::optional<std::int64_t> uncertainty_ns;
  model::ClockReading reading;
  auto failure = parser.visit_arguments(event, [&](std::string_view key, Value& value) {
    if (key == "ts_ns") return take_integer(value, ts_ns);
    if (key == "realtime_ns") return take_hex(value, realtime_ns);
    if (key == "monotonic_ns") return take_hex(value, monotonic_ns);
    if (key == "uncertainty_ns") return take_integer(value, uncertainty_ns);
    if (key == "synchronised") return take_bool(value, reading.is_synchronised.emplace());
    if (key == "estimated_error_ns") return take_integer(value, reading.estimated_error_ns);
    if (key == "maximum_error_ns") return take_integer(value, reading.maximum_error_ns);
    if (key == "step_after_ns") return take_integer(value, reading.step_after_ns);
    return simdjson::SUCCESS;
  });
  if (failure) {
    return failure;
  }
  if (!ts_ns || !realtime_ns || !monotonic_ns || !uncertainty_ns) {
    return "one of the four values of a clock is missing";
  }
  reading.ts_ns = *ts_ns;
  reading.realtime_ns = *realtime_ns;
  reading.monotonic_ns = *monotonic_ns;
  reading.uncertainty_ns = *uncertainty_ns;
  part.file.clocks.push_back(reading);
  return std::nullopt;
}

error_code take_nullable_text(Value& value, std::string& text) {
  bool is_null = false;
  if (const auto error = value.is_null().get(is_null)) {
    return error;
  }
  return is_null ? simdjson::SUCCESS : take_text(value, text);
}

error_code take_sampling(Value& value, model::Sampling& sampling) {
  return visit_object(value, [&](std::string_view key, Value& number) {
    if (key == "coll_of") return take_integer(number, sampling.coll_of);
    if (key == "p2p_of") return take_integer(number, sampling.p2p_of);
    if (key == "window_ns") return take_integer(number, sampling.window_ns);
    if (key == "period_ns") return take_integer(number, sampling.period_ns);
    if (key == "min_bytes") return take_integer(number, sampling.min_bytes);
    return simdjson::SUCCESS;
  });
}

error_code take_start(Value& config, bool& starts_at_load) {
  std::string start;
  const error_code error = visit_object(config, [&](std::string_view key, Value& value) {
    return key == "RINGSIDE_START" ? take_text(value, start) : simdjson::SUCCESS;
  });
  starts_at_load = start == "1";
  return error;
}

error_code take_environment(Value& environment, std::map<std::string, std::string>& kept) {
  constexpr std::array<std::string_view, 6> kNames = {"NCCL_HOSTID",    "NCCL_IB_DISABLE",
                                                      "NCCL_IB_HCA",    "NCCL_NET",
                                                      "NCCL_P2P_LEVEL", "NCCL_P2P_DISABLE"};
  return visit_object(environment, [&](std::string_view key, Value& value) {
    return std::find(kNames.begin(), kNames.end(), key) != kNames.end()
               ? take_text(value, kept[std::string(key)])
               : simdjson::SUCCESS;
  });
}

error_code take_events(Value& value, bool& has_events) {
  simdjson::ondemand::array array;
  if (const auto error = value.get_array().get(array)) {
    return error;
  }
  has_events = false;
  for (auto element : array) {
    std::string_view event;
    if (const auto error = element.get_string().get(event)) return error;
    has_events = true;
  }
  return simdjson::SUCCESS;
}

}  // namespace

Failure read_process(EventParser& parser, const Event& event, model::Process& process) {
  std::optional<std::int64_t> version;
  std::optional<std::int64_t> base_time_s;
  auto failure = parser.visit_arguments(event, [&](std::string_view key, Value& value) {
    if (key == "format_version") return take_integer(value, version);
    if (key == "run_id") return take_text(value, process.run_id);
    if (key == "dump") return take_bool(value, process.dump);
    if (key == "segment") return take_integer(value, process.segment);
    if (key == "segment_start_ns") return take_integer(value, process.segment_start_ns);
    if (key == "job") return take_text(value, process.job);
    if (key == "host") return take_text(value, process.host);
    if (key == "boot_id") return take_text(value, process.boot_id);
    if (key == "pid") return take_integer(value, process.pid);
    if (key == "launcher_rank") return take_integer(value, process.launcher_rank);
    if (key == "base_time_s") return take_integer(value, base_time_s);
    if (key == "start_ns") return take_integer(value, process.start_ns);
    if (key == "nccl_version") return take_nullable_text(value, process.nccl_version);
    if (key == "abi") return take_integer(value, process.abi);
    if (key == "sampling") return take_sampling(value, process.sampling);
    if (key == "config") return take_start(value, process.starts_at_load);
    if (key == "environment") return take_environment(value, process.nccl_environment);
    if (key == "events") return take_events(value, process.has_events);
    return simdjson::SUCCESS;
  });
  if (failure) {
    return failure;
  }
  if (!version || !base_time_s) {
    return failure_of(simdjson::NO_SUCH_FIELD, version ? "base_time_s" : "format_version");
  }
  if (*version != schema::kFormatVersion) {
    return "trace format " + std::to_string(*version) + ", but this ringside reads format " +
           std::to_string(schema::kFormatVersion) + " only; use the release that wrote the trace";
  }
  process.base_time_s = *base_time_s;
  return std::nullopt;
}

bool is_needed_metadata(std::string_view name) {
  return name == schema::kLineCommunicator || name == schema::kLineWindow ||
         name == schema::kLineMark || name == schema::kLineAccount || name == schema::kLineClock ||
         name == schema::kLineEnd || is_machine_line(name);
}

Failure read_metadata(EventParser& parser, const Event& event, Part& part) {
  if (event.name == schema::kLineCommunicator) return read_communicator(parser, event, part);
  if (event.name == schema::kLineWindow) return read_window(parser, event, part);
  if (event.name == schema::kLineMark) return read_mark(parser, event, part);
  if (event.name == schema::kLineAccount) return read_account(parser, event, part);
  if (event.name == schema::kLineClock) return read_clock(parser, event, part);
  if (event.name == schema::kLineEnd) return read_end(parser, event, part);
  if (is_machine_line(event.name)) return read_machine_line(parser, event, part);
  return std::nullopt;
}

}  // namespace ringside::load
