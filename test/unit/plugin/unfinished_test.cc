// SPDX-License-Identifier: Apache-2.0
#include "plugin/assemble/tables/unfinished.h"

#include <algorithm>
#include <random>
#include <vector>

#include "test/unit/catch.h"

using ringside::assemble::Unfinished;

namespace {

std::vector<std::uint64_t> numbers(const Unfinished& of) {
  std::vector<std::uint64_t> all;
  of.for_each([&](const Unfinished::Entry& entry) { all.push_back(entry.number); });
  return all;
}

const auto kNothing = [](std::uint64_t) {};

}  // namespace

TEST_CASE("unfinished operations are looked at when they are due, in order, as in a plain list") {
  std::mt19937_64 random(20261122);
  Unfinished unfinished;
  std::vector<Unfinished::Entry> reference;
  std::uint64_t number = 0;
  for (std::int64_t now_ns = 1'000; now_ns < 60'000; now_ns += 50) {
    for (std::uint64_t i = random() % 40; i > 0; --i) {
      // As those of a journal: one comes behind greater numbers.
      number += random() % 100 == 0 && number > 500 ? -std::uint64_t{450} : 1;
      if (std::any_of(reference.begin(), reference.end(),
                      [&](const auto& entry) { return entry.number == number; })) {
        number = std::max_element(reference.begin(), reference.end(),
                                  [](auto& a, auto& b) { return a.number < b.number; })
                     ->number +
                 1;
      }
      unfinished.add(number);
      reference.push_back({number, -1});
    }
    for (std::uint64_t i = random() % 4; i > 0 && !reference.empty(); --i) {
      Unfinished::Entry& woken = reference[random() % reference.size()];
      woken.next_look_ns = std::min(woken.next_look_ns, now_ns + 100);
      unfinished.wake(woken.number, now_ns + 100);
    }
    unfinished.wake(1U << 30, 0);  // is not there
    // The fate of an operation depends on its number and the time alone; a few stay for long.
    const auto look = [&](Unfinished::Entry& entry) {
      const std::uint64_t chance = (entry.number * 0x9E3779B97F4A7C15U + random()) >> 8;
      entry.next_look_ns = now_ns + static_cast<std::int64_t>(chance % 7) * 300;
      return entry.number % 37 != 0 ? chance % 3 == 0 : chance % 300 == 0;
    };
    const std::mt19937_64 before = random;
    std::vector<std::uint64_t> looked, expected;
    unfinished.visit(now_ns, kNothing, [&](Unfinished::Entry& entry) {
      looked.push_back(entry.number);
      return look(entry);
    });
    random = before;
    std::erase_if(reference, [&](Unfinished::Entry& entry) {
      if (now_ns >= entry.next_look_ns) {
        expected.push_back(entry.number);
        if (look(entry)) {
          return true;
        }
      }
      return false;
    });
    REQUIRE(looked == expected);
    std::vector<std::uint64_t> left;
    for (const Unfinished::Entry& entry : reference) {
      left.push_back(entry.number);
    }
    REQUIRE(numbers(unfinished) == left);
  }
  CHECK(reference.size() > 100);
  unfinished.clear();
  CHECK(numbers(unfinished).empty());
}

TEST_CASE("what will be looked at is told before") {
  Unfinished unfinished;
  for (std::uint64_t number = 1; number <= 1'000; ++number) {
    unfinished.add(number);
  }
  std::vector<std::uint64_t> told, looked;
  unfinished.visit(
      0, [&](std::uint64_t soon) { told.push_back(soon); },
      [&](const Unfinished::Entry& entry) {
        looked.push_back(entry.number);
        CHECK(told.size() >= looked.size());
        return true;
      });
  CHECK(looked.size() == 1'000);
  CHECK(told == looked);
  CHECK(numbers(unfinished).empty());
}
