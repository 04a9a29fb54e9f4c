// SPDX-License-Identifier: Apache-2.0
#include "analyzer/load/kineto/kineto.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <filesystem>
#include <set>
#include <system_error>
#include <utility>

#include "analyzer/load/json/dom_value.h"
#include "analyzer/load/kineto/kineto_items.h"
#include "analyzer/model/kineto/nccl_kernel.h"
#include "analyzer/model/kineto/torch_dtype.h"
#include "analyzer/model/numbers_in.h"

namespace ringside::load {
namespace {

using simdjson::dom::object;

// Times of later than the year 2200, or of before 1970, are damage.
constexpr double kMostTime_us = 7.3e15;

std::optional<std::uint64_t> count_of(const object& arguments, std::string_view key) {
  const auto count = integer_at(arguments, key);
  return count && *count >= 0 ? std::optional(static_cast<std::uint64_t>(*count)) : std::nullopt;
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
  const auto size = model::element_bytes(text_at(arguments, "dtype"));
  std::uint64_t bytes = 0;
  return count && size && !__builtin_mul_overflow(*count, *size, &bytes) ? std::optional(bytes)
                                                                         : std::nullopt;
}

// An event's ranks: numbers, or a text that has them.
std::vector<std::int64_t> ranks_of(const simdjson::dom::element& value) {
  std::vector<std::int64_t> ranks;
  simdjson::dom::array numbers;
  if (value.get_array().get(numbers) == simdjson::SUCCESS) {
    for (const auto element : numbers) {
      if (const auto rank = integer_of(element)) {
        ranks.push_back(*rank);
      }
    }
    return ranks;
  }
  std::string_view text;
  if (value.get_string().get(text) == simdjson::SUCCESS) {
    const std::vector<std::uint32_t> listed = model::numbers_in(text);
    ranks.assign(listed.begin(), listed.end());
  }
  return ranks;
}

// A number, or a text that is one: tools that rewrite profiles may make it either.
std::optional<std::int64_t> base_time_ns(const simdjson::dom::element& value) {
  constexpr double kMost_ns = 4.6e18;  // as far as sums of it and an event's time stay numbers
  std::string_view text;
  if (value.get_string().get(text) == simdjson::SUCCESS) {
    simdjson::dom::parser parser;
    simdjson::dom::element number;
    return parser.parse(simdjson::padded_string(text)).get(number) == simdjson::SUCCESS &&
                   !number.is_string()
               ? base_time_ns(number)
               : std::nullopt;
  }
  double about_ns = 0;
  if (value.get_double().get(about_ns) != simdjson::SUCCESS ||
      !(about_ns >= 0 && about_ns < kMost_ns)) {
    return std::nullopt;
  }
  std::int64_t base_ns = 0;
  return value.get_int64().get(base_ns) == simdjson::SUCCESS ? base_ns : std::llround(about_ns);
}

// JSON has no such numbers, but Python writes them. In their place is null then.
std::string without_nan(std::string_view text) {
  constexpr std::array<std::string_view, 3> kWords = {"NaN", "Infinity", "-Infinity"};
  std::string result;
  bool is_in_text = false;
  while (!text.empty()) {
    const auto word = std::find_if(kWords.begin(), kWords.end(), [&](std::string_view one) {
      return !is_in_text && text.starts_with(one);
    });
    std::size_t taken = 1;
    if (word != kWords.end()) {
      taken = word->size();
      result += "null";
    } else {
      taken = is_in_text && text.size() > 1 && text.front() == '\\' ? 2 : 1;
      is_in_text = is_in_text != (text.front() == '"');
      result += text.substr(0, taken);
    }
    text.remove_prefix(taken);
  }
  return result;
}

std::optional<NcclKernel> nccl_kernel(std::size_t place, const object& event) {
  if (kineto_category(text_at(event, "cat")) != "kernel") {
    return std::nullopt;
  }
  const std::string_view func = model::nccl_function_of_kernel(text_at(event, "name"));
  const auto start_ns = KinetoFile::since_base_ns(event);
  const auto duration_ns = KinetoFile::duration_ns(event);
  if (func.empty() || !start_ns || !duration_ns) {
    return std::nullopt;
  }
  NcclKernel kernel;
  kernel.event = place;
  kernel.start_ns = *start_ns;
  if (__builtin_add_overflow(*start_ns, *duration_ns, &kernel.end_ns)) {
    return std::nullopt;
  }
  kernel.func = func;
  kernel.bytes = message_bytes(event, func);
  return kernel;
}

}  // namespace

std::string_view kineto_category(std::string_view category) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kOld = {
      {{"Operator", "cpu_op"},
       {"Runtime", "cuda_runtime"},
       {"Kernel", "kernel"},
       {"Memcpy", "gpu_memcpy"},
       {"Memset", "gpu_memset"}}};
  const auto* const old = std::find_if(kOld.begin(), kOld.end(),
                                       [&](const auto& one) { return one.first == category; });
  return old == kOld.end() ? category : old->second;
}

