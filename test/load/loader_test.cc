// SPDX-License-Identifier: Apache-2.0
//
// The analyzer's loader gives what a slow and obvious one gives.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/load/trace_loader.h"
#include "test/load/compare_loaders.h"
#include "test/load/memory_file.h"
#include "test/load/plain_loader.h"
#include "test/unit/catch.h"
#include "test/unit/sanitized.h"

namespace ringside::plain {
namespace {

namespace fs = std::filesystem;

using Paths = std::vector<std::string>;

std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Files below a directory, by the directory that they are in.
std::map<std::string, Paths> files_below(const fs::path& root) {
  std::map<std::string, Paths> found;
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    // Partials are not for the plain loader, which knows traces only.
    if (entry.is_regular_file() && entry.path().extension() != ".part") {
      found[entry.path().parent_path().string()].push_back(entry.path().string());
    }
  }
  for (auto& [directory, paths] : found) {
    std::sort(paths.begin(), paths.end());
  }
  return found;
}

/// The traces of ringside_generate; they go with the object.
class Generated {
 public:
  explicit Generated(const std::string& options) {
    if (::mkdtemp(directory_.data()) == nullptr) {
      FAIL("no temporary directory");
    }
    const std::string command = RINGSIDE_TEST_GENERATE " " + directory_ + ' ' + options;
    REQUIRE(std::system(command.c_str()) == 0);
    paths_ = files_below(directory_).at(directory_);
    std::erase_if(paths_, [](const std::string& path) { return path.ends_with("truth.txt"); });
  }
  ~Generated() { fs::remove_all(directory_); }
  Generated(const Generated&) = delete;
  Generated& operator=(const Generated&) = delete;

  const Paths& paths() const { return paths_; }

 private:
  std::string directory_ = "/tmp/ringside-load-XXXXXX";
  Paths paths_;
};

constexpr const char* kLine =
    R"({"ph":"b","cat":"op","ts":5.000,"name":"AllReduce","args":{"op":1,"context":1,"kind":"coll",)"
    R"("func":"AllReduce","times_from":"enqueue","state":"enqueued"}},)";
TEST_CASE("the traces of this repository") {
  std::size_t operations = 0;
  for (const char* const root : {"diff/cases", "fuzz/corpus/trace", "fuzz/corpus/load"}) {
    for (const auto& [directory, paths] : files_below(fs::path(RINGSIDE_TEST_SOURCE) / root)) {
      // How much of damaged compressed data can be had is zlib's, not the format's.
      // The plain loader knows traces only.
      if (directory.find("compressed-damaged") != std::string::npos ||
          directory.ends_with("/dumps") || directory.ends_with("/logs")) {
        continue;
      }
      INFO(directory);
      CHECK(compare_loaders(paths, {load::kRangeBytes, 1000, 100}, 2).empty());
      for (const std::string& path : paths) {
        INFO(path);
        CHECK(compare_loaders({path}, {load::kRangeBytes, 64}, 1) == "");
      }
      for (const model::TraceFile& file : load_plainly(paths).traces.files) {
        operations += file.operations.size();
      }
    }
  }
  CHECK(operations > 3000);
}

TEST_CASE("generated traces") {
  const auto [options, seeds] = GENERATE(table<std::string, int>({
      {"--full --iterations 6", 3},
      {"--split 4 --iterations 10 --drop 1:10 --truncate 2 --lose 3", 3},
      {"--iterations 9 --hang 5:6 --steps", 2},
      {"--operations-only --iterations 40 --start-late 1:7 --seq-from-window", 2},
      {"--iterations 8 --no-hash --times proxy --end killed", 2},
      {"--iterations 12 --sample 3 --mismatch size:1:5 --missing 2:9", 2},
  }));
  // Seeds differ in their figures, not in their kinds of lines: a sanitizer needs one of each kind.
  const int most = kIsSanitized ? 1 : seeds;
  for (int seed = 1; seed <= most; ++seed) {
    INFO(options << " --seed " << seed);
    const Generated generated(options + " --seed " + std::to_string(seed));
    CHECK(compare_loaders(generated.paths(), {load::kRangeBytes, 4096, 700}, 2) == "");
    CHECK(load_plainly(generated.paths()).traces.files.at(0).operations.size() > 10);
  }
}

// The arguments of a line before what tells what they are of, as JSON with sorted keys has it.
std::string with_arguments_first(const std::string& text) {
  constexpr std::string_view kArguments = ",\"args\":";
  std::istringstream lines(text);
  std::string made;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t begin = line.find('{');
    const std::size_t at = line.find(kArguments);
    const std::size_t end = line.rfind('}');
    if (at != std::string::npos) {
      line = line.substr(0, begin + 1) + line.substr(at + 1, end - at - 1) + ',' +
             line.substr(begin + 1, at - begin - 1) + line.substr(end);
    }
    made += line + '\n';
  }
  return made;
}

