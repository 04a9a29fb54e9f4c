// SPDX-License-Identifier: Apache-2.0
#include "plugin/assemble/tables/id_map.h"

#include <list>
#include <map>
#include <memory>
#include <random>

#include "plugin/record/handle.h"
#include "test/unit/catch.h"

using namespace ringside;
using assemble::IdMap;

TEST_CASE("a map of ids does what std::map does, under random operations") {
  std::mt19937_64 random(20260701);
  for (const int rings : {1, 3, 40}) {
    IdMap<std::vector<std::uint64_t>> map;
    std::map<std::uint64_t, std::uint64_t> reference;
    std::list<std::uint64_t> by_age;
    std::vector<std::uint64_t> counters(static_cast<std::size_t>(rings), 0);
    for (int i = 0; i < 60'000; ++i) {
      const auto ring = static_cast<std::uint32_t>(random() % counters.size());
      // Mostly the next of its ring; now and then one that may be there, or may have been.
      const std::uint64_t counter =
          random() % 8 != 0 ? ++counters[ring] : 1 + random() % (counters[ring] + 1);
      const std::uint64_t id =
          record::make_event_id(record::EventType::kProxyStep, false, ring, counter);
      const bool grows = reference.size() < 2'000 || (i / 10'000) % 2 == 0;
      if (random() % 100 < (grows ? 60 : 40)) {
        map.insert(id, id, static_cast<std::uint64_t>(i));
        if (!reference.insert_or_assign(id, i).second) {
          by_age.remove(id);
        }
        by_age.push_back(id);
      } else {
        // Mostly the oldest, as events end.
        const std::uint64_t gone = random() % 4 != 0 && !by_age.empty() ? by_age.front() : id;
        REQUIRE(map.erase(gone) == (reference.erase(gone) != 0));
        by_age.remove(gone);
      }
      REQUIRE(map.size() == reference.size());
      const auto expected = reference.find(id);
      const auto* const found = map.find(id);
      REQUIRE((found != nullptr) == (expected != reference.end()));
      if (found != nullptr) {
        REQUIRE(*found == std::vector<std::uint64_t>{id, expected->second});
      }
    }
    auto expected = by_age.begin();
    for (auto at = map.oldest(); at; at.next()) {
      REQUIRE(expected != by_age.end());
      CHECK(at.id() == *expected++);
      CHECK(at.value()[1] == reference.at(at.id()));
    }
    CHECK(expected == by_age.end());
    map.clear();
    CHECK(map.size() == 0);
    CHECK_FALSE(map.contains(by_age.empty() ? 1 : by_age.front()));
  }
}

TEST_CASE("values of a map of ids stay where they are, and are let go when erased") {
  IdMap<std::shared_ptr<int>> map;
  const auto shared = std::make_shared<int>(5);
  const std::shared_ptr<int>* const first = &map.insert(1, shared);
  for (std::uint64_t id = 2; id < 5'000; ++id) {
    map.insert(id, shared);
  }
  CHECK(map.find(1) == first);
  CHECK(shared.use_count() == 5'000);
  for (std::uint64_t id = 1; id < 5'000; ++id) {
    map.erase(id);
  }
  CHECK(shared.use_count() == 1);
  CHECK_FALSE(map.erase(1));
  CHECK_FALSE(map.contains(0));
}
