// SPDX-License-Identifier: Apache-2.0
#include "plugin/assemble/clocks/gpu_clocks.h"

#include <algorithm>
#include <cstdlib>

namespace ringside::assemble {
namespace {

// The most by which a stamp may seem to follow its callback: the fit tends to make times too late.
constexpr std::int64_t kStampTolerance_ns = 1'000'000;

constexpr std::int64_t kWorthALine_ns = 1000;

}  // namespace

GpuClock& GpuClocks::clock(std::uint32_t context) {
  if (context >= clock_of_.size()) {
    clock_of_.resize(context + std::size_t{1});
  }
  GpuClock*& clock = clock_of_[context];
  if (clock == nullptr) {
    const std::string& gpu_uuid = communicators_.of(context).gpu_uuid;
    clock = &clocks_[gpu_uuid.empty() ? std::to_string(context) : gpu_uuid];
  }
  return *clock;
}

// Stamps are known to be wrong in two cases: another operation has overwritten a slot of NCCL's
// ring of 64, or NCCL's counters on host and device are out of step.
void GpuClocks::place(KernelRow& row, std::int64_t earliest_ns) {
  row.start_ns = row.callback_start_ns;
  row.end_ns = row.callback_stop_ns;
  if (row.gpu_start == 0) {
    return;  // version 3 of the interface has no stamps
  }
  if (row.gpu_stop == 0) {
    row.rejected = "no stop stamp";
    return;
  }
  if (row.gpu_stop < row.gpu_start) {
    row.rejected = "stop before start";
    return;
  }
  const GpuClockFit& fit = clock(row.context).fit();
  const std::int64_t start_ns = fit.host_ns(row.gpu_start);
  const std::int64_t end_ns = fit.host_ns(row.gpu_stop);
  if (earliest_ns != kUnknownTime && start_ns < earliest_ns - fit.early_error_ns(row.gpu_start)) {
    row.rejected = "start before the launch";
    return;
  }
  if (end_ns > row.callback_stop_ns + kStampTolerance_ns) {
    row.rejected = "stop after its callback";
    return;
  }
  row.start_ns = std::max<std::int64_t>(start_ns, 0);
  row.end_ns = std::max(end_ns, row.start_ns);
  GpuClockFit& last = last_fits_[row.context];
  if (last.samples == 0 || std::abs(last.host_ns(row.gpu_stop) - end_ns) > kWorthALine_ns) {
    changed_.push_back({row.context, fit});
    last = fit;
  }
}

}  // namespace ringside::assemble
