// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/exchange_test.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

namespace ringside::metrics {
namespace {

// SplitMix64 (Steele, Lea, Flood 2014): the same input has the same answer everywhere.
class Random {
 public:
  std::uint64_t below(std::uint64_t limit) {
    state_ += 0x9e3779b97f4a7c15U;
    std::uint64_t z = state_;
    z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
    return ((z ^ (z >> 31U)) >> 11U) % limit;
  }

 private:
  std::uint64_t state_ = 1;
};

// Finds how far the least charge of each subject exceeds its charge if all had the mean.
std::vector<double> find_excesses(const ExchangeInput& input) {
  std::vector<double> excesses(input.subjects);
  for (const ExchangeBlock& block : input.blocks) {
    double sum = 0;
    for (const ExchangeBlock::Member& member : block.members) {
      sum += member.most;
    }
    for (const ExchangeBlock::Member& member : block.members) {
      const double all = sum - member.most + member.least;
      excesses[member.subject] += member.least - all / static_cast<double>(block.members.size());
    }
  }
  for (const MirrorBlock& mirror : input.mirrors) {
    excesses[mirror.subject] += (mirror.least - mirror.mirrored) / 2;
  }
  return excesses;
}

class Exchange {
 public:
  Exchange(const ExchangeInput& input, const std::vector<std::uint32_t>& suspects)
      : suspects_(suspects), mirrors_(input.mirrors), sums_(input.subjects) {
    for (const ExchangeBlock& block : input.blocks) {
      double sum = 0;
      for (const ExchangeBlock::Member& member : block.members) {
        sum += charge_of(member);
      }
      if (block.members.size() > 1 && sum > 0) {
        blocks_.push_back(&block);
        means_.push_back(sum / static_cast<double>(block.members.size()));
      }
    }
  }

  // The probability that the worst ones, as many as there are suspects, have as much.
  double chance(double excess, double level) {
    // As many trials as tell whether the chance is below the level. They end sooner if it is not.
    constexpr double kEnough = 20;
    const auto trials = static_cast<std::uint64_t>(std::ceil(kEnough / level));
    std::uint64_t exceeding = 0;
    std::uint64_t done = 0;
    while (done < trials && static_cast<double>(exceeding) < kEnough) {
      exceeding += worst_by_chance() >= excess ? 1 : 0;
      ++done;
    }
    return static_cast<double>(exceeding + 1) / static_cast<double>(done + 1);
  }

 private:
  bool is_suspect(std::uint32_t subject) const {
    return std::find(suspects_.begin(), suspects_.end(), subject) != suspects_.end();
  }

  // The case that speaks least against the suspects: they caused as little as is sure, and the
  // others as much as is possible.
  double charge_of(const ExchangeBlock::Member& member) const {
    return is_suspect(member.subject) ? member.least : member.most;
  }

  double worst_by_chance() {
    std::fill(sums_.begin(), sums_.end(), 0.0);
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      const auto& members = blocks_[i]->members;
      // A random turn of a circle is as good as any exchange, and quicker.
      std::size_t from = random_.below(members.size());
      for (const ExchangeBlock::Member& member : members) {
        sums_[member.subject] += charge_of(members[from]) - means_[i];
        from = from + 1 == members.size() ? 0 : from + 1;
      }
    }
    for (const MirrorBlock& mirror : mirrors_) {
      const double charge = is_suspect(mirror.subject) ? mirror.least : mirror.most;
      const double half = (charge - mirror.mirrored) / 2;
      sums_[mirror.subject] += random_.below(2) == 0 ? half : -half;
    }
    const auto worst = sums_.begin() + static_cast<std::ptrdiff_t>(suspects_.size());
    std::partial_sort(sums_.begin(), worst, sums_.end(), std::greater<>());
    return std::accumulate(sums_.begin(), worst, 0.0);
  }

