// SPDX-License-Identifier: Apache-2.0
//
// What the kernel says of a process, which may go at any moment: then it says nothing.
#ifndef RINGSIDE_ANALYZER_LAUNCH_PROCESS_FILES_H
#define RINGSIDE_ANALYZER_LAUNCH_PROCESS_FILES_H

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace ringside::launch {

/// Empty if there is none.
inline std::string first_line(const char* path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

/// The file of /proc/PID with this name: "environ", "maps".
inline std::string process_file(std::int64_t pid, const char* name) {
  std::ifstream file("/proc/" + std::to_string(pid) + '/' + name);
  // A process may go between opening and reading: then the stream has failed, where an iterator
  // over its buffer throws.
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// The members of /proc/PID/stat from the state on, which is the third one.
inline std::vector<std::string> process_stat(std::int64_t pid) {
  const std::string text = process_file(pid, "stat");
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) {
    return {};
  }
  std::istringstream members(text.substr(name_end + 1));
  return {std::istream_iterator<std::string>(members), {}};
}

/// The value of a variable in a process's "environ"; empty if it is not set.
inline std::string variable_in(std::string_view environment, std::string_view name) {
  while (!environment.empty()) {
    const std::string_view entry = environment.substr(0, environment.find('\0'));
    if (entry.starts_with(name) && entry.substr(name.size()).starts_with('=')) {
      return std::string(entry.substr(name.size() + 1));
    }
    environment.remove_prefix(std::min(entry.size() + 1, environment.size()));
  }
  return {};
}

/// The rank in it, as plugin/drain/process_info.cc finds it; empty: it has none.
inline std::string rank_in(std::string_view environment) {
  std::string rank;
  for (const char* const name : {"RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID", "PMI_RANK"}) {
    rank = rank.empty() ? variable_in(environment, name) : rank;
  }
  return rank;
}

/// The processes that its threads have started, of each thread the oldest first.
inline std::vector<std::int64_t> children_of(std::int64_t pid) {
  std::vector<std::int64_t> children;
  std::error_code error;
  std::filesystem::directory_iterator task("/proc/" + std::to_string(pid) + "/task", error);
  for (; !error && task != std::filesystem::directory_iterator(); task.increment(error)) {
    std::ifstream file(task->path() / "children");
    children.insert(children.end(), std::istream_iterator<std::int64_t>(file), {});
  }
  return children;
}

}  // namespace ringside::launch

#endif  // RINGSIDE_ANALYZER_LAUNCH_PROCESS_FILES_H
