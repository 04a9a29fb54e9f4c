// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/bandwidth.h"

#include <algorithm>
#include <array>

#include "plugin/assemble/message_bytes.h"

namespace ringside::metrics {
namespace {

constexpr std::array<std::string_view, 11> kBusbwFunctions = {
    "AllReduce", "AllGather", "ReduceScatter", "Broadcast", "Reduce",       "AlltoAll",
    "Gather",    "Scatter",   kSendRecv,       "AlltoAllv", "SendRecv ring"};

// The message of monitor_collectives.py times its factor, in messages of one rank. See
// nominal_gb_s.
std::optional<double> nominal_factor(std::string_view func, std::uint32_t nranks) {
  const auto n = static_cast<double>(nranks);
  if (func == "AlltoAllv") {
    return std::nullopt;
  }
  if (func == "AlltoAll") {
    return n * (n - 1);
  }
  if (func == "ReduceScatter") {
    return (n - 1) / n;
  }
  if (func == "AllGather" || func == "Gather" || func == "Scatter") {
    return n - 1;
  }
  return func == "AllReduce" ? 2 * (n - 1) / n : 1;
}

}  // namespace

std::optional<double> test_size_bytes(std::string_view func, std::uint64_t bytes,
                                      std::uint32_t nranks) {
  if (std::find(kBusbwFunctions.begin(), kBusbwFunctions.end(), func) == kBusbwFunctions.end()) {
    return std::nullopt;
  }
  return static_cast<double>(bytes) * static_cast<double>(assemble::size_factor(func, nranks));
}

bool size_depends_on_ranks(std::string_view func) {
  return assemble::size_factor(func, 2) != 1;
}

bool busbw_depends_on_ranks(std::string_view func) {
  return size_depends_on_ranks(func) ||
         assemble::bus_factor(func, 2) != assemble::bus_factor(func, 4);
}

Bandwidth bandwidth(std::string_view func, std::uint64_t bytes, std::uint32_t nranks,
                    double time_ns) {
  const auto size_bytes = test_size_bytes(func, bytes, nranks);
  if (!size_bytes || !(time_ns > 0)) {
    return {};
  }
  Bandwidth result;
  const double algbw_gb_s = *size_bytes / time_ns;  // bytes per ns are 1e9 bytes per s
  if (nranks > 1 || !size_depends_on_ranks(func)) {
    result.algbw_gb_s = algbw_gb_s;
  }
  if (nranks > 1 || !busbw_depends_on_ranks(func)) {
    result.busbw_gb_s = algbw_gb_s * assemble::bus_factor(func, nranks);
    if (const auto factor = nominal_factor(func, nranks)) {
      result.nominal_gb_s = *factor * static_cast<double>(bytes) / time_ns;
    }
  }
  return result;
}

}  // namespace ringside::metrics
