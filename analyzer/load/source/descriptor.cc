// SPDX-License-Identifier: Apache-2.0
#include "analyzer/load/source/descriptor.h"

#include <algorithm>
#include <fcntl.h>
#include <filesystem>
#include <system_error>

namespace ringside::load {
namespace {

std::vector<std::string> g_directories;  // empty: any file may be read

}  // namespace

void read_only_within(const std::vector<std::string>& directories) {
  g_directories = directories;
}

bool is_within(std::string_view path, const std::vector<std::string>& directories) {
  return std::any_of(directories.begin(), directories.end(), [&](const std::string& directory) {
    return path == directory || path.starts_with(directory == "/" ? directory : directory + '/');
  });
}

int open_to_read(const std::string& path) {
  if (g_directories.empty()) {
    return ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  }
  // The file is held while the kernel says where it is: no link can change in between.
  const int held = ::open(path.c_str(), O_PATH | O_CLOEXEC);
  if (held < 0) {
    return -1;
  }
  const std::string link = "/proc/self/fd/" + std::to_string(held);
  std::error_code failure;
  const std::string place = std::filesystem::read_symlink(link, failure).string();
  const bool may_be_read = !failure && is_within(place, g_directories);
  const int opened = may_be_read ? ::open(link.c_str(), O_RDONLY | O_CLOEXEC) : -1;
  const int error = may_be_read ? errno : EPERM;
  ::close(held);
  errno = error;
  return opened;
}

}  // namespace ringside::load
