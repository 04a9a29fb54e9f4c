// SPDX-License-Identifier: Apache-2.0
//
// Traces of NVIDIA's example profiler. Written from its sources in NCCL 2.23 to 2.30
// (plugins/profiler/example and ext-profiler/example); recordings: test/data/example_profiler. Its
// lines are no JSON in 2.28, whose names and addresses have no quotation marks, so the values of
// each line are looked up by their keys.
#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "analyzer/load/durations.h"
#include "analyzer/load/json/parse_number.h"
#include "analyzer/model/unknown_host.h"
#include "plugin/assemble/message_bytes.h"

namespace ringside::load {
namespace {

constexpr std::string_view kBegin = "[\n{\"name\": \"";
constexpr std::string_view kNothing = "[\n{}]\n";
constexpr std::string_view kLastLine = "{}]";

// The value behind a key, which is given as it is written: "name":. Empty if the line does not have
// it.
std::string_view text_of(std::string_view line, std::string_view key) {
  std::size_t at = line.find(key);
  if (at == std::string_view::npos) {
    return {};
  }
  at = line.find_first_not_of(' ', at + key.size());
  std::string_view value = line.substr(std::min(at, line.size()));
  if (value.starts_with('"')) {
    value.remove_prefix(1);
    return value.substr(0, value.find('"'));
  }
  return value.substr(0, value.find_first_of(",} "));
}

std::optional<std::uint64_t> number_of(std::string_view line, std::string_view key) {
  return parse_number<std::uint64_t>(text_of(line, key));
}

std::optional<std::uint32_t> small_number_of(std::string_view line, std::string_view key) {
  return parse_number<std::uint32_t>(text_of(line, key));
}

using Time = std::optional<std::int64_t>;

// Reads microseconds with a fraction. False if the text is something else.
bool read_time(std::string_view text, Time& time_ns) {
  constexpr std::uint64_t kMost_us = std::uint64_t{1} << 50;
  constexpr std::size_t kFractionDigits = 3;
  const std::size_t point = text.find('.');
  const auto us = parse_number<std::uint64_t>(text.substr(0, point));
  std::string fraction(point == text.npos ? "0" : text.substr(point + 1));
  if (!us || *us > kMost_us || fraction.empty() ||
      fraction.find_first_not_of("0123456789") != fraction.npos) {
    return false;
  }
  fraction.resize(kFractionDigits, '0');
  const auto ns =
      static_cast<std::int64_t>(*us * 1000 + parse_number<std::uint64_t>(fraction).value_or(0));
  time_ns =
      ns > 0 ? Time(ns) : Time();  // 0 is the profiler's word for a time that it does not have
  return true;
}

// NCCL 2.23 gave the number of a datatype.
std::string_view datatype_of(std::string_view text) {
  constexpr std::array<std::string_view, 12> kNames = {
      "ncclInt8",    "ncclUint8",    "ncclInt32",      "ncclUint32",
      "ncclInt64",   "ncclUint64",   "ncclFloat16",    "ncclFloat32",
      "ncclFloat64", "ncclBfloat16", "ncclFloat8e4m3", "ncclFloat8e5m2"};
  const auto number = parse_number<std::uint64_t>(text);
  return number && *number < kNames.size() ? kNames[*number] : text;
}

void widen(Time& last_ns, const Time& time_ns) {
  last_ns = last_ns && time_ns ? std::max(last_ns, time_ns) : std::nullopt;
}

// The facts that the lines between the begin and the end of a call tell: how it ran.
struct Run {
  struct Channel {
    Time first_ns;  // the callbacks of the kernel
    Time last_ns;
    std::uint64_t first_tick = 0;  // of the GPU's clock, in ns
    std::uint64_t last_tick = 0;
    bool has_kernel = false;
    bool has_proxies = false;
    Time proxies_last_ns;  // nothing if one of them has no end
  };
  Time begin_ns;  // of the call's line
  std::uint32_t channel_count = 0;
  std::map<std::uint64_t, Channel> channels;
  std::uint64_t kernel = 0;  // the channel whose lines are being read
  std::uint64_t proxy = 0;
  bool is_kernel_stale = false;
  bool is_proxy_stale = false;
};

class ExampleReader {
 public:
  explicit ExampleReader(Dump& records) : records_(records), file_(records.file) {}

