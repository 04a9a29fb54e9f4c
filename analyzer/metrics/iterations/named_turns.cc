// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/iterations/named_turns.h"

#include <algorithm>
#include <cctype>
#include <limits>
#include <map>
#include <string_view>
#include <utility>

namespace ringside::metrics {
namespace {

using Spans = std::vector<std::pair<std::int64_t, std::int64_t>>;  // from, to

std::string_view without_number(std::string_view name) {
  const auto last = name.find_last_not_of("0123456789#:/_- ");
  return name.substr(0, last == std::string_view::npos ? 0 : last + 1);
}

bool names_iterations(std::string_view family) {
  std::string text(family);
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
  return text.find("step") != std::string::npos || text.find("iter") != std::string::npos;
}

// The turns of the ranges that hold calls. A range that begins within another one of its family is
// a part of it.
std::vector<Turn> turns_of(Spans& spans, const std::vector<OwnCall>& calls) {
  std::sort(spans.begin(), spans.end());
  std::vector<Turn> turns;
  std::int64_t until_ns = std::numeric_limits<std::int64_t>::min();
  for (std::size_t i = 0; i < spans.size(); ++i) {
    const auto [start_ns, end_ns] = spans[i];
    if (start_ns < until_ns) {
      continue;
    }
    const bool is_open = end_ns == std::numeric_limits<std::int64_t>::max();
    until_ns = is_open && i + 1 < spans.size() ? spans[i + 1].first : end_ns;
    const auto place_of = [&](std::int64_t time_ns) {
      return static_cast<std::size_t>(
          std::partition_point(calls.begin(), calls.end(),
                               [&](const OwnCall& call) { return call.time_ns < time_ns; }) -
          calls.begin());
    };
    const Turn turn{place_of(start_ns), place_of(until_ns)};
    if (turn.end > turn.begin) {
      turns.push_back(turn);
    }
  }
  return turns;
}

}  // namespace

NamedTurns find_named_turns(const model::Traces& traces, const model::TraceFile& trace,
                            const std::vector<OwnCall>& calls) {
  std::map<std::string_view, Spans> families;
  for (const auto& [number, mark] : trace.marks) {
    const std::string_view family = without_number(traces.names.text(mark.name));
    if (names_iterations(family)) {
      families[family].emplace_back(mark.start_ns,
                                    mark.end_ns.value_or(std::numeric_limits<std::int64_t>::max()));
    }
  }
  NamedTurns found;
  std::size_t most = calls.size() / 2;
  for (auto& [family, spans] : families) {
    std::vector<Turn> turns = turns_of(spans, calls);
    std::size_t held = 0;
    for (const Turn& turn : turns) {
      held += turn.end - turn.begin;
    }
    // PyTorch's profiler says itself what a step is, however few it saw.
    const bool is_profiled = family == "ProfilerStep";
    const std::size_t least = is_profiled ? 1 : kLeastTurns;
    const bool are_alike =
        turns.size() >= least && std::all_of(turns.begin(), turns.end(), [&](const Turn& turn) {
          return turn.end - turn.begin == held / turns.size();
        });
    const std::size_t length = are_alike ? held / turns.size() : 0;
    if (turns.size() >= least && held > most) {
      most = held;
      found = {std::string(family), std::move(turns), length};
    } else if (is_profiled && length > 0) {
      found.length = length;
    }
  }
  return found;
}

std::uint32_t calls_of_step(const model::Traces& traces, const model::TraceFile& trace,
                            std::vector<std::int64_t> calls_ns) {
  if (trace.marks.empty()) {
    return 0;
  }
  std::sort(calls_ns.begin(), calls_ns.end());
  std::vector<OwnCall> calls;
  calls.reserve(calls_ns.size());
  for (const std::int64_t time_ns : calls_ns) {
    calls.push_back({time_ns, 0, 0, 0});
  }
  return static_cast<std::uint32_t>(find_named_turns(traces, trace, calls).length);
}

}  // namespace ringside::metrics
