// SPDX-License-Identifier: Apache-2.0
#include "test/load/compare_loaders.h"

#include <string_view>

#include "analyzer/load/trace_loader.h"
#include "test/load/difference.h"
#include "test/load/memory_file.h"
#include "test/load/plain_loader.h"

namespace ringside::plain {
namespace {

// Whether the analyzer uses a line where it is all that there is.
bool is_used(std::string_view line, bool is_first) {
  constexpr std::string_view kFirst =
      R"([{"ph":"M","name":"ringside_trace","args":{"format_version":1,"base_time_s":0}},)";
  const MemoryFile file((is_first ? "" : std::string(kFirst) + '\n') + std::string(line) + '\n');
  model::Problems problems;
  const model::Traces traces = load::load_traces({file.path()}, problems, 1);
  return !traces.files.empty() && problems.bad_lines() == 0;
}

}  // namespace

std::string compare_loaders(const std::vector<std::string>& paths,
                            const std::vector<std::uint64_t>& range_bytes, unsigned threads) {
  const Loaded plain = load_plainly(paths, is_used);
  for (const std::uint64_t bytes : range_bytes) {
    model::Problems problems;
    const model::Traces traces = load::load_traces(paths, problems, threads, bytes);
    for (const std::string& difference :
         {difference_of(problems, plain.problems), difference_of(traces, plain.traces)}) {
      if (!difference.empty()) {
        return "with ranges of " + std::to_string(bytes) + " bytes:\n" + difference;
      }
    }
  }
  return {};
}

}  // namespace ringside::plain
