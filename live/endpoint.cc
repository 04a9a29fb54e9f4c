// SPDX-License-Identifier: Apache-2.0
#include "live/endpoint.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <string_view>
#include <sys/stat.h>

#include "plugin/journal/journal_format.h"

namespace ringside::live {
namespace {

std::int64_t pid_of(std::string_view stem) {
  const std::string_view digits = part_of_stem(stem, 3);
  std::int64_t pid = 0;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), pid);
  return read.ec == std::errc{} && read.ptr == digits.data() + digits.size() ? pid : 0;
}

}  // namespace

std::string_view part_of_stem(std::string_view stem, int index) {
  for (; index > 0 && !stem.empty(); --index) {
    stem.remove_prefix(std::min(stem.find('.'), stem.size() - 1) + 1);
  }
  return stem.substr(0, stem.find('.'));
}

std::vector<Endpoint> find_endpoints(const std::string& parent, std::string& error) {
  const std::unique_ptr<DIR, int (*)(DIR*)> all(opendir(parent.c_str()), closedir);
  if (all == nullptr) {
    error = std::strerror(errno);
    return {};
  }
  std::vector<Endpoint> found;
  while (const dirent* entry = readdir(all.get())) {
    const std::string_view name(entry->d_name);
    struct stat about {};
    if (!name.starts_with("ringside.") || !name.ends_with(journal::kRingsSuffix) ||
        fstatat(dirfd(all.get()), entry->d_name, &about, AT_SYMLINK_NOFOLLOW) != 0 ||
        !S_ISDIR(about.st_mode)) {
      continue;
    }
    Endpoint endpoint;
    endpoint.path = parent + "/" + std::string(name);
    endpoint.stem = name.substr(0, name.size() - journal::kRingsSuffix.size());
    endpoint.pid = pid_of(endpoint.stem);
    endpoint.uid = about.st_uid;
    found.push_back(std::move(endpoint));
  }
  std::sort(found.begin(), found.end(),
            [](const Endpoint& a, const Endpoint& b) { return a.path < b.path; });
  return found;
}

}  // namespace ringside::live
