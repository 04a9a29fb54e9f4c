// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/exchange_test.h"

#include <algorithm>
#include <cmath>
#include <map>

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

// The case that speaks least against the suspect: it caused as little as is sure, and the others as
// much as is possible.
double charge_of(const ExchangeBlock::Member& member, std::uint32_t suspect) {
  return member.subject == suspect ? member.least : member.most;
}

double mean_of(const ExchangeBlock& block, std::uint32_t suspect) {
  double sum = 0;
  for (const ExchangeBlock::Member& member : block.members) {
    sum += charge_of(member, suspect);
  }
  return sum / static_cast<double>(block.members.size());
}

// What each of them is charged at least, beyond what it would be if all had the mean.
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

// The share of the others that each of them has, by block; the suspect is left out.
using Series = std::vector<std::vector<double>>;

Series shares_of_others(const std::vector<const ExchangeBlock*>& blocks, std::uint32_t suspect) {
  Series shares;
  for (const ExchangeBlock* const block : blocks) {
    double sum = 0;
    std::vector<double> share;
    for (const ExchangeBlock::Member& member : block->members) {
      if (member.subject != suspect) {
        share.push_back(member.least);
        sum += member.least;
      }
    }
    if (sum > 0) {
      for (double& one : share) {
        one /= sum;
      }
      shares.push_back(std::move(share));
    }
  }
  return shares;
}

// How much sums over several blocks vary, and how much they would if blocks were independent.
struct Variances {
  double seen = 0;
  double independent = 0;
  double freedom = 0;  // degrees of it, in `seen`

  void add(const Series& shares, std::size_t length) {
    const std::size_t chunks = shares.size() / length;
    if (chunks < 2 || shares.front().size() < 2) {
      return;
    }
    const auto used = static_cast<double>(chunks * length);
    for (std::size_t member = 0; member < shares.front().size(); ++member) {
      double mean = 0;
      for (std::size_t b = 0; b < chunks * length; ++b) {
        mean += shares[b][member] / used;
      }
      for (std::size_t chunk = 0; chunk < chunks; ++chunk) {
        double sum = 0;
        for (std::size_t b = chunk * length; b < (chunk + 1) * length; ++b) {
          const double off = shares[b][member] - mean;
          sum += off;
          independent += off * off / (used - 1);
        }
        seen += sum * sum / static_cast<double>(length) / static_cast<double>(chunks - 1);
      }
    }
    freedom += static_cast<double>((chunks - 1) * (shares.front().size() - 1));
  }

  // Less what chance makes of the ratio.
  double ratio() const {
    return independent > 0 && freedom > 0 ? seen / independent / (1 + std::sqrt(2 / freedom)) : 1;
  }
};

// By how much more the sums over all blocks vary than if blocks were independent. It is taken from
// the others: if all are alike, it is the same for the suspect. A single other one tells nothing.
double dependence(const ExchangeInput& input, std::uint32_t suspect) {
  std::map<std::uint32_t, std::vector<const ExchangeBlock*>> groups;
  for (const ExchangeBlock& block : input.blocks) {
    groups[block.group].push_back(&block);
  }
  double most = 1;
  for (const std::size_t length : {2U, 4U, 8U}) {
    Variances variances;
    for (const auto& [group, blocks] : groups) {
      variances.add(shares_of_others(blocks, suspect), length);
    }
    most = std::max(most, variances.ratio());
  }
  return most;
}

class Exchange {
 public:
  Exchange(const ExchangeInput& input, std::uint32_t suspect)
      : suspect_(suspect), mirrors_(input.mirrors), sums_(input.subjects) {
    for (const ExchangeBlock& block : input.blocks) {
      const double mean = block.members.size() > 1 ? mean_of(block, suspect) : 0;
      if (mean > 0) {
        blocks_.push_back(&block);
        means_.push_back(mean);
      }
    }
  }

  // What the worst one has if the charges are handed round.
  double worst_by_chance() {
    std::fill(sums_.begin(), sums_.end(), 0.0);
    for (std::size_t i = 0; i < blocks_.size(); ++i) {
      const auto& members = blocks_[i]->members;
      // A random turn of a circle is as good as any exchange, and quicker.
      std::size_t from = random_.below(members.size());
      for (const ExchangeBlock::Member& member : members) {
        sums_[member.subject] += charge_of(members[from], suspect_) - means_[i];
        from = from + 1 == members.size() ? 0 : from + 1;
      }
    }
    for (const MirrorBlock& mirror : mirrors_) {
      const double charge = mirror.subject == suspect_ ? mirror.least : mirror.most;
      const double half = (charge - mirror.mirrored) / 2;
      sums_[mirror.subject] += random_.below(2) == 0 ? half : -half;
    }
    return *std::max_element(sums_.begin(), sums_.end());
  }

 private:
  const std::uint32_t suspect_;
  const std::vector<MirrorBlock>& mirrors_;
  std::vector<const ExchangeBlock*> blocks_;
  std::vector<double> means_;
  std::vector<double> sums_;
  Random random_;
};

}  // namespace

ExchangeResult test_exchange(const ExchangeInput& input, const std::vector<bool>& is_eligible,
                             double level) {
  ExchangeResult result;
  if (input.subjects == 0) {
    return result;
  }
  const std::vector<double> excesses = find_excesses(input);
  double most = 0;
  for (std::uint32_t i = 0; i < input.subjects; ++i) {
    if (is_eligible[i] && excesses[i] > most) {
      most = excesses[i];
      result.subject = i;
    }
  }
  if (result.subject == ExchangeResult::kNobody) {
    return result;
  }
  Exchange exchange(input, result.subject);
  const double scale = std::sqrt(dependence(input, result.subject));
  // As many trials as tell whether the chance is below the level. They end sooner if it is not.
  constexpr double kEnough = 5;
  const auto trials = static_cast<std::uint64_t>(std::ceil(kEnough / level));
  std::uint64_t exceeding = 0;
  std::uint64_t done = 0;
  while (done < trials && static_cast<double>(exceeding) < kEnough) {
    exceeding += scale * exchange.worst_by_chance() >= most ? 1 : 0;
    ++done;
  }
  result.chance = static_cast<double>(exceeding + 1) / static_cast<double>(done + 1);
  return result;
}

}  // namespace ringside::metrics