TEST_CASE("the keys of a line may come in any order") {
  const Generated generated("--full --iterations 6");
  for (const std::string& path : generated.paths()) {
    const std::string text = read(path);
    const MemoryFile as_written(text);
    const MemoryFile reordered(with_arguments_first(text));
    CHECK(compare_loaders({reordered.path()}, {load::kRangeBytes, 700}, 1) == "");
    model::Problems problems;
    const model::Traces one = load::load_traces({as_written.path()}, problems, 1);
    const model::Traces other = load::load_traces({reordered.path()}, problems, 1);
    CHECK(problems.bad_lines() == 0);
    REQUIRE((one.files.size() == 1 && other.files.size() == 1));
    CHECK(one.files[0].operations.size() > 10);
    CHECK(other.files[0].operations.size() == one.files[0].operations.size());
    CHECK(other.files[0].proxies.size() == one.files[0].proxies.size());
    CHECK(other.files[0].steps.size() == one.files[0].steps.size());
  }
}

TEST_CASE("a trace that was cut off at any byte, by the plain loader") {
  const Generated generated(
      "--hosts 1 --ranks-per-host 2 --iterations 1 --channels 1 --pattern AllReduce:4096 --full");
  const std::string whole = read(generated.paths().at(0));
  CHECK(whole.size() > 2000);
  for (std::size_t length = 0; length <= whole.size(); ++length) {
    const MemoryFile file(whole.substr(0, length));
    INFO("cut at byte " << length << " of " << whole.size());
    CHECK(compare_loaders({file.path()}, {load::kRangeBytes, 300}, 1) == "");
  }
}

// The operation's line with another id.
std::string numbered(std::string line, std::uint64_t id) {
  constexpr std::string_view kId = "\"op\":1";
  return line.replace(line.find(kId), kId.size(), "\"op\":" + std::to_string(id));
}

TEST_CASE("an operation that is there twice is left out, and its line is bad") {
  std::string once;
  std::string text = std::string(kFirstLine) + '\n';
  for (std::uint64_t id = 1; id <= 40; ++id) {
    const std::string line = numbered(kLine, id * id);
    once += line + '\n';
    text += line + '\n' + (id % 8 == 0 ? line + '\n' : "");
  }
  const MemoryFile file(text + once + "]\n");
  CHECK(compare_loaders({file.path()}, {load::kRangeBytes, 4096, 300}, 1) == "");
  model::Problems problems;
  const model::Traces traces = load::load_traces({file.path()}, problems, 1, 300);
  REQUIRE(traces.files.size() == 1);
  CHECK(traces.files[0].operations.size() == 40);
  CHECK(traces.files[0].contexts.at(1).operations == 40);
  CHECK(traces.files[0].bad_lines == 45);
  CHECK(problems.bad_lines() == 45);
  REQUIRE(problems.lines().size() == model::Problems::kLinesKept);
  CHECK(problems.lines()[0].line == 10);  // behind the first line, and 8 operations
  CHECK(problems.lines()[5].line == 47);  // the first of the second copy
}

