// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/charge_blocks.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include "analyzer/metrics/significance.h"

namespace ringside::metrics {

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
  find_families();
}

// Each set of ranks goes to the first family in which none of them is yet.
void ChargeBlocks::find_families() {
  std::map<std::vector<std::uint32_t>, std::uint32_t> of_ranks;
  std::vector<std::uint32_t> next(ranks_);  // by rank: the first family that is free
  for (OfCommunicator& one : communicators_) {
    auto ranks = one.ranks;
    std::sort(ranks.begin(), ranks.end());
    const auto [found, is_new] = of_ranks.try_emplace(std::move(ranks), 0);
    if (is_new) {
      for (const std::uint32_t rank : found->first) {
        found->second = std::max(found->second, next[rank]);
      }
      for (const std::uint32_t rank : found->first) {
        next[rank] = found->second + 1;
      }
      families_ = std::max(families_, found->second + 1);
    }
    one.family = found->second;
  }
}

void ChargeBlocks::begin(std::uint32_t communicator) {
  current_ = communicator;
  OfCommunicator& one = communicators_[communicator];
  one.block = one.operations == 0 ? 0 : one.begun * kBlocks / one.operations;
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

void ChargeBlocks::add_root(std::uint32_t member, const BlockCharge& charge, double mirrored) {
  Cell& here = cell(member);
  here.root_least += charge.least;
  here.root_most += charge.most;
  here.root_mirrored += mirrored;
  OfCommunicator& one = communicators_[current_];
  one.rooted.resize(one.ranks.size());
  ++one.rooted[member];
}

void ChargeBlocks::add_drain(std::uint32_t member) {
  OfCommunicator& one = communicators_[current_];
  one.drains.resize(one.ranks.size());
  ++one.drains[member];
}

void ChargeBlocks::add_own_time(std::uint32_t member, double own_time) {
  OfCommunicator& one = communicators_[current_];
  one.own_times.resize(kBlocks * one.ranks.size());
  double& longest = one.own_times[one.block * one.ranks.size() + member];
  longest = std::max(longest, own_time);
}

// What the next blocks together hold.
ChargeBlocks::Cell ChargeBlocks::sum_of(const OfCommunicator& one, std::size_t member,
                                        std::size_t block, std::size_t length) {
  Cell sum;
  for (std::size_t i = block; i < std::min(block + length, kBlocks); ++i) {
    const Cell& cell = one.cells[i * one.ranks.size() + member];
    sum += cell;
    sum.root_least += cell.root_least;
    sum.root_most += cell.root_most;
    sum.root_mirrored += cell.root_mirrored;
  }
  return sum;
}

// So many blocks are one, so that what makes a rank slow for a while hardly reaches from one into
// the next: 2.5 times as long as the ranks' own times are correlated. The rank that is charged most
// does not count: its lateness is in question.
std::size_t ChargeBlocks::find_length(const OfCommunicator& one,
                                      const std::vector<bool>& is_left_out) const {
  constexpr double kCorrelationTimes = 2.5;
  const std::size_t ranks = one.ranks.size();
  std::vector<std::size_t> members;
  std::vector<double> charges(ranks);
  for (std::size_t member = 0; member < ranks && !one.own_times.empty(); ++member) {
    if (!is_left_out[one.ranks[member]]) {
      members.push_back(member);
      charges[member] = sum_of(one, member, 0, kBlocks).most;
    }
  }
  if (members.size() < 3) {
    return 1;  // a single other one tells too little
  }
  members.erase(std::max_element(members.begin(), members.end(),
                                 [&](auto a, auto b) { return charges[a] < charges[b]; }));
  std::vector<std::vector<double>> series(members.size(), std::vector<double>(kBlocks));
  for (std::size_t block = 0; block < kBlocks; ++block) {
    std::vector<double> values;
    for (std::size_t i = 0; i < members.size(); ++i) {
      series[i][block] = one.own_times[block * ranks + members[i]];
      values.push_back(series[i][block]);
    }
    if (values.size() > 2) {
      std::sort(values.begin(), values.end());  // what all ranks have in common makes nobody late
      for (std::vector<double>& of_member : series) {
        of_member[block] -= values[values.size() / 2];
      }
    }
  }
  const double time = correlation_time(series);
  // Chance makes it so much of what is independent, within two standard deviations.
  const double alone = 1 + 4 * std::sqrt(2 / static_cast<double>(kBlocks * members.size()));
  return time < alone ? 1 : static_cast<std::size_t>(std::ceil(kCorrelationTimes * time));
}

ExchangeInput ChargeBlocks::input(std::uint32_t family, Among among,
                                  const std::vector<bool>& is_left_out) const {
  ExchangeInput input;
  input.subjects = among == Among::kHosts ? hosts_ : ranks_;
  for (const OfCommunicator& one : communicators_) {
    if (one.family != family || one.cells.empty()) {
      continue;
    }
    const std::vector<bool> unlike = find_unlike(one, is_left_out);
    const std::size_t length = find_length(one, is_left_out);
    switch (among) {
      case Among::kRanks:
        add_ranks(one, unlike, is_left_out, length, input);
        break;
      case Among::kRanksOfHost:
        add_ranks_of_hosts(one, unlike, length, input);
        break;
      case Among::kHosts:
        add_hosts(one, unlike, is_left_out, length, input);
        break;
    }
  }
  return input;
}

// A root of a Broadcast has made others wait before it comes to what follows, and one of a Reduce
// has waited itself. So it is late less or more often than they are. It is not compared with them
// there, unless all are roots in turn, or hardly ever.
std::vector<bool> ChargeBlocks::find_unlike(const OfCommunicator& one,
                                            const std::vector<bool>& is_left_out) const {
  constexpr std::uint64_t kOften = 20;  // one of so many operations
  std::vector<bool> unlike;
  for (const std::uint32_t rank : one.ranks) {
    unlike.push_back(is_left_out[rank]);
  }
  for (const std::vector<std::uint64_t>* const roots : {&one.rooted, &one.drains}) {
    const std::uint64_t times = std::accumulate(roots->begin(), roots->end(), std::uint64_t{0});
    const bool is_often = times * kOften >= one.operations;
    const bool are_all = std::find(roots->begin(), roots->end(), 0U) == roots->end();
    for (std::size_t member = 0; member < roots->size() && is_often && !are_all; ++member) {
      unlike[member] = unlike[member] || (*roots)[member] > 0;
    }
  }
  return unlike;
}

void ChargeBlocks::add_ranks(const OfCommunicator& one, const std::vector<bool>& unlike,
                             const std::vector<bool>& is_left_out, std::size_t length,
                             ExchangeInput& input) const {
  for (std::size_t block = 0; block < kBlocks; block += length) {
    ExchangeBlock made;
    for (std::size_t member = 0; member < one.ranks.size(); ++member) {
      const Cell cell = sum_of(one, member, block, length);
      if (!unlike[member]) {
        made.members.push_back({one.ranks[member], cell.least, cell.most});
      }
      if (!is_left_out[one.ranks[member]] && (cell.root_most > 0 || cell.root_mirrored > 0)) {
        input.mirrors.push_back(
            {one.ranks[member], cell.root_least, cell.root_most, cell.root_mirrored});
      }
    }
    input.blocks.push_back(std::move(made));
  }
}

void ChargeBlocks::add_ranks_of_hosts(const OfCommunicator& one, const std::vector<bool>& unlike,
                                      std::size_t length, ExchangeInput& input) const {
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
    for (std::size_t block = 0; block < kBlocks && here.size() > 1; block += length) {
      ExchangeBlock made;
      for (const std::size_t member : here) {
        const Cell cell = sum_of(one, member, block, length);
        made.members.push_back({one.ranks[member], cell.least_in_host, cell.most_in_host});
      }
      input.blocks.push_back(std::move(made));
    }
  }
}

// A host with more ranks is the last more often, and fewer others wait for it: both are taken out.
// A host of a rank that is unlike is so itself.
void ChargeBlocks::add_hosts(const OfCommunicator& one, const std::vector<bool>& unlike,
                             const std::vector<bool>& is_left_out, std::size_t length,
                             ExchangeInput& input) const {
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
  for (std::size_t block = 0; block < kBlocks; block += length) {
    std::map<std::uint32_t, ExchangeBlock::Member> hosts;
    for (std::size_t member = 0; member < one.ranks.size(); ++member) {
      const Cell cell = sum_of(one, member, block, length);
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
