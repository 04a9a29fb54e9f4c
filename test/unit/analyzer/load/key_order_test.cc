// SPDX-License-Identifier: Apache-2.0
#include "analyzer/load/json/key_order.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "test/unit/catch.h"

namespace ringside::load {
namespace {

constexpr std::array<std::string_view, 5> kKeys = {"op", "opened", "enqueue_start_ns", "eight_by",
                                                   "bytes"};

TEST_CASE("keys are found in any order, and unknown ones are not") {
  KeyOrder<5> order(kKeys);
  const std::vector<std::vector<std::string>> lines = {
      {"op", "opened", "enqueue_start_ns", "eight_by", "bytes"},
      {"bytes", "bytes", "op", "no", "eight_by", "o", "ope", "enqueue_start_n"},
      {"enqueue_start_nsx", "enqueue_start_ns", "", "opened", "openedx", "op"},
  };
  for (int round = 0; round < 3; ++round) {
    for (const auto& line : lines) {
      order.restart();
      for (const std::string& key : line) {
        const auto known = std::find(kKeys.begin(), kKeys.end(), key);
        const auto expected = static_cast<std::size_t>(known - kKeys.begin());
        const std::string text = key + "\":1, and what else is on the line";
        INFO(key);
        CHECK(order.find(std::string_view(text).substr(0, key.size())) == expected);
        const KeyPlace place = order.find_at(text.data());
        CHECK(place.index == expected);
        CHECK(place.size == (known == kKeys.end() ? 0 : key.size() + 1));
      }
    }
  }
}

}  // namespace
}  // namespace ringside::load
