// SPDX-License-Identifier: Apache-2.0
#include "analyzer/load/process_ends.h"

#include <filesystem>
#include <map>
#include <set>
#include <simdjson.h>
#include <string>
#include <system_error>
#include <utility>

#include "analyzer/load/json/dom_value.h"
#include "analyzer/load/source/line_reader.h"

namespace ringside::load {
namespace {

namespace fs = std::filesystem;

using Ends = std::multimap<std::pair<std::string, std::int64_t>, model::ProcessEnd>;

void read_file(const fs::path& path, Ends& ends) {
  LineReader file;
  if (file.open(path.string())) {
    return;
  }
  simdjson::dom::parser parser;
  for (Line line; file.next(line);) {
    simdjson::dom::object object;
    if (parser.parse(line.text.data(), line.text.size()).get(object) != simdjson::SUCCESS) {
      continue;
    }
    const auto pid = integer_at(object, "pid");
    const auto ended_ns = integer_at(object, "ended_realtime_ns");
    if (pid && ended_ns) {
      ends.emplace(std::pair(text_at(object, "boot_id"), *pid),
                   model::ProcessEnd{*ended_ns, integer_at(object, "wait_status")});
    }
  }
}

}  // namespace

void read_process_ends(model::Traces& traces) {
  std::set<fs::path> directories;
  for (const model::TraceFile& file : traces.files) {
    directories.insert(fs::path(file.path).parent_path());
  }
  Ends ends;
  for (const fs::path& directory : directories) {
    std::error_code error;
    fs::directory_iterator entry(directory.empty() ? fs::path(".") : directory, error);
    for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
      const std::string name = entry->path().filename().string();
      if (name.starts_with("ringside-ends-") && name.ends_with(".jsonl") &&
          entry->is_regular_file(error)) {
        read_file(entry->path(), ends);
      }
    }
  }
  constexpr std::int64_t kSecond_ns = 1'000'000'000;
  for (model::TraceFile& file : traces.files) {
    const model::Process& process = file.process;
    const auto [first, last] = ends.equal_range({process.boot_id, process.pid});
    for (auto end = first; end != last; ++end) {
      // A later process may have the same number.
      const std::int64_t began_s = process.start_ns / kSecond_ns;
      if (end->second.realtime_ns / kSecond_ns - began_s >= process.base_time_s &&
          (!file.end || end->second.realtime_ns < file.end->realtime_ns)) {
        file.end = end->second;
      }
    }
  }
}

}  // namespace ringside::load
