// SPDX-License-Identifier: Apache-2.0
#include "plugin/export/bandwidth_counters.h"

#include <algorithm>

#include "plugin/assemble/message_bytes.h"

namespace ringside::exporting {

BandwidthCounters::Counters& BandwidthCounters::counters(std::uint32_t context) {
  if (counters_.size() <= context) {
    counters_.resize(context + std::size_t{1});
  }
  return counters_[context];
}

void BandwidthCounters::communicator(const assemble::Communicator& communicator) {
  counters(communicator.context).is_closed = communicator.finalized_ns != assemble::kUnknownTime;
  changing_.insert(communicator.context);
}

void BandwidthCounters::add(const assemble::Operation& operation,
                            const assemble::Communicator& communicator) {
  const bool timed = operation.times_from == assemble::TimesFrom::kGpu ||
                     operation.times_from == assemble::TimesFrom::kProxy;
  if (!timed || !operation.has_bytes || operation.end_ns <= operation.start_ns) {
    return;
  }
  Counters& of = counters(operation.context);
  changing_.insert(operation.context);
  of.changes.push({operation.enqueue_start_ns, static_cast<std::int64_t>(operation.bytes)});
  of.changes.push({std::max(operation.end_ns, operation.enqueue_start_ns),
                   -static_cast<std::int64_t>(operation.bytes)});
  // Operations of a communicator run one after the other. If their time stamps overlap, the counter
  // shows only the part after the end of the one before.
  const std::int64_t start_ns = std::max(operation.start_ns, of.last_busbw_end_ns);
  if (operation.kind != assemble::OperationKind::kColl || start_ns >= operation.end_ns) {
    return;
  }
  const auto nranks = static_cast<std::uint64_t>(std::max(communicator.nranks, 0));
  const double algbw_gbps = static_cast<double>(operation.bytes) *
                            static_cast<double>(assemble::size_factor(
                                operation.func, std::max<std::uint64_t>(nranks, 1))) /
                            static_cast<double>(operation.end_ns - operation.start_ns);
  const bool known = communicator.has_size;
  name_.assign(names_.operations(operation.context)).append(known ? " busbw" : " algbw");
  lines_.counter(name_, "GB/s", start_ns,
                 known ? algbw_gbps * assemble::bus_factor(operation.func, nranks) : algbw_gbps);
  lines_.counter(name_, "GB/s", operation.end_ns, 0);
  of.last_busbw_end_ns = operation.end_ns;
}

void BandwidthCounters::complete_until(std::int64_t ts_ns) {
  std::erase_if(changing_, [&](std::uint32_t context) {
    write_changes(context, ts_ns);
    return counters_[context].changes.empty();
  });
}

void BandwidthCounters::write_changes(std::uint32_t context, std::int64_t until_ns) {
  // While an operation hangs, later changes must not pile up: beyond this number they are written
  // before its own.
  constexpr std::size_t kMostChanges = 1U << 16;
  Counters& of = counters_[context];
  while (!of.changes.empty() &&
         (of.changes.top().ts_ns < until_ns || of.changes.size() > kMostChanges)) {
    const std::int64_t ts_ns = of.changes.top().ts_ns;
    of.bytes_in_flight += static_cast<std::uint64_t>(of.changes.top().bytes);
    of.changes.pop();
    if (of.changes.empty() || of.changes.top().ts_ns != ts_ns) {
      name_.assign(names_.operations(context)).append(" in flight");
      lines_.counter(name_, "bytes", ts_ns, static_cast<double>(of.bytes_in_flight));
    }
  }
  // A closed communicator keeps no memory for changes. A late change gets new memory.
  if (of.is_closed && of.changes.empty()) {
    of.changes = {};
  }
}

}  // namespace ringside::exporting