  std::string read(std::string_view text) {
    if (text == kNothing) {
      return "NVIDIA's example profiler recorded nothing in it: NCCL_PROFILE_EVENT_MASK, which "
             "says "
             "what it records, is 0 unless it is set";
    }
    while (!text.empty()) {
      const std::size_t end = text.find('\n');
      const std::string_view line = text.substr(0, end);
      file_.torn = end == std::string_view::npos;
      if (!file_.torn) {
        ++file_.lines;
        const char* const trouble = add(line);
        if (*trouble != '\0') {
          records_.problems.add_line({}, file_.lines, trouble);
          ++file_.bad_lines;
        }
      }
      text.remove_prefix(file_.torn ? text.size() : end + 1);
    }
    if (file_.operations.empty()) {
      return "a trace of NVIDIA's example profiler without a call of NCCL that can be read: "
             "NCCL_PROFILE_EVENT_MASK chooses what it records (2: collectives, 4: sends and "
             "receives)";
    }
    finish();
    return {};
  }

 private:
  const char* add(std::string_view line) {
    if (line == "[") {
      return "";
    }
    if (line == kLastLine) {
      file_.closed = true;
      return "";
    }
    const std::string_view kind = text_of(line, R"("cat":)");
    const std::string_view phase = text_of(line, R"("ph":)");
    const auto pid = number_of(line, R"("pid":)");
    if (kind.empty() || !pid || (phase != "b" && phase != "e")) {
      return "no line of NVIDIA's example profiler; it is left out";
    }
    pid_ = *pid;
    Time time_ns;
    if (!read_time(text_of(line, R"("ts":)"), time_ns)) {
      return "a time that is no number of microseconds; the line is left out";
    }
    file_.last_ns = std::max(file_.last_ns.value_or(0), time_ns.value_or(0));
    const bool is_begin = phase == "b";
    if (kind == "COLL" || kind == "P2P") {
      return is_begin ? begin(line, kind == "COLL", time_ns) : end();
    }
    if (kind == "CE_COLL" && is_begin) {
      return "a collective by copy engines, without communicator and number; it is left out";
    }
    if (kind == "GPU" && is_open_) {
      add_kernel(line, is_begin, time_ns);
    } else if (kind == "PROXY" && is_open_) {
      add_proxy(line, is_begin, time_ns);
    }
    return "";
  }

  const char* begin(std::string_view line, bool is_collective, const Time& time_ns) {
    is_open_ = false;
    std::string_view function = text_of(line, R"("name":)");
    if (function.starts_with("nccl")) {  // as releases before 2.25 named them
      function.remove_prefix(4);
    }
    const auto hash = number_of(line, R"("CommHash":)");
    const auto rank = small_number_of(line, R"("Rank":)");
    const auto count = number_of(line, R"("Count":)");
    const auto number = number_of(line, R"("SeqNum":)");
    if (function.empty() || !hash || !rank || !count || !assemble::can_be_told(*count) ||
        *rank == std::numeric_limits<std::uint32_t>::max() ||
        (is_collective && (!number || *number > kMostNumber))) {
      return "a call without function, communicator, rank, count or number; it is left out";
    }
    operation_ = {};
    run_ = {};
    run_.begin_ns = time_ns;
    run_.channel_count = small_number_of(line, R"("nChannels":)").value_or(0);
    operation_.id = file_.lines;
    operation_.context = context_of(*hash, *rank);
    if (is_collective &&
        !seen_.insert({operation_.context, std::string(function), *number}).second) {
      return "a collective that the file has twice; the first is taken";
    }
    is_open_ = true;
    const std::string_view datatype = datatype_of(text_of(line, R"("Datatype":)"));
    const bool is_bytes = is_collective && assemble::count_is_in_bytes(function);
    operation_.func = records_.names.id(function);
    operation_.datatype = records_.names.id(is_bytes ? "bytes" : datatype);
    operation_.algo = name_of(text_of(line, R"("Algorithm":)"));
    operation_.proto = name_of(text_of(line, R"("Protocol":)"));
    operation_.count = count;
    operation_.bytes = assemble::message_bytes(*count, datatype);
    operation_.channels = run_.channel_count;
    operation_.window = 2;  // what the pools had no room for is not there
    if (is_collective) {
      operation_.seq = number;
    } else {
      operation_.kind = model::Kind::kPointToPoint;
      operation_.peer = small_number_of(line, R"("Peer":)");
    }
    return "";
  }

