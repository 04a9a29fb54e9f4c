// SPDX-License-Identifier: Apache-2.0
//
// Sums over finished operations, for OpenMetrics and `ringside top` while the job runs. The sums
// never decrease, so that a reader can compute differences and means. docs/live-metrics.md defines
// each sum. Used by the drain thread alone.
#ifndef RINGSIDE_PLUGIN_EXPORT_LIVE_METRICS_H
#define RINGSIDE_PLUGIN_EXPORT_LIVE_METRICS_H

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string_view>

#include "plugin/assemble/rows.h"

namespace ringside::exporting {

/// Upper bounds of the buckets of durations. One more bucket, the last, has no bound.
inline constexpr std::array<std::int64_t, 14> kDurationBounds_ns = {
    1'000,         4'000,         16'000,         64'000,        256'000,
    1'000'000,     4'000'000,     16'000'000,     64'000'000,    256'000'000,
    1'000'000'000, 4'000'000'000, 16'000'000'000, 64'000'000'000};
inline constexpr std::array<double, 14> kBusbwBounds_bytes_per_s = {
    0.05e9, 0.1e9, 0.25e9, 0.5e9, 1e9, 2.5e9, 5e9, 10e9, 25e9, 50e9, 100e9, 200e9, 400e9, 800e9};

struct MetricSums {
  std::uint64_t operations = 0;
  std::uint64_t message_bytes = 0;     ///< sum of nccl-tests' size, where the bytes are known
  std::uint64_t timed_operations = 0;  ///< operations with times from the GPU or the network
  std::uint64_t busy_ns = 0;           ///< sum of their durations, start to end
  /// Sums over operations whose bytes, ranks and times are known: size times nccl-tests' factor of
  /// busbw, and duration. Their quotient is busbw.
  double bus_bytes = 0;
  std::uint64_t bus_ns = 0;
  /// Operations in which each rank waits for all and that start when this rank has come, and the
  /// sum of their durations: less for a rank that comes late than for those that wait for it.
  std::uint64_t joint_operations = 0;
  std::uint64_t joint_ns = 0;
  std::array<std::uint64_t, kDurationBounds_ns.size() + 1> durations{};
  std::array<std::uint64_t, kBusbwBounds_bytes_per_s.size() + 1> busbws{};

  void add(const MetricSums& other);
};

struct SeriesKey {
  std::uint32_t context = 0;           ///< 0: the sum of all series beyond kMostSeries
  int size_class = -1;                 ///< floor(log2(message bytes)); -1: not known, or all
  std::string_view func, algo, proto;  ///< the assembler's texts

  auto operator<=>(const SeriesKey&) const = default;
};
using SeriesMap = std::map<SeriesKey, MetricSums>;

class LiveMetrics {
 public:
  /// There are at most this many series. Operations that would need another are added to the series
  /// of context 0, which have no size class, algorithm or protocol. So nothing is missing in the
  /// totals.
  static constexpr std::size_t kMostSeries = 200;

  void add(const assemble::Operation& operation, const assemble::Communicator& communicator);

  /// Call this when the communicator is finalized. Its series are kept until another one needs the
  /// room.
  void close(std::uint32_t context) { communicators_.erase(context); }

  const SeriesMap& series() const { return series_; }
  const std::map<std::uint32_t, MetricSums>& communicators() const { return communicators_; }

 private:
  MetricSums& sums_of(const SeriesKey& key);
  MetricSums& folded(std::string_view func);
  bool fold_closed();

  SeriesMap series_;
  std::map<std::uint32_t, MetricSums> communicators_;
};

}  // namespace ringside::exporting

#endif  // RINGSIDE_PLUGIN_EXPORT_LIVE_METRICS_H
