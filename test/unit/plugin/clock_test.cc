// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstddef>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <random>
#include <string>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/timex.h>
#include <sys/wait.h>
#include <unistd.h>

#include "plugin/assemble/clocks/clock_model.h"
#include "plugin/assemble/clocks/gpu_clock.h"
#include "plugin/export/lines/chrome_trace.h"
#include "test/unit/catch.h"

using namespace ringside;
using assemble::ClockModel;
using assemble::GpuClock;

namespace {

constexpr std::uint64_t kSecond_ns = 1'000'000'000;

// A reading of a 3 GHz counter at a moment given by the monotonic clock.
record::ClockReading at(std::uint64_t monotonic_ns, std::uint64_t realtime_ns) {
  return {monotonic_ns * 3, monotonic_ns, realtime_ns, 10};
}

}  // namespace

TEST_CASE("times count from Kineto's base, early and late in its window") {
  constexpr std::uint64_t kWindow_s = 7'889'238;
  for (const std::uint64_t into_s : {std::uint64_t{1}, kWindow_s / 2, kWindow_s - 2}) {
    const std::uint64_t realtime_ns = (220 * kWindow_s + into_s) * kSecond_ns + 123;
    ClockModel clock(at(5 * kSecond_ns, realtime_ns));
    clock.add(at(6 * kSecond_ns, realtime_ns + kSecond_ns));
    CHECK(clock.base_time_s() == static_cast<std::int64_t>(220 * kWindow_s));
    CHECK(clock.ns(15 * kSecond_ns) == static_cast<std::int64_t>(into_s * kSecond_ns + 123));
    CHECK(clock.ns(15 * kSecond_ns + 3) == static_cast<std::int64_t>(into_s * kSecond_ns + 124));
  }
}

TEST_CASE("ticks are interpolated between readings, and no time steps back where stretches meet") {
  ClockModel clock(at(kSecond_ns, 100 * kSecond_ns));
  // The counter seems to slow down and speed up again by 100 ppm.
  std::uint64_t ticks = 3 * kSecond_ns;
  for (std::uint64_t i = 2; i < 10; ++i) {
    ticks += 3 * kSecond_ns + (i % 2 == 0 ? 300'000 : -300'000ULL);
    clock.add({ticks, i * kSecond_ns, 100 * kSecond_ns, 10});
  }
  std::int64_t last = 0;
  for (std::uint64_t t = 3 * kSecond_ns; t < ticks + kSecond_ns; t += 999'983) {
    const std::int64_t now = clock.ns(t);
    REQUIRE(now >= last);
    last = now;
  }
  CHECK(clock.ns(ticks) == clock.ns_of_monotonic(9 * kSecond_ns));
}

TEST_CASE("a wall clock that steps does not move the time line") {
  ClockModel clock(at(kSecond_ns, 100 * kSecond_ns));
  clock.add(at(2 * kSecond_ns, 50 * kSecond_ns));
  CHECK(clock.ns(6 * kSecond_ns) - clock.ns(3 * kSecond_ns) ==
        static_cast<std::int64_t>(kSecond_ns));
}

