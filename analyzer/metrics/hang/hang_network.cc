// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/hang/hang_network.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>
#include <utility>

namespace ringside::metrics {
namespace {

using Channel = std::tuple<std::uint32_t, std::uint32_t, bool, std::uint32_t, std::uint16_t>;

// A step in flight is in the last phase that has taken time.
WaitsFor phase_of(const model::Step& step) {
  if (step.is_send) {
    return step.transfer_ns > 0    ? WaitsFor::kNetwork
           : step.peer_wait_ns > 0 ? WaitsFor::kCredit
           : step.gpu_wait_ns > 0  ? WaitsFor::kGpu
                                   : WaitsFor::kNotTold;
  }
  return step.gpu_wait_ns > 0   ? WaitsFor::kGpu
         : step.flush_ns > 0    ? WaitsFor::kFlush
         : step.transfer_ns > 0 ? WaitsFor::kData
                                : WaitsFor::kNotTold;
}

}  // namespace

std::vector<OpenTransfers> find_open_transfers(const model::Traces& traces, const Hang& hang) {
  // By file and the id of a stuck operation: the index of its position and that of the operation.
  std::map<std::uint32_t, std::map<std::uint64_t, std::pair<std::uint32_t, std::uint32_t>>> stuck;
  for (const StuckOperation& operation : hang.operations) {
    for (const std::uint32_t index : operation.waiting) {
      const Position& position = hang.positions[index];
      for (const Front& front : position.fronts) {
        const model::TraceFile& file = traces.files[position.file];
        stuck[position.file][file.operations[front.operation].id] = {index, front.operation};
      }
    }
  }
  std::map<std::pair<Channel, WaitsFor>, OpenTransfers> found;
  const auto add = [&](const Channel& channel, WaitsFor waits_for, std::int64_t since_ns,
                       const model::TraceFile& file) {
    OpenTransfers& open = found[{channel, waits_for}];
    std::tie(open.position, open.operation, open.is_send, open.peer, open.channel) = channel;
    open.waits_for = waits_for;
    ++open.transfers;
    open.longest_ns = std::max(open.longest_ns, elapsed_ns(since_ns, end_of_trace_ns(file)));
  };
  for (const auto& [index, operations] : stuck) {
    const model::TraceFile& file = traces.files[index];
    std::set<Channel> have_steps;
    for (const model::Step& step : file.steps) {
      const auto owner = operations.find(step.operation);
      if (step.in_flight && step.peer && owner != operations.end()) {
        const auto [position, operation] = owner->second;
        const Channel channel{position, operation, step.is_send, *step.peer, step.channel};
        have_steps.insert(channel);
        add(channel, phase_of(step), step.start_ns, file);
      }
    }
    for (const model::ProxyOperation& proxy : file.proxies) {
      const auto owner = operations.find(proxy.operation);
      if (!proxy.in_flight || owner == operations.end() || !proxy.start_ns) {
        continue;
      }
      const auto [position, operation] = owner->second;
      const Channel channel{position, operation, proxy.is_send, proxy.peer, proxy.channel};
      if (!have_steps.contains(channel)) {
        add(channel, WaitsFor::kNotTold, *proxy.start_ns, file);
      }
    }
  }
  std::vector<OpenTransfers> transfers;
  transfers.reserve(found.size());
  for (auto& [key, open] : found) {
    transfers.push_back(open);
  }
  return transfers;
}

}  // namespace ringside::metrics
