// SPDX-License-Identifier: Apache-2.0
#include <random>

#include "plugin/assemble/clock_model.h"
#include "plugin/assemble/gpu_clock.h"
#include "test/unit/catch.h"

using namespace ringside;
using assemble::ClockModel;
using assemble::GpuClock;

namespace {

constexpr std::uint64_t kSecond = 1'000'000'000;

// A reading of a 3 GHz counter at a moment given by the monotonic clock.
record::ClockReading at(std::uint64_t monotonic_ns, std::uint64_t realtime_ns) {
  return {monotonic_ns * 3, monotonic_ns, realtime_ns, 10};
}

}  // namespace

TEST_CASE("times count from Kineto's base, early and late in its window") {
  constexpr std::uint64_t kWindow_s = 7'889'238;
  for (const std::uint64_t into_s : {std::uint64_t{1}, kWindow_s / 2, kWindow_s - 2}) {
    const std::uint64_t realtime_ns = (220 * kWindow_s + into_s) * kSecond + 123;
    ClockModel clock(at(5 * kSecond, realtime_ns));
    clock.add(at(6 * kSecond, realtime_ns + kSecond));
    CHECK(clock.base_time_s() == static_cast<std::int64_t>(220 * kWindow_s));
    CHECK(clock.ns(15 * kSecond) == static_cast<std::int64_t>(into_s * kSecond + 123));
    CHECK(clock.ns(15 * kSecond + 3) == static_cast<std::int64_t>(into_s * kSecond + 124));
  }
}

TEST_CASE("ticks are interpolated between readings, and no time steps back where stretches meet") {
  ClockModel clock(at(kSecond, 100 * kSecond));
  // The counter seems to slow down and speed up again by 100 ppm.
  std::uint64_t ticks = 3 * kSecond;
  for (std::uint64_t i = 2; i < 10; ++i) {
    ticks += 3 * kSecond + (i % 2 == 0 ? 300'000 : -300'000ULL);
    clock.add({ticks, i * kSecond, 100 * kSecond, 10});
  }
  std::int64_t last = 0;
  for (std::uint64_t t = 3 * kSecond; t < ticks + kSecond; t += 999'983) {
    const std::int64_t now = clock.ns(t);
    REQUIRE(now >= last);
    last = now;
  }
  CHECK(clock.ns(ticks) == clock.ns_of_monotonic(9 * kSecond));
}

TEST_CASE("a wall clock that steps does not move the time line") {
  ClockModel clock(at(kSecond, 100 * kSecond));
  clock.add(at(2 * kSecond, 50 * kSecond));
  CHECK(clock.ns(6 * kSecond) - clock.ns(3 * kSecond) == static_cast<std::int64_t>(kSecond));
}

