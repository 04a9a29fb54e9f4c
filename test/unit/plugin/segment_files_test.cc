// SPDX-License-Identifier: Apache-2.0
#include "plugin/export/segment_files.h"

#include <cerrno>
#include <csignal>
#include <fcntl.h>
#include <fstream>
#include <sys/resource.h>
#include <unistd.h>
#include <zlib.h>

#include "plugin/export/gzip.h"
#include "test/unit/catch.h"
#include "test/unit/plugin/directory.h"

using namespace ringside;
using exporting::SegmentFiles;
using exporting::SegmentLimits;

namespace {

constexpr std::uint64_t kMiB = 1U << 20;
constexpr std::int64_t kSecond_ns = 1'000'000'000;
constexpr auto kType = record::EventType::kColl;
constexpr auto kIndex = static_cast<std::size_t>(kType);

// A line of 1,000 bytes for one start and one stop.
void add_line(SegmentFiles& files, char letter) {
  files.add(std::string(999, letter) + "\n", {kType, 1, 1});
}

// The same, of which compression makes little less.
void add_noise(SegmentFiles& files) {
  static std::uint32_t state = 1;
  std::string line(1000, '\n');
  for (std::size_t at = 0; at + 1 < line.size(); ++at) {
    state = state * 1'664'525 + 1'013'904'223;
    line[at] = static_cast<char>('!' + (state >> 25));
  }
  files.add(line, {kType, 1, 1});
}

const exporting::SegmentHeader kFirst{"[first\n", 7};

void turn(SegmentFiles& files, std::int64_t now_ns) {
  REQUIRE(files.prepare_next({"[first\nagain\n", 7}, now_ns).is_ok());
  REQUIRE(files.flush().is_ok());
  files.end_of_body();
  files.add("]\n", {});
  REQUIRE(files.flush().is_ok());
  REQUIRE(files.begin_next(now_ns).is_ok());
}

void copy_kept(SegmentFiles& files, const std::string& path) {
  exporting::TraceSnapshot snapshot;
  REQUIRE(files.hold_kept(snapshot.parts).is_ok());
  exporting::TraceFile copy;
  REQUIRE(copy.create(path).is_ok());
  REQUIRE(snapshot.copy_to(copy, [] { return true; }).is_ok());
}

std::string unzipped(const std::string& path) {
  std::string text(std::size_t{8} << 20, ' ');
  gzFile file = gzopen(path.c_str(), "rb");
  REQUIRE(file != nullptr);
  const int got = gzread(file, text.data(), static_cast<unsigned>(text.size()));
  REQUIRE(got >= 0);
  CHECK(gzclose(file) == Z_OK);
  text.resize(static_cast<std::size_t>(got));
  return text;
}

std::uint64_t bytes_in(const Directory& directory) {
  std::uint64_t total = 0;
  for (const std::string& name : directory.names()) {
    total += std::filesystem::file_size(directory.file(name));
  }
  return total;
}

SegmentLimits limits_of(std::uint64_t most_bytes) {
  SegmentLimits limits;
  limits.most_bytes = most_bytes;
  return limits;
}

}  // namespace

TEST_CASE("the newest segments stay, within the bound, and what is deleted is counted") {
  const Directory directory;
  SegmentFiles files(limits_of(4 * kMiB));
  REQUIRE(files.open_first(directory.file("t.json"), kFirst, 0).is_ok());
  constexpr std::uint64_t kLines = 20'000;  // 20 MB
  for (std::uint64_t i = 0; i < kLines; ++i) {
    if (files.is_full(0)) {
      turn(files, 0);
    }
    add_line(files, 'x');
    if (i % 100 == 0) {
      REQUIRE(bytes_in(directory) <= 4 * kMiB);
    }
  }
  REQUIRE(files.flush().is_ok());
  CHECK(bytes_in(directory) <= 4 * kMiB);
  CHECK(bytes_in(directory) > 3 * kMiB);
  CHECK(bytes_in(directory) == files.kept_bytes());
  const auto names = directory.names();
  CHECK(names.back() == "t.s0000" + std::to_string(files.number()) + ".json");
  CHECK(files.number() - files.oldest_number() + 1 == names.size());
  CHECK(files.counts().written[kIndex] == kLines);
  CHECK(files.counts().dropped[kIndex] == 0);
  const std::uint64_t kept = files.counts().written[kIndex] - files.deleted().written[kIndex];
  std::uint64_t lines = 0;
  for (const std::string& name : names) {
    const std::string text = content(directory.file(name));
    lines += static_cast<std::uint64_t>(std::count(text.begin(), text.end(), 'x')) / 999;
  }
  CHECK(lines == kept);
  CHECK(files.deleted().merged[kIndex] == files.deleted().written[kIndex]);
}

