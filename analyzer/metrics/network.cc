// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/network.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "analyzer/metrics/foreign_transfers.h"
#include "analyzer/metrics/interval_sweep.h"
#include "analyzer/metrics/percentile.h"
#include "analyzer/model/saturating.h"

namespace ringside::metrics {
namespace {

// By communicator, rank's position, sending first, peer, channel.
using LinkKey = std::tuple<std::uint32_t, std::uint32_t, bool, std::int64_t, std::uint16_t>;

// The transfer of one step on the common clock, as one end saw it.
struct Seen {
  std::uint64_t group = 0;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  std::uint64_t bytes = 0;
};

struct LinkSteps {
  Link link;
  std::vector<Seen> seen;
  std::vector<Moved> moved;  // of a sending link: with what its receiver saw
};

bool has_groups(const std::vector<Seen>& steps) {
  return std::all_of(steps.begin(), steps.end(), [](const Seen& step) { return step.group != 0; });
}

void order(std::vector<Seen>& steps, bool by_group) {
  for (Seen& step : steps) {
    step.group = by_group ? step.group : 0;
  }
  std::stable_sort(steps.begin(), steps.end(), [](const Seen& a, const Seen& b) {
    return std::pair(a.group, a.start_ns) < std::pair(b.group, b.start_ns);
  });
}

class Collector {
 public:
  Collector(const model::Traces& traces, const align::Alignment& alignment)
      : traces_(traces),
        alignment_(alignment),
        runs_(match::find_runs(traces)),
        communicators_(match::find_communicators(traces, runs_)),
        foreign_(traces, runs_, communicators_) {
    for (std::uint32_t c = 0; c < communicators_.size(); ++c) {
      const auto& members = communicators_[c].members;
      for (std::uint32_t m = 0; m < members.size(); ++m) {
        places_[{members[m].file, members[m].context}] = {c, m};
        if (members[m].rank) {
          member_of_rank_[{c, *members[m].rank}] = m;
        }
      }
    }
    for (const model::TraceFile& file : traces.files) {
      network_.has_steps = network_.has_steps || !file.steps.empty();
    }
  }