  model::NameId name_of(std::string_view name) {
    return name.empty() || name == "UNKNOWN" ? model::kNoName : records_.names.id(name);
  }

  // A file has one communicator, but for those of NCCL 2.23 to 2.26, which has all of a process.
  std::uint32_t context_of(std::uint64_t hash, std::uint32_t rank) {
    const auto number = static_cast<std::uint32_t>(contexts_.size() + 1);
    const auto [found, is_new] = contexts_.try_emplace({hash, rank}, number);
    if (is_new) {
      model::Context& context = file_.contexts[number];
      if (hash != 0) {
        std::array<char, 16> digits{};
        const auto written = std::to_chars(digits.data(), digits.data() + digits.size(), hash, 16);
        context.comm = "0x" + std::string(digits.data(), written.ptr);
      }
      context.rank = rank;
      context.created_ns = 0;
    }
    return found->second;
  }

  // The memory of an earlier call's events is printed again below a later call that uses less of
  // it: such lines begin before the call.
  bool is_stale(const Time& time_ns) const {
    return !time_ns || !run_.begin_ns || *time_ns < *run_.begin_ns;
  }

  void add_kernel(std::string_view line, bool is_begin, const Time& time_ns) {
    if (!is_begin) {
      Run::Channel& channel = run_.channels[run_.kernel];
      if (!run_.is_kernel_stale) {
        channel.last_ns = time_ns;
        operation_.gpu_rejected += time_ns && channel.last_tick > 0 ? 0 : 1;
      }
      return;
    }
    run_.kernel = number_of(line, R"("Channel":)").value_or(0);
    run_.is_kernel_stale = is_stale(time_ns);
    if (run_.is_kernel_stale) {
      ++operation_.gpu_rejected;
    } else {
      Run::Channel& channel = run_.channels[run_.kernel];
      channel.has_kernel = true;
      channel.first_ns = time_ns;
      channel.first_tick = number_of(line, R"("StartGpuClk":)").value_or(0);
      channel.last_tick = number_of(line, R"("StopGpuClk":)").value_or(0);
    }
  }

  void add_proxy(std::string_view line, bool is_begin, const Time& time_ns) {
    if (text_of(line, R"("name":)").starts_with("Schedule")) {
      return;  // "Progress" has all that is wanted
    }
    if (is_begin) {
      run_.proxy = number_of(line, R"("Channel":)").value_or(0);
      run_.is_proxy_stale = is_stale(time_ns);
      return;
    }
    Run::Channel& channel = run_.channels[run_.proxy];
    const Time end_ns = run_.is_proxy_stale ? Time() : time_ns;
    if (channel.has_proxies) {
      widen(channel.proxies_last_ns, end_ns);
    } else {
      channel.proxies_last_ns = end_ns;
    }
    channel.has_proxies = true;
  }

  const char* end() {
    if (!is_open_) {
      return "";
    }
    is_open_ = false;
    if (operation_.kind == model::Kind::kCollective) {
      take_times();
      Numbers& numbers = numbers_[{operation_.context, operation_.func}];
      ++numbers.count;
      numbers.last = std::max(numbers.last, *operation_.seq);
    }
    file_.operations.push_back(operation_);
    ++file_.contexts[operation_.context].operations;
    return "";
  }