TEST_CASE("a trace with any byte of a line replaced") {
  constexpr std::string_view kMembers = R"("id2":{"local":"0x1"},"pid":100,"tid":7,"ts":5.250,)";
  const std::string other =
      R"({"ph":"b","cat":"step",)" + std::string(kMembers) +
      R"("name":"send steps channel 0","args":{"op":1,"context":1,"peer":1,"step":0,"bytes":64,)"
      R"("gpu_wait_ns":4,"in_flight":false}},)";
  const std::string end =
      R"({"ph":"e","cat":"step",)" + std::string(kMembers) + R"("name":"send steps channel 0"},)";
  const std::string operation =
      R"({"ph":"b","cat":"op",)" + std::string(kMembers) +
      R"("name":"AllReduce","bind_id":"0x7f","flow_in":true,"args":{"op":1,"context":1,)"
      R"("comm":"0xba","rank":1,"nranks":2,"kind":"coll","func":"AllReduce","seq":12345678,)"
      R"("enqueue_start_ns":200,"start_ns":2005000,"end_ns":210500000,"times_from":"proxy",)"
      R"("state":"completed","graph":true}},)";
  const std::string whole = std::string(kFirstLine) + '\n' + operation + '\n' + other + '\n' + end +
                            '\n' + numbered(operation, 2) + "\n]\n";
  constexpr std::size_t kEach = kIsSanitized ? 5 : 1;
  REQUIRE(load_plainly({MemoryFile(whole).path()}).traces.files.at(0).operations.size() == 2);
  const std::size_t begin = std::string_view(kFirstLine).size() + 1;
  for (std::size_t at = begin; at < begin + operation.size() + other.size() + end.size() + 2;
       at += kEach) {
    for (const char byte : std::string_view("\0\t\n \"\\,:{}[]0.-eb/\x7f\xc3", 20)) {
      std::string changed = whole;
      changed[at] = byte;
      const MemoryFile file(changed);
      INFO("byte " << at << " is " << static_cast<int>(byte) << ": " << changed);
      REQUIRE(compare_loaders({file.path()}, {load::kRangeBytes}, 1) == "");
    }
  }
}

TEST_CASE("a line that does not say what it is") {
  const MemoryFile file(std::string(kFirstLine) + "\n{\"p^\":\"M\",\"name\":\"x\",\"args\":{}},\n" +
                        kLine + "\n]\n");
  CHECK(compare_loaders({file.path()}, {load::kRangeBytes}, 1) == "");
  model::Problems problems;
  load::load_traces({file.path()}, problems, 1);
  REQUIRE(problems.bad_lines() == 1);
  CHECK(problems.lines().at(0).reason == "\"ph\" is missing");
}

TEST_CASE("a line with two args") {
  const std::string line = kLine;
  const std::size_t args = line.find(",\"args\":");
  const std::string once = line.substr(args, line.rfind('}') - args);
  for (const std::string& twice :
       {line.substr(0, args) + once + once + "},", "{" + once.substr(1) + once + ",\"ph\":\"b\"},",
        line.substr(0, args) + R"(,"args":{"times_from":"en"})" + once + "},"}) {
    INFO(twice);
    const MemoryFile file(std::string(kFirstLine) + '\n' + twice + '\n' + kLine + "\n]\n");
    CHECK(compare_loaders({file.path()}, {load::kRangeBytes}, 1) == "");
    model::Problems problems;
    load::load_traces({file.path()}, problems, 1);
    CHECK(problems.bad_lines() == 1);
  }
}

TEST_CASE("the plain loader reads what is there") {
  const MemoryFile file(std::string(kFirstLine) + '\n' + kLine + "\nnothing\n" + kLine);
  const Loaded loaded = load_plainly({file.path(), "/nowhere/trace.json"});
  REQUIRE(loaded.traces.files.size() == 1);
  const model::TraceFile& trace = loaded.traces.files[0];
  REQUIRE(trace.operations.size() == 1);
  CHECK(trace.operations[0].id == 1);
  CHECK(loaded.traces.names.text(trace.operations[0].func) == "AllReduce");
  CHECK(trace.contexts.at(1).operations == 1);
  CHECK(trace.torn);
  CHECK(trace.lines == 4);
  CHECK(loaded.problems.bad_lines() == 1);
  CHECK(loaded.problems.lines().at(0).line == 3);
  CHECK(loaded.problems.files().at(0).path == "/nowhere/trace.json");
}

}  // namespace
}  // namespace ringside::plain
