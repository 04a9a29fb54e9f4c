// SPDX-License-Identifier: Apache-2.0
#include "plugin/export/trace_file.h"

#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <fstream>
#include <malloc.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "plugin/export/lines/chrome_trace.h"
#include "test/unit/catch.h"
#include "test/unit/plugin/directory.h"

using namespace ringside;
using exporting::TraceFile;

TEST_CASE("a trace is private, and never overwrites or follows a link") {
  const Directory directory;
  TraceFile file;
  REQUIRE(file.create(directory.file("a")).is_ok());
  struct stat found {};
  REQUIRE(stat(directory.file("a").c_str(), &found) == 0);
  CHECK((found.st_mode & 0777) == 0600);

  TraceFile again;
  CHECK(again.create(directory.file("a")).error() == EEXIST);
  REQUIRE(symlink(directory.file("target").c_str(), directory.file("link").c_str()) == 0);
  CHECK_FALSE(again.create(directory.file("link")).is_ok());
  CHECK(access(directory.file("target").c_str(), F_OK) != 0);
}

TEST_CASE("missing directories are made, files in their place are not taken") {
  const Directory directory;
  CHECK(exporting::make_directories(directory.file("a/b/c")).is_ok());
  CHECK(exporting::make_directories(directory.file("a/b/c")).is_ok());
  std::ofstream(directory.file("plain")) << "x";
  CHECK_FALSE(exporting::make_directories(directory.file("plain")).is_ok());
  CHECK_FALSE(exporting::make_directories(directory.file("plain/below")).is_ok());
}

TEST_CASE("what cannot be written is counted, and the file keeps whole lines only") {
  // As on the drain thread: the signal is blocked, the limit an error of write.
  sigset_t blocked;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGXFSZ);
  pthread_sigmask(SIG_BLOCK, &blocked, nullptr);
  const Directory directory;
  TraceFile file;
  REQUIRE(file.create(directory.file("a")).is_ok());
  constexpr auto kColl = record::EventType::kColl;
  constexpr auto kAt = static_cast<std::size_t>(kColl);
  file.add("first line\n", {kColl, 1, 2});
  REQUIRE(file.flush().is_ok());

  rlimit before{};
  REQUIRE(getrlimit(RLIMIT_FSIZE, &before) == 0);
  const rlimit small{16, before.rlim_max};
  REQUIRE(setrlimit(RLIMIT_FSIZE, &small) == 0);
  file.add("second line, which does not fit\n", {kColl, 1, 3});
  CHECK_FALSE(file.flush().is_ok());
  REQUIRE(setrlimit(RLIMIT_FSIZE, &before) == 0);
  CHECK(file.flush_whole().error() == EFBIG);

  file.add("third line\n", {kColl, 1, 0});
  CHECK(file.flush().is_ok());
  CHECK(file.counts().written[kAt] == 2);
  CHECK(file.counts().merged[kAt] == 2);
  CHECK(file.counts().dropped[kAt] == 4);
  CHECK(content(directory.file("a")) == "first line\nthird line\n");
}

TEST_CASE("the account tells what was given up, beside what adds up") {
  struct Lines final : exporting::LineSink {
    std::string all;
    void add(std::string_view line, const assemble::Tally&) override { all += line; }
  } lines;
  exporting::ChromeTrace trace(lines);
  assemble::Account account;
  constexpr auto kColl = static_cast<std::size_t>(record::EventType::kColl);
  constexpr auto kProxyOp = static_cast<std::size_t>(record::EventType::kProxyOp);
  account.by_type[kColl].produced = account.by_type[kColl].written = 3;
  trace.account(account, 5, true);
  CHECK(lines.all.find("given_up") == std::string::npos);
  account.given_up[kColl] = 1;
  account.given_up[kProxyOp] = 7;
  trace.account(account, 6, true);
  CHECK(lines.all.find("\"by_type\":{\"Coll\":{\"produced\":3,\"written\":3}},"
                       "\"given_up\":{\"Coll\":1,\"ProxyOp\":7}}") != std::string::npos);
}

// Sanitizers have allocators of their own, and older C libraries count in 32 bits.
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && __GLIBC_PREREQ(2, 33)
TEST_CASE("of a communicator that is closed no more is kept than what it was") {
  struct Nowhere final : exporting::LineSink {
    void add(std::string_view, const assemble::Tally&) override {}
  } nowhere;
  exporting::ChromeTrace trace(nowhere);
  const auto use = [&](std::uint32_t context) {
    assemble::Communicator communicator;
    communicator.context = context;
    trace.communicator(communicator);
    assemble::Operation operation;
    operation.context = context;
    operation.state = assemble::OperationState::kCompleted;
    operation.times_from = assemble::TimesFrom::kProxy;
    operation.has_bytes = true;
    operation.bytes = 1;
    for (int i = 0; i < 1000; ++i) {
      operation.enqueue_start_ns = operation.start_ns = 10 * i;
      operation.end_ns = operation.start_ns + 5;
      trace.row(assemble::OperationRow{&operation, &communicator}, {});
    }
    communicator.finalized_ns = 20'000;
    trace.communicator(communicator);
  };
  use(1);
  const std::size_t before_bytes = mallinfo2().uordblks;
  constexpr std::uint32_t kCommunicators = 200;
  for (std::uint32_t context = 2; context < 2 + kCommunicators; ++context) {
    use(context);
  }
  CHECK(mallinfo2().uordblks - before_bytes < kCommunicators * 1024);
}
#endif
