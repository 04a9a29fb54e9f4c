// SPDX-License-Identifier: Apache-2.0
#include "analyzer/replay/exchanges.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <span>
#include <string>
#include <vector>

namespace ringside::replay {
namespace {

struct Message {
  bool is_within_host = false;
  double bytes = 1;
  std::uint32_t transfer = 0;
  double fastest_ns = 0;

  auto operator<=>(const Message&) const = default;
};

// Returns, by transfer, the one transfer by which its exchange is known. A transfer that no kernel
// connects with another one is known by itself.
std::vector<std::uint32_t> find_exchanges(const Job& job) {
  std::vector<std::uint32_t> exchange_of(job.transfers.size());
  std::iota(exchange_of.begin(), exchange_of.end(), 0);
  const auto find = [&](std::uint32_t transfer) {
    for (; exchange_of[transfer] != transfer; transfer = exchange_of[transfer]) {
      exchange_of[transfer] = exchange_of[exchange_of[transfer]];
    }
    return transfer;
  };
  for (std::uint32_t kernel = 0; kernel < job.kernels.size(); ++kernel) {
    const std::span<const std::uint32_t> own = job.transfers_of(kernel);
    for (std::size_t i = 1; i < own.size(); ++i) {
      exchange_of[find(own[i])] = find(own[0]);
    }
  }
  for (std::uint32_t& exchange : exchange_of) {
    exchange = find(exchange);
  }
  return exchange_of;
}

}  // namespace

void compare_exchanges(Job& job) {
  const std::vector<std::uint32_t> exchange_of = find_exchanges(job);
  std::vector<bool> has_several(job.transfers.size());
  for (std::uint32_t i = 0; i < exchange_of.size(); ++i) {
    has_several[exchange_of[i]] = has_several[exchange_of[i]] || exchange_of[i] != i;
  }
  const auto time_ns = [&](const Message& one) {
    return static_cast<double>(std::max<std::int64_t>(job.transfers[one.transfer].time_ns, 1));
  };
  std::vector<Message> messages;
  for (std::uint32_t i = 0; i < exchange_of.size(); ++i) {
    if (has_several[exchange_of[i]]) {
      const std::span<const std::uint32_t> members = job.kernels_of(job.transfers[i]);
      const auto host_of = [&](std::uint32_t kernel) -> const std::string& {
        return job.ranks[job.kernels[kernel].rank].host;
      };
      const auto bytes = static_cast<double>(std::max<std::uint64_t>(job.transfers[i].bytes, 1));
      messages.push_back({host_of(members.front()) == host_of(members.back()), bytes, i, 0});
      messages.back().fastest_ns = time_ns(messages.back());
    }
  }
  std::sort(messages.begin(), messages.end());
  const auto limit = [](Message& one, const Message& by, double factor) {
    if (one.is_within_host == by.is_within_host) {
      one.fastest_ns = std::min(one.fastest_ns, factor * by.fastest_ns);
    }
  };
  for (std::size_t i = 1; i < messages.size(); ++i) {
    limit(messages[i], messages[i - 1], messages[i].bytes / messages[i - 1].bytes);
  }
  for (std::size_t i = messages.size(); i-- > 1;) {
    limit(messages[i - 1], messages[i], 1);
  }
  constexpr double kMost = std::numeric_limits<double>::max();
  std::vector<double> slowdown(job.transfers.size(), kMost);  // of exchanges
  for (const Message& one : messages) {
    double& least = slowdown[exchange_of[one.transfer]];
    least = std::min(least, time_ns(one) / one.fastest_ns);
  }
  for (const Message& one : messages) {
    const double most_ns = slowdown[exchange_of[one.transfer]] * one.fastest_ns;
    job.transfers[one.transfer].time_ns =
        static_cast<std::int64_t>(std::min(time_ns(one), most_ns));
  }
}

}  // namespace ringside::replay
