// SPDX-License-Identifier: Apache-2.0
#ifndef RINGSIDE_TEST_UNIT_PLUGIN_DIRECTORY_H
#define RINGSIDE_TEST_UNIT_PLUGIN_DIRECTORY_H

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace ringside {

/// A directory of the test's own; it goes with the object.
class Directory {
 public:
  Directory() {
    char name[] = "/tmp/ringside-unit-XXXXXX";
    path_ = mkdtemp(name);
  }
  ~Directory() { std::filesystem::remove_all(path_); }
  Directory(const Directory&) = delete;
  Directory& operator=(const Directory&) = delete;

  std::string file(const std::string& name) const { return path_ + "/" + name; }

  /// Names of what is in it, in the order of the alphabet.
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(path_)) {
      names.push_back(entry.path().filename().string());
    }
    std::sort(names.begin(), names.end());
    return names;
  }

 private:
  std::string path_;
};

inline std::string content(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::stringstream all;
  all << in.rdbuf();
  return all.str();
}

}  // namespace ringside

#endif  // RINGSIDE_TEST_UNIT_PLUGIN_DIRECTORY_H