bool begins_as_kineto(std::string_view bytes) {
  // Tools that cut or merge such traces leave out some of it.
  constexpr std::array<std::string_view, 4> kMarks = {"\"schemaVersion\"", "\"distributedInfo\"",
                                                      "\"ProfilerStep#", "\"cpu_op\""};
  const std::size_t begin = bytes.find_first_not_of(" \r\n\xEF\xBB\xBF");
  return begin != bytes.npos && bytes[begin] == '{' &&
         std::any_of(kMarks.begin(), kMarks.end(),
                     [&](std::string_view mark) { return bytes.find(mark) != bytes.npos; });
}

std::vector<std::string> kineto_paths(const std::vector<std::string>& given) {
  std::vector<std::string> paths;
  for (const std::string& one : given) {
    std::error_code error;
    if (!std::filesystem::is_directory(one, error)) {
      paths.push_back(one);
      continue;
    }
    for (const auto& entry : std::filesystem::directory_iterator(one, error)) {
      const std::string name = entry.path().filename().string();
      if (!name.starts_with("ringside.") &&
          (name.ends_with(".json") || name.ends_with(".json.gz"))) {
        paths.push_back(entry.path().string());
      }
    }
  }
  std::sort(paths.begin(), paths.end());
  // A file that is named twice, or beside its directory, is there once.
  std::set<std::filesystem::path> files;
  std::erase_if(paths, [&](const std::string& path) {
    std::error_code error;
    const auto file = std::filesystem::canonical(path, error);
    return !error && !files.insert(file).second;
  });
  return paths;
}

std::optional<std::string> why_not_again(const std::string& path) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  return std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)
             ? std::optional<std::string>(
                   "can be read only once, since it is no regular file, and this command reads "
                   "it more than once")
             : std::nullopt;
}

std::optional<std::string> KinetoFile::read(const std::string& path, const Take& take,
                                            const Wants& wants) {
  KinetoItems items;
  if (auto error = items.open(path)) {
    return "cannot be read: " + *error;
  }
  base_ns_ = 0;
  has_base_ = false;
  damaged_ = 0;
  trouble_.reset();
  rank_.reset();
  pids_.clear();
  groups_.clear();
  std::size_t place = 0;
  for (KinetoItem item; items.next(item);) {
    if (!item.is_event) {
      take_member(item.key, item.text);
      continue;
    }
    const std::size_t at = place++;
    if (!wants(item.text)) {
      continue;
    }
    simdjson::dom::element element;
    object event;
    if (!parse(item.text, element) || element.get_object().get(event) != simdjson::SUCCESS) {
      ++damaged_;
      continue;
    }
    // GPUs are processes there, too, by their number.
    if (pids_.size() < 2 && kineto_category(text_at(event, "cat")) == "cpu_op") {
      if (const auto pid = integer_at(event, "pid")) {
        pids_.insert(*pid);
      }
    }
    take(at, event);
  }
  if (items.error() && !(items.is_cut() && items.has_events() && has_base_)) {
    return *items.error();
  }
  cut_ = items.error() ? *items.error() + "; what is complete before that was read" : "";
  return items.has_events() ? trouble_
                            : std::optional<std::string>(
                                  "has no \"traceEvents\": not a trace of PyTorch's profiler");
}

