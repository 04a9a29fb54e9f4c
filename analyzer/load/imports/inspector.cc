// SPDX-License-Identifier: Apache-2.0
//
// NCCL Inspector's JSON lines, format v4.0 of NCCL 2.28 to 2.30. Recordings: test/data/inspector.
// Later formats are read as NCCL's source and proposals have them: v4.1 adds lines with the counts
// of what was dropped, v4.2 algorithm and protocol, v4.3 has one header for the lines below it.
#include <algorithm>
#include <cmath>
#include <map>
#include <simdjson.h>
#include <utility>

#include "analyzer/load/durations.h"
#include "analyzer/load/json/dom_value.h"

namespace ringside::load {
namespace {

using simdjson::dom::object;

// No count of calls or microseconds of a job comes near it, and all sums of these fit.
constexpr std::int64_t kMostNumber = std::int64_t{1} << 53;

class InspectorReader {
 public:
  explicit InspectorReader(Dump& records) : records_(records), file_(records.file) {}

  std::string read(std::string_view text) {
    while (!text.empty()) {
      const std::size_t end = text.find('\n');
      if (end == std::string_view::npos) {
        file_.torn = true;  // it was written while the file was copied, or the process was killed
        break;
      }
      ++file_.lines;
      const char* const trouble = add(text.substr(0, end));
      if (*trouble != '\0') {
        records_.problems.add_line({}, file_.lines, trouble);
        ++file_.bad_lines;
      }
      text.remove_prefix(end + 1);
    }
    if (file_.operations.empty()) {
      return "no line of NCCL Inspector in it can be read" +
             (records_.problems.lines().empty() ? std::string()
                                                : ": " + records_.problems.lines().front().reason);
    }
    finish();
    return {};
  }

 private:
  // Returns why the line is left out; empty if it is not.
  const char* add(std::string_view line) {
    object top;
    if (parser_.parse(line.data(), line.size()).get(top) != simdjson::SUCCESS) {
      return "no line of NCCL Inspector; it is left out";
    }
    object header;
    object metadata;
    if (top["header"].get(header) == simdjson::SUCCESS &&
        top["metadata"].get(metadata) == simdjson::SUCCESS) {
      context_ = 0;
      const auto time_us = number_at(metadata, "dump_timestamp_us");
      const auto pid = integer_at(metadata, "pid");
      const auto context = context_of(header);
      if (!time_us || !pid || !context) {
        return "a line without id, rank, n_ranks, pid or dump_timestamp_us; it is left out";
      }
      if (!fill_process(*time_us, *pid, text_at(metadata, "hostname"))) {
        return "a line of another process; it is left out";
      }
      context_ = *context;
    } else if (context_ == 0) {
      return "no line of NCCL Inspector; it is left out";
    }
    object call;
    if (top["coll_perf"].get(call) == simdjson::SUCCESS) {
      return add(call, true, context_);
    }
    if (top["p2p_perf"].get(call) == simdjson::SUCCESS) {
      return add(call, false, context_);
    }
    if (top["dump_stats"].get(call) != simdjson::SUCCESS) {
      return "a line without coll_perf and p2p_perf; it is left out";
    }
    std::int64_t& dropped = dropped_[context_];  // since the beginning
    dropped = std::max(dropped, number_at(call, "dropped").value_or(0));
    return "";
  }

  static std::optional<std::int64_t> number_at(const object& from, std::string_view key) {
    const auto number = integer_at(from, key);
    return number && *number >= 0 && *number <= kMostNumber ? number : std::nullopt;
  }

  // False if another process wrote the lines before.
  bool fill_process(std::int64_t time_us, std::int64_t pid, std::string_view host) {
    constexpr std::int64_t kUsPerSecond = 1'000'000;
    model::Process& process = file_.process;
    if (process.run_id.empty()) {
      process.run_id = "NCCL Inspector, " + std::string(host) + ", pid " + std::to_string(pid);
      process.boot_id = process.run_id;  // its clock counts as one of its own
      process.job = "unknown";
      process.host = host;
      process.pid = pid;
      process.abi = 5;  // all releases of Inspector so far export ncclProfiler_v5 alone
      process.base_time_s = time_us / kUsPerSecond;
      process.start_ns = time_us % kUsPerSecond * 1000;
      process.tells_moment = false;
      process.tells_start = false;
    }
    file_.last_ns =
        std::max(file_.last_ns.value_or(0), (time_us - process.base_time_s * kUsPerSecond) * 1000);
    return process.pid == pid && process.host == host;
  }

