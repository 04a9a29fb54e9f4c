// SPDX-License-Identifier: Apache-2.0
#include "analyzer/align/host_bounds.h"

#include <array>

namespace ringside::align {

std::optional<Rule> rule_of(std::string_view function) {
  constexpr std::array<std::pair<std::string_view, Rule>, 8> kRules = {{
      {"AllReduce", {PointKind::kAllReduce, Waits::kAllForAll}},
      {"AllGather", {PointKind::kAllGather, Waits::kAllForAll}},
      {"ReduceScatter", {PointKind::kReduceScatter, Waits::kAllForAll}},
      {"AlltoAll", {PointKind::kAlltoAll, Waits::kAllForAll}},
      {"Broadcast", {PointKind::kBroadcast, Waits::kAllForRoot}},
      {"Scatter", {PointKind::kScatter, Waits::kAllForRoot}},
      {"Reduce", {PointKind::kReduce, Waits::kRootForAll}},
      {"Gather", {PointKind::kGather, Waits::kRootForAll}},
  }};
  const auto found = std::find_if(kRules.begin(), kRules.end(),
                                  [&](const auto& rule) { return rule.first == function; });
  return found == kRules.end() ? std::nullopt : std::optional(found->second);
}

Times times_of(std::int64_t since_zero_ns, const StampError& error,
               const model::Execution& operation) {
  Times times;
  if (operation.start_ns && operation.end_ns && *operation.end_ns < *operation.start_ns) {
    return times;
  }
  if (operation.enqueue_start_ns) {
    times.called_ns = host_time_ns(since_zero_ns, *operation.enqueue_start_ns);
    times.started_ns = times.called_ns;
  }
  const bool is_gpu = operation.times_from == model::TimesFrom::kGpu ||
                      operation.times_from == model::TimesFrom::kKineto;
  // The stamps that were not rejected may lack the first channel; a GPU that is polled is late by
  // nobody knows how much.
  if (operation.start_ns && !operation.gpu_polled && !operation.start_is_latest &&
      operation.gpu_rejected == 0 && (is_gpu || operation.times_from == model::TimesFrom::kProxy)) {
    times.started_ns = std::max(times.started_ns, host_time_ns(since_zero_ns, *operation.start_ns) -
                                                      static_cast<double>(error.late_ns));
    times.has_gpu_start = is_gpu;
  }
  if (operation.state == model::State::kCompleted && !operation.in_flight && operation.end_ns &&
      operation.times_from != model::TimesFrom::kEnqueue) {
    times.end_ns =
        host_time_ns(since_zero_ns, *operation.end_ns) + static_cast<double>(error.early_ns);
  }
  return times;
}

void add_point(PointKind kind, std::uint32_t series,
               std::span<const std::pair<std::uint32_t, HostBounds>> hosts, SyncPoints& made) {
  bool has_gpu = false;
  bool has_others = false;
  for (const auto& [host, bounds] : hosts) {
    has_gpu = has_gpu || bounds.has_gpu_start;
    has_others = has_others || bounds.has_other_end;
  }
  // The part of a rank that is seen at the network only may end while another's kernel has not
  // begun: the other's proxy takes the data. It has made the call by then.
  const bool uses_execution = !(has_gpu && has_others);
  const std::size_t before = made.touches.size();
  for (const auto& [host, bounds] : hosts) {
    const double start_ns = uses_execution ? bounds.started_ns : bounds.called_ns;
    if (start_ns > kNoStart || bounds.end_ns < kNoEnd) {
      made.touches.push_back({made.points, host, kind, start_ns, bounds.end_ns});
    }
  }
  if (made.touches.size() < before + 2) {
    made.touches.resize(before);
    return;
  }
  made.series.push_back(series);
  ++made.points;
}

}  // namespace ringside::align
