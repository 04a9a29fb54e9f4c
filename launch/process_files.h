// SPDX-License-Identifier: Apache-2.0
//
// What the kernel says of a process, which may go at any moment: then it says nothing.
#ifndef RINGSIDE_ANALYZER_LAUNCH_PROCESS_FILES_H
#define RINGSIDE_ANALYZER_LAUNCH_PROCESS_FILES_H

#include <cstdint>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

namespace ringside::launch {

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

}  // namespace ringside::launch

#endif  // RINGSIDE_ANALYZER_LAUNCH_PROCESS_FILES_H