TEST_CASE("names of segments are in the order of time") {
  const Directory directory;
  SegmentFiles files(limits_of(64 * kMiB));
  REQUIRE(files.open_first(directory.file("t.json"), kFirst, 0).is_ok());
  for (int i = 0; i < 10; ++i) {
    turn(files, 0);
  }
  const auto names = directory.names();
  REQUIRE(names.size() == 11);
  CHECK(names[0] == "t.json");
  CHECK(names[1] == "t.s000002.json");
  CHECK(names[10] == "t.s000011.json");
}

TEST_CASE("what is kept is copied without first lines and ends") {
  const Directory directory;
  SegmentFiles files(limits_of(64 * kMiB));
  REQUIRE(files.open_first(directory.file("t.json"), kFirst, 0).is_ok());
  files.add("one\n", {});
  turn(files, 0);
  files.add("two\n", {});
  REQUIRE(files.flush().is_ok());
  copy_kept(files, directory.file("copy"));
  CHECK(content(directory.file("copy")) == "one\ntwo\n");
}

TEST_CASE("what was kept at one moment can be copied when it is deleted, as long as it is wanted") {
  const Directory directory;
  SegmentLimits limits = limits_of(4 * kMiB);
  limits.compress = true;
  SegmentFiles files(limits);
  REQUIRE(files.open_first(directory.file("t.json"), kFirst, 0).is_ok());
  std::string expected;
  const auto add_lines = [&](char letter) {
    for (int i = 0; i < 500; ++i) {
      add_line(files, letter);
      expected += std::string(999, letter) + "\n";
    }
  };
  add_lines('a');
  turn(files, 0);
  add_lines('b');
  REQUIRE(files.flush().is_ok());
  exporting::TraceSnapshot snapshot;
  REQUIRE(files.hold_kept(snapshot.parts).is_ok());
  for (int i = 0; i < 6000; ++i) {
    if (files.has_much()) {
      REQUIRE(files.flush().is_ok());
    }
    if (files.is_full(0)) {
      turn(files, 0);
    }
    add_noise(files);
  }
  REQUIRE(files.oldest_number() > 2);
  exporting::TraceFile copy;
  REQUIRE(copy.create(directory.file("copy")).is_ok());
  REQUIRE(snapshot.copy_to(copy, [] { return true; }).is_ok());
  CHECK(content(directory.file("copy")) == expected);
  exporting::TraceFile unwanted;
  REQUIRE(unwanted.create(directory.file("unwanted")).is_ok());
  CHECK(snapshot.copy_to(unwanted, [] { return false; }).error() == ECANCELED);
}

