// SPDX-License-Identifier: Apache-2.0
#include "analyzer/load/source/descriptor.h"

#include <filesystem>
#include <fstream>

#include "analyzer/load/source/byte_source.h"
#include "test/unit/analyzer/temporary_file.h"
#include "test/unit/catch.h"

namespace ringside::load {
namespace {

namespace fs = std::filesystem;

std::string file_at(const fs::path& path) {
  std::ofstream(path) << "text";
  return path.string();
}

int error_of(const std::string& path) {
  return Descriptor(path).error();
}

TEST_CASE("nothing outside of some directories is read, whatever leads there") {
  const TemporaryFile place("");
  const fs::path root = fs::canonical(fs::path(place.path()).parent_path()) /
                        (fs::path(place.path()).filename().string() + ".d");
  fs::create_directories(root / "in" / "deep");
  fs::create_directories(root / "in sight");
  const std::string inside = file_at(root / "in" / "deep" / "a");
  const std::string outside = file_at(root / "in sight" / "b");
  fs::create_symlink(inside, root / "in" / "link");
  fs::create_symlink(outside, root / "in" / "away");
  fs::create_symlink(root / "in sight", root / "in" / "folder");
  CHECK(error_of(outside) == 0);
  read_only_within({(root / "in").string()});
  CHECK(error_of(inside) == 0);
  CHECK(error_of((root / "in" / "link").string()) == 0);
  CHECK(error_of((root / "in" / "none").string()) == ENOENT);
  for (const std::string& path :
       {outside, (root / "in" / "away").string(), (root / "in" / "folder" / "b").string(),
        (root / "in" / ".." / "in sight" / "b").string()}) {
    CHECK(error_of(path) == EPERM);
    CHECK(first_bytes(path).empty());
  }
  CHECK(first_bytes(inside) == "text");
  read_only_within({});
  CHECK(error_of(outside) == 0);
  fs::remove_all(root);
}

}  // namespace
}  // namespace ringside::load
