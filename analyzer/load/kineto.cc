// SPDX-License-Identifier: Apache-2.0
#include "analyzer/load/kineto.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <utility>

#include "analyzer/load/byte_source.h"
#include "analyzer/load/dom_value.h"

namespace ringside::load {
namespace {

using simdjson::dom::object;

// Times of later than the year 2200, or of before 1970, are damage.
constexpr double kMostTime_us = 7.3e15;

std::optional<std::string> read_all(const std::string& path, std::string& text) {
  constexpr std::size_t kPiece_bytes = std::size_t{4} << 20;
  constexpr std::size_t kMost_bytes = 0xFFFF'FFFF - simdjson::SIMDJSON_PADDING;  // simdjson's
  ByteSource source;
  if (auto error = source.open(path)) {
    return error;
  }
  while (true) {
    const std::size_t before = text.size();
    if (before + kPiece_bytes > kMost_bytes) {
      return "larger than 4 GiB";
    }
    text.resize(before + kPiece_bytes);
    const std::size_t got = source.read(text.data() + before, kPiece_bytes);
    text.resize(before + got);
    if (got == 0) {
      return source.error();
    }
  }
}

std::optional<std::uint64_t> count_of(const object& arguments, std::string_view key) {
  std::uint64_t count = 0;
  return arguments[key].get_uint64().get(count) == simdjson::SUCCESS ? std::optional(count)
                                                                     : std::nullopt;
}

// Sizes of c10's scalar types, by the names that PyTorch gives in traces.
std::optional<std::uint64_t> element_bytes(std::string_view dtype) {
  using Pair = std::pair<std::string_view, std::uint64_t>;
  constexpr std::array<Pair, 16> kSizes = {{{"Byte", 1},
                                            {"Char", 1},
                                            {"Bool", 1},
                                            {"Float8_e4m3fn", 1},
                                            {"Float8_e5m2", 1},
                                            {"Float8_e4m3fnuz", 1},
                                            {"Float8_e5m2fnuz", 1},
                                            {"Short", 2},
                                            {"Half", 2},
                                            {"BFloat16", 2},
                                            {"Int", 4},
                                            {"Float", 4},
                                            {"Long", 8},
                                            {"Double", 8},
                                            {"ComplexFloat", 8},
                                            {"ComplexDouble", 16}}};
  const auto* const found = std::find_if(kSizes.begin(), kSizes.end(),
                                         [&](const Pair& one) { return one.first == dtype; });
  return found != kSizes.end() ? std::optional(found->second) : std::nullopt;
}

// The size of a message: AllGather's is what a rank gives, ReduceScatter's is what a rank gets. It
// cannot be told if one kernel runs several calls (coalesced, point-to-point).
std::optional<std::uint64_t> message_bytes(const object& event, std::string_view func) {
  object arguments;
  if (func == "SendRecv" || event["args"].get_object().get(arguments) != simdjson::SUCCESS ||
      text_at(arguments, "Collective name").find("coalesced") != std::string_view::npos) {
    return std::nullopt;
  }
  const auto count =
      count_of(arguments, func == "ReduceScatter" ? "Out msg nelems" : "In msg nelems");
  const auto size = element_bytes(text_at(arguments, "dtype"));
  std::uint64_t bytes = 0;
  return count && size && !__builtin_mul_overflow(*count, *size, &bytes) ? std::optional(bytes)
                                                                         : std::nullopt;
}

}  // namespace

std::string_view nccl_function_of_kernel(std::string_view name) {
  constexpr std::array<std::string_view, 8> kFunctions = {"AllReduce", "AllGather", "ReduceScatter",
                                                          "Broadcast", "Reduce",    "SendRecv",
                                                          "AlltoAll",  "Scatter"};
  for (const std::string_view prefix : {"ncclDevKernel_", "ncclKernel_", "ncclSymkDevKernel_"}) {
    if (!name.starts_with(prefix)) {
      continue;
    }
    const std::string_view rest = name.substr(prefix.size());
    const std::string_view word = rest.substr(0, rest.find_first_of("_("));
    const auto* const found = std::find(kFunctions.begin(), kFunctions.end(), word);
    return found != kFunctions.end() ? *found : std::string_view();
  }
  return {};
}

std::optional<std::string> KinetoFile::open(const std::string& path) {
  std::string text;
  if (auto error = read_all(path, text)) {
    return "cannot be read: " + *error;
  }
  object top;
  if (const auto error = parser_.parse(text).get_object().get(top)) {
    return std::string("not a JSON object, as PyTorch's profiler writes: ") +
           simdjson::error_message(error);
  }
  if (top["traceEvents"].get_array().get(events_) != simdjson::SUCCESS) {
    return "has no \"traceEvents\": not a trace of PyTorch's profiler";
  }
  // Absent in older ones, whose times count from the epoch.
  if (top["baseTimeNanoseconds"].get_int64().get(base_ns_) != simdjson::SUCCESS || base_ns_ < 0 ||
      base_ns_ > std::int64_t{1} << 62) {
    base_ns_ = 0;
  }
  std::int64_t rank = 0;
  rank_.reset();
  if (top["distributedInfo"]["rank"].get_int64().get(rank) == simdjson::SUCCESS) {
    rank_ = rank;
  }
  find_pid();
  return std::nullopt;
}

// GPUs are processes there, too, by their number.
void KinetoFile::find_pid() {
  std::set<std::int64_t> pids;
  for (const auto element : events_) {
    object event;
    std::int64_t pid = 0;
    if (element.get_object().get(event) == simdjson::SUCCESS && text_at(event, "cat") == "cpu_op" &&
        event["pid"].get_int64().get(pid) == simdjson::SUCCESS) {
      pids.insert(pid);
    }
  }
  pid_ = pids.size() == 1 ? std::optional(*pids.begin()) : std::nullopt;
}

std::optional<std::int64_t> KinetoFile::time_ns(const object& event) const {
  double time_us = 0;
  if (event["ts"].get_double().get(time_us) != simdjson::SUCCESS ||
      !(time_us >= 0 && time_us < kMostTime_us)) {
    return std::nullopt;
  }
  std::int64_t time_ns = 0;
  return __builtin_add_overflow(std::llround(time_us * 1e3), base_ns_, &time_ns)
             ? std::nullopt
             : std::optional(time_ns);
}

std::int64_t KinetoFile::duration_ns(const object& event) {
  double duration_us = 0;
  return event["dur"].get_double().get(duration_us) == simdjson::SUCCESS && duration_us > 0 &&
                 duration_us < kMostTime_us
             ? std::llround(duration_us * 1e3)
             : 0;
}

std::vector<NcclKernel> KinetoFile::kernels() const {
  std::vector<NcclKernel> found;
  std::size_t place = 0;
  for (const auto element : events_) {
    const std::size_t at = place++;
    object event;
    if (element.get_object().get(event) != simdjson::SUCCESS || text_at(event, "cat") != "kernel") {
      continue;
    }
    const std::string_view func = nccl_function_of_kernel(text_at(event, "name"));
    const auto start_ns = time_ns(event);
    if (func.empty() || !start_ns) {
      continue;
    }
    NcclKernel kernel;
    kernel.event = at;
    kernel.start_ns = *start_ns;
    if (__builtin_add_overflow(*start_ns, duration_ns(event), &kernel.end_ns)) {
      continue;
    }
    kernel.func = func;
    kernel.bytes = message_bytes(event, func);
    found.push_back(std::move(kernel));
  }
  std::stable_sort(found.begin(), found.end(), [](const NcclKernel& a, const NcclKernel& b) {
    return a.start_ns < b.start_ns;
  });
  return found;
}

}  // namespace ringside::load