TEST_CASE("a file has its header, or is not there") {
  const Directory directory;
  SegmentFiles files(limits_of(4 * kMiB));
  const exporting::SegmentHeader header{std::string(100'000, 'h') + "\n", 7};
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const auto limit_to = [&](rlim_t bytes) {
    const rlimit limit{bytes, before.rlim_max};
    REQUIRE(setrlimit(RLIMIT_FSIZE, &limit) == 0);
  };
  std::signal(SIGXFSZ, SIG_IGN);
  limit_to(50'000);
  CHECK(files.open_first(directory.file("t.json"), header, 0).error() == EFBIG);
  CHECK(directory.names().empty());
  add_line(files, 'x');
  CHECK_FALSE(files.flush().is_ok());
  limit_to(before.rlim_cur);
  REQUIRE(files.open_first(directory.file("t.json"), header, 0).is_ok());
  add_line(files, 'y');
  REQUIRE(files.flush().is_ok());
  CHECK(files.counts().dropped[kIndex] == 2);
  limit_to(50'000);
  CHECK_FALSE(files.prepare_next(header, 0).is_ok());
  limit_to(before.rlim_cur);
  std::signal(SIGXFSZ, SIG_DFL);
  CHECK(content(directory.file("t.json")) == header.lines + std::string(999, 'y') + "\n");
  CHECK(directory.names() == std::vector<std::string>{"t.json"});
}

TEST_CASE("an event for whose lines memory is too short leaves none, and is counted") {
  const Directory directory;
  SegmentFiles files(limits_of(4 * kMiB));
  REQUIRE(files.open_first(directory.file("t.json"), kFirst, 0).is_ok());
  add_line(files, 'x');
  files.begin_event();
  files.add("begin\n", {kType, 1, 2});
  files.drop_event({kType, 1, 2});
  REQUIRE(files.flush().is_ok());
  CHECK(content(directory.file("t.json")) == kFirst.lines + std::string(999, 'x') + "\n");
  CHECK(files.counts().written[kIndex] == 1);
  CHECK(files.counts().dropped_memory[kIndex] == 3);
}

TEST_CASE("a file that took the place of a segment is not deleted") {
  const Directory directory;
  SegmentFiles files(limits_of(4 * kMiB));
  REQUIRE(files.open_first(directory.file("t.json"), kFirst, 0).is_ok());
  turn(files, 0);
  std::ofstream(directory.file("new")) << "somebody else's";
  REQUIRE(rename(directory.file("new").c_str(), directory.file("t.json").c_str()) == 0);
  for (int i = 0; i < 6000; ++i) {
    if (files.is_full(0)) {
      turn(files, 0);
    }
    add_line(files, 'x');
  }
  CHECK(files.oldest_number() > 1);
  CHECK(content(directory.file("t.json")) == "somebody else's");
}

TEST_CASE("where the next file cannot be made the current one goes on, within the bound") {
  const Directory directory;
  SegmentFiles files(limits_of(4 * kMiB));
  REQUIRE(files.open_first(directory.file("t.json"), kFirst, 0).is_ok());
  std::ofstream(directory.file("t.s000002.json")) << "in the way";
  std::uint64_t failed = 0;
  for (int i = 0; i < 6000; ++i) {
    const std::int64_t now_ns = i * kSecond_ns / 1000;
    if (files.has_much()) {
      static_cast<void>(files.flush());
    }
    if (files.is_full(now_ns)) {
      CHECK(files.prepare_next(kFirst, now_ns).error() == EEXIST);
      ++failed;
    }
    add_line(files, 'x');
  }
  REQUIRE(files.flush().is_ok());  // the last lines still fit
  CHECK_FALSE(files.flush_whole().is_ok());
  CHECK(failed > 0);
  CHECK(failed < 10);  // it is not tried for each line
  CHECK(std::filesystem::file_size(directory.file("t.json")) <= 4 * kMiB);
  CHECK(files.counts().dropped[kIndex] > 0);
  CHECK(files.counts().written[kIndex] + files.counts().dropped[kIndex] / 2 == 6000);
}

TEST_CASE("what can never fit is lost alone, and the newest segments stay") {
  const Directory directory;
  SegmentFiles files(limits_of(4 * kMiB));
  REQUIRE(files.open_first(directory.file("t.json"), kFirst, 0).is_ok());
  for (char letter = 'a'; letter < 'd'; ++letter) {
    add_line(files, letter);
    turn(files, 0);
  }
  const auto names = directory.names();
  const std::uint64_t kept = files.kept_bytes();
  for (int i = 0; i < 4500; ++i) {
    add_line(files, 'x');
  }
  CHECK(files.flush().error() == EFBIG);
  CHECK(directory.names() == names);
  CHECK(files.kept_bytes() == kept);
  CHECK(files.counts().dropped[kIndex] == 2 * 4500);
  add_line(files, 'y');
  CHECK(files.flush().is_ok());
}

TEST_CASE("in memory, the newest segments stay within the bound, and none at the end") {
  const Directory directory;
  SegmentLimits limits = limits_of(8 * kMiB);
  limits.in_memory = true;
  {
    SegmentFiles files(limits);
    REQUIRE(files.open_first(directory.file("t.json"), kFirst, 0).is_ok());
    for (int second = 1; second < 30; ++second) {
      for (const std::int64_t now_ns = second * kSecond_ns; !files.is_full(now_ns);) {
        add_line(files, 'x');
      }
      turn(files, second * kSecond_ns);
      CHECK(files.kept_bytes() <= 8 * kMiB);
    }
    CHECK(files.oldest_start_ns() >= 20 * kSecond_ns);
    CHECK(files.deleted().written[kIndex] > 15);
    CHECK_FALSE(directory.names().empty());
  }
  CHECK(directory.names().empty());
}

TEST_CASE("in memory without a directory it goes on without names") {
  const Directory directory;
  SegmentLimits limits = limits_of(4 * kMiB);
  limits.in_memory = true;
  SegmentFiles files(limits);
  REQUIRE(files.open_first(directory.file("missing/t.json"), kFirst, 0).is_ok());
  CHECK(files.is_anonymous());
  files.add("one\n", {});
  turn(files, 0);
  files.add("two\n", {});
  REQUIRE(files.flush().is_ok());
  copy_kept(files, directory.file("copy"));
  CHECK(content(directory.file("copy")) == "one\ntwo\n");
}

TEST_CASE("a compressed trace is a whole gzip file after each write, and is copied") {
  if (!exporting::has_zlib()) {
    return;
  }
  const Directory directory;
  SegmentLimits limits = limits_of(4 * kMiB);
  limits.compress = true;
  SegmentFiles files(limits);
  REQUIRE(files.open_first(directory.file("t.json.gz"), kFirst, 0).is_ok());
  CHECK(unzipped(directory.file("t.json.gz")) == kFirst.lines);
  add_line(files, 'x');
  REQUIRE(files.flush().is_ok());
  CHECK(unzipped(directory.file("t.json.gz")) == kFirst.lines + std::string(999, 'x') + "\n");
  CHECK(files.kept_bytes() == bytes_in(directory));
  turn(files, 0);
  CHECK(directory.names() == std::vector<std::string>{"t.json.gz", "t.s000002.json.gz"});
  files.add("two\n", {});
  REQUIRE(files.flush().is_ok());
  copy_kept(files, directory.file("copy"));
  CHECK(content(directory.file("copy")) == std::string(999, 'x') + "\ntwo\n");
}

TEST_CASE("a compressed trace goes on behind a write that failed") {
  if (!exporting::has_zlib()) {
    return;
  }
  const Directory directory;
  SegmentLimits limits;
  limits.compress = true;
  SegmentFiles files(limits);
  REQUIRE(files.open_first(directory.file("t.json.gz"), kFirst, 0).is_ok());
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit full{files.bytes() + 10, before.rlim_max};
  std::signal(SIGXFSZ, SIG_IGN);
  REQUIRE(setrlimit(RLIMIT_FSIZE, &full) == 0);
  add_line(files, 'x');
  CHECK(files.flush().error() == EFBIG);
  REQUIRE(setrlimit(RLIMIT_FSIZE, &before) == 0);
  std::signal(SIGXFSZ, SIG_DFL);
  CHECK(unzipped(directory.file("t.json.gz")) == kFirst.lines);
  add_line(files, 'y');
  REQUIRE(files.flush().is_ok());
  CHECK(unzipped(directory.file("t.json.gz")) == kFirst.lines + std::string(999, 'y') + "\n");
  CHECK(files.counts().dropped[kIndex] == 2);
}

TEST_CASE("text that cannot be compressed stays within the bound, too") {
  if (!exporting::has_zlib()) {
    return;
  }
  const Directory directory;
  SegmentLimits limits = limits_of(4 * kMiB);
  limits.compress = true;
  SegmentFiles files(limits);
  REQUIRE(files.open_first(directory.file("t.json.gz"), kFirst, 0).is_ok());
  for (int i = 0; i < 12'000; ++i) {
    if (files.has_much()) {
      REQUIRE(files.flush().is_ok());
    }
    if (files.is_full(0)) {
      turn(files, 0);
    }
    add_noise(files);
    REQUIRE(files.kept_bytes() <= 4 * kMiB);
  }
  REQUIRE(files.flush().is_ok());
  REQUIRE(files.finish().is_ok());
  CHECK(files.oldest_number() > 1);
  CHECK(bytes_in(directory) <= 4 * kMiB);
  CHECK(bytes_in(directory) > 2 * kMiB);
}

TEST_CASE("nothing is written into a file that has the descriptor by now") {
  const Directory directory;
  SegmentFiles files(limits_of(4 * kMiB));
  const std::string path = directory.file("t.json");
  REQUIRE(files.open_first(path, kFirst, 0).is_ok());
  const int victim = open(directory.file("victim").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  REQUIRE(write(victim, "precious", 8) == 8);
  const auto take_descriptor = [&] {
    int ours = -1;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fd")) {
      std::error_code error;
      if (std::filesystem::read_symlink(entry.path(), error) == path) {
        ours = std::stoi(entry.path().filename());
      }
    }
    REQUIRE(ours >= 0);
    REQUIRE(dup2(victim, ours) == ours);
    return ours;
  };
  const int before = take_descriptor();
  const std::uint64_t bytes = files.bytes();
  add_line(files, 'x');
  CHECK(files.flush().is_ok());  // the file has been opened again
  CHECK(files.counts().dropped[kIndex] == 0);
  CHECK(std::filesystem::file_size(path) == files.bytes());
  CHECK(files.bytes() > bytes);

  const int ours = take_descriptor();
  CHECK(ours != before);
  std::ofstream(directory.file("another")) << "another one";
  std::filesystem::rename(directory.file("another"), path);
  add_line(files, 'x');
  CHECK(files.flush().error() == EBADF);
  CHECK(files.counts().dropped[kIndex] == 2);
  exporting::TraceSnapshot snapshot;
  CHECK(files.hold_kept(snapshot.parts).error() == ENOENT);
  CHECK(files.finish().error() == EBADF);
  CHECK(content(directory.file("victim")) == "precious");
  CHECK(content(path) == "another one");
  for (const int not_ours : {before, ours, victim}) {
    CHECK(close(not_ours) == 0);
  }
}
