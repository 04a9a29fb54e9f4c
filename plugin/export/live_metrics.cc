// SPDX-License-Identifier: Apache-2.0
#include "plugin/export/live_metrics.h"

#include <algorithm>
#include <bit>
#include <functional>
#include <limits>

#include "plugin/assemble/message_bytes.h"

namespace ringside::exporting {
namespace {

using assemble::Communicator;
using assemble::Operation;
using assemble::TimesFrom;

template <typename Bounds, typename Value>
std::size_t bucket_of(const Bounds& bounds, Value value) {
  return static_cast<std::size_t>(std::lower_bound(bounds.begin(), bounds.end(), value) -
                                  bounds.begin());
}

// True if the times are those of the execution, not of an enqueue or of a wait in the proxy's
// queue.
bool is_timed(const Operation& operation) {
  return (operation.times_from == TimesFrom::kGpu || operation.times_from == TimesFrom::kProxy) &&
         operation.start_ns != assemble::kUnknownTime && operation.end_ns > operation.start_ns;
}

// Returns nccl-tests' size; 0 if it is not known.
std::uint64_t message_bytes(const Operation& operation, const Communicator& communicator) {
  const std::uint64_t factor = assemble::size_factor(operation.func, 2) == 1 ? 1
                               : communicator.has_size && communicator.nranks > 0
                                   ? static_cast<std::uint64_t>(communicator.nranks)
                                   : 0;
  const bool fits =
      factor == 0 || operation.bytes <= std::numeric_limits<std::uint64_t>::max() / factor;
  return operation.has_bytes && fits ? operation.bytes * factor : 0;
}

// Sends and receives have no factor of busbw. In a communicator of one rank, nothing crosses a bus.
bool has_busbw(const Operation& operation, const Communicator& communicator) {
  return operation.kind == assemble::OperationKind::kP2p ||
         (communicator.has_size && communicator.nranks > 1);
}

// The sums of one operation.
MetricSums sums_of_one(const Operation& operation, const Communicator& communicator) {
  MetricSums sums;
  sums.operations = 1;
  sums.message_bytes = message_bytes(operation, communicator);
  if (!is_timed(operation)) {
    return sums;
  }
  sums.timed_operations = 1;
  sums.busy_ns = static_cast<std::uint64_t>(operation.end_ns - operation.start_ns);
  if (!operation.start_is_latest && assemble::waits_for_all(operation.func)) {
    sums.joint_operations = 1;
    sums.joint_ns = sums.busy_ns;
  }
  const auto busy_ns = static_cast<std::int64_t>(sums.busy_ns);
  sums.durations[bucket_of(kDurationBounds_ns, busy_ns)] = 1;
  if (has_busbw(operation, communicator) && sums.message_bytes != 0) {
    constexpr double kSecond_ns = 1e9;
    const double factor =
        operation.kind == assemble::OperationKind::kP2p
            ? 1.0
            : assemble::bus_factor(operation.func, static_cast<std::uint64_t>(communicator.nranks));
    sums.bus_bytes = static_cast<double>(sums.message_bytes) * factor;
    sums.bus_ns = sums.busy_ns;
    sums.busbws[bucket_of(kBusbwBounds_bytes_per_s,
                          sums.bus_bytes / static_cast<double>(busy_ns) * kSecond_ns)] = 1;
  }
  return sums;
}

}  // namespace

void MetricSums::add(const MetricSums& other) {
  operations += other.operations;
  message_bytes += other.message_bytes;
  timed_operations += other.timed_operations;
  busy_ns += other.busy_ns;
  bus_bytes += other.bus_bytes;
  bus_ns += other.bus_ns;
  joint_operations += other.joint_operations;
  joint_ns += other.joint_ns;
  std::ranges::transform(durations, other.durations, durations.begin(), std::plus());
  std::ranges::transform(busbws, other.busbws, busbws.begin(), std::plus());
}

void LiveMetrics::add(const Operation& operation, const Communicator& communicator) {
  const MetricSums sample = sums_of_one(operation, communicator);
  const int size_class =
      sample.message_bytes != 0 ? static_cast<int>(std::bit_width(sample.message_bytes)) - 1 : -1;
  sums_of({communicator.context, size_class, operation.func, operation.algo, operation.proto})
      .add(sample);
  if (communicator.context != 0 && communicator.finalized_ns == assemble::kUnknownTime) {
    communicators_[communicator.context].add(sample);
  }
}

MetricSums& LiveMetrics::sums_of(const SeriesKey& key) {
  if (!series_.contains(key) && series_.size() >= kMostSeries && !fold_closed()) {
    return folded(key.func);
  }
  return series_[key];
}

MetricSums& LiveMetrics::folded(std::string_view func) {
  return series_[{0, -1, func, {}, {}}];
}

bool LiveMetrics::fold_closed() {
  bool any = false;
  for (auto at = series_.begin(); at != series_.end();) {
    if (at->first.context == 0 || communicators_.contains(at->first.context)) {
      ++at;
      continue;
    }
    folded(at->first.func).add(at->second);
    at = series_.erase(at);
    any = true;
  }
  return any;
}

}  // namespace ringside::exporting
