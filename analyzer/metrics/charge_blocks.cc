// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/charge_blocks.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <numeric>
#include <set>
#include <span>
#include <tuple>
#include <utility>

#include "analyzer/metrics/lasting_noise.h"

namespace ringside::metrics {
namespace {

// So many of the greatest values count alike. If all of them are one rank's, that is no chance even
// where there are two ranks.
constexpr std::size_t kGreat = 16;

// The least of the greatest `values`; 0 if they are fewer.
double find_cap(std::vector<double> values) {
  if (values.size() < kGreat) {
    return 0;
  }
  const auto at = values.begin() + (kGreat - 1);
  std::nth_element(values.begin(), at, values.end(), std::greater<>());
  return *at;
}

// Caps the charges of one communicator. What a root is charged beyond its mirrored charge is capped
// either way, since both count.
void cap(std::span<ExchangeBlock> blocks, std::span<MirrorBlock> mirrors) {
  std::vector<double> charges;
  for (const ExchangeBlock& block : blocks) {
    for (const ExchangeBlock::Member& member : block.members) {
      charges.push_back(member.most);
    }
  }
  const double most = find_cap(std::move(charges));
  for (ExchangeBlock& block : blocks) {
    for (ExchangeBlock::Member& member : block.members) {
      member.least = std::min(member.least, most);
      member.most = std::min(member.most, most);
    }
  }
  std::vector<double> beyond;
  for (const MirrorBlock& mirror : mirrors) {
    beyond.push_back(std::abs(mirror.most - mirror.mirrored));
  }
  const double most_beyond = find_cap(std::move(beyond));
  for (MirrorBlock& mirror : mirrors) {
    mirror.least = std::clamp(mirror.least - mirror.mirrored, -most_beyond, most_beyond);
    mirror.most = std::clamp(mirror.most - mirror.mirrored, -most_beyond, most_beyond);
    mirror.mirrored = 0;
  }
}

void cap(std::map<std::uint32_t, BlockTimes>& times) {
  std::vector<double> all;
  for (const auto& [unit, of_unit] : times) {
    all.insert(all.end(), of_unit.begin(), of_unit.end());
  }
  const double most = find_cap(std::move(all));
  for (auto& [unit, of_unit] : times) {
    for (double& time : of_unit) {
      time = std::min(time, most);
    }
  }
}

}  // namespace

ChargeBlocks::ChargeBlocks(const match::Matches& matches, const align::Alignment& alignment,
                           const GlobalRanks& who)
    : ranks_(static_cast<std::uint32_t>(who.all().size())),
      hosts_(static_cast<std::uint32_t>(alignment.hosts().size())) {
  for (std::uint32_t i = 0; i < matches.communicators.size(); ++i) {
    OfCommunicator& one = communicators_.emplace_back();
    const auto& members = matches.communicators[i].members;
    for (std::uint32_t member = 0; member < members.size(); ++member) {
      one.ranks.push_back(who.of(i, member));
      one.hosts.push_back(alignment.host_of(members[member].file));
    }
  }
  for (const match::MatchedOperation& operation : matches.operations) {
    ++communicators_[operation.communicator].operations;
  }
  for (std::size_t i = 0; i < matches.everywhere.size(); ++i) {
    communicators_[i].operations = matches.everywhere[i];
  }
  find_families();
}

// Each set of ranks goes to the first family in which none of them is yet. Communicators that are
// alike come one after the other, so that they are in one family.
void ChargeBlocks::find_families() {
  std::vector<OfCommunicator*> order;
  for (OfCommunicator& one : communicators_) {
    order.push_back(&one);
  }
  std::stable_sort(order.begin(), order.end(),
                   [](const OfCommunicator* a, const OfCommunicator* b) {
                     return std::pair(a->ranks.size(), a->operations) <
                            std::pair(b->ranks.size(), b->operations);
                   });
  std::map<std::vector<std::uint32_t>, std::uint32_t> of_ranks;
  std::vector<std::vector<std::uint32_t>> taken(ranks_);  // by rank: its families
  for (OfCommunicator* const one : order) {
    auto ranks = one->ranks;
    std::sort(ranks.begin(), ranks.end());
    const auto [found, is_new] = of_ranks.try_emplace(std::move(ranks), 0);
    if (is_new) {
      std::set<std::uint32_t> others;
      for (const std::uint32_t rank : found->first) {
        others.insert(taken[rank].begin(), taken[rank].end());
      }
      while (others.contains(found->second)) {
        ++found->second;
      }
      for (const std::uint32_t rank : found->first) {
        taken[rank].push_back(found->second);
      }
      families_ = std::max(families_, found->second + 1);
    }
    one->family = found->second;
  }
}

void ChargeBlocks::begin(std::uint32_t communicator) {
  current_ = communicator;
  OfCommunicator& one = communicators_[communicator];
  // Fewer operations than blocks leave none empty between them, so that those of one event follow
  // each other.
  one.block = one.begun * kBlocks / std::max<std::uint64_t>(one.operations, kBlocks);
  one.block = std::min(one.block, kBlocks - 1);
  ++one.begun;
}

ChargeBlocks::Cell& ChargeBlocks::cell(std::uint32_t member) {
  OfCommunicator& one = communicators_[current_];
  if (one.cells.empty()) {
    one.cells.resize(kBlocks * one.ranks.size());
  }
  return one.cells[one.block * one.ranks.size() + member];
}

void ChargeBlocks::add(std::uint32_t member, const BlockCharge& charge) {
  cell(member) += charge;
}

double& ChargeBlocks::as_root(std::uint32_t member) {
  OfCommunicator& one = communicators_[current_];
  one.as_root.resize(kBlocks * one.ranks.size());
  return one.as_root[one.block * one.ranks.size() + member];
}

void ChargeBlocks::add_root(std::uint32_t member, const BlockCharge& charge, double mirrored,
                            double busy_most) {
  Cell& here = cell(member);
  here.root_least += charge.least;
  here.root_most += charge.most;
  here.root_mirrored += mirrored;
  OfCommunicator& one = communicators_[current_];
  one.rooted.resize(one.ranks.size());
  ++one.rooted[member];
  as_root(member) += busy_most;
}

void ChargeBlocks::add_drain(std::uint32_t member, double busy_most) {
  OfCommunicator& one = communicators_[current_];
  one.drains.resize(one.ranks.size());
  ++one.drains[member];
  as_root(member) += busy_most;
}

void ChargeBlocks::leave_out_own_times() {
  OfCommunicator& one = communicators_[current_];
  one.has_own_times = false;
  one.own_times.clear();
}

void ChargeBlocks::add_own_time(std::uint32_t member, double own_time) {
  OfCommunicator& one = communicators_[current_];
  if (!one.has_own_times) {
    return;
  }
  one.own_times.resize(kBlocks * one.ranks.size());
  one.own_counts.resize(one.own_times.size());
  const std::size_t at = one.block * one.ranks.size() + member;
  one.own_times[at] += own_time;
  ++one.own_counts[at];
}

// For each rank the lowest one that communicators with charges join it to.
std::vector<std::uint32_t> ChargeBlocks::find_joined() const {
  std::vector<std::uint32_t> joined(ranks_);
  std::iota(joined.begin(), joined.end(), 0U);
  const auto lowest = [&](std::uint32_t rank) {
    while (joined[rank] != rank) {
      joined[rank] = joined[joined[rank]];
      rank = joined[rank];
    }
    return rank;
  };
  for (const OfCommunicator& one : communicators_) {
    for (std::size_t member = 1; member < one.ranks.size() && !one.cells.empty(); ++member) {
      const std::uint32_t a = lowest(one.ranks.front());
      const std::uint32_t b = lowest(one.ranks[member]);
      joined[std::max(a, b)] = std::min(a, b);
    }
  }
  for (std::uint32_t rank = 0; rank < ranks_; ++rank) {
    joined[rank] = lowest(rank);
  }
  return joined;
}

// For each communicator the first one that it is compared together with, which may be itself. A
// rank that is late leaves less to charge to the others of its communicator, so these are not alike
// any more.
std::vector<std::size_t> ChargeBlocks::find_together(std::uint32_t family,
                                                     const std::vector<bool>& is_left_out) const {
  const std::vector<std::uint32_t> joined = find_joined();
  std::map<std::tuple<std::uint32_t, std::size_t, std::uint64_t>, std::size_t> first_of;
  std::vector<std::size_t> together(communicators_.size());
  for (std::size_t i = 0; i < communicators_.size(); ++i) {
    const OfCommunicator& one = communicators_[i];
    together[i] = i;
    if (one.family == family && !one.cells.empty() && one.rooted.empty() && one.drains.empty() &&
        std::none_of(one.ranks.begin(), one.ranks.end(),
                     [&](std::uint32_t rank) { return is_left_out[rank]; })) {
      together[i] =
          first_of.try_emplace({joined[one.ranks.front()], one.ranks.size(), one.operations}, i)
              .first->second;
    }
  }
  return together;
}

bool ChargeBlocks::has_together(std::uint32_t family, const std::vector<bool>& is_left_out) const {
  const std::vector<std::size_t> together = find_together(family, is_left_out);
  for (std::size_t i = 0; i < together.size(); ++i) {
    // Two communicators of the same ranks are none more.
    if (communicators_[i].ranks.front() != communicators_[together[i]].ranks.front()) {
      return true;
    }
  }
  return false;
}

ExchangeInput ChargeBlocks::input(std::uint32_t family, Among among,
                                  const std::vector<bool>& is_left_out, Manner manner) const {
  ExchangeInput input;
  input.subjects = among == Among::kHosts ? hosts_ : ranks_;
  const std::vector<std::size_t> together =
      manner == Manner::kTogether ? find_together(family, is_left_out) : std::vector<std::size_t>();
  std::vector<std::size_t> first_of(communicators_.size());  // by communicator: its first block
  for (std::size_t i = 0; i < communicators_.size(); ++i) {
    const OfCommunicator& one = communicators_[i];
    if (one.family != family || one.cells.empty()) {
      continue;
    }
    const std::vector<bool> unlike = find_unlike(one, is_left_out);
    switch (among) {
      case Among::kRanks: {
        first_of[i] =
            together.empty() || together[i] == i ? input.blocks.size() : first_of[together[i]];
        if (manner == Manner::kRoots) {
          if (!one.as_root.empty()) {
            add_roots(one, is_left_out, input);
          }
          break;
        }
        const std::size_t mirrors = input.mirrors.size();
        add_ranks(one, unlike, is_left_out, first_of[i], input);
        if (manner == Manner::kCapped) {
          cap(std::span(input.blocks).subspan(first_of[i]),
              std::span(input.mirrors).subspan(mirrors));
        }
        break;
      }
      case Among::kRanksOfHost:
        add_ranks_of_hosts(one, unlike, input);
        break;
      case Among::kHosts:
        add_hosts(one, unlike, is_left_out, input);
        break;
    }
  }
  return input;
}

double ChargeBlocks::chance_of_noise(std::uint32_t family, Among among,
                                     const std::vector<std::uint32_t>& suspects,
                                     const std::vector<bool>& is_left_out, Manner manner) const {
  double greatest = 0;
  std::set<std::uint32_t> units;
  for (const OfCommunicator& one : communicators_) {
    if (one.family == family) {
      const auto& here = among == Among::kHosts ? one.hosts : one.ranks;
      units.insert(here.begin(), here.end());
    }
  }
  for (const std::uint32_t suspect : suspects) {
    std::optional<double> least;
    // A communicator with a few operations has nothing to say of what costs time in another one.
    double most_charge = 0;
    for (const OfCommunicator& one : communicators_) {
      most_charge =
          std::max(most_charge, one.family == family ? charge_of(one, among, suspect) : 0);
    }
    for (const OfCommunicator& one : communicators_) {
      if (one.family == family && !one.own_times.empty() &&
          2 * charge_of(one, among, suspect) >= most_charge) {
        const auto chance = chance_of_noise(one, among, suspect, suspects, is_left_out, manner);
        least = chance ? std::min(*chance, least.value_or(1)) : least;
      }
    }
    greatest = std::max(greatest, least.value_or(0));
  }
  return std::min(1.0, greatest * static_cast<double>(units.size()));
}

double ChargeBlocks::charge_of(const OfCommunicator& one, Among among, std::uint32_t suspect) {
  const auto& units = among == Among::kHosts ? one.hosts : one.ranks;
  double sum = 0;
  for (std::size_t i = 0; i < one.cells.size(); ++i) {
    const Cell& cell = one.cells[i];
    sum += units[i % units.size()] == suspect ? cell.least + cell.root_least : 0;
  }
  return sum;
}

// Nothing if the suspect takes no part.
std::optional<double> ChargeBlocks::chance_of_noise(const OfCommunicator& one, Among among,
                                                    std::uint32_t suspect,
                                                    const std::vector<std::uint32_t>& suspects,
                                                    const std::vector<bool>& is_left_out,
                                                    Manner manner) const {
  const auto& units = among == Among::kHosts ? one.hosts : one.ranks;
  const auto found = std::find(units.begin(), units.end(), suspect);
  if (found == units.end()) {
    return std::nullopt;
  }
  const bool is_of_roots = manner == Manner::kRoots && !one.as_root.empty();
  const std::uint32_t host = one.hosts[static_cast<std::size_t>(found - units.begin())];
  const std::vector<bool> unlike = find_unlike(one, is_left_out);
  std::map<std::uint32_t, std::vector<std::size_t>> members;  // by unit
  for (std::size_t member = 0; member < units.size(); ++member) {
    const bool is_beside = among != Among::kRanksOfHost || one.hosts[member] == host;
    const bool is_other =
        !unlike[member] && is_beside &&
        std::find(suspects.begin(), suspects.end(), units[member]) == suspects.end();
    if (is_other || units[member] == suspect) {
      members[units[member]].push_back(member);
    }
  }
  std::map<std::uint32_t, BlockTimes> times;
  for (std::size_t block = 0; block < kBlocks; ++block) {
    std::map<std::uint32_t, double> means;
    for (const auto& [unit, of_unit] : members) {
      double sum = 0;
      double count = 0;
      for (const std::size_t member : of_unit) {
        const std::size_t at = block * units.size() + member;
        sum += one.own_times[at];
        sum -= is_of_roots && unit == suspect ? one.as_root[at] : 0;
        count += one.own_counts[at];
      }
      if (count > 0) {
        means[unit] = sum / count;
      }
    }
    for (const auto& [unit, mean] : means) {
      if (means.size() == members.size()) {
        times[unit].push_back(mean);
      }
    }
  }
  if (manner == Manner::kCapped) {
    cap(times);
  }
  const BlockTimes of_suspect = times[suspect];
  times.erase(suspect);
  std::vector<BlockTimes> others;
  others.reserve(times.size());
  for (auto& [unit, of_unit] : times) {
    others.push_back(std::move(of_unit));
  }
  return chance_of_lasting_noise(of_suspect, std::move(others));
}

// Whether roots, by the operations whose root each member is, are more than now and then.
bool ChargeBlocks::are_often(const OfCommunicator& one, const std::vector<std::uint64_t>& roots) {
  constexpr std::uint64_t kOften = 20;  // one of so many operations
  return std::accumulate(roots.begin(), roots.end(), std::uint64_t{0}) * kOften >= one.operations;
}

// A root of a Broadcast has made others wait before it comes to what follows, and one of a Reduce
// has waited itself. So it is late less or more often than they are. It is not compared with them
// there, unless all are roots about as often, or hardly ever.
std::vector<bool> ChargeBlocks::find_unlike(const OfCommunicator& one,
                                            const std::vector<bool>& is_left_out) const {
  std::vector<bool> unlike;
  for (const std::uint32_t rank : one.ranks) {
    unlike.push_back(is_left_out[rank]);
  }
  for (const std::vector<std::uint64_t>* const roots : {&one.rooted, &one.drains}) {
    const bool is_often = are_often(one, *roots);
    const std::uint64_t least =
        roots->empty() ? 0 : *std::min_element(roots->begin(), roots->end());
    for (std::size_t member = 0; member < roots->size() && is_often; ++member) {
      unlike[member] = unlike[member] || (*roots)[member] > 2 * least;
    }
  }
  return unlike;
}

void ChargeBlocks::add_ranks(const OfCommunicator& one, const std::vector<bool>& unlike,
                             const std::vector<bool>& is_left_out, std::size_t first,
                             ExchangeInput& input) const {
  input.blocks.resize(std::max(input.blocks.size(), first + kBlocks));
  for (std::size_t block = 0; block < kBlocks; ++block) {
    ExchangeBlock& made = input.blocks[first + block];
    for (std::size_t member = 0; member < one.ranks.size(); ++member) {
      const Cell& cell = one.cells[block * one.ranks.size() + member];
      if (!unlike[member]) {
        made.members.push_back({one.ranks[member], cell.least, cell.most});
      }
      if (!is_left_out[one.ranks[member]] && (cell.root_most > 0 || cell.root_mirrored > 0)) {
        input.mirrors.push_back(
            {one.ranks[member], cell.root_least, cell.root_most, cell.root_mirrored});
      }
    }
  }
}

std::vector<bool> ChargeBlocks::find_roots(std::uint32_t family,
                                           const std::vector<bool>& is_left_out) const {
  std::vector<bool> roots(ranks_);
  for (const OfCommunicator& one : communicators_) {
    for (const std::vector<std::uint64_t>* const times : {&one.rooted, &one.drains}) {
      for (std::size_t member = 0; member < times->size(); ++member) {
        if (one.family == family && are_often(one, *times) && (*times)[member] > 0) {
          roots[one.ranks[member]] = !is_left_out[one.ranks[member]];
        }
      }
    }
  }
  return roots;
}

// Roots have done something else between operations for as long as the others, but for the time of
// those whose root they are. Each nanosecond more makes all others wait for so long at most, so
// they are multiplied by these.
void ChargeBlocks::add_roots(const OfCommunicator& one, const std::vector<bool>& is_left_out,
                             ExchangeInput& input) const {
  const std::size_t count = one.ranks.size();
  for (std::size_t block = 0; block < kBlocks && !one.own_times.empty(); ++block) {
    const auto counts = std::span(one.own_counts).subspan(block * count, count);
    const auto least = static_cast<double>(*std::min_element(counts.begin(), counts.end()));
    if (least == 0) {
      continue;  // nothing is known of one
    }
    ExchangeBlock& made = input.blocks.emplace_back();
    for (std::size_t member = 0; member < count; ++member) {
      const std::size_t at = block * count + member;
      const double scale = least / counts[member] * static_cast<double>(count - 1);
      if (!is_left_out[one.ranks[member]]) {
        made.members.push_back({one.ranks[member], (one.own_times[at] - one.as_root[at]) * scale,
                                one.own_times[at] * scale});
      }
    }
  }
}

void ChargeBlocks::add_ranks_of_hosts(const OfCommunicator& one, const std::vector<bool>& unlike,
                                      ExchangeInput& input) const {
  std::map<std::uint32_t, std::vector<std::size_t>> members;  // by host
  for (std::size_t member = 0; member < one.ranks.size(); ++member) {
    if (!unlike[member]) {
      members[one.hosts[member]].push_back(member);
    }
  }
  if (members.size() < 2) {
    return;  // a host by itself is what add_ranks() looks at
  }
  for (const auto& [host, here] : members) {
    for (std::size_t block = 0; block < kBlocks && here.size() > 1; ++block) {
      ExchangeBlock made;
      for (const std::size_t member : here) {
        const Cell& cell = one.cells[block * one.ranks.size() + member];
        made.members.push_back({one.ranks[member], cell.least_in_host, cell.most_in_host});
      }
      input.blocks.push_back(std::move(made));
    }
  }
}

// A host with more ranks is the last more often, and fewer others wait for it: both are taken out.
// A host of a rank that is unlike is so itself.
void ChargeBlocks::add_hosts(const OfCommunicator& one, const std::vector<bool>& unlike,
                             const std::vector<bool>& is_left_out, ExchangeInput& input) const {
  std::map<std::uint32_t, double> ranks;  // by host
  for (const std::uint32_t host : one.hosts) {
    ranks[host] += 1;
  }
  for (std::size_t member = 0; member < one.ranks.size(); ++member) {
    if (unlike[member] && !is_left_out[one.ranks[member]]) {
      ranks.erase(one.hosts[member]);
    }
  }
  if (ranks.size() < 2) {
    return;
  }
  const auto all = static_cast<double>(one.ranks.size());
  for (std::size_t block = 0; block < kBlocks; ++block) {
    std::map<std::uint32_t, ExchangeBlock::Member> hosts;
    for (std::size_t member = 0; member < one.ranks.size(); ++member) {
      const Cell& cell = one.cells[block * one.ranks.size() + member];
      const std::uint32_t host = one.hosts[member];
      if (!ranks.contains(host)) {
        continue;
      }
      ExchangeBlock::Member& sum =
          hosts.try_emplace(host, ExchangeBlock::Member{host, 0, 0}).first->second;
      if (!unlike[member]) {
        const double scale = ranks[host] * (all - ranks[host]);
        sum.least += cell.least_elsewhere / scale;
        sum.most += cell.most_elsewhere / scale;
      }
    }
    ExchangeBlock made;
    for (const auto& [host, sum] : hosts) {
      made.members.push_back(sum);
    }
    input.blocks.push_back(std::move(made));
  }
}

}  // namespace ringside::metrics
