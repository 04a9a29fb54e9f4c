// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/lasting_noise.h"

#include <cmath>
#include <cstdint>
#include <vector>

#include "test/unit/catch.h"

namespace ringside::metrics {
namespace {

// An autoregression of first order, of 64 blocks, that keeps so much of itself from one to the
// next.
BlockTimes noise(std::uint32_t seed, double kept, double more) {
  BlockTimes times;
  std::uint64_t random = seed * 2654435761U + 1;
  double state = 0;
  for (int i = -200; i < 64; ++i) {
    double fresh = -6;  // twelve uniform numbers are nearly normal
    for (int k = 0; k < 12; ++k) {
      random = random * 6364136223846793005U + 1442695040888963407U;
      fresh += static_cast<double>(random >> 11U) * 0x1p-53;
    }
    state = kept * state + std::sqrt(1 - kept * kept) * fresh;
    if (i >= 0) {
      times.push_back(10 + state + more);
    }
  }
  return times;
}

// Counts in how many of 200 jobs a suspect that takes so much more has a chance below a hundredth.
int found_of_200(double kept, double more, std::uint32_t others) {
  int found = 0;
  for (std::uint32_t job = 0; job < 200; ++job) {
    std::vector<BlockTimes> beside;
    for (std::uint32_t i = 0; i < others; ++i) {
      beside.push_back(noise(1000 * job + i + 1, kept, 0));
    }
    const double chance = chance_of_lasting_noise(noise(1000 * job, kept, more), beside);
    found += chance * (others + 1) < 0.01 ? 1 : 0;
  }
  return found;
}

TEST_CASE("what is slower for the whole of a job is known from noise that lasts", "[one-thread]") {
  for (const std::uint32_t others : {1U, 3U, 7U}) {
    INFO(others);
    CHECK(found_of_200(0, 3, others) >= 190);  // 3 standard deviations in each of 64 blocks
    // One of all that are alike. The sum of 64 blocks that keep 0.97 varies six times as much as
    // that of independent ones.
    CHECK(found_of_200(0, 0, others) <= 4);
    CHECK(found_of_200(0.9, 0, others) <= 4);
    CHECK(found_of_200(0.97, 0, others) <= 4);
  }
  CHECK(found_of_200(0.97, 10, 7) >= 190);
}

TEST_CASE("sums that differ by themselves tell of noise that lasts, however even the blocks are") {
  std::vector<BlockTimes> others;
  for (std::uint32_t i = 0; i < 7; ++i) {
    BlockTimes times = noise(i + 1, 0, 0);
    for (double& time : times) {
      time = time / 100 + i;
    }
    others.push_back(times);
  }
  const auto suspect = [](double more) {
    BlockTimes times = noise(99, 0, 0);
    for (double& time : times) {
      time = time / 100 + more;
    }
    return times;
  };
  CHECK(chance_of_lasting_noise(suspect(7), others) > 0.01);
  CHECK(chance_of_lasting_noise(suspect(100), others) < 0.001);
  CHECK(chance_of_lasting_noise({1, 2, 3}, {{0, 0, 0}}) == 0);  // too few blocks
  CHECK(chance_of_lasting_noise(suspect(100), {}) == 0);
}

}  // namespace
}  // namespace ringside::metrics
