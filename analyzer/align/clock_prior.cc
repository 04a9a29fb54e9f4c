// SPDX-License-Identifier: Apache-2.0
#include "analyzer/align/clock_prior.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace ringside::align {
namespace {

// So fast may a disciplined clock go away from the true time (MAXFREQ of the kernel).
constexpr double kMostAway = 500e-6;
// The kernel takes a clock with such an error for one that is not synchronised (NTP_PHASE_LIMIT).
constexpr std::int64_t kUnsynchronised_ns = 16'000'000'000;

std::optional<std::int64_t> usable_error_ns(const model::ClockReading& reading) {
  const std::int64_t estimated_ns = reading.estimated_error_ns.value_or(0);
  const std::int64_t most_ns = reading.maximum_error_ns.value_or(0);
  const bool is_usable = reading.is_synchronised.value_or(false) && estimated_ns > 0 &&
                         estimated_ns <= most_ns && most_ns < kUnsynchronised_ns;
  return is_usable ? std::optional(most_ns) : std::nullopt;
}

// The clocks are damaged where they are beyond that.
std::int64_t sane(std::int64_t time_ns) {
  constexpr std::int64_t kMost_ns = std::int64_t{1} << 61;
  return std::clamp(time_ns, -kMost_ns, kMost_ns);
}

ClockPrior::Reading placed(const model::ClockReading& reading, std::int64_t since_epoch_ns,
                           std::int64_t zero_ns, std::int64_t error_ns) {
  const std::int64_t own_ns = since_epoch_ns + sane(reading.ts_ns);
  const auto uncertainty_ns =
      static_cast<double>(std::max<std::int64_t>(reading.uncertainty_ns, 0));
  return {static_cast<double>(own_ns - zero_ns),
          static_cast<double>(sane(reading.realtime_ns) - own_ns),
          static_cast<double>(error_ns) + uncertainty_ns};
}

}  // namespace

ClockPrior::ClockPrior(std::vector<Reading> readings, bool is_given)
    : readings_(std::move(readings)), is_given_(is_given) {
  std::sort(readings_.begin(), readings_.end(),
            [](const Reading& a, const Reading& b) { return a.time_ns < b.time_ns; });
}

ClockPrior ClockPrior::within(double begin_ns, double end_ns) const {
  ClockPrior part = *this;
  std::erase_if(part.readings_, [&](const Reading& reading) {
    return reading.time_ns < begin_ns || reading.time_ns > end_ns;
  });
  return part;
}

// Between two readings CLOCK_REALTIME may have been set. A given error then holds of one side only,
// so both are allowed. The kernel's holds at each reading, and true time does not step, so both
// have to be fulfilled.
ClockPrior::Bounds ClockPrior::at(double time_ns) const {
  const auto bounds_of = [&](const Reading& reading) {
    const double passed_ns = std::abs(time_ns - reading.time_ns);
    const double error_ns = reading.error_ns + (is_given_ ? 0 : kMostAway * passed_ns);
    return Bounds{reading.ahead_ns - error_ns, reading.ahead_ns + error_ns};
  };
  const auto after =
      std::lower_bound(readings_.begin(), readings_.end(), time_ns,
                       [](const Reading& reading, double ns) { return reading.time_ns < ns; });
  if (after == readings_.begin() || after == readings_.end()) {
    return bounds_of(after == readings_.end() ? readings_.back() : *after);
  }
  const Bounds one = bounds_of(*(after - 1));
  const Bounds other = bounds_of(*after);
  return is_given_ ? Bounds{std::min(one.lower_ns, other.lower_ns),
                            std::max(one.upper_ns, other.upper_ns)}
                   : Bounds{std::max(one.lower_ns, other.lower_ns),
                            std::min(one.upper_ns, other.upper_ns)};
}

std::vector<ClockPrior> find_clock_priors(const model::Traces& traces, const HostClocks& clocks,
                                          std::int64_t zero_ns,
                                          std::optional<std::int64_t> given_error_ns) {
  std::vector<std::vector<ClockPrior::Reading>> of_kernel(clocks.hosts.size());
  std::vector<std::vector<ClockPrior::Reading>> given(clocks.hosts.size());
  for (std::size_t file = 0; file < traces.files.size(); ++file) {
    const std::uint32_t host = clocks.host_of_file[file];
    for (const model::ClockReading& reading : traces.files[file].clocks) {
      const auto error_ns = usable_error_ns(reading);
      if (error_ns || given_error_ns) {
        (error_ns ? of_kernel : given)[host].push_back(
            placed(reading, clocks.since_epoch_ns[file], zero_ns, error_ns.value_or(0)));
      }
    }
  }
  std::vector<ClockPrior> priors;
  for (std::size_t host = 0; host < clocks.hosts.size(); ++host) {
    const bool is_given = of_kernel[host].empty();
    for (ClockPrior::Reading& reading : given[host]) {
      reading.error_ns += static_cast<double>(given_error_ns.value_or(0));
    }
    priors.emplace_back(std::move(is_given ? given[host] : of_kernel[host]), is_given);
  }
  return priors;
}

ClockPrior::Bounds offset_between(const ClockPrior& host, const ClockPrior& reference,
                                  double time_ns) {
  const auto middle_ns = [](const ClockPrior::Bounds& bounds) {
    return (bounds.lower_ns + bounds.upper_ns) / 2;
  };
  const ClockPrior::Bounds here = host.at(time_ns);
  const double about_ns = time_ns + middle_ns(here);
  const ClockPrior::Bounds there = reference.at(about_ns - middle_ns(reference.at(about_ns)));
  // The reference's time at that moment is not known better than to the width of both.
  const double width_ns = here.upper_ns - here.lower_ns + there.upper_ns - there.lower_ns;
  const double moved_ns = kMostAway * std::max(width_ns, 0.0);
  return {here.lower_ns - there.upper_ns - moved_ns, here.upper_ns - there.lower_ns + moved_ns};
}

void bound_by_priors(const ClockPrior& host, const ClockPrior& reference, HostPath& path) {
  if (!host.is_known() || !reference.is_known()) {
    return;
  }
  for (std::size_t i = 0; i < path.time_ns.size(); ++i) {
    const ClockPrior::Bounds bounds = offset_between(host, reference, path.time_ns[i]);
    path.lower_ns[i] = std::max(path.lower_ns[i], bounds.lower_ns);
    path.upper_ns[i] = std::min(path.upper_ns[i], bounds.upper_ns);
  }
}

}  // namespace ringside::align
