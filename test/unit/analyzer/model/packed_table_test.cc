// SPDX-License-Identifier: Apache-2.0
#include "analyzer/model/packed_table.h"

#include <algorithm>
#include <array>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "test/unit/catch.h"

namespace ringside::model {
namespace {

using Table = PackedTable<std::array<std::size_t, 4>{0, 0, 1, 3}>;

constexpr std::int64_t kLeast = std::numeric_limits<std::int64_t>::min() + 1;
constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

// Numbers as they are in a trace, and any others: some blocks have only the one kind.
std::vector<Table::Row> draw_rows(std::mt19937_64& random, std::size_t count) {
  const auto pick = [&](std::int64_t least, std::int64_t most) {
    return std::uniform_int_distribution<std::int64_t>(least, most)(random);
  };
  std::vector<Table::Row> rows;
  std::int64_t time = pick(0, 1'000'000'000);
  std::int64_t kind = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (i % 64 == 0) {
      kind = pick(0, 3);
    }
    time += pick(0, 2'000'000);
    Table::Row row{time, time + pick(-9, 99'999), time + pick(100'000, 200'000), 7};
    for (std::int64_t& number : row) {
      if (kind > 0 && pick(0, 9) == 0) {
        number = Table::kAbsent;
      } else if (kind > 1 && pick(0, 9) == 0) {
        number = pick(kLeast, kMost);
      } else if (kind > 2 && pick(0, 9) == 0) {
        number = pick(0, 1) == 0 ? kLeast : kMost;
      }
    }
    rows.push_back(row);
  }
  return rows;
}

TEST_CASE("a packed table gives back any rows, also replaced ones") {
  std::mt19937_64 random(20261123);
  for (int round = 0; round < 60; ++round) {
    auto rows = draw_rows(random, random() % 700);
    Table table;
    for (const Table::Row& row : rows) {
      table.push_back(row);
    }
    const auto others = draw_rows(random, rows.empty() ? 0 : 5);
    for (std::size_t i = 0; i < 3 * others.size(); ++i) {
      const std::size_t at = random() % rows.size();
      const Table::Row row = i % 3 == 0 ? others[i / 3] : rows[random() % rows.size()];
      table.set(at, row);
      rows[at] = row;
    }
    REQUIRE(table.size() == rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      REQUIRE(table.first(i) == rows[i]);
      REQUIRE(table.first<2>(i)[1] == rows[i][1]);
      REQUIRE(table.at<3>(i) == rows[i][3]);
    }
  }
}

TEST_CASE("columns in which nothing changes take no bits, also if all of them do not") {
  constexpr std::size_t kRows = 300;
  const auto check = [](const auto& row_at) {
    Table table;
    for (std::size_t i = 0; i < kRows; ++i) {
      table.push_back(row_at(static_cast<std::int64_t>(i)));
    }
    for (std::size_t i = 0; i < kRows; ++i) {
      REQUIRE(table.first(i) == row_at(static_cast<std::int64_t>(i)));
      REQUIRE(table.at<3>(i) == row_at(static_cast<std::int64_t>(i))[3]);
    }
  };
  constexpr std::int64_t kAbsent = Table::kAbsent;
  check([](std::int64_t) { return Table::Row{5, 7, 9, -3}; });
  check([](std::int64_t) { return Table::Row{kAbsent, kAbsent, kAbsent, kAbsent}; });
  check([](std::int64_t) { return Table::Row{kMost, kAbsent, kLeast, kAbsent}; });
  check([](std::int64_t i) { return Table::Row{i, kAbsent, 4, kMost}; });
  check([](std::int64_t i) { return Table::Row{kAbsent, i, i + 2, i % 2 == 0 ? kAbsent : 1}; });
}

TEST_CASE("a packed table takes all rows of another") {
  std::mt19937_64 random(7);
  std::vector<Table::Row> rows;
  Table all;
  for (const std::size_t count : {300U, 0U, 5U, 127U, 128U, 400U}) {
    Table table;
    for (const Table::Row& row : draw_rows(random, count)) {
      table.push_back(row);
      rows.push_back(row);
    }
    all.take(std::move(table));
  }
  std::vector<Table::Row> taken;
  for (std::size_t i = 0; i < all.size(); ++i) {
    taken.push_back(all.first(i));
  }
  std::sort(rows.begin(), rows.end());
  std::sort(taken.begin(), taken.end());
  CHECK(taken == rows);
}

template <std::size_t kColumn>
void check_bounds(const Table& table, const std::vector<Table::Row>& rows, std::size_t& bounded) {
  for (std::size_t block = 0; block < table.whole_blocks(); ++block) {
    const auto bounds = table.bounds<kColumn>(block);
    for (std::size_t i = 0; bounds && i < Table::kBlockRows; ++i) {
      const std::int64_t number = rows[block * Table::kBlockRows + i][kColumn];
      if (number == Table::kAbsent) {
        CHECK(bounds->has_absent);
      } else {
        CHECK(bounds->least <= number);
        CHECK(bounds->most >= number);
      }
    }
    bounded += bounds ? 1 : 0;
  }
}

TEST_CASE("packed rows come out as they went in, also a part of them, within their bounds") {
  std::mt19937_64 random(20261127);
  std::size_t bounded = 0;
  for (int round = 0; round < 60; ++round) {
    const auto rows = draw_rows(random, random() % 1500);
    Table table;
    for (const Table::Row& row : rows) {
      table.push_back(row);
    }
    const std::size_t begin = rows.size() / 3 / Table::kBlockRows * Table::kBlockRows;
    const std::size_t end = begin + random() % (rows.size() - begin + 1);
    std::string bytes;
    table.slice(begin, end).append_packed(bytes);
    Table taken;
    REQUIRE(taken.take_packed(end - begin, bytes));
    REQUIRE(taken.size() == end - begin);
    for (std::size_t i = 0; i < taken.size(); ++i) {
      REQUIRE(taken.first(i) == rows[begin + i]);
    }
    CHECK_FALSE(Table().take_packed(end - begin + Table::kBlockRows, bytes));
    CHECK_FALSE(Table().take_packed(end - begin, bytes + '\0'));
    CHECK_FALSE(Table().take_packed(std::size_t{1} << 60U, bytes));
    check_bounds<0>(table, rows, bounded);
    check_bounds<1>(table, rows, bounded);
    check_bounds<2>(table, rows, bounded);
    check_bounds<3>(table, rows, bounded);
  }
  CHECK(bounded > 100);
}

}  // namespace
}  // namespace ringside::model
