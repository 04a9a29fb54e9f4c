// SPDX-License-Identifier: Apache-2.0
//
// Messages go into a file of the user's own, through no link, and never at the cost of the
// application.
#include "plugin/session/log.h"

#include <atomic>
#include <cstdio>
#include <fcntl.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

#include "test/unit/catch.h"
#include "test/unit/plugin/directory.h"

using namespace ringside;
using control::Log;

namespace {

/// While it lives, all output to standard error goes into a file.
class CaughtErrors {
 public:
  explicit CaughtErrors(std::string path) : path_(std::move(path)), before_(dup(STDERR_FILENO)) {
    const int file = open(path_.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600);
    dup2(file, STDERR_FILENO);
    close(file);
  }
  ~CaughtErrors() {
    dup2(before_, STDERR_FILENO);
    close(before_);
  }
  CaughtErrors(const CaughtErrors&) = delete;
  CaughtErrors& operator=(const CaughtErrors&) = delete;
  std::string text() const { return content(path_); }

 private:
  std::string path_;
  int before_;
};

bool contains(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a log is private, is appended to, and stays the file that it was") {
  const Directory directory;
  const std::string path = directory.file("log");
  { Log(path).info("first"); }
  struct stat about {};
  REQUIRE(stat(path.c_str(), &about) == 0);
  CHECK((about.st_mode & 0777) == 0600);
  const std::string victim = directory.file("victim");
  std::ofstream(victim) << "precious";
  Log log(path);
  log.warn("second");
  REQUIRE(rename(path.c_str(), directory.file("moved").c_str()) == 0);
  REQUIRE(symlink(victim.c_str(), path.c_str()) == 0);
  log.info("third");
  const std::string moved = content(directory.file("moved"));
  CHECK(contains(moved, "info: first\n"));
  CHECK(contains(moved, "warning: second\n"));
  CHECK(contains(moved, "info: third\n"));
  CHECK(content(victim) == "precious");
}

TEST_CASE("a link that takes the place of the log at any moment is not followed") {
  const Directory directory;
  const std::string path = directory.file("log");
  const std::string other = directory.file("other");
  const std::string victim = directory.file("victim");
  std::ofstream(victim) << "precious";
  std::ofstream(path) << "";
  REQUIRE(symlink(victim.c_str(), other.c_str()) == 0);
  std::atomic<bool> ends = false;
  std::thread attacker([&] {
    while (!ends) {
      renameat2(AT_FDCWD, path.c_str(), AT_FDCWD, other.c_str(), RENAME_EXCHANGE);
    }
  });
  {
    const CaughtErrors errors(directory.file("errors"));
    for (int i = 0; i < 20'000; ++i) {
      Log(path).info("a message");
    }
  }
  ends = true;
  attacker.join();
  CHECK(content(victim) == "precious");
}

TEST_CASE("another user's file is no log") {
  if (geteuid() != 0) {
    return;  // only root can give one away
  }
  const Directory directory;
  const std::string path = directory.file("log");
  std::ofstream(path) << "theirs";
  constexpr uid_t kNobody = 65534;
  REQUIRE(chown(path.c_str(), kNobody, kNobody) == 0);
  const CaughtErrors errors(directory.file("errors"));
  Log(path).info("a message");
  CHECK(content(path) == "theirs");
  CHECK(contains(errors.text(), "cannot be written (Operation not permitted)"));
  CHECK(contains(errors.text(), "info: a message\n"));
}

TEST_CASE("a pipe is no log, whether somebody reads it or not") {
  const Directory directory;
  const std::string path = directory.file("pipe");
  REQUIRE(mkfifo(path.c_str(), 0600) == 0);
  const CaughtErrors errors(directory.file("errors"));
  Log(path).info("unread");
  const int reader = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  REQUIRE(reader >= 0);
  Log log(path);
  close(reader);
  log.info("to nobody");
  CHECK(contains(errors.text(), "info: unread\n"));
  CHECK(contains(errors.text(), "info: to nobody\n"));
}