  // From the begin of the kernel to the end of all that the call did: by the GPU's clock where all
  // channels have both stamps. If a channel's stop was lost, its last proxy operation has the
  // end, by the process's clock. There is no time if a channel has neither.
  void take_times() {
    bool is_whole = run_.channel_count > 0;
    bool is_by_gpu = true;
    std::uint64_t first_tick = std::numeric_limits<std::uint64_t>::max();
    std::uint64_t last_tick = 0;
    Time first_ns;
    Time last_ns;
    for (std::uint32_t number = 0; is_whole && number < run_.channel_count; ++number) {
      const auto found = run_.channels.find(number);
      if (found == run_.channels.end() || !found->second.has_kernel) {
        is_whole = false;
        break;
      }
      const Run::Channel& channel = found->second;
      const bool has_end = channel.last_ns && channel.last_tick > 0;
      is_by_gpu =
          is_by_gpu && has_end && channel.first_tick > 0 && channel.last_tick >= channel.first_tick;
      first_tick = std::min(first_tick, channel.first_tick);
      last_tick = std::max(last_tick, channel.last_tick);
      first_ns = first_ns ? std::min(first_ns, channel.first_ns) : channel.first_ns;
      Time end_ns = channel.last_ns;
      if (channel.has_proxies) {
        end_ns = end_ns && channel.proxies_last_ns ? std::max(end_ns, channel.proxies_last_ns)
                                                   : channel.proxies_last_ns;
      }
      is_whole = end_ns.has_value();
      last_ns = std::max(last_ns, end_ns);
    }
    constexpr std::uint64_t kMost_ns = std::uint64_t{1} << 53;
    if (is_whole && is_by_gpu && last_tick - first_tick <= kMost_ns) {
      operation_.times_from = model::TimesFrom::kGpu;
      operation_.end_ns = static_cast<std::int64_t>(last_tick - first_tick);
    } else if (is_whole && !is_by_gpu && *last_ns >= *first_ns) {
      operation_.times_from = model::TimesFrom::kProxy;
      operation_.end_ns = *last_ns - *first_ns;
    } else {
      return;
    }
    operation_.start_ns = 0;
    operation_.state = model::State::kCompleted;
  }

  void finish() {
    model::Process& process = file_.process;
    const model::Context& first = file_.contexts.begin()->second;
    process.run_id = "NVIDIA's example profiler, pid " + std::to_string(pid_) + ", communicator " +
                     first.comm.value_or("unknown") + ", rank " + std::to_string(*first.rank);
    process.boot_id = process.run_id;  // its clock counts as one of its own
    process.job = "unknown";
    process.host = model::kUnknownHost;
    process.pid = static_cast<std::int64_t>(pid_ & kMostNumber);
    process.tells_moment = false;
    process.tells_start = false;
    file_.windows[2].start_ns = 0;
    std::uint64_t lost = 0;
    for (const auto& [whose, numbers] : numbers_) {
      lost += numbers.last + 1 - numbers.count;  // NCCL counts from 0, each function for itself
    }
    file_.operations_written = file_.operations.size() + lost;
    if (!file_.closed) {
      records_.problems.add_line({}, file_.lines, "the file ends before its last line, {}]");
      ++file_.bad_lines;
    }
  }

  struct Numbers {
    std::uint64_t last = 0;
    std::uint64_t count = 0;
  };

  static constexpr std::uint64_t kMostNumber = std::uint64_t{1} << 53;

  Dump& records_;
  model::TraceFile& file_;
  std::uint64_t pid_ = 0;
  bool is_open_ = false;  // a call whose end has not come
  model::Operation operation_;
  Run run_;
  std::map<std::pair<std::uint64_t, std::uint32_t>, std::uint32_t> contexts_;  // by hash and rank
  std::map<std::pair<std::uint32_t, model::NameId>, Numbers> numbers_;
  std::set<std::tuple<std::uint32_t, std::string, std::uint64_t>> seen_;
};

}  // namespace

bool begins_as_example_profiler(std::string_view bytes) {
  if (bytes == kNothing) {
    return true;
  }
  const std::string_view line = bytes.substr(0, bytes.find('\n', 2));
  return bytes.starts_with(kBegin) && line.find("\", \"cat\": \"") < line.size() &&
         line.find("\", \"ph\": \"b\"") < line.size() &&
         (line.find("\"cat\": \"GROUP") < line.size() ||
          line.find("\"cat\": \"PROXY\"") < line.size() ||
          line.find("\"cat\": \"CE_COLL\"") < line.size());
}

std::string read_example_profiler(std::string_view text, Dump& records) {
  return ExampleReader(records).read(text);
}

}  // namespace ringside::load
