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

}  // namespace ringside::mpi
