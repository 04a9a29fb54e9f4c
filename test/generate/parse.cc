// SPDX-License-Identifier: Apache-2.0
#include "test/generate/parse.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <stdexcept>

namespace ringside::simulate {
namespace {

std::vector<std::string_view> parts_of(std::string_view text, std::size_t least, std::size_t most) {
  std::vector<std::string_view> parts;
  std::size_t begin = 0;
  while (begin <= text.size()) {
    const std::size_t end = std::min(text.find(':', begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  if (parts.size() < least || parts.size() > most) {
    throw std::invalid_argument('"' + std::string(text) + "\" has the wrong number of parts");
  }
  return parts;
}

std::int64_t number_of(std::string_view text, std::int64_t most) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0 || value > most) {
    throw std::invalid_argument('"' + std::string(text) + "\" is not an integer from 0 to " +
                                std::to_string(most));
  }
  return value;
}

constexpr std::int64_t kMost = 1'000'000'000;

int rank_of(std::string_view text) {
  return static_cast<int>(number_of(text, kMost));
}

}  // namespace

Step parse_step(std::string_view text) {
  const auto parts = parts_of(text, 2, 3);
  Step step;
  std::size_t index = 0;
  while (index < kFunctionNames.size() && parts[0] != kFunctionNames.at(index)) {
    ++index;
  }
  if (index == kFunctionNames.size()) {
    throw std::invalid_argument("no function \"" + std::string(parts[0]) + '"');
  }
  step.function = static_cast<Function>(index);
  // Whole elements, also of AlltoAllv, which halves.
  const auto bytes = static_cast<std::uint64_t>(number_of(parts[1], kMost * 10));
  step.bytes = std::max<std::uint64_t>(8, (bytes + 7) / 8 * 8);
  if (parts.size() == 3) {
    if (parts[2] == "split") {
      step.group = Group::kSplit;
    } else if (parts[2] == "orthogonal") {
      step.group = Group::kOrthogonal;
    } else if (parts[2] != "world") {
      throw std::invalid_argument("no communicator \"" + std::string(parts[2]) + '"');
    }
  }
  return step;
}

Fault parse_straggler(std::string_view text) {
  const auto parts = parts_of(text, 2, 5);
  Fault fault;
  fault.kind = FaultKind::kStraggler;
  fault.rank = rank_of(parts[0]);
  fault.delay_ns = number_of(parts[1], kMost) * 1000;
  fault.at = parts.size() > 2 ? number_of(parts[2], kMost) : 0;
  fault.until = parts.size() > 3 ? number_of(parts[3], kMost) : kMost;
  fault.growth_ns = parts.size() > 4 ? number_of(parts[4], kMost) * 1000 : 0;
  return fault;
}

LateMode parse_late_every(std::string_view text) {
  const auto parts = parts_of(text, 3, 5);
  LateMode mode;
  mode.rank = rank_of(parts[0]);
  mode.delay_ns = number_of(parts[1], kMost) * 1000;
  mode.every = std::max<std::int64_t>(number_of(parts[2], kMost), 1);
  mode.length = parts.size() > 3 ? number_of(parts[3], kMost) : 1;
  mode.from = parts.size() > 4 ? number_of(parts[4], kMost) : 0;
  return mode;
}

StepPlan parse_clock_step(std::string_view text) {
  const auto parts = parts_of(text, 3, 4);
  StepPlan step;
  step.host = rank_of(parts[0]);
  step.iteration = number_of(parts[1], kMost);
  const bool is_back = parts[2].starts_with('-');
  step.size_ns = number_of(parts[2].substr(is_back ? 1 : 0), kMost) * (is_back ? -1000 : 1000);
  step.is_reported = parts.size() < 4;
  if (!step.is_reported && parts[3] != "hidden") {
    throw std::invalid_argument(std::string(text) +
                                ": behind the size stands nothing, or `hidden`");
  }
  return step;
}

LateMode parse_late_random(std::string_view text) {
  const auto parts = parts_of(text, 3, 3);
  LateMode mode;
  mode.rank = rank_of(parts[0]);
  mode.factor = static_cast<double>(number_of(parts[1], kMost));
  mode.percent = static_cast<double>(number_of(parts[2], 100));
  return mode;
}

Fault parse_slow_link(std::string_view text) {
  const auto parts = parts_of(text, 4, 4);
  Fault fault;
  fault.kind = FaultKind::kSlowLink;
  fault.rank = rank_of(parts[0]);
  fault.to_rank = rank_of(parts[1]);
  fault.channel = rank_of(parts[2]);
  fault.factor = static_cast<double>(number_of(parts[3], 1000));
  if (fault.factor < 1) {
    throw std::invalid_argument("the factor of a slow link is 1 or more");
  }
  return fault;
}

Fault parse_mismatch(std::string_view text) {
  const auto parts = parts_of(text, 3, 3);
  Fault fault;
  fault.kind = FaultKind::kMismatch;
  fault.what = parts[0];
  if (fault.what != "size" && fault.what != "datatype" && fault.what != "root" &&
      fault.what != "function") {
    throw std::invalid_argument("no mismatch \"" + fault.what + '"');
  }
  fault.rank = rank_of(parts[1]);
  fault.at = number_of(parts[2], kMost);
  return fault;
}

Fault parse_drop(std::string_view text) {
  const auto parts = parts_of(text, 2, 2);
  Fault fault;
  fault.kind = FaultKind::kDrop;
  fault.rank = rank_of(parts[0]);
  fault.factor = static_cast<double>(number_of(parts[1], 100)) / 100;
  return fault;
}

Fault parse_at(FaultKind kind, std::string_view text) {
  const auto parts = parts_of(text, 2, 2);
  Fault fault;
  fault.kind = kind;
  fault.rank = rank_of(parts[0]);
  fault.at = number_of(parts[1], kMost);
  return fault;
}

std::vector<Step> default_pattern(bool has_splits) {
  std::vector<Step> pattern;
  for (const char* text :
       {"AllReduce:4194304", "AllGather:1048576", "ReduceScatter:1048576", "Broadcast:65536",
        "Reduce:262144", "AlltoAll:65536", "AlltoAllv:131072", "Gather:16384", "Scatter:16384",
        "RingShift:131072", "Neighbour:65536", "Broadcast:4194304", "AllReduce:16384"}) {
    pattern.push_back(parse_step(text));
  }
  if (has_splits) {
    for (const char* text :
         {"AllReduce:1048576:split", "AllGather:262144:orthogonal", "ReduceScatter:524288:split"}) {
      pattern.push_back(parse_step(text));
    }
  }
  return pattern;
}

}  // namespace ringside::simulate