namespace {

constexpr std::uint64_t kMs = 1'000'000;

// A host whose counter of 3 GHz steps against its monotonic clock; readings are exact.
struct SteppingHost {
  std::uint64_t monotonic_ns = 1000 * kSecond_ns;
  std::uint64_t ticks_offset = std::uint64_t{1} << 62;
  std::uint64_t ticks() const { return monotonic_ns * 3 + ticks_offset; }
  record::ClockReading reading() const {
    return {ticks(), monotonic_ns, monotonic_ns + 1'700'000'000 * kSecond_ns, 20};
  }
  void step(std::int64_t ns) { ticks_offset += static_cast<std::uint64_t>(ns) * 3; }
};

}  // namespace

TEST_CASE("a counter that steps against CLOCK_MONOTONIC is noticed, and times go on") {
  SteppingHost host;
  ClockModel clock(host.reading());
  for (int i = 0; i < 100; ++i) {
    host.monotonic_ns += 10 * kMs;
    CHECK_FALSE(clock.add(host.reading()));
  }
  const auto time_of = [&](std::uint64_t monotonic_ns) {
    return clock.ns_of_monotonic(monotonic_ns);
  };
  const auto step_ns =
      GENERATE(std::int64_t{-2'900'000'000'000'000}, -600'000'000'000, -20'000'000, -5'000'000,
               5'000'000, 20'000'000, 600'000'000'000, 9'000'000'000'000'000);
  CAPTURE(step_ns);
  const std::int64_t after_ns = time_of(host.monotonic_ns);
  host.monotonic_ns += 4 * kMs;
  const std::uint64_t before = host.ticks();
  const std::int64_t before_ns = time_of(host.monotonic_ns);
  host.step(step_ns);
  const std::uint64_t behind = host.ticks() + 3 * kMs;
  host.monotonic_ns += 6 * kMs;
  const auto step = clock.add(host.reading());
  REQUIRE(step);
  CHECK(std::abs(step->size_ns - step_ns) <
        std::max<std::int64_t>(1000, std::abs(step_ns) / 1000000));
  CHECK(step->after_ns == after_ns);
  CHECK(step->before_ns == time_of(host.monotonic_ns));
  CHECK(clock.steps() == 1);
  // Whoever knows the side has the time to the nanosecond.
  CHECK(std::abs(clock.ns_of_steady(clock.steady(before, false)) - before_ns) < 10);
  CHECK(std::abs(clock.ns_of_steady(clock.steady(behind, true)) - before_ns - 1'000'000) < 10);
  if (std::abs(step_ns) > 10'000'000) {
    CHECK_FALSE(clock.is_behind_step(before));
    CHECK(clock.is_behind_step(behind));
  }
  for (int i = 0; i < 100; ++i) {
    host.monotonic_ns += 10 * kMs;
    CHECK_FALSE(clock.add(host.reading()));
    CHECK(clock.ns(host.ticks()) == time_of(host.monotonic_ns));
  }
  CHECK(clock.is_behind_step(host.ticks() + 3 * kMs));
  // Whoever has no more than the line of now converts ticks of now.
  const ClockModel::Line line = clock.line();
  CHECK(line.ticks[1] == host.ticks());
  CHECK(line.ns[1] == time_of(host.monotonic_ns));
  CHECK(static_cast<double>(line.ticks[1] - line.ticks[0]) / 3 ==
        Approx(static_cast<double>(line.ns[1] - line.ns[0])));
}

TEST_CASE("a counter that stepped back comes to the same ticks again") {
  SteppingHost host;
  ClockModel clock(host.reading());
  host.monotonic_ns += kSecond_ns;
  clock.add(host.reading());
  const std::uint64_t late = host.ticks() - 30'000;  // it is stored when the step is over
  host.step(-3 * static_cast<std::int64_t>(kSecond_ns));
  for (int i = 0; i < 600; ++i) {
    host.monotonic_ns += 10 * kMs;
    CHECK(clock.add(host.reading()).has_value() == (i == 0));
    if (i == 1) {
      CHECK_FALSE(clock.is_behind_step(late));
      CHECK(clock.ns(late) == clock.ns_of_monotonic(1001 * kSecond_ns - 10'000));
    }
    CHECK(clock.ns(host.ticks() - 300) == clock.ns_of_monotonic(host.monotonic_ns - 100));
  }
}

TEST_CASE("one step after the other, and a counter that goes at another rate behind one") {
  SteppingHost host;
  ClockModel clock(host.reading());
  host.monotonic_ns += kMs;
  CHECK_FALSE(clock.add(host.reading()));
  for (const std::int64_t ms : {-700, 800, -900}) {
    host.monotonic_ns += 10 * kMs;
    host.step(ms * 1'000'000);
    CHECK(clock.add(host.reading()));
    CHECK(clock.ns(host.ticks()) == clock.ns_of_monotonic(host.monotonic_ns));
    // The rate is not known yet: a line with the old one is better than none.
    CHECK(clock.line().ticks[1] - clock.line().ticks[0] == 3 * kSecond_ns);
  }
  const std::uint64_t ticks = host.ticks();
  host.monotonic_ns += 10 * kMs;
  CHECK_FALSE(clock.add({ticks + 18 * kMs, host.monotonic_ns, 1, 20}));
  CHECK(clock.ns(ticks + 9 * kMs) == clock.ns_of_monotonic(host.monotonic_ns - 5 * kMs));
  host.monotonic_ns += 10 * kMs;
  CHECK_FALSE(clock.add({ticks + 36 * kMs, host.monotonic_ns, 1, 20}));
}

TEST_CASE("slewing, a reading that took long, and a process that stood still are no steps") {
  SteppingHost host;
  ClockModel clock(host.reading());
  host.monotonic_ns += kMs;
  CHECK_FALSE(clock.add(host.reading()));
  std::mt19937_64 random(3);
  std::uniform_int_distribution<std::int64_t> slew(-80'000, 80'000);
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t elapsed_ns = i % 100 == 99 ? 3600 * kSecond_ns : 10 * kMs;
    host.monotonic_ns += elapsed_ns;
    host.step(static_cast<std::int64_t>(elapsed_ns / 1'000'000) * slew(random));
    record::ClockReading reading = host.reading();
    if (i % 10 == 5) {
      reading.ticks -= 3 * 20 * kMs;  // it was held up for 40 ms in the middle
      reading.uncertainty_ns = 20 * kMs;
    }
    CHECK_FALSE(clock.add(reading));
  }
  CHECK(clock.steps() == 0);
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
  for (std::uint64_t gpu = 0; gpu < 60 * kSecond_ns; gpu += 2'000'000) {
    clock.add(gpu, host_of(gpu) + 5'000 + static_cast<std::int64_t>(lateness(random)));
  }
  for (const std::uint64_t gpu : {10 * kSecond_ns, 30 * kSecond_ns, 59 * kSecond_ns}) {
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
  std::uint64_t gpu_ns = 100 * kSecond_ns;
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

TEST_CASE("a first kernel that took long ends before its callbacks, which came together") {
  GpuClock clock;
  constexpr std::uint64_t kStart_ns = 1'000'000'000'000;
  constexpr std::int64_t kTook_ns = 21'500'000;
  constexpr std::int64_t kCallbacks_ns = 5'000'000'000;
  clock.add(kStart_ns, kCallbacks_ns);
  clock.add(kStart_ns + kTook_ns, kCallbacks_ns + 10'000);
  CHECK(clock.fit().host_ns(kStart_ns + kTook_ns) == kCallbacks_ns + 10'000);
}

TEST_CASE("one GPU stamp that is wrong moves nothing") {
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
    gpu.clock.add(gpu.gpu_ns + 4 * kSecond_ns, gpu.host_of(gpu.gpu_ns) + 20'000 + i * 3'000);
  }
  gpu.run(1);
  CHECK(gpu.error_ns() > 0);
  CHECK(gpu.error_ns() < 60'000);
}

TEST_CASE(
    "what the kernel says of its clock is told, and it is not asked where that may be fatal") {
  const auto line_of = [](const record::RealtimeError& error) {
    exporting::TextSink text;
    exporting::ChromeTrace(text).clock(at(1, 2), 3, {}, error);
    return text.text;
  };
  const std::string plain = line_of({});
  CHECK(plain.find("_error_ns") == std::string::npos);
  CHECK(plain.find("synchronised") == std::string::npos);
  CHECK(
      line_of({true, true, 7'000, 20'000})
          .find("\"synchronised\":true,\"estimated_error_ns\":7000,\"maximum_error_ns\":20000}") !=
      std::string::npos);
  CHECK(line_of({true, false, 0, 0}).find("\"synchronised\":false}") != std::string::npos);

  timex state{};
  const int said = adjtimex(&state);
  const record::RealtimeError found = record::read_realtime_error();
  if (found.is_known) {  // else there is a filter of system calls
    CHECK(said != -1);
    CHECK(found.is_synchronised == (said != TIME_ERROR));
  }

  // A filter of system calls, as systemd makes them, in a process of its own.
  constexpr int kNoFilters = 2;
  const pid_t child = fork();
  if (child == 0) {
    std::array<sock_filter, 5> rules = {{
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_adjtimex, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clock_adjtime, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    }};
    sock_fprog program{static_cast<unsigned short>(rules.size()), rules.data()};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
      _exit(kNoFilters);  // an emulated machine has none
    }
    _exit(record::read_realtime_error().is_known ? 1 : 0);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK((WEXITSTATUS(status) == 0 || WEXITSTATUS(status) == kNoFilters));
}
