// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/network/transfer_times.h"

#include <algorithm>

#include "analyzer/align/points/stamp_errors.h"
#include "analyzer/metrics/interval_sweep.h"
#include "analyzer/model/saturating.h"

namespace ringside::metrics {
namespace {

constexpr std::int64_t kLate_ns = align::kProxyError.late_ns;
// A figure that is known less well than that is not printed, or marked.
constexpr double kMostFactor = 2;
constexpr double kWideShare = 0.1;
// Both ends are used if the arrival of this share of the bytes is known.
constexpr double kMatchedShare = 0.9;

// Whether both ends of the steps count: then only steps whose arrival is known do.
bool use_both(const std::vector<Moved>& steps) {
  double all = 0;
  double matched = 0;
  for (const Moved& step : steps) {
    all += static_cast<double>(step.bytes);
    matched += step.arrived_ns ? static_cast<double>(step.bytes) : 0;
  }
  return matched > 0 && matched >= kMatchedShare * all;
}

std::optional<double> rate(std::uint64_t bytes, std::int64_t time_ns) {
  return bytes > 0 && time_ns > 0
             ? std::optional(static_cast<double>(bytes) / static_cast<double>(time_ns))
             : std::nullopt;
}

Throughput throughput_seen_by(const std::vector<Moved>& steps, bool is_both) {
  Throughput found;
  found.seen_by = is_both ? SeenBy::kBoth : SeenBy::kSender;
  std::vector<std::pair<std::int64_t, std::int64_t>> least;
  std::vector<std::pair<std::int64_t, std::int64_t>> likely;
  std::vector<std::pair<std::int64_t, std::int64_t>> most;
  bool is_known = true;
  for (const Moved& step : steps) {
    if (is_both && !step.arrived_ns) {
      continue;
    }
    found.bytes = add_bytes(found.bytes, step.bytes);
    const std::int64_t uncertainty_ns = is_both ? step.uncertainty_ns.value_or(0) : 0;
    const std::int64_t end_ns = is_both ? step.end_ns() : step.sent_ns;
    // If the clocks are not known, only the sender's times are sure.
    const std::int64_t early_ns =
        is_both && step.uncertainty_ns
            ? std::max(step.sent_ns, subtract_saturating(end_ns, uncertainty_ns))
            : step.sent_ns;
    is_known = is_known && (!is_both || step.uncertainty_ns);
    // Callbacks of the proxy thread come late, never early.
    least.emplace_back(step.start_ns, subtract_saturating(early_ns, kLate_ns));
    likely.emplace_back(step.start_ns, end_ns);
    most.emplace_back(subtract_saturating(step.start_ns, kLate_ns),
                      add_saturating(end_ns, uncertainty_ns));
  }
  found.least_ns = union_ns(least);
  found.likely_ns = union_ns(likely);
  if (is_known) {
    found.most_ns = union_ns(most);
  }
  if (found.most_ns) {
    found.most_ns = std::max(*found.most_ns, found.least_ns);
    found.likely_ns = std::min(found.likely_ns, *found.most_ns);
  }
  found.likely_ns = std::max(found.likely_ns, found.least_ns);
  return found;
}

}  // namespace

std::optional<double> Throughput::gb_s() const {
  if (seen_by == SeenBy::kReceiver) {
    return std::nullopt;
  }
  const bool is_bounded = most_ns && least_ns > 0;
  const bool is_known =
      is_bounded && static_cast<double>(*most_ns) <= kMostFactor * static_cast<double>(least_ns);
  return is_known || seen_by == SeenBy::kProxy ? rate(bytes, likely_ns) : std::nullopt;
}

std::optional<double> Throughput::least_gb_s() const {
  // If only the sender was seen, the data may have gone into a buffer, and the link may be as slow
  // as it likes.
  return most_ns && seen_by != SeenBy::kSender ? rate(bytes, *most_ns) : std::nullopt;
}

std::optional<double> Throughput::most_gb_s() const {
  return seen_by == SeenBy::kReceiver || seen_by == SeenBy::kProxy ? std::nullopt
                                                                   : rate(bytes, least_ns);
}

bool Throughput::is_wide() const {
  return seen_by != SeenBy::kBoth || !most_ns ||
         static_cast<double>(*most_ns) - static_cast<double>(least_ns) >
             kWideShare * static_cast<double>(likely_ns);
}

Throughput throughput_of(const std::vector<Moved>& steps) {
  if (use_both(steps)) {
    const Throughput found = throughput_seen_by(steps, true);
    if (found.gb_s()) {
      return found;
    }
  }
  return throughput_seen_by(steps, false);
}

}  // namespace ringside::metrics