TEST_CASE("a GPU's clock is found under late callbacks") {
  // Offset and drift known; callbacks late by 20 us at least now and then, by up to 5 ms else.
  const double drift = GENERATE(0.0, 12e-6, -30e-6);
  constexpr std::int64_t kOffset = 777'000'000'000;
  std::mt19937_64 random(7);
  std::exponential_distribution<double> lateness(1.0 / 200'000);
  GpuClock clock;
  const auto host_of = [&](std::uint64_t gpu) {
    return static_cast<std::int64_t>(gpu) + kOffset +
           static_cast<std::int64_t>(drift * static_cast<double>(gpu));
  };
  for (std::uint64_t gpu = 0; gpu < 60 * kSecond; gpu += 2'000'000) {
    clock.add(gpu, host_of(gpu) + 5'000 + static_cast<std::int64_t>(lateness(random)));
  }
  for (const std::uint64_t gpu : {10 * kSecond, 30 * kSecond, 59 * kSecond}) {
    const std::int64_t error = clock.fit().host_ns(gpu) - host_of(gpu);
    CHECK(error > 0);
    CHECK(error < 60'000);
  }
}

TEST_CASE("with little to go by, a GPU's clock has an offset and no drift") {
  GpuClock clock;
  CHECK_FALSE(clock.known());
  clock.add(1000, 51'000);
  clock.add(2'000'000, 2'050'400);
  CHECK(clock.fit().drift == 0);
  CHECK(clock.fit().host_ns(10'000) == 60'000);
}

namespace {

// A GPU whose callbacks come every 5 ms, late by 5 us and now and then much more.
struct SampledGpu {
  GpuClock clock;
  std::mt19937_64 random{11};
  std::exponential_distribution<double> lateness{1.0 / 100'000};
  std::int64_t offset_ns = 777'000'000'000;
  std::uint64_t gpu_ns = 100 * kSecond;
  double drift = 0;

  std::int64_t host_of(std::uint64_t gpu) const {
    return static_cast<std::int64_t>(gpu) + offset_ns +
           static_cast<std::int64_t>(drift * static_cast<double>(gpu));
  }
  void run(double seconds) {
    const std::uint64_t end_ns = gpu_ns + static_cast<std::uint64_t>(seconds * 1e9);
    for (; gpu_ns < end_ns; gpu_ns += 5'000'000) {
      clock.add(gpu_ns, host_of(gpu_ns) + 5'000 + static_cast<std::int64_t>(lateness(random)));
    }
  }
  /// A stamp that is wrong by so much, of a callback that comes now.
  void stray(std::int64_t ahead_ns) {
    gpu_ns += 5'000'000;
    clock.add(gpu_ns + static_cast<std::uint64_t>(ahead_ns), host_of(gpu_ns) + 20'000);
  }
  /// The GPU's clock is set: host times go on.
  void set(std::int64_t ahead_ns) {
    gpu_ns += static_cast<std::uint64_t>(ahead_ns);
    offset_ns -= ahead_ns;
  }
  std::int64_t error_ns() { return clock.fit().host_ns(gpu_ns) - host_of(gpu_ns); }
};

}  // namespace

TEST_CASE("one GPU stamp that is wrong moves nothing, and is counted if it lies ahead") {
  SampledGpu gpu;
  gpu.drift = GENERATE(0.0, 25e-6);
  const auto ahead_ns = GENERATE(std::int64_t{4'294'967'296}, 400'000'000'000, 30'000'000,
                                 -4'294'967'296, -400'000'000'000);
  const double before_s = GENERATE(0.0, 0.02, 30.0);
  gpu.run(before_s);
  gpu.stray(ahead_ns);
  gpu.run(0.05);
  CHECK(std::abs(gpu.error_ns()) < 1'100'000);  // 30 s of drift are corrected, 0.1 s need not be
  gpu.run(30);
  CHECK(gpu.error_ns() > 0);
  CHECK(gpu.error_ns() < 60'000);
  if (before_s > 0) {
    CHECK(gpu.clock.fit().unconfirmed == (ahead_ns > 0 ? 1 : 0));
  }
}

TEST_CASE("a GPU's clock that was set forward is followed at once, one that was set back soon") {
  SampledGpu gpu;
  gpu.drift = GENERATE(0.0, -25e-6);
  const auto ahead_ns =
      GENERATE(std::int64_t{2'000'000'000}, 4'294'967'296, -2'000'000'000, -400'000'000'000);
  gpu.run(40);
  gpu.set(ahead_ns);
  gpu.run(ahead_ns > 0 ? 1 : 15);
  CHECK(std::abs(gpu.error_ns()) < 500'000);
  gpu.run(40);
  CHECK(gpu.error_ns() > 0);
  CHECK(gpu.error_ns() < 60'000);
}

TEST_CASE("a stamp that several operations bring does not confirm itself") {
  SampledGpu gpu;
  gpu.run(10);
  for (int i = 0; i < 8; ++i) {
    gpu.clock.add(gpu.gpu_ns + 4 * kSecond, gpu.host_of(gpu.gpu_ns) + 20'000 + i * 3'000);
  }
  gpu.run(1);
  CHECK(gpu.error_ns() > 0);
  CHECK(gpu.error_ns() < 60'000);
}
