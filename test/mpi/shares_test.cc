// SPDX-License-Identifier: Apache-2.0
#include "analyzer/mpi/shares.h"

#include "analyzer/mpi/packing.h"
#include "test/unit/catch.h"

namespace ringside::mpi {

TEST_CASE("the largest files are given out first, each to who has least") {
  const std::vector<FileToShare> files = {{10, ""}, {60, ""}, {30, ""}, {30, ""}, {5, ""}};
  CHECK(share_by_size(files, {"a", "a"}) == std::vector<int>{0, 0, 1, 1, 1});
  CHECK(share_by_size(files, {"a"}) == std::vector<int>(5));
  CHECK(share_by_size({}, {"a", "b"}).empty());
}

TEST_CASE("a host's own files stay on it") {
  const std::vector<FileToShare> files = {{9, "b"}, {8, "a"}, {7, "b"}, {6, "b"}};
  CHECK(share_by_size(files, {"a", "b", "b"}) == std::vector<int>{1, 0, 2, 2});
}

TEST_CASE("what is packed is unpacked, and a message that is too short is an error") {
  Packer packer;
  packer.number(1ULL << 63);
  packer.texts({"", "two\n"});
  packer.text("three");
  Unpacker unpacker(packer.packed());
  CHECK(unpacker.number() == 1ULL << 63);
  CHECK(unpacker.texts() == std::vector<std::string>{"", "two\n"});
  CHECK_FALSE(unpacker.is_at_end());
  CHECK(unpacker.text() == "three");
  CHECK(unpacker.is_at_end());
  CHECK_THROWS_AS(unpacker.number(), std::runtime_error);
  Unpacker cut(std::string_view(packer.packed()).substr(0, 20));
  cut.number();
  CHECK_THROWS_AS(cut.texts(), std::runtime_error);
}

TEST_CASE("files of one trace are one process's") {
  const std::vector<FileToShare> files = {{9, ""}, {9, "", true}, {9, "", true},
                                          {9, ""}, {9, "", true}, {9, ""}};
  CHECK(share_in_order(files, {"a", "a"}) == std::vector<int>{0, 0, 0, 1, 1, 1});
  CHECK(share_in_order(files, {"a", "a", "a"}) == std::vector<int>{0, 0, 0, 1, 1, 2});
}

TEST_CASE("files that follow each other are one process's") {
  const std::vector<std::string> two = {"a", "a"};
  CHECK(share_in_order({}, two).empty());
  CHECK(share_in_order({{0, ""}, {0, ""}}, two) == std::vector{0, 0});
  CHECK(share_in_order({{5, ""}, {5, ""}, {5, ""}, {5, ""}}, two) == std::vector{0, 0, 1, 1});
  CHECK(share_in_order({{1, ""}, {1, ""}, {98, ""}}, two) == std::vector{0, 0, 1});
  CHECK(share_in_order({{98, ""}, {1, ""}, {1, ""}}, two) == std::vector{0, 1, 1});
  CHECK(share_in_order({{7, ""}}, {"a", "b", "c"}) == std::vector{1});
  // Each host's files are its own processes'.
  CHECK(share_in_order({{5, "b"}, {5, "a"}, {5, "b"}, {5, "a"}}, {"a", "b", "a"}) ==
        std::vector{1, 0, 1, 2});
}

}  // namespace ringside::mpi
