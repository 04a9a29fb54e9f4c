// SPDX-License-Identifier: Apache-2.0
//
// The error of a host's CLOCK_REALTIME without any operation: how far it is from the true time at
// most. Two hosts that both have such a prior bound each other by the sum of both.
//
// The kernel's maximum error is such a bound only where a daemon reports its real error. It is then
// NTP's root distance (RFC 5905, 11.2), and the kernel lets it grow by 500 ppm until it is told
// again (kernel/time/ntp.c). chrony and ntpd write the estimated error and the maximum error
// together. systemd-timesyncd writes zeros for both. phc2sys and openntpd write a maximum of 0 and
// leave the estimate at the 16 seconds of the boot. So a reading counts if the clock is
// synchronised, both values are known, the estimate is no greater than the maximum, and the maximum
// is below 16 seconds. The estimate itself is never a bound.
#ifndef RINGSIDE_ANALYZER_ALIGN_CLOCK_PRIOR_H
#define RINGSIDE_ANALYZER_ALIGN_CLOCK_PRIOR_H

#include <cstdint>
#include <optional>
#include <vector>

#include "analyzer/align/host_clocks.h"
#include "analyzer/align/host_path.h"
#include "analyzer/model/trace.h"

namespace ringside::align {

class ClockPrior {
 public:
  struct Bounds {
    double lower_ns = 0;
    double upper_ns = 0;
  };
  struct Reading {
    double time_ns = 0;   // by the host's own clock
    double ahead_ns = 0;  // of CLOCK_REALTIME, against that
    double error_ns = 0;  // of CLOCK_REALTIME at most
  };

  ClockPrior() = default;
  /// `is_given`: by --clock-error. Such an error holds at all times, the kernel's at its readings.
  ClockPrior(std::vector<Reading> readings, bool is_given);

  bool is_known() const { return !readings_.empty(); }
  bool is_given() const { return is_given_; }
  /// Returns what is known by its readings within these times alone.
  ClockPrior within(double begin_ns, double end_ns) const;
  /// Bounds of what has to be added to the host's time for the true time; the prior must be known.
  Bounds at(double time_ns) const;

 private:
  std::vector<Reading> readings_;
  bool is_given_ = false;
};

/// By host, nothing known where there is none. Times are since `zero_ns`. `given_error_ns` is for
/// the hosts whose kernel says nothing usable.
std::vector<ClockPrior> find_clock_priors(const model::Traces& traces, const HostClocks& clocks,
                                          std::int64_t zero_ns,
                                          std::optional<std::int64_t> given_error_ns);

/// Bounds by both priors of the offset of the host against the reference, at a time of the host.
ClockPrior::Bounds offset_between(const ClockPrior& host, const ClockPrior& reference,
                                  double time_ns);

/// Narrows the path's bounds at its moments to that, if both are known.
void bound_by_priors(const ClockPrior& host, const ClockPrior& reference, HostPath& path);

}  // namespace ringside::align

#endif  // RINGSIDE_ANALYZER_ALIGN_CLOCK_PRIOR_H