bool KinetoFile::parse(std::string_view text, simdjson::dom::element& value) {
  if (parser_.parse(text.data(), text.size(), false).get(value) == simdjson::SUCCESS) {
    return true;
  }
  return (text.find("NaN") != text.npos || text.find("Infinity") != text.npos) &&
         parser_.parse(without_nan(text)).get(value) == simdjson::SUCCESS;
}

void KinetoFile::take_member(std::string_view key, std::string_view text) {
  simdjson::dom::element value;
  object info;
  if (key == "baseTimeNanoseconds") {
    const auto base_ns = parse(text, value) ? base_time_ns(value) : std::nullopt;
    base_ns_ = base_ns.value_or(0);
    has_base_ = true;
    if (!base_ns) {
      trouble_ = "has a baseTimeNanoseconds that is no time";
    }
  } else if (key == "host_name" && parse(text, value) && value.is_string()) {
    host_ = value.get_string().value_unsafe();
  } else if (key == "distributedInfo" && parse(text, value) &&
             value.get_object().get(info) == simdjson::SUCCESS) {
    take_distributed(info);
  }
}

void KinetoFile::take_distributed(const object& info) {
  rank_ = integer_at(info, "rank");
  nccl_version_ = text_at(info, "nccl_version");
  simdjson::dom::array groups;
  if (info["pg_config"].get_array().get(groups) != simdjson::SUCCESS) {
    return;
  }
  for (const auto element : groups) {
    object group;
    if (element.get_object().get(group) != simdjson::SUCCESS) {
      continue;
    }
    model::KinetoGroup& made = groups_.emplace_back();
    made.name = text_at(group, "pg_name");
    made.description = text_at(group, "pg_desc");
    simdjson::dom::element ranks;
    if (group["ranks"].get(ranks) == simdjson::SUCCESS) {
      made.ranks = ranks_of(ranks);
    }
  }
}

std::optional<std::int64_t> KinetoFile::time_ns(const simdjson::dom::element& value) {
  double time_us = 0;
  if (value.get_double().get(time_us) != simdjson::SUCCESS ||
      !(time_us >= 0 && time_us < kMostTime_us)) {
    return std::nullopt;
  }
  return std::llround(time_us * 1e3);
}

std::optional<std::int64_t> KinetoFile::since_base_ns(const object& event) {
  simdjson::dom::element start;
  return event["ts"].get(start) == simdjson::SUCCESS ? time_ns(start) : std::nullopt;
}

std::optional<std::int64_t> KinetoFile::duration_ns(const object& event) {
  simdjson::dom::element duration;
  return event["dur"].get(duration) == simdjson::SUCCESS ? time_ns(duration) : std::nullopt;
}

std::optional<std::string> KinetoFile::read_kernels(const std::string& path,
                                                    std::vector<NcclKernel>& kernels) {
  auto error = read(path, [&](std::size_t place, const object& event) {
    if (auto kernel = nccl_kernel(place, event)) {
      kernels.push_back(std::move(*kernel));
    }
  });
  std::erase_if(kernels, [&](NcclKernel& kernel) {
    return __builtin_add_overflow(kernel.start_ns, base_ns_, &kernel.start_ns) ||
           __builtin_add_overflow(kernel.end_ns, base_ns_, &kernel.end_ns);
  });
  std::stable_sort(kernels.begin(), kernels.end(), [](const NcclKernel& a, const NcclKernel& b) {
    return a.start_ns < b.start_ns;
  });
  return error;
}

}  // namespace ringside::load
