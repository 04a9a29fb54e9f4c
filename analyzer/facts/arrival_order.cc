// SPDX-License-Identifier: Apache-2.0
#include "analyzer/facts/arrival_order.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <tuple>
#include <utility>

namespace ringside::facts {
namespace {

// Rows are large, so what they are sorted by is sorted apart from them.
struct Place {
  std::uint64_t after_ns;  // since the first arrival
  std::uint32_t member;
  std::uint32_t row;
};

// Fewer are sorted sooner by comparing them.
constexpr std::size_t kFewRows = 64;
constexpr unsigned kDigitBits = 8;

// Sorts by `after_ns` alone, digit by digit from the last one on; equal ones stay in their order.
// `other` is for its memory.
void sort_by_digits(std::vector<Place>& places, std::vector<Place>& other, std::uint64_t most_ns) {
  other.resize(places.size());
  for (unsigned shift = 0; shift < static_cast<unsigned>(std::bit_width(most_ns));
       shift += kDigitBits) {
    const auto digit = [shift](const Place& place) {
      return place.after_ns >> shift & ((1U << kDigitBits) - 1);
    };
    std::array<std::size_t, 1U << kDigitBits> next{};
    for (const Place& place : places) {
      ++next[digit(place)];
    }
    std::size_t before = 0;
    for (std::size_t& count : next) {
      before += std::exchange(count, before);
    }
    for (const Place& place : places) {
      other[next[digit(place)]++] = place;
    }
    places.swap(other);
  }
}

}  // namespace

void sort_by_arrival(std::vector<RankTimes>& rows) {
  if (rows.empty()) {
    return;
  }
  // Each thread sorts again and again, and keeps the memory for it.
  thread_local std::vector<Place> places;
  thread_local std::vector<Place> other;
  thread_local std::vector<RankTimes> sorted;
  std::int64_t first_ns = rows.front().arrival_ns;
  bool is_by_member = true;
  for (std::size_t i = 1; i < rows.size(); ++i) {
    first_ns = std::min(first_ns, rows[i].arrival_ns);
    is_by_member = is_by_member && rows[i - 1].member < rows[i].member;
  }
  places.clear();
  std::uint64_t most_ns = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    // Any two numbers differ by less than 2^64.
    const std::uint64_t after_ns =
        static_cast<std::uint64_t>(rows[i].arrival_ns) - static_cast<std::uint64_t>(first_ns);
    most_ns = std::max(most_ns, after_ns);
    places.push_back({after_ns, rows[i].member, static_cast<std::uint32_t>(i)});
  }
  if (is_by_member && rows.size() > kFewRows) {
    sort_by_digits(places, other, most_ns);
  } else {
    std::sort(places.begin(), places.end(), [](const Place& a, const Place& b) {
      return std::tie(a.after_ns, a.member, a.row) < std::tie(b.after_ns, b.member, b.row);
    });
  }
  sorted.clear();
  for (const Place& place : places) {
    sorted.push_back(rows[place.row]);
  }
  rows.swap(sorted);
}

}  // namespace ringside::facts
