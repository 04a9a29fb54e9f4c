// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/network/link_finder.h"

#include <algorithm>
#include <iterator>
#include <tuple>

#include "analyzer/align/points/stamp_errors.h"
#include "analyzer/metrics/interval_sweep.h"
#include "analyzer/metrics/percentile.h"
#include "analyzer/model/saturating.h"

namespace ringside::metrics {
namespace {

bool has_groups(const std::vector<SeenStep>& steps) {
  return std::all_of(steps.begin(), steps.end(),
                     [](const SeenStep& step) { return step.group != 0; });
}

// Sends by their starts, receives by their arrivals: a receive may be posted long before. So stamps
// that are late by more than one step takes cannot join a step with the arrival of another one.
void order(std::vector<SeenStep>& steps, bool by_group, std::int64_t SeenStep::*time_ns) {
  for (SeenStep& step : steps) {
    step.group = by_group ? step.group : 0;
  }
  std::stable_sort(steps.begin(), steps.end(), [time_ns](const SeenStep& a, const SeenStep& b) {
    return std::pair(a.group, a.*time_ns) < std::pair(b.group, b.*time_ns);
  });
}

Throughput of_proxies(const std::vector<SeenStep>& seen) {
  Throughput found;
  found.seen_by = SeenBy::kProxy;
  std::vector<std::pair<std::int64_t, std::int64_t>> likely;
  std::vector<std::pair<std::int64_t, std::int64_t>> most;
  for (const SeenStep& one : seen) {
    found.bytes = add_bytes(found.bytes, one.bytes);
    likely.emplace_back(one.start_ns, one.end_ns);
    most.emplace_back(subtract_saturating(one.start_ns, align::kProxyError.late_ns), one.end_ns);
  }
  found.likely_ns = union_ns(likely);
  found.most_ns = union_ns(most);
  return found;
}

Throughput of_receives(const std::vector<SeenStep>& seen) {
  Throughput found = of_proxies(seen);
  found.seen_by = SeenBy::kReceiver;
  return found;
}

std::optional<double> median_time(const std::vector<SeenStep>& seen) {
  std::vector<std::int64_t> times_ns;
  times_ns.reserve(seen.size());
  for (const SeenStep& one : seen) {
    times_ns.push_back(subtract_saturating(one.end_ns, one.start_ns));
  }
  return median_of(std::move(times_ns));
}

}  // namespace

LinkFinder::LinkFinder(const model::Traces& traces, const align::Alignment& alignment,
                       const match::Runs& runs,
                       const std::vector<match::Communicator>& communicators)
    : traces_(traces),
      alignment_(alignment),
      communicators_(communicators),
      foreign_(traces, runs, communicators),
      has_steps_(has_steps(traces)) {
  for (std::uint32_t c = 0; c < communicators.size(); ++c) {
    const auto& members = communicators[c].members;
    for (std::uint32_t m = 0; m < members.size(); ++m) {
      places_[{members[m].file, members[m].context}] = {c, m};
      if (members[m].rank) {
        member_of_rank_[{c, *members[m].rank}] = m;
      }
    }
  }
}

FoundLinks LinkFinder::find() {
  for (std::uint32_t f = 0; f < traces_.files.size(); ++f) {
    const model::TraceFile& file = traces_.files[f];
    if (has_steps_) {
      find_groups(file);
      for (const model::Step& step : file.steps) {
        add_step(f, step);
      }
    } else {
      for (const model::ProxyOperation& proxy : file.proxies) {
        add_proxy(f, proxy);
      }
    }
  }
  join_ends();
  FoundLinks found;
  found.pairs = make_pairs();
  for (const auto& [key, joined] : links_) {
    found.links.push_back({joined.link, rate(joined)});
  }
  found.counts = counts_;
  return found;
}

std::optional<std::uint32_t> LinkFinder::member_of(std::uint32_t communicator,
                                                   std::optional<std::uint32_t> rank) const {
  const auto found = rank ? member_of_rank_.find({communicator, *rank}) : member_of_rank_.end();
  return found == member_of_rank_.end() ? std::nullopt : std::optional(found->second);
}

// Collectives have the same number on all ranks. Sends and receives have none: there the order of
// all of a channel counts.
void LinkFinder::find_groups(const model::TraceFile& file) {
  group_of_operation_.clear();
  if (file.steps.empty()) {
    return;
  }
  const std::uint64_t names = traces_.names.size() + 1;
  for (std::size_t i = 0; i < file.operations.size(); ++i) {
    const model::Operation operation = file.operations[i];
    if (operation.seq) {
      group_of_operation_[operation.id] = *operation.seq * names + operation.func + 1;
    }
  }
}

template <typename Row>
LinkFinder::Joined* LinkFinder::link_of(std::uint32_t file, const Row& row,
                                        std::optional<std::uint32_t> peer) {
  std::optional<Place> place;
  if (const auto found = places_.find({file, row.context});
      row.context != 0 && found != places_.end()) {
    place = found->second;
  } else if (row.context == 0 && row.operation == 0) {
    place = foreign_.place_of(file, row);
    ++counts_.foreign;
    counts_.foreign_known += place ? 1 : 0;
  }
  if (!place) {
    counts_.without_place += row.context == 0 && row.operation == 0 ? 0 : 1;
    return nullptr;
  }
  if (row.in_flight || !row.end_ns) {
    ++counts_.in_flight;
    return nullptr;
  }
  const LinkKey key(place->communicator, place->member, !row.is_send, peer, row.channel);
  const auto [at, is_new] = links_.try_emplace(key);
  Link& link = at->second.link;
  if (is_new) {
    link.communicator = place->communicator;
    link.member = place->member;
    link.file = file;
    link.rank = communicators_[place->communicator].members[place->member].rank;
    link.peer = peer;
    link.channel = row.channel;
    link.is_send = row.is_send;
  }
  ++link.transfers;
  link.bytes = add_bytes(link.bytes, row.bytes);
  return &at->second;
}

void LinkFinder::add_step(std::uint32_t file, const model::Step& step) {
  Joined* const collected = link_of(file, step, step.peer);
  if (collected == nullptr) {
    return;
  }
  Link& link = collected->link;
  const auto told = [](std::int64_t time_ns) {
    return static_cast<double>(std::max<std::int64_t>(time_ns, 0));
  };
  link.gpu_wait_ns += told(step.gpu_wait_ns);
  link.peer_wait_ns += told(step.peer_wait_ns);
  link.transfer_ns += told(step.transfer_ns);
  link.flush_ns += told(step.flush_ns);
  if (step.gpu_wait_ns <= 0 && step.peer_wait_ns <= 0 && step.transfer_ns <= 0 &&
      step.flush_ns <= 0) {
    ++counts_.without_states;
  }
  if (step.bytes == 0 || step.transfer_ns <= 0) {
    return;
  }
  // A send waits and then transfers to its end. A receive transfers first.
  const std::int64_t end_ns = std::max(*step.end_ns, step.start_ns);
  SeenStep seen;
  seen.start_ns = step.is_send
                      ? std::max(step.start_ns, subtract_saturating(end_ns, step.transfer_ns))
                      : step.start_ns;
  seen.end_ns =
      step.is_send ? end_ns : std::min(end_ns, add_saturating(step.start_ns, step.transfer_ns));
  seen.start_ns = alignment_.to_common_ns(file, seen.start_ns);
  seen.end_ns = alignment_.to_common_ns(file, seen.end_ns);
  seen.bytes = step.bytes;
  const auto group = group_of_operation_.find(step.operation);
  seen.group = group == group_of_operation_.end() ? 0 : group->second;
  collected->seen.push_back(seen);
}

void LinkFinder::add_proxy(std::uint32_t file, const model::ProxyOperation& proxy) {
  Joined* const collected = link_of(file, proxy, proxy.peer);
  if (collected == nullptr || !proxy.start_ns || *proxy.end_ns <= *proxy.start_ns) {
    return;
  }
  SeenStep seen;
  seen.start_ns = alignment_.to_common_ns(file, *proxy.start_ns);
  seen.end_ns = alignment_.to_common_ns(file, *proxy.end_ns);
  seen.bytes = proxy.bytes;
  collected->link.transfer_ns +=
      static_cast<double>(subtract_saturating(seen.end_ns, seen.start_ns));
  collected->seen.push_back(seen);
}

LinkFinder::Joined* LinkFinder::receiver_of(const Link& link) {
  const auto member = link.rank ? member_of(link.communicator, link.peer) : std::nullopt;
  if (!member) {
    return nullptr;
  }
  const auto found =
      links_.find(LinkKey(link.communicator, *member, true, link.rank, link.channel));
  return found == links_.end() ? nullptr : &found->second;
}

// The steps of a channel arrive in the order in which they were sent.
void LinkFinder::join(Joined& sends, Joined* receives) const {
  const bool by_group =
      has_groups(sends.seen) && (receives == nullptr || has_groups(receives->seen));
  order(sends.seen, by_group, &SeenStep::start_ns);
  if (receives != nullptr) {
    order(receives->seen, by_group, &SeenStep::end_ns);
  }
  std::size_t next = 0;
  for (std::size_t i = 0; i < sends.seen.size();) {
    const std::uint64_t group = sends.seen[i].group;
    std::size_t end = i;
    while (end < sends.seen.size() && sends.seen[end].group == group) {
      ++end;
    }
    std::size_t first = 0;
    std::size_t last = 0;
    if (receives != nullptr) {
      const auto& seen = receives->seen;
      while (next < seen.size() && seen[next].group < group) {
        ++next;
      }
      first = next;
      while (next < seen.size() && seen[next].group == group) {
        ++next;
      }
      last = next;
    }
    const bool is_whole = last - first == end - i;
    for (std::size_t k = 0; i < end; ++i, ++k) {
      const SeenStep& send = sends.seen[i];
      Moved moved{send.start_ns, send.end_ns, {}, {}, send.bytes};
      if (is_whole) {
        moved.arrived_ns = receives->seen[first + k].end_ns;
        moved.uncertainty_ns =
            alignment_.uncertainty_ns(sends.link.file, receives->link.file, send.start_ns);
      }
      sends.moved.push_back(moved);
    }
  }
}

void LinkFinder::join_ends() {
  for (auto& [key, joined] : links_) {
    if (!has_steps_) {
      joined.link.throughput = of_proxies(joined.seen);
      continue;
    }
    joined.link.step_median_ns = median_time(joined.seen);
    if (!joined.link.is_send && joined.link.throughput.bytes == 0) {
      joined.link.throughput = of_receives(joined.seen);
    } else if (joined.link.is_send) {
      Joined* const receives = receiver_of(joined.link);
      join(joined, receives);
      joined.link.throughput = throughput_of(joined.moved);
      if (receives != nullptr && joined.link.throughput.seen_by == SeenBy::kBoth) {
        receives->link.throughput = joined.link.throughput;
      }
    }
  }
}

std::vector<Pair> LinkFinder::make_pairs() const {
  using PairKey = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;
  std::map<PairKey, std::vector<const Joined*>> of_pair;
  for (const auto& [key, joined] : links_) {
    const Link& link = joined.link;
    if (link.is_send && link.rank && link.peer) {
      of_pair[{link.communicator, *link.rank, *link.peer}].push_back(&joined);
    }
  }
  std::vector<Pair> pairs;
  for (const auto& [key, of_it] : of_pair) {
    Pair pair;
    std::tie(pair.communicator, pair.rank, pair.peer) = key;
    std::vector<Moved> moved;
    std::vector<SeenStep> seen;
    for (const Joined* const joined : of_it) {
      pair.bytes = add_bytes(pair.bytes, joined->link.bytes);
      pair.wait_ns += joined->link.gpu_wait_ns + joined->link.peer_wait_ns;
      moved.insert(moved.end(), joined->moved.begin(), joined->moved.end());
      seen.insert(seen.end(), joined->seen.begin(), joined->seen.end());
    }
    pair.throughput = has_steps_ ? throughput_of(moved) : of_proxies(seen);
    pairs.push_back(pair);
  }
  return pairs;
}

// Only sends are judged: a receive may wait for its sender.
std::vector<RatedLink> LinkFinder::rate(const Joined& joined) const {
  const Link& link = joined.link;
  if (!link.is_send || !link.rank || !link.peer) {
    return {};
  }
  const auto receiver = member_of(link.communicator, link.peer);
  const bool is_same_host =
      receiver && alignment_.host_of(link.file) ==
                      alignment_.host_of(communicators_[link.communicator].members[*receiver].file);
  std::vector<RatedLink> rates = rate_link(joined.moved, SeenBy::kSender);
  // If sends go into buffers, only the arrivals tell how fast the link is.
  if (!link.throughput.is_wide()) {
    const auto to_arrival = rate_link(joined.moved, SeenBy::kBoth);
    rates.insert(rates.end(), to_arrival.begin(), to_arrival.end());
  }
  for (RatedLink& one : rates) {
    one.kind.communicator = link.communicator;
    one.kind.is_same_host = is_same_host;
    one.sender = *link.rank;
    one.receiver = *link.peer;
  }
  return rates;
}

}  // namespace ringside::metrics
