// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/own_calls.h"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include "analyzer/model/nth_value.h"
#include "analyzer/model/saturating.h"

namespace ringside::metrics {
namespace {

// Calls of a rank with the same signature are the same: communicator, pattern, function, bytes,
// datatype, root, source, destination.
using Signature = std::tuple<std::uint32_t, match::Pattern, model::NameId, std::uint64_t,
                             model::NameId, std::uint32_t, std::uint32_t, std::uint32_t>;

Signature signature_of(const model::Traces& traces, const match::Matches& matches,
                       const OwnCall& call, const IterationScope& scope) {
  const match::MatchedOperation& matched = matches.operations[call.operation];
  const model::Operation& own = match::operation_of(traces, matches.parts[call.part]);
  // The sizes of an AlltoAllv follow the data.
  const bool has_size = scope.with_sizes && matched.pattern != match::Pattern::kAlltoAllv;
  constexpr std::uint64_t kNoBytes = std::numeric_limits<std::uint64_t>::max();
  constexpr std::uint32_t kNoRoot = std::numeric_limits<std::uint32_t>::max();
  return {matched.communicator, matched.pattern,
          matched.func,         has_size ? own.bytes.value_or(kNoBytes) : kNoBytes,
          own.datatype,         scope.with_roots ? own.root.value_or(kNoRoot) : kNoRoot,
          matched.source,       matched.destination};
}

Symbols symbols_of(const model::Traces& traces, const match::Matches& matches,
                   const std::vector<OwnCall>& calls, const IterationScope& scope) {
  std::map<Signature, std::uint32_t> names;
  Symbols symbols;
  symbols.reserve(calls.size());
  for (const OwnCall& call : calls) {
    const auto next = static_cast<std::uint32_t>(names.size());
    const Signature signature = signature_of(traces, matches, call, scope);
    symbols.push_back(names.try_emplace(signature, next).first->second);
  }
  return symbols;
}

// What may repeat: the calls of all communicators, then those of each, the one with the most first.
using CallsToTry = std::vector<std::pair<std::optional<std::uint32_t>, std::vector<OwnCall>>>;

CallsToTry calls_to_try(const match::Matches& matches, const std::vector<OwnCall>& calls) {
  CallsToTry to_try = {{std::nullopt, calls}};
  std::map<std::uint32_t, std::vector<OwnCall>> by_communicator;
  for (const OwnCall& call : calls) {
    by_communicator[matches.operations[call.operation].communicator].push_back(call);
  }
  if (by_communicator.size() > 1) {
    for (auto& [communicator, own] : by_communicator) {
      to_try.emplace_back(communicator, std::move(own));
    }
  }
  std::stable_sort(to_try.begin(), to_try.end(),
                   [](const auto& a, const auto& b) { return a.second.size() > b.second.size(); });
  return to_try;
}

Periods search(const Symbols& symbols, const IterationScope& scope, std::size_t length) {
  if (length == 0) {
    // One call that repeats is an iteration only if there is nothing else.
    return find_periods(symbols, scope.communicator || !scope.with_sizes ? 2 : 1);
  }
  Periods periods;
  if (auto period = find_period_of(symbols, length)) {
    periods.seen.push_back(std::move(*period));
    periods.chosen = 0;
  }
  return periods;
}

// The median of the pauses before each place of the block; nothing if no turn has that pause.
std::vector<std::optional<std::int64_t>> median_pauses(const std::vector<OwnCall>& calls,
                                                       const Symbols& symbols,
                                                       const Symbols& block) {
  std::vector<std::vector<std::int64_t>> pauses_ns(block.size());
  for (const Turn& turn : find_turns(symbols, block)) {
    for (std::size_t i = std::max<std::size_t>(turn.begin, 1);
         turn.end - turn.begin == block.size() && i < turn.end; ++i) {
      pauses_ns[i - turn.begin].push_back(
          subtract_saturating(calls[i].time_ns, calls[i - 1].time_ns));
    }
  }
  std::vector<std::optional<std::int64_t>> medians_ns(block.size());
  for (std::size_t place = 0; place < block.size(); ++place) {
    auto& here_ns = pauses_ns[place];
    if (!here_ns.empty()) {
      medians_ns[place] = model::upper_median(here_ns);
    }
  }
  return medians_ns;
}

// A short block that comes many times in a longer one is a loop of it, as over the layers of a
// model, if there is a pause before the longer one only. If the pauses are alike, the short block
// is what repeats, and what the longer one has beside it comes now and then.
void prefer_shorter(const std::vector<OwnCall>& calls, const Symbols& symbols, Periods& periods) {
  constexpr double kMostOfAll = 0.6;
  constexpr std::size_t kManyTurns = 8;
  for (std::size_t i = 0; periods.chosen && i < *periods.chosen; ++i) {
    const Symbols& longer = periods.seen[*periods.chosen].block;
    const Period& shorter = periods.seen[i];
    // Calls before the first iteration and behind the last one are in neither of them.
    const double all = periods.seen[*periods.chosen].coverage;
    if (shorter.block.size() < 2 || shorter.coverage < kMostOfAll * all ||
        longer.size() <= kManyTurns * shorter.block.size()) {
      continue;
    }
    const Symbols begun = begin_after_pause(calls, symbols, longer);
    const auto pauses_ns = median_pauses(calls, symbols, begun);
    std::int64_t others_ns = 0;
    for (const Turn& turn : find_turns(begun, begin_after_pause(calls, symbols, shorter.block))) {
      others_ns =
          turn.begin == 0 ? others_ns : std::max(others_ns, pauses_ns[turn.begin].value_or(0));
    }
    if (pauses_ns.front().value_or(0) / 2 <= others_ns) {
      periods.chosen = i;
    }
  }
}

// Calls after a long pause become other ones than those that follow at once: buckets that are all
// alike have no other begin of an iteration.
Symbols split_by_pause(const std::vector<OwnCall>& calls, const Symbols& symbols,
                       std::int64_t least_long_ns) {
  const std::uint32_t names =
      symbols.empty() ? 0 : *std::max_element(symbols.begin(), symbols.end()) + 1;
  Symbols split(symbols);
  for (std::size_t i = 1; i < calls.size(); ++i) {
    const std::int64_t pause_ns = subtract_saturating(calls[i].time_ns, calls[i - 1].time_ns);
    split[i] += pause_ns >= least_long_ns ? names : 0;
  }
  return split;
}

// The least of the long pauses, for each way to tell long ones from short ones: by the gaps between
// two lengths of which the one is at least twice the other, the widest first.
std::vector<std::int64_t> long_pauses(const std::vector<OwnCall>& calls) {
  constexpr std::size_t kMostWays = 3;
  constexpr double kLeastRatio = 2;
  std::vector<std::int64_t> pauses_ns;
  for (std::size_t i = 1; i < calls.size(); ++i) {
    pauses_ns.push_back(
        std::max<std::int64_t>(subtract_saturating(calls[i].time_ns, calls[i - 1].time_ns), 1));
  }
  std::sort(pauses_ns.begin(), pauses_ns.end());
  std::vector<std::pair<double, std::int64_t>> ways;
  // Few pauses that are longer than all others are no begins of iterations.
  for (std::size_t i = 0; i + kLeastTurns < pauses_ns.size(); ++i) {
    const double ratio = static_cast<double>(pauses_ns[i + 1]) / static_cast<double>(pauses_ns[i]);
    if (ratio >= kLeastRatio) {
      ways.emplace_back(-ratio, pauses_ns[i + 1]);
    }
  }
  std::sort(ways.begin(), ways.end());
  ways.resize(std::min(ways.size(), kMostWays));
  std::vector<std::int64_t> least_ns;
  least_ns.reserve(ways.size());
  for (const auto& [ratio, pause_ns] : ways) {
    least_ns.push_back(pause_ns);
  }
  return least_ns;
}

// Whether so many times the usual pause between two calls is about the time that passed. Else there
// are pauses of several kinds, and one call is not an iteration.
bool takes_the_time(const std::vector<OwnCall>& calls) {
  std::vector<std::int64_t> pauses_ns;
  for (std::size_t i = 1; i < calls.size(); ++i) {
    pauses_ns.push_back(subtract_saturating(calls[i].time_ns, calls[i - 1].time_ns));
  }
  const auto count = static_cast<double>(pauses_ns.size());
  const auto passed_ns =
      static_cast<double>(subtract_saturating(calls.back().time_ns, calls.front().time_ns));
  const double usual_ns = count * static_cast<double>(model::upper_median(pauses_ns));
  return 2 * usual_ns >= passed_ns && 2 * usual_ns <= 3 * passed_ns;
}

Repetition try_scope(const model::Traces& traces, const match::Matches& matches,
                     const std::vector<OwnCall>& calls, const IterationScope& scope,
                     std::size_t length) {
  Repetition tried;
  tried.scope = scope;
  tried.symbols = symbols_of(traces, matches, calls, scope);
  tried.periods = search(tried.symbols, scope, length);
  if (length > 0) {
    return tried;
  }
  prefer_shorter(calls, tried.symbols, tried.periods);
  const auto is_one_call = [](const Periods& periods) {
    return periods.chosen && periods.seen[*periods.chosen].block.size() == 1;
  };
  if (is_one_call(tried.periods)) {
    for (const std::int64_t least_long_ns : long_pauses(calls)) {
      Symbols split = split_by_pause(calls, tried.symbols, least_long_ns);
      Periods periods = find_periods(split, 2);
      if (periods.chosen) {
        prefer_shorter(calls, split, periods);
        tried.symbols = std::move(split);
        tried.periods = std::move(periods);
        return tried;
      }
    }
    if (!takes_the_time(calls)) {
      tried.periods = {};
    }
  }
  return tried;
}

const Period& chosen_of(const Repetition& repetition) {
  return repetition.periods.seen[*repetition.periods.chosen];
}

// Whether what repeats is only made longer by a root that goes around. A loop over the roots within
// an iteration looks the same, but has a pause before its first turn only.
bool is_rotation_of(const std::vector<OwnCall>& calls, const Repetition& with_roots,
                    const Repetition& without) {
  const Period& longer = chosen_of(with_roots);
  const Period& shorter = chosen_of(without);
  const std::size_t turn = shorter.block.size();
  if (turn < 2 || turn >= longer.block.size() || shorter.coverage < longer.coverage) {
    return false;
  }
  if (longer.block.size() % turn != 0) {
    return true;
  }
  const auto pauses_ns = median_pauses(calls, with_roots.symbols,
                                       begin_after_pause(calls, with_roots.symbols, longer.block));
  std::int64_t others_ns = 0;
  for (std::size_t place = turn; place < pauses_ns.size(); place += turn) {
    others_ns = std::max(others_ns, pauses_ns[place].value_or(0));
  }
  return pauses_ns.front().value_or(0) / 2 <= others_ns;
}

}  // namespace

Repetition find_repetition(const model::Traces& traces, const match::Matches& matches,
                           const std::vector<OwnCall>& calls, std::size_t length) {
  CallsToTry to_try = calls_to_try(matches, calls);
  std::optional<Repetition> first;
  for (auto& [communicator, own] : to_try) {
    const auto with_calls = [&own = own](Repetition&& tried) {
      tried.calls = std::move(own);
      return std::move(tried);
    };
    for (const bool with_sizes : {true, false}) {
      Repetition tried = try_scope(traces, matches, own, {communicator, with_sizes, true}, length);
      const bool is_found = tried.periods.chosen.has_value();
      if (is_found && length > 0) {
        return with_calls(std::move(tried));
      }
      Repetition without =
          try_scope(traces, matches, own, {communicator, with_sizes, false}, length);
      if (without.symbols != tried.symbols && without.periods.chosen &&
          (!is_found || is_rotation_of(own, tried, without))) {
        if (is_found) {
          without.with_roots_length = chosen_of(tried).block.size();
        }
        return with_calls(std::move(without));
      }
      if (is_found) {
        return with_calls(std::move(tried));
      }
      if (!first) {
        first = std::move(tried);
      }
    }
  }
  first->calls = std::move(to_try.front().second);
  return std::move(*first);
}

Symbols begin_after_pause(const std::vector<OwnCall>& calls, const Symbols& symbols,
                          const Symbols& block) {
  const auto pauses_ns = median_pauses(calls, symbols, block);
  std::size_t best = 0;
  std::int64_t longest_ns = std::numeric_limits<std::int64_t>::min();
  for (std::size_t place = 0; place < block.size(); ++place) {
    if (pauses_ns[place] && *pauses_ns[place] > longest_ns) {
      longest_ns = *pauses_ns[place];
      best = place;
    }
  }
  Symbols begun(block);
  std::rotate(begun.begin(), begun.begin() + static_cast<std::ptrdiff_t>(best), begun.end());
  return begun;
}

}  // namespace ringside::metrics
