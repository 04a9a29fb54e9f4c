// SPDX-License-Identifier: Apache-2.0
//
// How long a link was busy: steps of the network overlap, so their times cannot be added.
#ifndef RINGSIDE_ANALYZER_METRICS_NETWORK_TRANSFER_TIMES_H
#define RINGSIDE_ANALYZER_METRICS_NETWORK_TRANSFER_TIMES_H

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

namespace ringside::metrics {

/// One step on the common clock. A send completes when its data has left, which may only be into a
/// buffer. The data is through when the receiver has it.
struct Moved {
  std::int64_t start_ns = 0;               // the sender began to transfer
  std::int64_t sent_ns = 0;                // the send completed
  std::optional<std::int64_t> arrived_ns;  // the receiver had it; absent if no trace tells
  /// How far the clocks of both may be wrong; nothing if that is not known.
  std::optional<std::int64_t> uncertainty_ns;
  std::uint64_t bytes = 0;

  /// The moment at which it was through, as far as the traces tell.
  std::int64_t end_ns() const { return arrived_ns ? std::max(*arrived_ns, sent_ns) : sent_ns; }
};

/// The ends of a link that its time rests on.
enum class SeenBy : std::uint8_t {
  kBoth,      // the sender tells when a step began, the receiver when it had arrived
  kSender,    // the send alone: its data may only have reached a buffer
  kReceiver,  // the receive alone: it may have waited for its sender
  kProxy,     // proxy operations, which hold all waiting
};

/// Bytes, and the time in which at least one step was under way. It lies between least and most.
struct Throughput {
  SeenBy seen_by = SeenBy::kSender;
  std::uint64_t bytes = 0;
  std::int64_t least_ns = 0;
  std::int64_t likely_ns = 0;
  std::optional<std::int64_t> most_ns;  // absent where nothing bounds it

  /// 1e9 bytes a second. Nothing if bytes or times are not known, or if least and most differ by
  /// more than a factor of two. For kSender it is the most that it can be.
  std::optional<double> gb_s() const;
  std::optional<double> least_gb_s() const;
  std::optional<double> most_gb_s() const;
  /// Whether the bounds are further apart than a tenth of the figure, or one is absent.
  bool is_wide() const;
};

/// The sum, or the greatest number: counts of bytes in a file may be absurd.
inline std::uint64_t add_bytes(std::uint64_t sum, std::uint64_t bytes) {
  return sum + std::min(bytes, std::numeric_limits<std::uint64_t>::max() - sum);
}

/// The throughput of the steps of one link or pair of ranks. Both ends count if the arrival of
/// nearly all bytes is known, and so well that gb_s() is; else the sends alone.
Throughput throughput_of(const std::vector<Moved>& steps);

}  // namespace ringside::metrics

#endif  // RINGSIDE_ANALYZER_METRICS_NETWORK_TRANSFER_TIMES_H
