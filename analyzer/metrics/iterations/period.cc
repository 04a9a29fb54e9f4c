// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/iterations/period.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <unordered_map>

namespace ringside::metrics {
namespace {

// So many bits beyond what it takes to say where the stretches are: one in a million.
constexpr double kLeastBits = 20;
// A block that comes so often in a row inside a longer one is a loop of it, and so is one of so few
// symbols. Otherwise what the longer one has beside it is something extra.
constexpr double kLoopTurns = 8;
constexpr std::size_t kLoopSymbols = 4;

constexpr std::size_t kNowhere = std::numeric_limits<std::size_t>::max();

// Renames the symbols, so that they are below their number.
Symbols compact(const Symbols& symbols) {
  std::unordered_map<std::uint32_t, std::uint32_t> names;
  Symbols result;
  result.reserve(symbols.size());
  for (const std::uint32_t symbol : symbols) {
    const auto next = static_cast<std::uint32_t>(names.size());
    result.push_back(names.try_emplace(symbol, next).first->second);
  }
  return result;
}

// The most frequent distance, above half of `width`, from a window of `width` symbols to the one
// before that is the same; 0 if there is none.
std::size_t most_frequent_distance(const Symbols& windows, std::size_t width) {
  std::vector<std::size_t> last(windows.size(), kNowhere);
  std::vector<std::uint32_t> votes(width + 1);
  for (std::size_t i = 0; i < windows.size(); ++i) {
    std::size_t& before = last[windows[i]];
    if (before != kNowhere && i - before <= width && 2 * (i - before) > width) {
      ++votes[i - before];
    }
    before = i;
  }
  const auto most = std::max_element(votes.begin(), votes.end());
  return *most == 0 ? 0 : static_cast<std::size_t>(most - votes.begin());
}

// Names of windows twice as wide, from those of windows of `width`: the same name, the same
// symbols. Empty if all differ.
Symbols windows_twice_as_wide(const Symbols& windows, std::size_t width) {
  if (windows.size() <= width) {
    return {};
  }
  std::unordered_map<std::uint64_t, std::uint32_t> names;
  Symbols wider;
  wider.reserve(windows.size() - width);
  for (std::size_t i = 0; i + width < windows.size(); ++i) {
    const std::uint64_t both = std::uint64_t{windows[i]} << 32U | windows[i + width];
    const auto next = static_cast<std::uint32_t>(names.size());
    wider.push_back(names.try_emplace(both, next).first->second);
  }
  return names.size() == wider.size() ? Symbols() : wider;
}

// Within a stretch of period p, any window of p symbols or more was last seen exactly p before: one
// candidate for each power of two finds every period that has a few turns in a row.
std::vector<std::size_t> candidate_lengths(const Symbols& symbols) {
  std::vector<std::size_t> lengths;
  Symbols windows = compact(symbols);
  for (std::size_t width = 1; !windows.empty() && width / 2 < symbols.size() / kLeastTurns;
       width *= 2) {
    const std::size_t length = most_frequent_distance(windows, width);
    if (length > 0 && length <= symbols.size() / kLeastTurns) {
      lengths.push_back(length);
    }
    windows = windows_twice_as_wide(windows, width);
  }
  return lengths;
}

// For each place of the block, the length of the longest proper prefix that ends there.
std::vector<std::size_t> prefix_function(const Symbols& block) {
  std::vector<std::size_t> prefix(block.size());
  for (std::size_t i = 1; i < block.size(); ++i) {
    std::size_t length = prefix[i - 1];
    while (length > 0 && block[i] != block[length]) {
      length = prefix[length - 1];
    }
    prefix[i] = length + (block[i] == block[length] ? 1 : 0);
  }
  return prefix;
}

bool is_primitive(const Symbols& block) {
  const std::size_t shift = block.size() - prefix_function(block).back();
  return shift == block.size() || block.size() % shift != 0;
}

// The rotation that comes first in the order of the symbols, by which stretches that begin at
// different places of one block are known to be of the same.
Symbols least_rotation(const Symbols& block) {
  const std::size_t n = block.size();
  std::size_t one = 0;
  std::size_t other = 1;
  for (std::size_t equal = 0; one < n && other < n && equal < n;) {
    const std::uint32_t a = block[(one + equal) % n];
    const std::uint32_t b = block[(other + equal) % n];
    if (a == b) {
      ++equal;
      continue;
    }
    (a > b ? one : other) += equal + 1;
    other += one == other ? 1 : 0;
    equal = 0;
  }
  Symbols least(block);
  std::rotate(least.begin(), least.begin() + static_cast<std::ptrdiff_t>(std::min(one, other)),
              least.end());
  return least;
}

// How little two symbols drawn at random are expected to be the same, in bits.
double bits_of_a_match(Symbols symbols) {
  std::sort(symbols.begin(), symbols.end());
  double same = 0;
  for (auto at = symbols.begin(); at != symbols.end();) {
    const auto next = std::upper_bound(at, symbols.end(), *at);
    const double share = static_cast<double>(next - at) / static_cast<double>(symbols.size());
    same += share * share;
    at = next;
  }
  return -std::log2(same);
}

// All stretches of one block.
struct Tally {
  std::size_t begin = 0;  // of the first
  std::size_t end = 0;    // of the last
  std::size_t covered = 0;
  double bits = 0;
};

class Examiner {
 public:
  explicit Examiner(const Symbols& symbols)
      : symbols_(symbols),
        bits_of_a_match_(bits_of_a_match(symbols)),
        bits_of_a_place_(std::log2(static_cast<double>(symbols.size()))) {}

