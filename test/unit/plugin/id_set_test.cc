// SPDX-License-Identifier: Apache-2.0
#include "plugin/assemble/tables/id_set.h"

#include <set>

#include "test/unit/catch.h"

namespace ringside::assemble {
namespace {

TEST_CASE("a set of ids holds what was added, and nothing else") {
  for (const std::size_t count : {0U, 1U, 2U, 3U, 1000U, 4096U}) {
    IdSet set(count);
    std::set<std::uint64_t> added;
    for (std::size_t i = 0; i < count; ++i) {
      // As ids are: counting up, with a few bits at the top; some come twice.
      const std::uint64_t id = (i % 7 == 6 ? i - 1 : i) + 1 + (std::uint64_t{i % 3} << 60);
      set.insert(id);
      added.insert(id);
    }
    for (std::uint64_t id = 0; id < 2 * count + 10; ++id) {
      for (std::uint64_t top = 0; top < 4; ++top) {
        const std::uint64_t asked = id + (top << 60);
        INFO(count << " ids, " << asked);
        CHECK(set.contains(asked) == added.contains(asked));
      }
    }
  }
}

}  // namespace
}  // namespace ringside::assemble
