// SPDX-License-Identifier: Apache-2.0
//
// Jobs with known clocks: the true offset must always be within what is said of it.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include <catch2/catch.hpp>

#include "analyzer/align/alignment.h"

using namespace ringside;

namespace {

struct Clock {
  double offset_ns = 0;
  double drift = 0;
  double swing_ns = 0;  // a slow sine on top
  double period_ns = 1e10;

  double own(double true_ns) const {
    return true_ns + offset_ns + drift * true_ns +
           swing_ns * std::sin(true_ns / period_ns * 2 * std::acos(-1.0));
  }
};

struct Job {
  int hosts = 3;
  int ranks_per_host = 2;
  int operations = 400;
  double pause_ns = 2e6;
  std::uint32_t straggler = 1000;  // a rank that is always last
  bool gpu = true;
  double gpu_late_ns = 0;  // of the GPU's stamps, the same for all
  std::string nccl = "2.29.7";
  bool with_steps = false;
};

struct Made {
  model::Traces traces;
  std::vector<Clock> clocks;  // by host
  double true_end_ns = 0;
};

constexpr std::int64_t kBegin_ns = 5'000'000'000;

Made make(const Job& job, unsigned seed) {
  std::mt19937_64 random(seed);
  const auto uniform = [&](double least, double most) {
    return std::uniform_real_distribution<double>(least, most)(random);
  };
  Made made;
  for (int h = 0; h < job.hosts; ++h) {
    made.clocks.push_back({uniform(-2e9, 2e9), uniform(-50e-6, 50e-6), uniform(0, 5e3), 1e10});
  }
  const int ranks = job.hosts * job.ranks_per_host;
  for (int r = 0; r < ranks; ++r) {
    model::TraceFile& file = made.traces.files.emplace_back();
    file.process.host = "node" + std::to_string(r / job.ranks_per_host);
    file.process.boot_id = "boot" + std::to_string(r / job.ranks_per_host);
    file.process.nccl_version = job.nccl;
    file.process.abi = 6;
    file.process.base_time_s = 1'790'857'026;
    model::Context& context = file.contexts[1];
    context.comm = "0x1";
    context.rank = static_cast<std::uint32_t>(r);
    context.nranks = static_cast<std::uint32_t>(ranks);
    context.created_ns = 1;
    file.windows[1] = {0, std::nullopt};
  }
  double now_ns = 0;
  for (int i = 0; i < job.operations; ++i) {
    now_ns += uniform(0.5, 1.5) * job.pause_ns;
    std::vector<double> starts;
    for (int r = 0; r < ranks; ++r) {
      const bool is_late = static_cast<std::uint32_t>(r) == job.straggler;
      starts.push_back(now_ns + uniform(0, 3e5) + (is_late ? 1e6 : 0));
    }
    const double last_ns = *std::max_element(starts.begin(), starts.end());
    for (int r = 0; r < ranks; ++r) {
      const Clock& clock = made.clocks[static_cast<std::size_t>(r / job.ranks_per_host)];
      const auto stamp = [&](double true_ns) {
        return kBegin_ns + static_cast<std::int64_t>(clock.own(true_ns));
      };
      model::Operation operation;
      operation.id = static_cast<std::uint64_t>(i) + 1;
      operation.context = 1;
      operation.func = made.traces.names.id(i % 3 == 0 ? "AllGather" : "AllReduce");
      operation.seq = static_cast<std::uint64_t>(i % 3 == 0 ? i / 3 : i - i / 3 - 1);
      operation.bytes = 1 << 20;
      operation.state = model::State::kCompleted;
      operation.times_from = job.gpu ? model::TimesFrom::kGpu : model::TimesFrom::kProxy;
      const double start_ns = starts[static_cast<std::size_t>(r)];
      operation.enqueue_start_ns = stamp(start_ns - uniform(5e3, 2e4));
      operation.start_ns = stamp(start_ns + job.gpu_late_ns);
      operation.end_ns = stamp(last_ns + uniform(5e4, 8e4) + job.gpu_late_ns);
      made.traces.files[static_cast<std::size_t>(r)].operations.push_back(operation);
    }
    now_ns = last_ns + 8e4;
  }
  made.true_end_ns = now_ns;
  return made;
}

// The greatest error of a difference between two hosts, over what is said to be its bound.
double worst(const Made& made, const align::Alignment& alignment, int ranks_per_host) {
  double most = 0;
  for (double true_ns = 0; true_ns < made.true_end_ns; true_ns += made.true_end_ns / 50) {
    for (std::uint32_t a = 0; a < made.clocks.size(); ++a) {
      for (std::uint32_t b = 0; b < a; ++b) {
        const auto file = [&](std::uint32_t host) {
          return host * static_cast<std::uint32_t>(ranks_per_host);
        };
        const auto common = [&](std::uint32_t host) {
          return alignment.to_common_ns(
              file(host), kBegin_ns + static_cast<std::int64_t>(made.clocks[host].own(true_ns)));
        };
        const auto bound_ns = alignment.uncertainty_ns(file(a), file(b), common(a));
        REQUIRE(bound_ns);
        const auto error_ns = static_cast<double>(std::abs(common(a) - common(b)));
        most = std::max(most, error_ns / static_cast<double>(*bound_ns));
      }
    }
  }
  return most;
}

}  // namespace

