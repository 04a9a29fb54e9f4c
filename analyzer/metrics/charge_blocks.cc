// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/charge_blocks.h"

#include <algorithm>
#include <map>
#include <utility>

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
  Cell& here = cell(member);
  here.least += charge.least;
  here.least_in_host += charge.least_in_host;
  here.most += charge.most;
  here.most_in_host += charge.most_in_host;
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

ExchangeInput ChargeBlocks::input(std::uint32_t family, Among among,
                                  const std::vector<bool>& is_left_out) const {
  ExchangeInput input;
  input.subjects = among == Among::kHosts ? hosts_ : ranks_;
  std::uint32_t group = 0;
  for (const OfCommunicator& one : communicators_) {
    if (one.family != family || one.cells.empty()) {
      continue;
    }
    const std::vector<bool> unlike = find_unlike(one, is_left_out);
    switch (among) {
      case Among::kRanks:
        add_ranks(one, group, unlike, is_left_out, input);
        break;
      case Among::kRanksOfHost:
        add_ranks_of_hosts(one, group, unlike, input);
        break;
      case Among::kHosts:
        add_hosts(one, group, unlike, input);
        break;
    }
    ++group;
  }
  return input;
}

// Others have waited for a root before, so it is late in what follows less often than they are. It
// is not compared with them there, unless all are roots in turn, or hardly ever.
std::vector<bool> ChargeBlocks::find_unlike(const OfCommunicator& one,
                                            const std::vector<bool>& is_left_out) const {
  constexpr std::uint64_t kOften = 20;  // one of so many operations
  std::uint64_t times = 0;
  for (const std::uint64_t rooted : one.rooted) {
    times += rooted;
  }
  const bool are_roots_unlike =
      times * kOften >= one.operations &&
      std::find(one.rooted.begin(), one.rooted.end(), 0U) != one.rooted.end();
  std::vector<bool> unlike;
  for (std::size_t member = 0; member < one.ranks.size(); ++member) {
    unlike.push_back(is_left_out[one.ranks[member]] ||
                     (are_roots_unlike && one.rooted[member] > 0));
  }
  return unlike;
}

void ChargeBlocks::add_ranks(const OfCommunicator& one, std::uint32_t group,
                             const std::vector<bool>& unlike, const std::vector<bool>& is_left_out,
                             ExchangeInput& input) const {
  for (std::size_t block = 0; block < kBlocks; ++block) {
    ExchangeBlock made;
    made.group = group;
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
    input.blocks.push_back(std::move(made));
  }
}

void ChargeBlocks::add_ranks_of_hosts(const OfCommunicator& one, std::uint32_t& group,
                                      const std::vector<bool>& unlike, ExchangeInput& input) const {
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
      made.group = group;
      for (const std::size_t member : here) {
        const Cell& cell = one.cells[block * one.ranks.size() + member];
        made.members.push_back({one.ranks[member], cell.least_in_host, cell.most_in_host});
      }
      input.blocks.push_back(std::move(made));
    }
    ++group;
  }
}

// A host with more ranks is the last more often, and fewer others wait for it: both are taken out.
void ChargeBlocks::add_hosts(const OfCommunicator& one, std::uint32_t group,
                             const std::vector<bool>& unlike, ExchangeInput& input) const {
  std::map<std::uint32_t, double> ranks;  // by host
  for (const std::uint32_t host : one.hosts) {
    ranks[host] += 1;
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
      ExchangeBlock::Member& sum =
          hosts.try_emplace(host, ExchangeBlock::Member{host, 0, 0}).first->second;
      if (!unlike[member]) {
        const double scale = ranks[host] * (all - ranks[host]);
        sum.least += (cell.least - cell.least_in_host) / scale;
        sum.most += (cell.most - cell.most_in_host) / scale;
      }
    }
    ExchangeBlock made;
    made.group = group;
    for (const auto& [host, sum] : hosts) {
      made.members.push_back(sum);
    }
    input.blocks.push_back(std::move(made));
  }
}

}  // namespace ringside::metrics
