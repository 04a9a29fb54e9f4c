// SPDX-License-Identifier: Apache-2.0
#include "launch/files.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <elf.h>
#include <fstream>
#include <glob.h>
#include <memory>
#include <sys/stat.h>
#include <unistd.h>

#ifndef RINGSIDE_LIBRARY_DIRECTORY
#error "RINGSIDE_LIBRARY_DIRECTORY is defined by analyzer/CMakeLists.txt"
#endif

namespace ringside::launch {
namespace {

std::string because(const std::string& path, int error) {
  return path + ": " + std::strerror(error);
}

bool exists(const std::string& path) {
  struct stat about {};
  return lstat(path.c_str(), &about) == 0;
}

bool is_file(const std::string& path) {
  struct stat about {};
  return stat(path.c_str(), &about) == 0 && S_ISREG(about.st_mode);
}

std::string directory_of_executable() {
  std::array<char, 4096> path{};
  const ssize_t size = readlink("/proc/self/exe", path.data(), path.size());
  const std::string text(path.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
  return text.substr(0, text.rfind('/') + 1);
}

std::string without_end_slashes(std::string path) {
  while (path.size() > 1 && path.back() == '/') {
    path.pop_back();
  }
  return path;
}

// Those above `path`; one that exists meanwhile is no error.
std::string make_parents(const std::string& path) {
  for (std::size_t slash = path.find('/', 1); slash != std::string::npos;
       slash = path.find('/', slash + 1)) {
    const std::string parent = path.substr(0, slash);
    if (mkdir(parent.c_str(), 0700) != 0 && errno != EEXIST) {
      return because(parent, errno);
    }
  }
  return {};
}

std::string numbered(const std::string& path, int number) {
  return number == 1 ? path : path + '-' + std::to_string(number);
}

constexpr int kMostNumbers = 1000;

// The Python package beside bin/: after `pip install --target`, and in an environment.
void add_package_places(const std::string& directory, std::vector<std::string>& places) {
  constexpr char kPackage[] = "/nccl_ringside/lib/";
  places.push_back(directory + "/.." + kPackage + kPluginName);
  for (const char* const packages : {"site-packages", "dist-packages"}) {
    const std::string pattern =
        directory + "/../lib*/python3*/" + packages + kPackage + kPluginName;
    glob_t found{};
    if (glob(pattern.c_str(), 0, nullptr, &found) == 0) {
      places.insert(places.end(), found.gl_pathv, found.gl_pathv + found.gl_pathc);
    }
    globfree(&found);
  }
}

}  // namespace

std::string absolute_path(const std::string& path) {
  std::array<char, 4096> here{};
  if (path.starts_with('/') || getcwd(here.data(), here.size()) == nullptr) {
    return path;
  }
  return path.empty() ? here.data() : std::string(here.data()) + "/" + path;
}

std::string base_name(std::string path) {
  path = without_end_slashes(std::move(path));
  return path.substr(path.rfind('/') + 1);
}

std::vector<std::string> plugin_places(const std::string& directory) {
  const std::string library_directory = RINGSIDE_LIBRARY_DIRECTORY;
  const std::string installed = library_directory.starts_with('/')
                                    ? library_directory
                                    : directory + "/../" + library_directory;
  std::vector<std::string> places = {directory + "/" + kPluginName,
                                     directory + "/../lib/" + kPluginName,
                                     installed + "/" + kPluginName};
  add_package_places(directory, places);
  return places;
}

std::string find_plugin() {
  for (const std::string& place : plugin_places(directory_of_executable())) {
    if (!is_file(place)) {
      continue;
    }
    // Without "..", since users read it.
    const std::unique_ptr<char, void (*)(void*)> whole(realpath(place.c_str(), nullptr), std::free);
    return whole != nullptr ? whole.get() : place;
  }
  return {};
}

bool is_whole_library(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  const auto size = static_cast<std::uint64_t>(std::max<std::streamoff>(file.tellg(), 0));
  const auto is_within = [size](std::uint64_t at, std::uint64_t bytes) {
    return at <= size && bytes <= size - at;
  };
  Elf64_Ehdr header{};
  if (!file.seekg(0) || !file.read(reinterpret_cast<char*>(&header), sizeof header) ||
      std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) {
    return false;
  }
  bool is_whole = is_within(header.e_phoff, std::uint64_t{header.e_phnum} * sizeof(Elf64_Phdr)) &&
                  is_within(header.e_shoff, std::uint64_t{header.e_shnum} * header.e_shentsize);
  file.seekg(static_cast<std::streamoff>(header.e_phoff));
  for (unsigned i = 0; is_whole && i < header.e_phnum; ++i) {
    Elf64_Phdr part{};
    is_whole = !!file.read(reinterpret_cast<char*>(&part), sizeof part) &&
               (part.p_type != PT_LOAD || is_within(part.p_offset, part.p_filesz));
  }
  return is_whole;
}

bool write_whole(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t wrote = write(file, text.data(), text.size());
    if (wrote > 0) {
      text.remove_prefix(static_cast<std::size_t>(wrote));
    } else if (wrote == 0 || errno != EINTR) {
      return false;
    }
  }
  return true;
}

std::string make_directory(const std::string& path) {
  if (std::string wrong = make_parents(path); !wrong.empty()) {
    return wrong;
  }
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
    return because(path, errno);
  }
  struct stat about {};
  if (stat(path.c_str(), &about) != 0) {
    return because(path, errno);
  }
  if (!S_ISDIR(about.st_mode)) {
    return because(path, ENOTDIR);
  }
  return access(path.c_str(), W_OK | X_OK) == 0 ? std::string() : because(path, errno);
}

std::string make_new_directory(const std::string& path, std::string& error) {
  error = make_parents(path);
  for (int number = 1; error.empty() && number <= kMostNumbers; ++number) {
    std::string name = numbered(path, number);
    if (mkdir(name.c_str(), 0700) == 0) {
      return name;
    }
    if (errno != EEXIST || number == kMostNumbers) {
      error = because(name, errno);
    }
  }
  return {};
}

std::string unused_directory(const std::string& path) {
  int number = 1;
  while (number < kMostNumbers && exists(numbered(path, number))) {
    ++number;
  }
  return numbered(path, number);
}

std::string name_prefix(std::string_view job) {
  constexpr std::size_t kMost = 64;  // as plugin/drain/process_info.cc has it
  std::string part(job.substr(0, kMost));
  for (char& c : part) {
    const bool fits = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                      c == '-' || c == '_';
    c = fits ? c : '_';
  }
  return "ringside." + part + '.';
}

std::set<std::string> names_with_prefix(const std::string& directory, std::string_view prefix) {
  std::set<std::string> names;
  const std::unique_ptr<DIR, int (*)(DIR*)> all(opendir(directory.c_str()), closedir);
  if (all == nullptr) {
    return names;
  }
  while (const dirent* entry = readdir(all.get())) {
    if (std::string_view(entry->d_name).starts_with(prefix)) {
      names.insert(entry->d_name);
    }
  }
  return names;
}

bool is_trace_name(std::string_view name) {
  return name.starts_with("ringside.") && (name.ends_with(".json") || name.ends_with(".json.gz"));
}

}  // namespace ringside::launch
