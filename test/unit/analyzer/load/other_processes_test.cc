// SPDX-License-Identifier: Apache-2.0
//
// Traces that other processes have read are as good as those that this one reads.
#include "analyzer/load/other_processes.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>

#include "analyzer/load/trace_loader.h"
#include "test/unit/analyzer/temporary_file.h"
#include "test/unit/catch.h"

namespace ringside {
namespace {

std::string trace_of(int rank, int operations, bool is_damaged) {
  std::ostringstream text;
  text << R"([{"ph":"M","name":"ringside_trace","args":{"format_version":1,"run_id":"0x)"
       << rank + 1 << R"(","host":"h","base_time_s":7889238}},)" << '\n'
       << R"({"ph":"M","name":"ringside_communicator","args":{"context":1,"name":"w","rank":)"
       << rank << R"(,"nranks":2}},)" << '\n';
  for (int i = 0; i < operations; ++i) {
    text << R"({"ph":"b","cat":"op","ts":)" << 5 + i << R"(.000,"name":"AllReduce","args":{"op":)"
         << i << R"(,"context":1,"comm":"0xb","rank":)" << rank
         << R"(,"kind":"coll","func":"AllReduce","seq":)" << i
         << R"(,"times_from":"enqueue","state":"enqueued"}},)" << '\n';
    if (is_damaged) {
      text << "{broken}," << '\n';
    }
  }
  return text.str();
}

// A partial of the first of these files.
std::string partial_of(const std::vector<std::string>& paths) {
  return load::encode_files(paths, load::load_each(paths)).front();
}

// Has the files at odd places read elsewhere, and gives the last first.
class Others final : public load::OtherProcesses {
 public:
  load::Inputs find_inputs(const std::vector<std::string>& arguments, model::Problems& problems,
                           const load::DumpChoice& dumps) override {
    return load::find_own_inputs(arguments, problems, dumps);
  }
  std::vector<bool> share_out(const std::vector<std::string>& paths) override {
    std::vector<bool> are_elsewhere(paths.size());
    for (std::size_t i = 1; i < paths.size(); i += 2) {
      are_elsewhere[i] = true;
      files_.push_back({i, partial_of({paths[i]})});
    }
    return are_elsewhere;
  }
  std::vector<load::ReadFile> receive() override {
    std::vector<load::ReadFile> last;
    if (!files_.empty()) {
      last.push_back(files_.back());
      files_.pop_back();
    }
    return last;
  }

 private:
  std::vector<load::ReadFile> files_;
};

std::string loaded(const std::vector<std::string>& paths, load::OtherProcesses* others) {
  model::Problems problems;
  load::set_other_processes(others);
  const model::Traces traces = load::load_traces(paths, problems, 2);
  load::set_other_processes(nullptr);
  std::ostringstream text;
  for (const model::TraceFile& file : traces.files) {
    text << file.path << ' ' << file.process.run_id << ' ' << file.lines << ' ' << file.size_bytes
         << ' ' << file.bad_lines << '\n';
    for (const model::Operation& operation : file.operations) {
      text << operation.id << ' ' << traces.names.text(operation.func) << '\n';
    }
  }
  for (const auto* const list : {&problems.lines(), &problems.files()}) {
    for (const model::Problem& problem : *list) {
      text << problem.path << ' ' << problem.line << ": " << problem.reason << '\n';
    }
  }
  text << problems.bad_lines() << " bad lines";
  return text.str();
}

}  // namespace

TEST_CASE("files that other processes read give the same model and problems, in the same order") {
  const TemporaryFile first(trace_of(0, 3, true));
  const TemporaryFile second(trace_of(1, 40, true));
  const TemporaryFile third(trace_of(2, 2, false));
  const TemporaryFile empty("");
  const TemporaryFile no_trace("{}\n");
  const TemporaryFile partial(partial_of({first.path(), third.path()}));
  const std::vector<std::string> paths = {first.path(),   second.path(),   empty.path(),
                                          third.path(),   no_trace.path(), "/nowhere/there.json",
                                          partial.path(), second.path()};
  Others others;
  const std::string alone = loaded(paths, nullptr);
  CHECK(alone.find("\n39 AllReduce\n") != std::string::npos);
  CHECK(alone.find("No such file or directory") != std::string::npos);
  CHECK(alone.ends_with("\n86 bad lines"));
  CHECK(loaded(paths, &others) == alone);
}

TEST_CASE("only traces are read by other processes") {
  const TemporaryFile trace(trace_of(0, 3, false));
  const TemporaryFile partial(partial_of({trace.path()}));
  const TemporaryFile empty("");
  CHECK(load::trace_bytes(trace.path()) == trace_of(0, 3, false).size());
  CHECK(load::trace_bytes(partial.path()) == 0);
  CHECK(load::trace_bytes(empty.path()) == 0);
  CHECK(load::trace_bytes("/nowhere/there.json") == 0);
  CHECK(load::trace_bytes("/dev/null") == 0);
}

}  // namespace ringside