  // The block of that length with the most coverage; `bits`: how little of chance it is.
  std::optional<Period> examine(std::size_t length, bool must_be_primitive, double& bits) {
    tallies_.clear();
    std::size_t matched = 0;  // symbols in a row that are as those `length` before
    const std::size_t least = length == 1 ? kLeastInARow - 1 : length;
    for (std::size_t i = length; i <= symbols_.size(); ++i) {
      if (i < symbols_.size() && symbols_[i] == symbols_[i - length]) {
        ++matched;
        continue;
      }
      if (matched >= least) {
        add(i - matched - length, i, length, must_be_primitive);
      }
      matched = 0;
    }
    const auto most = std::max_element(
        tallies_.begin(), tallies_.end(),
        [](const auto& a, const auto& b) { return a.second.covered < b.second.covered; });
    if (most == tallies_.end()) {
      return std::nullopt;
    }
    const Tally& tally = most->second;
    bits = tally.bits - bits_of_a_place_;
    const auto begin = symbols_.begin() + static_cast<std::ptrdiff_t>(tally.begin);
    return Period{Symbols(begin, begin + static_cast<std::ptrdiff_t>(length)),
                  static_cast<double>(tally.covered) / static_cast<double>(symbols_.size())};
  }

  // Whether a sequence repeats often enough. One symbol needs no more than coverage.
  bool is_enough(const Period& period, double bits) const {
    const auto length = static_cast<double>(period.block.size());
    const double turns = period.coverage * static_cast<double>(symbols_.size()) / length;
    return length == 1 ? period.coverage >= kLeastCoverageOfOne
                       : period.coverage >= kLeastCoverage && bits >= kLeastBits &&
                             turns >= static_cast<double>(kLeastTurns);
  }

