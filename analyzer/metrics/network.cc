// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/network.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace ringside::metrics {
namespace {

// By communicator, rank's position, sending first, peer, channel.
using LinkKey = std::tuple<std::uint32_t, std::uint32_t, bool, std::int64_t, std::uint16_t>;

struct LinkSteps {
  Link link;
  std::map<int, std::vector<float>> gb_s;  // of each step, by size class
};

double median_of(std::vector<float>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) {
    return *middle;
  }
  return (static_cast<double>(*middle) + *std::max_element(values.begin(), middle)) / 2;
}

int class_of(std::uint64_t bytes) {
  return static_cast<int>(std::bit_width(bytes)) - 1;
}

class Collector {
 public:
  explicit Collector(const model::Traces& traces) : traces_(traces) {
    network_.communicators = match::find_communicators(traces, match::find_runs(traces));
    for (std::uint32_t c = 0; c < network_.communicators.size(); ++c) {
      const auto& members = network_.communicators[c].members;
      for (std::uint32_t m = 0; m < members.size(); ++m) {
        places_[{members[m].file, members[m].context}] = {c, m};
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
        for (const model::Step& step : file.steps) {
          add_step(f, step);
        }
      } else {
        for (const model::ProxyOperation& proxy : file.proxies) {
          add_proxy(f, proxy);
        }
      }
    }
    judge();
    network_.links.reserve(links_.size());
    for (auto& [key, collected] : links_) {
      std::vector<float> all;
      for (const auto& [size, values] : collected.gb_s) {
        all.insert(all.end(), values.begin(), values.end());
      }
      if (!all.empty()) {
        collected.link.step_median_gb_s = median_of(all);
      }
      network_.links.push_back(collected.link);
    }
    return std::move(network_);
  }

 private:
  template <typename Row>
  LinkSteps* link_of(std::uint32_t file, const Row& row, std::optional<std::uint32_t> peer) {
    const auto place = places_.find({file, row.context});
    if (row.context == 0 || place == places_.end()) {
      ++network_.without_place;
      return nullptr;
    }
    if (row.in_flight || !row.end_ns) {
      ++network_.in_flight;
      return nullptr;
    }
    const auto [communicator, member] = place->second;
    const LinkKey key{communicator, member, !row.is_send, peer ? std::int64_t{*peer} : -1,
                      row.channel};
    const auto [at, is_new] = links_.try_emplace(key);
    Link& link = at->second.link;
    if (is_new) {
      link.communicator = communicator;
      link.file = file;
      if (const auto& rank = network_.communicators[communicator].members[member].rank) {
        link.rank = *rank;
      }
      link.peer = peer;
      link.channel = row.channel;
      link.is_send = row.is_send;
    }
    ++link.transfers;
    const std::uint64_t room = std::numeric_limits<std::uint64_t>::max() - link.bytes;
    link.bytes += std::min<std::uint64_t>(row.bytes, room);
    return &at->second;
  }

  void add_step(std::uint32_t file, const model::Step& step) {
    std::optional<std::uint32_t> peer;
    if (step.peer) {
      peer = *step.peer;
    }
    LinkSteps* const collected = link_of(file, step, peer);
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
    if (step.bytes > 0 && step.transfer_ns > 0) {
      collected->gb_s[class_of(step.bytes)].push_back(
          static_cast<float>(static_cast<double>(step.bytes) / told(step.transfer_ns)));
    }
  }

  void add_proxy(std::uint32_t file, const model::ProxyOperation& proxy) {
    LinkSteps* const collected = link_of(file, proxy, proxy.peer);
    if (collected != nullptr && proxy.start_ns && *proxy.end_ns > *proxy.start_ns) {
      collected->link.transfer_ns +=
          static_cast<double>(*proxy.end_ns) - static_cast<double>(*proxy.start_ns);
    }
  }

  // Only sends are judged: the transfer of a receive holds the waiting for its sender.
  void judge() {
    std::map<std::pair<std::uint32_t, int>, std::vector<std::pair<Link*, Slow>>> groups;
    for (auto& [key, collected] : links_) {
      for (auto& [size, values] : collected.gb_s) {
        if (collected.link.is_send && values.size() >= kLeastSteps) {
          Slow slow;
          slow.class_bytes = std::uint64_t{1} << size;
          slow.steps = values.size();
          slow.own_gb_s = median_of(values);
          groups[{collected.link.communicator, size}].emplace_back(&collected.link, slow);
        }
      }
    }
    std::set<const Link*> judged;
    for (auto& [key, group] : groups) {
      if (group.size() >= kLeastSiblings) {
        compare(group);
        for (const auto& [link, slow] : group) {
          judged.insert(link);
        }
      }
    }
    network_.judged = static_cast<std::uint32_t>(judged.size());
  }

  static void compare(std::vector<std::pair<Link*, Slow>>& group) {
    std::vector<float> medians;
    medians.reserve(group.size());
    for (const auto& [link, slow] : group) {
      medians.push_back(static_cast<float>(slow.own_gb_s));
    }
    const double usual = median_of(medians);
    for (float& value : medians) {
      value = static_cast<float>(std::abs(value - usual));
    }
    // 1.4826 makes the median deviation that of a normal distribution. Siblings that agree by
    // chance make no small difference significant: 2 % are always granted.
    const double deviation = std::max(1.4826 * median_of(medians), 0.02 * usual);
    for (auto& [link, slow] : group) {
      slow.siblings = static_cast<std::uint32_t>(group.size());
      slow.usual_gb_s = usual;
      slow.factor = slow.own_gb_s > 0 ? usual / slow.own_gb_s : 0;
      slow.deviations = deviation > 0 ? (usual - slow.own_gb_s) / deviation : 0;
      const bool is_slow = slow.factor >= kSlowFactor && slow.deviations >= kSlowDeviations;
      if (is_slow && (!link->slow || link->slow->deviations < slow.deviations)) {
        link->slow = slow;
      }
    }
  }

  const model::Traces& traces_;
  Network network_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, std::pair<std::uint32_t, std::uint32_t>>
      places_;  // of a file's context: communicator and member
  std::map<LinkKey, LinkSteps> links_;
};

}  // namespace

std::optional<double> Link::throughput_gb_s() const {
  return bytes > 0 && transfer_ns > 0 ? std::optional(static_cast<double>(bytes) / transfer_ns)
                                      : std::nullopt;
}

Network find_network(const model::Traces& traces) {
  return Collector(traces).collect();
}

}  // namespace ringside::metrics
