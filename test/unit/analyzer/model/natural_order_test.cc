// SPDX-License-Identifier: Apache-2.0
#include "analyzer/model/natural_order.h"

#include <algorithm>
#include <string>
#include <vector>

#include "test/unit/catch.h"

namespace ringside::model {

TEST_CASE("names are in the order of the numbers in them") {
  // The order that `sort -V` gives, but for zeros in front, of which the shorter name is first.
  const std::vector<std::string> sorted = {
      "",        "a1",      "a01",       "a0001",      "a1b",
      "a1bbbbb", "a01c",    "host",      "host1",      "host2",
      "host02",  "host10",  "host10-b2", "host10-b10", "host18446744073709551616",
      "node1",   "node1.a", "nodf"};
  std::vector<std::string> names(sorted.rbegin(), sorted.rend());
  std::sort(names.begin(), names.end(), NaturalLess());
  CHECK(names == sorted);
  for (const std::string& a : sorted) {
    CHECK_FALSE(NaturalLess()(a, a));
    for (const std::string& b : sorted) {
      CHECK((a == b || NaturalLess()(a, b) != NaturalLess()(b, a)));
    }
  }
}

}  // namespace ringside::model
