// SPDX-License-Identifier: Apache-2.0
#include "analyzer/metrics/percentile.h"

#include <numeric>

#include "test/unit/catch.h"

namespace ringside::metrics {
namespace {

TEST_CASE("the median is the middle, or the mean of two") {
  CHECK(median({7}) == Approx(7));
  CHECK(median({1, 2}) == Approx(1.5));
  CHECK(median({1, 2, 30}) == Approx(2));
  CHECK(median({1, 2, 4, 30}) == Approx(3));
}

TEST_CASE("a percentile is one of the values") {
  std::vector<std::int64_t> values(200);
  std::iota(values.begin(), values.end(), 1);
  CHECK(percentile(values, 99) == 198);
  CHECK(percentile(values, 100) == 200);
  CHECK(percentile(values, 1) == 2);
  CHECK(percentile({5}, 99) == 5);
  CHECK(percentile({5, 9}, 50) == 5);
  CHECK(percentile({5, 9}, 99) == 9);
}

}  // namespace
}  // namespace ringside::metrics