  const std::vector<std::uint32_t> suspects_;
  const std::vector<MirrorBlock>& mirrors_;
  std::vector<const ExchangeBlock*> blocks_;
  std::vector<double> means_;
  std::vector<double> sums_;
  Random random_;
};

// Counts the events that the suspects are charged for. A charge counts if it is a quarter of a
// typical one (the mean by charge) or more. Charges of blocks that follow each other are one event,
// since one iteration may take several blocks. Each of them is one if they are more blocks than the
// longest event has. The result is nothing if the charges are in a large part of all blocks.
std::optional<std::size_t> count_events(const ExchangeInput& input,
                                        const std::vector<std::uint32_t>& suspects) {
  constexpr std::size_t kLongestEvent = 9;  // of 64 blocks: one of eight iterations, not aligned
  constexpr double kAllAlong = 0.25;
  std::vector<double> charges;
  double sum = 0;
  double squares = 0;
  for (const ExchangeBlock& block : input.blocks) {
    double all = 0;
    double charge = 0;
    for (const ExchangeBlock::Member& member : block.members) {
      const bool is_suspect =
          std::find(suspects.begin(), suspects.end(), member.subject) != suspects.end();
      all += is_suspect ? member.least : member.most;
      charge += is_suspect ? member.least : 0;
    }
    const double mean = all / std::max<double>(1, static_cast<double>(block.members.size()));
    charges.push_back(std::max(0.0, charge - mean));
    sum += charges.back();
    squares += charges.back() * charges.back();
  }
  std::size_t events = 0;
  std::size_t late = 0;
  std::size_t run = 0;
  for (std::size_t i = 0; i <= charges.size(); ++i) {
    if (i < charges.size() && charges[i] > 0 && charges[i] * sum >= squares / 4) {
      ++run;
      continue;
    }
    late += run;
    events += run > kLongestEvent ? run : run > 0 ? 1 : 0;
    run = 0;
  }
  if (static_cast<double>(late) > kAllAlong * static_cast<double>(charges.size())) {
    return std::nullopt;
  }
  return events;
}

// How often so few events are all of the same one, or of the same two.
double chance_of_events(const ExchangeInput& input, const std::vector<std::uint32_t>& suspects) {
  for (const MirrorBlock& mirror : input.mirrors) {
    if (std::find(suspects.begin(), suspects.end(), mirror.subject) != suspects.end()) {
      return 0;  // the root has changed places with the others, and not with each of them
    }
  }
  const auto events = count_events(input, suspects);
  std::size_t subjects = 0;
  for (const ExchangeBlock& block : input.blocks) {
    subjects = std::max(subjects, block.members.size());
  }
  if (!events || *events == 0 || subjects == 0) {
    return 0;
  }
  const double one_of = static_cast<double>(subjects) / static_cast<double>(suspects.size());
  return std::pow(one_of, 1 - static_cast<double>(*events));
}

}  // namespace

ExchangeResult test_exchange(const ExchangeInput& input, const std::vector<bool>& is_eligible,
                             double level) {
  // The second must be charged so much of what the first is.
  constexpr double kOfFirst = 0.5;
  ExchangeResult result;
  const std::vector<double> excesses = find_excesses(input);
  std::vector<std::uint32_t> worst;
  std::vector<bool> is_here(input.subjects);
  for (const ExchangeBlock& block : input.blocks) {
    for (const ExchangeBlock::Member& member : block.members) {
      is_here[member.subject] = true;
    }
  }
  for (std::uint32_t i = 0; i < input.subjects; ++i) {
    if (is_eligible[i] && excesses[i] > 0) {
      worst.push_back(i);
    }
  }
  if (worst.empty()) {
    return result;
  }
  std::stable_sort(worst.begin(), worst.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return excesses[a] > excesses[b]; });
  result.subjects = {worst[0]};
  result.excess = excesses[worst[0]];
  result.chance = std::max(chance_of_events(input, result.subjects),
                           Exchange(input, result.subjects).chance(excesses[worst[0]], level));
  if (worst.size() > 1 && excesses[worst[1]] >= kOfFirst * excesses[worst[0]] &&
      std::count(is_here.begin(), is_here.end(), true) > 3) {
    result.second = worst[1];
  }
  if (result.chance > level && result.second) {
    const std::vector<std::uint32_t> two = {worst[0], worst[1]};
    const double excess = excesses[worst[0]] + excesses[worst[1]];
    const double chance = std::max(chance_of_events(input, two),
                                   Exchange(input, two).chance(excess, kLevelOfTwo * level));
    if (chance <= kLevelOfTwo * level) {
      result = {two, std::nullopt, chance, excess};
    }
  }
  return result;
}

}  // namespace ringside::metrics
