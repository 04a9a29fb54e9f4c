// SPDX-License-Identifier: Apache-2.0
//
// Sums over finished operations, for whoever asks while the job runs (OpenMetrics, `ringside top`).
// They are only ever added to, so that a reader can take differences; a mean is for the reader to
// make. docs/live-metrics.md says what each means. Used by the drain thread alone.
#ifndef RINGSIDE_PLUGIN_EXPORT_LIVE_METRICS_H
#define RINGSIDE_PLUGIN_EXPORT_LIVE_METRICS_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>

#include "plugin/assemble/rows.h"

namespace ringside::exporting {

/// Upper bounds of the buckets of durations; the last bucket, beyond them, has none.
inline constexpr std::array<std::int64_t, 14> kDurationBounds_ns = {
    1'000,         4'000,         16'000,         64'000,        256'000,
    1'000'000,     4'000'000,     16'000'000,     64'000'000,    256'000'000,
    1'000'000'000, 4'000'000'000, 16'000'000'000, 64'000'000'000};
/// The same of busbw, in bytes a second.
inline constexpr std::array<double, 14> kBusbwBounds_bytes_per_s = {
    0.05e9, 0.1e9, 0.25e9, 0.5e9, 1e9, 2.5e9, 5e9, 10e9, 25e9, 50e9, 100e9, 200e9, 400e9, 800e9};

/// What operations have in common that are added up.
struct MetricSums {
  std::uint64_t operations = 0;
  std::uint64_t message_bytes = 0;  ///< nccl-tests' size, of all operations whose bytes are known
  std::uint64_t timed_operations = 0;  ///< whose execution was seen (times from GPU or network)
  std::uint64_t busy_ns = 0;           ///< of these, start to end, added up
  /// Of operations whose bytes, ranks and times are known: size x nccl-tests' factor of busbw, and
  /// their part of busy_ns. Their quotient is busbw.
  double bus_bytes = 0;
  std::uint64_t bus_ns = 0;
  std::array<std::uint64_t, kDurationBounds_ns.size() + 1> durations{};
  std::array<std::uint64_t, kBusbwBounds_bytes_per_s.size() + 1> busbws{};

  void add(const MetricSums& other);
};

/// What one operation adds.
struct MetricSample {
  std::uint64_t message_bytes = 0;
  std::uint64_t busy_ns = 0;  ///< 0: its execution was not seen
  double bus_bytes = 0;       ///< 0: has no busbw

  void add_to(MetricSums& sums) const;
};

template <typename Text>
struct BasicSeriesKey {
  std::uint32_t context = 0;  ///< 0: communicators beyond kMostSeries, together
  int size_class = -1;        ///< floor(log2(message bytes)); -1: not known, or all
  Text func, algo, proto;
};
using SeriesKey = BasicSeriesKey<std::string>;

/// By value; finds by a key of views, too.
struct SeriesOrder {
  using is_transparent = void;
  template <typename A, typename B>
  bool operator()(const BasicSeriesKey<A>& a, const BasicSeriesKey<B>& b) const {
    const auto parts = [](const auto& key) {
      return std::tuple(key.context, key.size_class, std::string_view(key.func),
                        std::string_view(key.algo), std::string_view(key.proto));
    };
    return parts(a) < parts(b);
  }
};
using SeriesMap = std::map<SeriesKey, MetricSums, SeriesOrder>;

class LiveMetrics {
 public:
  /// More series than this are not kept apart: what is new is added to those of context 0, which
  /// have no size class, algorithm or protocol. No sum is lost.
  static constexpr std::size_t kMostSeries = 200;

  void add(const assemble::Operation& operation, const assemble::Communicator& communicator);

  /// The communicator is finalized. Its series are kept until their place is needed.
  void close(std::uint32_t context);

  const SeriesMap& series() const { return series_; }
  /// Of open communicators, by context.
  const std::map<std::uint32_t, MetricSums>& communicators() const { return communicators_; }

 private:
  using Key = BasicSeriesKey<std::string_view>;
  MetricSums& sums_of(const Key& key);
  MetricSums& folded(std::string_view func);
  bool fold_closed();

  SeriesMap series_;
  std::map<std::uint32_t, MetricSums> communicators_;
};

}  // namespace ringside::exporting

#endif  // RINGSIDE_PLUGIN_EXPORT_LIVE_METRICS_H