 private:
  void add(std::size_t begin, std::size_t end, std::size_t length, bool must_be_primitive) {
    const auto first = symbols_.begin() + static_cast<std::ptrdiff_t>(begin);
    Symbols root = least_rotation(Symbols(first, first + static_cast<std::ptrdiff_t>(length)));
    if (must_be_primitive && !is_primitive(root)) {
      return;
    }
    const auto [at, is_new] = tallies_.try_emplace(std::move(root));
    Tally& tally = at->second;
    tally.begin = is_new ? begin : tally.begin;
    tally.covered += end - std::max(begin, tally.end);  // stretches overlap by less than a turn
    tally.end = end;
    // The place of its beginning and of its end had to be chosen.
    const double gained =
        static_cast<double>(end - begin - length) * bits_of_a_match_ - 2 * bits_of_a_place_;
    tally.bits += std::max(gained, 0.0);
  }

  const Symbols& symbols_;
  const double bits_of_a_match_;
  const double bits_of_a_place_;
  std::map<Symbols, Tally> tallies_;  // by least rotation
};

// Whether `longer` is what repeats, and `shorter` a loop in it.
bool is_loop_of(const Period& shorter, const Period& longer) {
  const double turns =
      static_cast<double>(longer.block.size()) / static_cast<double>(shorter.block.size());
  return longer.coverage >= shorter.coverage &&
         (turns <= kLoopTurns || shorter.block.size() <= kLoopSymbols ||
          shorter.coverage < kLeastCoverageOfOne);
}

// The extra symbols of a gap that begins and ends as the block does leave a turn of it.
bool holds_a_turn(const Symbols& symbols, const Turn& gap, const Symbols& block) {
  const std::size_t length = gap.end - gap.begin;
  if (length <= block.size()) {
    return false;
  }
  std::size_t equal = 0;
  while (equal < block.size() && symbols[gap.begin + equal] == block[equal]) {
    ++equal;
  }
  std::size_t from_end = 0;
  while (from_end < block.size() - equal &&
         symbols[gap.end - 1 - from_end] == block[block.size() - 1 - from_end]) {
    ++from_end;
  }
  return equal + from_end == block.size();
}

}  // namespace

Periods find_periods(const Symbols& symbols, std::size_t least_length) {
  Periods periods;
  if (symbols.size() < kLeastInARow) {
    return periods;
  }
  Examiner examiner(symbols);
  for (const std::size_t length : candidate_lengths(symbols)) {
    double bits = 0;
    auto period = length < least_length ? std::nullopt : examiner.examine(length, true, bits);
    if (!period) {
      continue;
    }
    if (!examiner.is_enough(*period, bits)) {
      if (!periods.nearest || period->coverage > periods.nearest->coverage) {
        periods.nearest = std::move(period);
      }
      continue;
    }
    periods.seen.push_back(std::move(*period));
    const std::size_t newest = periods.seen.size() - 1;
    if (!periods.chosen || is_loop_of(periods.seen[*periods.chosen], periods.seen[newest])) {
      periods.chosen = newest;
    }
  }
  return periods;
}

std::optional<Period> find_period_of(const Symbols& symbols, std::size_t length) {
  if (length == 0 || symbols.size() < kLeastInARow || length > symbols.size() / 2) {
    return std::nullopt;
  }
  double bits = 0;
  return Examiner(symbols).examine(length, false, bits);
}

std::vector<Turn> find_turns(const Symbols& symbols, const Symbols& block) {
  std::vector<Turn> turns;
  const std::vector<std::size_t> prefix = prefix_function(block);
  std::size_t matched = 0;
  for (std::size_t i = 0; i < symbols.size(); ++i) {
    while (matched > 0 && symbols[i] != block[matched]) {
      matched = prefix[matched - 1];
    }
    matched += symbols[i] == block[matched] ? 1 : 0;
    if (matched < block.size()) {
      continue;
    }
    matched = 0;  // turns do not overlap
    const Turn turn{i + 1 - block.size(), i + 1};
    if (!turns.empty()) {
      const Turn gap{turns.back().end, turn.begin};
      if (holds_a_turn(symbols, gap, block)) {
        turns.push_back(gap);
      }
    }
    turns.push_back(turn);
  }
  return turns;
}

}  // namespace ringside::metrics
