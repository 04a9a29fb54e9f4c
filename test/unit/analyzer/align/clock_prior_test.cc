// SPDX-License-Identifier: Apache-2.0
#include "analyzer/align/clock_prior.h"

#include <optional>

#include "test/unit/catch.h"

using namespace ringside;
using align::ClockPrior;

namespace {

constexpr std::int64_t kSecond_ns = 1'000'000'000;
constexpr std::int64_t kBase_s = 1'790'857'026;

// One host, and what its kernel says at one second of its time.
std::vector<ClockPrior> priors_of(std::optional<bool> synchronised,
                                  std::optional<std::int64_t> estimated_ns,
                                  std::optional<std::int64_t> most_ns,
                                  std::optional<std::int64_t> given_ns = std::nullopt) {
  model::Traces traces;
  model::TraceFile& file = traces.files.emplace_back();
  file.process.base_time_s = kBase_s;
  file.clocks.push_back({kSecond_ns, (kBase_s + 1) * kSecond_ns + 7'000, 900, 50, synchronised,
                         estimated_ns, most_ns});
  return find_clock_priors(traces, align::find_host_clocks(traces), kBase_s * kSecond_ns, given_ns);
}

}  // namespace

TEST_CASE("the kernel's maximum error is believed of daemons that report a real one") {
  // chrony and ntpd
  const ClockPrior chrony = priors_of(true, 20'000, 400'000)[0];
  REQUIRE(chrony.is_known());
  CHECK_FALSE(chrony.is_given());
  CHECK(chrony.at(1e9).lower_ns == 7'000 - 400'050);
  CHECK(chrony.at(1e9).upper_ns == 7'000 + 400'050);
  CHECK(chrony.at(3e9).upper_ns == 7'000 + 400'050 + 1'000'000);  // 500 ppm of two seconds
  // systemd-timesyncd: zeros, of which the maximum has grown
  CHECK_FALSE(priors_of(true, std::nullopt, 16'000'000)[0].is_known());
  CHECK_FALSE(priors_of(true, 0, 16'000'000)[0].is_known());
  // phc2sys: the estimate of the boot
  CHECK_FALSE(priors_of(true, 16 * kSecond_ns, 500'000)[0].is_known());
  CHECK_FALSE(priors_of(true, 20'000, std::nullopt)[0].is_known());
  CHECK_FALSE(priors_of(false, 20'000, 400'000)[0].is_known());
  CHECK_FALSE(priors_of(std::nullopt, 20'000, 400'000)[0].is_known());
  CHECK_FALSE(priors_of(true, 20'000, 16 * kSecond_ns)[0].is_known());
  CHECK_FALSE(priors_of(true, -1, -1)[0].is_known());
}

TEST_CASE("a given error is for hosts whose kernel says nothing usable, and holds at all times") {
  CHECK(priors_of(true, 20'000, 400'000, 50'000)[0].at(1e9).upper_ns == 7'000 + 400'050);
  const ClockPrior given = priors_of(false, 20'000, 400'000, 50'000)[0];
  CHECK(given.is_given());
  CHECK(given.at(1e9).upper_ns == 7'000 + 50'050);
  CHECK(given.at(9e9).lower_ns == 7'000 - 50'050);
}

TEST_CASE("where a clock was set, a given error allows both, and the kernel's both at once") {
  const std::vector<ClockPrior::Reading> readings = {{2e9, 9'000, 1'000}, {1e9, 3'000, 1'000}};
  const ClockPrior given(readings, true);
  CHECK(given.at(1.5e9).lower_ns == 2'000);
  CHECK(given.at(1.5e9).upper_ns == 10'000);
  CHECK(given.at(0).upper_ns == 4'000);
  CHECK(given.at(3e9).lower_ns == 8'000);
  const ClockPrior kernel(readings, false);
  CHECK(kernel.at(1.5e9).lower_ns == 9'000 - 251'000);
  CHECK(kernel.at(1.5e9).upper_ns == 3'000 + 251'000);
  // The offset of one host against another: the sum of both, about the difference of both.
  const ClockPrior other({{1e9, 100'000, 500}}, true);
  const auto between = offset_between(ClockPrior({{1e9, 3'000, 1'000}}, true), other, 1e9);
  CHECK(between.lower_ns == Approx(-97'000 - 1'500).margin(2));
  CHECK(between.upper_ns == Approx(-97'000 + 1'500).margin(2));
}
