// SPDX-License-Identifier: Apache-2.0
#include "analyzer/model/numbers_in.h"

#include "test/unit/catch.h"

namespace ringside::model {

TEST_CASE("a text's numbers are found whatever is between them") {
  using Numbers = std::vector<std::uint32_t>;
  CHECK(numbers_in("[0, 3,7]") == Numbers{0, 3, 7});
  CHECK(numbers_in("0-3 x4") == Numbers{0, 3, 4});
  CHECK(numbers_in("4294967295, 4294967296, 5") == Numbers{4294967295, 5});
  CHECK(numbers_in("none").empty());
  CHECK(numbers_in("").empty());
}

}  // namespace ringside::model