  std::optional<std::uint32_t> context_of(const object& header) {
    const std::string_view id = text_at(header, "id");
    const auto rank = number_at(header, "rank");
    const auto ranks = number_at(header, "n_ranks");
    if (id.empty() || !rank || !ranks || *rank >= *ranks || !std::in_range<std::uint32_t>(*ranks)) {
      return std::nullopt;
    }
    const auto number = static_cast<std::uint32_t>(contexts_.size() + 1);
    const auto [found, is_new] = contexts_.try_emplace({std::string(id), *rank}, number);
    if (is_new) {
      model::Context& context = file_.contexts[number];
      const std::string_view name = text_at(header, "comm_name");
      context.comm = id;
      context.name = name == "unknown" ? std::string_view() : name;
      context.rank = static_cast<std::uint32_t>(*rank);
      context.nranks = static_cast<std::uint32_t>(*ranks);
    }
    return found->second;
  }

  const char* add(const object& call, bool is_collective, std::uint32_t context) {
    const std::string prefix = is_collective ? "coll" : "p2p";
    const std::string_view function = text_at(call, prefix);
    const auto number = number_at(call, prefix + "_sn");
    double duration_us = -1;
    const bool has_duration =
        call[prefix + "_exec_time_us"].get(duration_us) == simdjson::SUCCESS && duration_us >= 0 &&
        duration_us <= static_cast<double>(kMostNumber) / 1000;
    const auto bytes = number_at(call, prefix + "_msg_size_bytes");
    if (function.empty() || !number || !has_duration || !bytes) {
      return "a record without function, number, size or duration; it is left out";
    }
    model::Operation operation;
    operation.id = file_.lines;
    operation.context = context;
    operation.func = records_.names.id(function);
    operation.bytes = static_cast<std::uint64_t>(*bytes);
    operation.state = model::State::kCompleted;
    operation.window = 2;  // smaller calls, and what was not written in time, are not there
    if (is_collective) {
      operation.seq = static_cast<std::uint64_t>(*number);
      operation.algo = name_of(text_at(call, "coll_algo"));
      operation.proto = name_of(text_at(call, "coll_proto"));
    } else {
      operation.kind = model::Kind::kPointToPoint;
      if (const auto peer = number_at(call, "p2p_peer");
          peer && std::in_range<std::uint32_t>(*peer)) {
        operation.peer = static_cast<std::uint32_t>(*peer);
      }
    }
    // A time of the kernel, by the GPU's clock or by the callbacks. Any other time begins with the
    // call and says nothing of how long the data took.
    const std::string_view source = text_at(call, prefix + "_timing_source");
    if (source == "kernel_gpu" || source == "kernel_cpu") {
      operation.times_from = model::TimesFrom::kGpu;
      operation.gpu_polled = source == "kernel_cpu";
      operation.start_ns = 0;
      operation.end_ns = std::llround(duration_us * 1000);
    }
    file_.operations.push_back(operation);
    ++file_.contexts[context].operations;
    Numbers& numbers = numbers_[{context, std::string(is_collective ? function : "")}];
    ++numbers.count;
    numbers.first = std::min(numbers.first, *number);
    numbers.last = std::max(numbers.last, *number);
    return "";
  }

  model::NameId name_of(std::string_view name) {
    return name.empty() ? model::kNoName : records_.names.id(name);
  }

  // Numbers that are absent are calls that Inspector did not write.
  void finish() {
    std::uint64_t lost = 0;
    for (const auto& [whose, numbers] : numbers_) {
      // Inspector counts sends and receives from 1; of collectives releases count from 0 or 1.
      const std::int64_t first = whose.second.empty() || numbers.first == 1 ? 1 : 0;
      lost += static_cast<std::uint64_t>(
          std::max<std::int64_t>(numbers.last - first + 1 - numbers.count, 0));
    }
    file_.operations_written = file_.operations.size() + lost;
    for (const auto& [context, dropped] : dropped_) {
      if (dropped > 0) {
        file_.account.dropped["Inspector dropped_records"] += static_cast<std::uint64_t>(dropped);
        file_.account.produced = file_.operations.size() + file_.account.dropped.begin()->second;
      }
    }
    file_.windows[2].start_ns = file_.process.start_ns;
    for (auto& [number, context] : file_.contexts) {
      context.created_ns = file_.process.start_ns;
    }
    file_.closed = true;
  }

  struct Numbers {
    std::int64_t first = kMostNumber;
    std::int64_t last = 0;
    std::int64_t count = 0;
  };

  Dump& records_;
  model::TraceFile& file_;
  simdjson::dom::parser parser_;
  std::map<std::uint32_t, std::int64_t> dropped_;  // records, by context
  std::uint32_t context_ = 0;  // of the last header; 0 before it, and after one that is not read
  std::map<std::pair<std::string, std::int64_t>, std::uint32_t> contexts_;  // by hash and rank
  std::map<std::pair<std::uint32_t, std::string>, Numbers> numbers_;  // by context and function
};

}  // namespace

bool begins_as_inspector(std::string_view bytes) {
  return bytes.starts_with("{\"header\":");
}

std::string read_inspector(std::string_view text, Dump& records) {
  return InspectorReader(records).read(text);
}

}  // namespace ringside::load
