// SPDX-License-Identifier: Apache-2.0
#include "analyzer/replay/exchanges.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace ringside::replay {
namespace {

// One transfer, in the order in which they are compared.
struct Message {
  std::uint32_t exchange = 0;  // its first transfer
  bool is_within_host = false;
  std::uint64_t bytes = 0;
  std::uint32_t transfer = 0;

  auto operator<=>(const Message&) const = default;
};

// By transfer: one that stands for its exchange. That of a transfer alone is the transfer.
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
  std::vector<Message> messages;
  for (std::uint32_t i = 0; i < exchange_of.size(); ++i) {
    if (has_several[exchange_of[i]]) {
      const std::span<const std::uint32_t> members = job.kernels_of(job.transfers[i]);
      const auto host_of = [&](std::uint32_t kernel) -> const std::string& {
        return job.ranks[job.kernels[kernel].rank].host;
      };
      messages.push_back({exchange_of[i], host_of(members.front()) == host_of(members.back()),
                          std::max<std::uint64_t>(job.transfers[i].bytes, 1), i});
    }
  }
  std::sort(messages.begin(), messages.end());
  const auto limit = [&](const Message& one, const Message& by, double factor) {
    if (one.exchange == by.exchange && one.is_within_host == by.is_within_host) {
      const double most_ns = factor * static_cast<double>(job.transfers[by.transfer].time_ns);
      std::int64_t& time_ns = job.transfers[one.transfer].time_ns;
      time_ns = static_cast<std::int64_t>(std::min(static_cast<double>(time_ns), most_ns));
    }
  };
  for (std::size_t i = 1; i < messages.size(); ++i) {
    limit(messages[i], messages[i - 1],
          static_cast<double>(messages[i].bytes) / static_cast<double>(messages[i - 1].bytes));
  }
  for (std::size_t i = messages.size(); i-- > 1;) {
    limit(messages[i - 1], messages[i], 1);
  }
}

}  // namespace ringside::replay