  Network collect() {
    for (std::uint32_t f = 0; f < traces_.files.size(); ++f) {
      const model::TraceFile& file = traces_.files[f];
      if (network_.has_steps) {
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
    make_pairs();
    judge();
    network_.links.reserve(links_.size());
    for (auto& [key, collected] : links_) {
      network_.links.push_back(collected.link);
    }
    network_.communicators = std::move(communicators_);
    return std::move(network_);
  }

 private:
  // Collectives have the same number on all ranks. Sends and receives have none: there the order of
  // all of a channel counts.
  void find_groups(const model::TraceFile& file) {
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
  LinkSteps* link_of(std::uint32_t file, const Row& row, std::optional<std::uint32_t> peer) {
    std::optional<Place> place;
    if (const auto found = places_.find({file, row.context});
        row.context != 0 && found != places_.end()) {
      place = found->second;
    } else if (row.context == 0 && row.operation == 0) {
      place = foreign_.place_of(file, row);
      ++network_.foreign;
      network_.foreign_known += place ? 1 : 0;
    }
    if (!place) {
      network_.without_place += row.context == 0 && row.operation == 0 ? 0 : 1;
      return nullptr;
    }
    if (row.in_flight || !row.end_ns) {
      ++network_.in_flight;
      return nullptr;
    }
    const LinkKey key{place->communicator, place->member, !row.is_send,
                      peer ? std::int64_t{*peer} : -1, row.channel};
    const auto [at, is_new] = links_.try_emplace(key);
    Link& link = at->second.link;
    if (is_new) {
      link.communicator = place->communicator;
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

  void add_step(std::uint32_t file, const model::Step& step) {
    LinkSteps* const collected = link_of(file, step, step.peer);
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
      ++network_.untold;
    }
    if (step.bytes == 0 || step.transfer_ns <= 0) {
      return;
    }
    // A send waits and then transfers to its end. A receive transfers first.
    const std::int64_t end_ns = std::max(*step.end_ns, step.start_ns);
    Seen seen;
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

  void add_proxy(std::uint32_t file, const model::ProxyOperation& proxy) {
    LinkSteps* const collected = link_of(file, proxy, proxy.peer);
    if (collected == nullptr || !proxy.start_ns || *proxy.end_ns <= *proxy.start_ns) {
      return;
    }
    Seen seen;
    seen.start_ns = alignment_.to_common_ns(file, *proxy.start_ns);
    seen.end_ns = alignment_.to_common_ns(file, *proxy.end_ns);
    seen.bytes = proxy.bytes;
    collected->link.transfer_ns +=
        static_cast<double>(subtract_saturating(seen.end_ns, seen.start_ns));
    collected->seen.push_back(seen);
  }

  LinkSteps* receiver_of(const LinkKey& key, const Link& link) {
    if (!link.rank || !link.peer) {
      return nullptr;
    }
    const auto member = member_of_rank_.find({link.communicator, *link.peer});
    if (member == member_of_rank_.end()) {
      return nullptr;
    }
    const auto found = links_.find(
        {link.communicator, member->second, true, std::int64_t{*link.rank}, std::get<4>(key)});
    return found == links_.end() ? nullptr : &found->second;
  }

  // The steps of a channel arrive in the order in which they were sent.
  void join(LinkSteps& sends, LinkSteps* receives) {
    const bool by_group =
        has_groups(sends.seen) && (receives == nullptr || has_groups(receives->seen));
    order(sends.seen, by_group);
    if (receives != nullptr) {
      order(receives->seen, by_group);
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
        const Seen& send = sends.seen[i];
        Moved moved{send.start_ns, send.end_ns, {}, {}, send.bytes, send.group};
        if (is_whole) {
          moved.arrived_ns = receives->seen[first + k].end_ns;
          moved.uncertainty_ns =
              alignment_.uncertainty_ns(sends.link.file, receives->link.file, send.start_ns);
        }
        sends.moved.push_back(moved);
      }
    }
  }

  static Throughput of_proxies(const std::vector<Seen>& seen) {
    Throughput found;
    found.seen_by = SeenBy::kProxy;
    std::vector<std::pair<std::int64_t, std::int64_t>> spans;
    for (const Seen& one : seen) {
      found.bytes = add_bytes(found.bytes, one.bytes);
      spans.emplace_back(one.start_ns, one.end_ns);
    }
    found.likely_ns = union_ns(spans);
    found.most_ns = found.likely_ns;
    return found;
  }

  static Throughput of_receives(const std::vector<Seen>& seen) {
    Throughput found = of_proxies(seen);
    found.seen_by = SeenBy::kReceiver;
    return found;
  }

  static std::optional<double> median_time(const std::vector<Seen>& seen) {
    std::vector<std::int64_t> times_ns;
    times_ns.reserve(seen.size());
    for (const Seen& one : seen) {
      times_ns.push_back(subtract_saturating(one.end_ns, one.start_ns));
    }
    return median_of(std::move(times_ns));
  }

  void join_ends() {
    for (auto& [key, collected] : links_) {
      if (!network_.has_steps) {
        collected.link.throughput = of_proxies(collected.seen);
        continue;
      }
      collected.link.step_median_ns = median_time(collected.seen);
      if (!collected.link.is_send && collected.link.throughput.bytes == 0) {
        collected.link.throughput = of_receives(collected.seen);
      } else if (collected.link.is_send) {
        LinkSteps* const receives = receiver_of(key, collected.link);
        join(collected, receives);
        collected.link.throughput = throughput_of(collected.moved);
        if (receives != nullptr && collected.link.throughput.seen_by == SeenBy::kBoth) {
          receives->link.throughput = collected.link.throughput;
        }
      }
    }
  }

  void make_pairs() {
    using PairKey = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;
    std::map<PairKey, std::vector<const LinkSteps*>> of_pair;
    for (const auto& [key, collected] : links_) {
      const Link& link = collected.link;
      if (link.is_send && link.rank && link.peer) {
        of_pair[{link.communicator, *link.rank, *link.peer}].push_back(&collected);
      }
    }
    for (const auto& [key, links] : of_pair) {
      Pair pair;
      std::tie(pair.communicator, pair.rank, pair.peer) = key;
      std::vector<Moved> moved;
      std::vector<Seen> seen;
      for (const LinkSteps* const collected : links) {
        pair.bytes = add_bytes(pair.bytes, collected->link.bytes);
        pair.wait_ns += collected->link.gpu_wait_ns + collected->link.peer_wait_ns;
        moved.insert(moved.end(), collected->moved.begin(), collected->moved.end());
        seen.insert(seen.end(), collected->seen.begin(), collected->seen.end());
      }
      pair.throughput = network_.has_steps ? throughput_of(moved) : of_proxies(seen);
      network_.pairs.push_back(pair);
    }
  }

  bool is_same_host(const Link& link) const {
    const auto member = member_of_rank_.find({link.communicator, *link.peer});
    if (member == member_of_rank_.end()) {
      return false;
    }
    const std::uint32_t other = communicators_[link.communicator].members[member->second].file;
    return alignment_.host_of(link.file) == alignment_.host_of(other);
  }

  // Only sends are judged: a receive may wait for its sender.
  void judge() {
    std::vector<RatedLink> rated;
    std::vector<Link*> links;
    for (auto& [key, collected] : links_) {
      Link& link = collected.link;
      if (!link.is_send || !link.rank || !link.peer) {
        continue;
      }
      auto rates = rate_link(collected.moved, SeenBy::kSender);
      // If sends go into buffers, only the arrivals tell how fast the link is.
      if (!link.throughput.is_wide()) {
        const auto to_arrival = rate_link(collected.moved, SeenBy::kBoth);
        rates.insert(rates.end(), to_arrival.begin(), to_arrival.end());
      }
      for (RatedLink& one : rates) {
        one.kind.communicator = link.communicator;
        one.kind.is_same_host = is_same_host(link);
        one.link = links.size();
        one.sender = *link.rank;
        one.receiver = *link.peer;
        rated.push_back(one);
      }
      links.push_back(&link);
    }
    JudgedLinks judged = judge_links(std::move(rated));
    for (const SlowLink& one : judged.slow) {
      links[one.link]->slow = one.slow;
    }
    network_.judged = static_cast<std::uint32_t>(judged.judged);
    network_.classes = std::move(judged.classes);
  }

  const model::Traces& traces_;
  const align::Alignment& alignment_;
  match::Runs runs_;
  std::vector<match::Communicator> communicators_;
  ForeignTransfers foreign_;
  Network network_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, Place> places_;  // of a file's context
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::uint32_t> member_of_rank_;
  std::unordered_map<std::uint64_t, std::uint64_t> group_of_operation_;  // of the file at hand
  std::map<LinkKey, LinkSteps> links_;
};

}  // namespace

Network find_network(const model::Traces& traces, const align::Alignment& alignment) {
  return Collector(traces, alignment).collect();
}

}  // namespace ringside::metrics