TEST_CASE("the true offset is within the uncertainty, whatever the clocks do") {
  for (unsigned seed = 1; seed <= 40; ++seed) {
    Job job;
    job.hosts = 2 + static_cast<int>(seed % 4);
    job.gpu = seed % 2 == 0;
    job.gpu_late_ns = seed % 3 == 0 ? 8e3 : 0;
    job.straggler = seed % 5 == 0 ? 1 : 1000;
    job.pause_ns = seed % 7 == 0 ? 5e7 : 2e6;
    const Made made = make(job, seed);
    const auto alignment = align::Alignment::estimate(made.traces);
    INFO("seed " << seed);
    CHECK(alignment.is_aligned());
    CHECK(worst(made, alignment, job.ranks_per_host) <= 1.0);
    for (std::size_t h = 0; h < made.clocks.size(); ++h) {
      CHECK(alignment.hosts()[h].is_bounded);
      // Without a straggler each host is last now and then, so the bounds are near.
      if (job.straggler == 1000) {
        CHECK(alignment.hosts()[h].uncertainty_ns < 150'000);
      }
    }
  }
}

TEST_CASE("ranks of one host share a clock, exactly") {
  Job job;
  job.hosts = 1;
  job.ranks_per_host = 4;
  Made made = make(job, 7);
  // Another process of the host has another constant between its times and the monotonic clock.
  made.traces.files[0].clocks.push_back({1000, 0, 500, 10});
  made.traces.files[1].clocks.push_back({9000, 0, 2500, 10});
  const auto alignment = align::Alignment::estimate(made.traces);
  CHECK(alignment.hosts().size() == 1);
  CHECK(alignment.uncertainty_ns(0, 3, 0) == 0);
  CHECK(alignment.to_common_ns(0, 1000 + 2000) == alignment.to_common_ns(1, 9000));
}

TEST_CASE("what contradicts itself aligns nothing, and says so") {
  Made made = make(Job{}, 3);
  model::Operations& operations = made.traces.files[0].operations;
  for (std::size_t i = 0; i < operations.size(); ++i) {
    model::Operation operation = operations[i];
    const bool first_half = operation.id <= 200;
    // This host's clock jumps by a second in the middle.
    for (auto* time : {&operation.enqueue_start_ns, &operation.start_ns, &operation.end_ns}) {
      *time = **time + (first_half ? 0 : 1'000'000'000);
    }
    operations.set(i, operation);
  }
  const auto alignment = align::Alignment::estimate(made.traces);
  REQUIRE(alignment.notes().size() == 1);
  CHECK_FALSE(alignment.uncertainty_ns(0, 2, 0));
}

TEST_CASE("numbers that NCCL does not keep are not believed") {
  Job job;
  job.nccl = "2.25.1";
  Made made = make(job, 5);
  made.traces.files[0].windows[2] = {9, std::nullopt};
  for (std::size_t i = 1; i < made.traces.files.size(); ++i) {
    made.traces.files[i].windows[1].start_ns = 77;
  }
  const auto alignment = align::Alignment::estimate(made.traces);
  CHECK(alignment.points() == 0);
  CHECK(alignment.untrusted() > 0);
  CHECK_FALSE(alignment.hosts()[1].is_bounded);
}

TEST_CASE("times count from the epoch") {
  Made made = make(Job{}, 3);
  made.traces.files[0].process.base_time_s += 1000;
  const auto alignment = align::Alignment::none(made.traces);
  CHECK(alignment.to_common_ns(1, 42) == 1'790'857'026'000'000'042);
  CHECK(alignment.to_common_ns(0, 42) == 1'790'858'026'000'000'042);
}
