// SPDX-License-Identifier: Apache-2.0
//
// Messages go into a file of the user's own, through no link, and never at the cost of the
// application.
#include "plugin/posix/log.h"

#include <array>
#include <atomic>
#include <csignal>
#include <cstdio>
#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

#include "test/unit/catch.h"
#include "test/unit/plugin/directory.h"

using namespace ringside;
using posix::Log;

namespace {

/// While it lives, `file`, which it closes, is standard error.
class StandardError {
 public:
  explicit StandardError(int file) : before_(dup(STDERR_FILENO)) {
    dup2(file, STDERR_FILENO);
    close(file);
  }
  ~StandardError() {
    dup2(before_, STDERR_FILENO);
    close(before_);
  }
  StandardError(const StandardError&) = delete;
  StandardError& operator=(const StandardError&) = delete;

 private:
  int before_;
};

/// While it lives, all output to standard error goes into a file.
class CaughtErrors {
 public:
  explicit CaughtErrors(std::string path)
      : path_(std::move(path)), errors_(open(path_.c_str(), O_RDWR | O_CREAT | O_TRUNC, 0600)) {}
  std::string text() const { return content(path_); }

 private:
  std::string path_;
  StandardError errors_;
};

/// Writes to the file, which must not wait, until it takes no more.
void fill(int file) {
  const std::array<char, 4096> block{};
  while (::write(file, block.data(), block.size()) > 0) {
  }
}

/// All that is there to be read.
std::string read_all(int file) {
  std::string text;
  std::array<char, 4096> block;
  ssize_t size = 0;
  while ((size = recv(file, block.data(), block.size(), MSG_DONTWAIT)) > 0 ||
         (errno == ENOTSOCK && (size = ::read(file, block.data(), block.size())) > 0)) {
    text.append(block.data(), static_cast<std::size_t>(size));
  }
  return text;
}

bool is_pending(int signal) {
  sigset_t pending;
  sigpending(&pending);
  return sigismember(&pending, signal) == 1;
}

bool contains(const std::string& text, const char* part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("a log is private, is appended to, and stays the file that it was") {
  const Directory directory;
  const std::string path = directory.file("log");
  { Log(path.c_str()).info("first"); }
  struct stat about {};
  REQUIRE(stat(path.c_str(), &about) == 0);
  CHECK((about.st_mode & 0777) == 0600);
  const std::string victim = directory.file("victim");
  std::ofstream(victim) << "precious";
  Log log(path.c_str());
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
      Log(path.c_str()).info("a message");
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
  Log(path.c_str()).info("a message");
  CHECK(content(path) == "theirs");
  CHECK(contains(errors.text(), "cannot be written (Operation not permitted)"));
  CHECK(contains(errors.text(), "info: a message\n"));
}

TEST_CASE("a pipe is no log, whether somebody reads it or not") {
  const Directory directory;
  const std::string path = directory.file("pipe");
  REQUIRE(mkfifo(path.c_str(), 0600) == 0);
  const CaughtErrors errors(directory.file("errors"));
  Log(path.c_str()).info("unread");
  const int reader = open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  REQUIRE(reader >= 0);
  Log log(path.c_str());
  close(reader);
  log.info("to nobody");
  CHECK(contains(errors.text(), "info: unread\n"));
  CHECK(contains(errors.text(), "info: to nobody\n"));
}

TEST_CASE("a line that standard error does not take is lost, and a later one says so") {
  for (const bool is_socket : {false, true}) {
    std::array<int, 2> ends{};
    REQUIRE((is_socket ? socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends.data())
                       : pipe2(ends.data(), O_CLOEXEC)) == 0);
    const auto [reader, writer] = ends;
    fcntl(reader, F_SETFL, O_NONBLOCK);
    fcntl(writer, F_SETFL, O_NONBLOCK);
    fill(writer);
    fcntl(writer, F_SETFL, 0);
    const StandardError errors(writer);
    Log log("stderr");
    log.info("first");
    log.warn("second");
    read_all(reader);
    log.warn("third");
    log.warn("fourth");
    const std::string said = read_all(reader);
    CHECK(contains(said, "warning: 2 lines before this one could not be written\n"));
    CHECK(contains(said, "warning: third\n"));
    CHECK(said.find("could not be written") == said.rfind("could not be written"));
    CHECK_FALSE(contains(said, "second"));
    // The application's own writing waits as before.
    CHECK((fcntl(STDERR_FILENO, F_GETFL) & O_NONBLOCK) == 0);
    close(reader);
  }
}

TEST_CASE(
    "standard error that nobody reads raises no signal, and takes none of the application's") {
  for (const bool is_sent_before : {false, true}) {
    std::array<int, 2> ends{};
    REQUIRE(pipe2(ends.data(), O_CLOEXEC) == 0);
    close(ends[0]);
    const StandardError errors(ends[1]);
    sigset_t one;
    sigset_t before;
    sigemptyset(&one);
    sigaddset(&one, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &one, &before);
    if (is_sent_before) {
      raise(SIGPIPE);
    }
    Log("stderr").info("to nobody");
    const timespec no_time{};
    CHECK(is_pending(SIGPIPE) == is_sent_before);
    sigtimedwait(&one, nullptr, &no_time);
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    Log("stderr").info("SIGPIPE would end this process");
  }
}

TEST_CASE("a line is written in one piece of a bounded size") {
  const Directory directory;
  const std::string path = directory.file("log");
  Log log(path.c_str());
  log.info(std::string(10'000, 'x'));
  const std::string text = content(path);
  CHECK(text.size() == 4096);
  CHECK(text.ends_with("xx\n"));
}
