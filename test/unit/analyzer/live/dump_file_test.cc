// SPDX-License-Identifier: Apache-2.0
#include "live/hosts/dump_file.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <sys/stat.h>
#include <unistd.h>

#include "test/unit/catch.h"

namespace ringside::live {
namespace {

// A new directory, removed at the end.
class Place {
 public:
  Place() {
    std::string name = (std::filesystem::temp_directory_path() / "ringside-XXXXXX").string();
    REQUIRE(mkdtemp(name.data()) != nullptr);
    path_ = name;
  }
  Place(const Place&) = delete;
  Place& operator=(const Place&) = delete;
  ~Place() { std::filesystem::remove_all(path_); }
  std::string operator/(const char* name) const { return path_ + '/' + name; }

 private:
  std::string path_;
};

std::string refused(const std::string& path, uid_t owner = geteuid()) {
  std::string reason;
  CHECK(open_dump(path, owner, reason) < 0);
  return reason;
}

}  // namespace

TEST_CASE("a dump is read where a process has named it") {
  const Place place;
  std::ofstream(place / "x.json") << "[{}";
  std::string reason = "before";
  CHECK(read_dump(place / "x.json", geteuid(), reason) == "[{}");
  CHECK(reason.empty());
}

TEST_CASE("what a process names as its dump is not followed to anything else") {
  const Place place;
  std::ofstream(place / "x.json") << "[{}";
  REQUIRE(mkfifo((place / "fifo").c_str(), 0600) == 0);
  std::filesystem::create_symlink(place / "x.json", place / "link");
  CHECK(refused(place / "fifo") == "it is no regular file");  // and nobody waits for a writer
  CHECK(refused(place / "link") == "it is a link");
  CHECK(refused(place / ".") == "it is no regular file");
  CHECK(refused("/dev/null") == "it is no regular file");
  CHECK(refused(place / "none") == "No such file or directory");
  CHECK(refused(place / "x.json", geteuid() + 1) == "it is another user's than the process");
  std::string reason;
  CHECK(read_dump(place / "fifo", geteuid(), reason).empty());
  CHECK(reason == "it is no regular file");
}

}  // namespace ringside::live
