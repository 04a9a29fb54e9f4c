// SPDX-License-Identifier: Apache-2.0
#include "launch/nccl.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <dlfcn.h>
#include <link.h>
#include <memory>
#include <string_view>
#include <unistd.h>
#include <utility>

#include "launch/files.h"
#include "launch/isolated.h"

namespace ringside::launch {
namespace {

constexpr char kNcclName[] = "libnccl.so.2";
constexpr int kNewestInterface = 7;

std::string path_of(void* library) {
  link_map* map = nullptr;
  return dlinfo(library, RTLD_DI_LINKMAP, &map) == 0 && map != nullptr ? map->l_name : "";
}

int to_number(std::string_view text) {
  int number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

// In a child.
std::string load_error() {
  const char* const error = dlerror();
  return error != nullptr ? error : "it cannot be loaded";
}

// In the child: an error, the path and the version.
std::vector<std::string> describe_nccl(const std::string& name) {
  void* const library = dlopen(name.c_str(), RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) {
    return {load_error()};
  }
  using GetVersion = int (*)(int* version);
  const auto get_version = reinterpret_cast<GetVersion>(dlsym(library, "ncclGetVersion"));
  int version = 0;
  if (get_version == nullptr || get_version(&version) != 0 || version <= 0) {
    return {"it has no ncclGetVersion that answers", path_of(library)};
  }
  return {"", path_of(library), std::to_string(version)};
}

NcclLibrary look_at(const std::string& name, const std::string& found_by) {
  const Answer answer = ask_child([&name] { return describe_nccl(name); });
  const std::string path = answer.line(1);
  return {path.empty() ? name : path, found_by, to_number(answer.line(2)),
          answer.error.empty() ? answer.line(0) : answer.error};
}

std::string canonical(const std::string& path) {
  const std::unique_ptr<char, void (*)(void*)> whole(realpath(path.c_str(), nullptr), std::free);
  return whole != nullptr ? whole.get() : path;
}

// Looks where NVIDIA's package has the library, and where PyTorch's own did before that package.
std::vector<std::string> python_libraries() {
  std::vector<std::string> paths;
  const Answer answer =
      ask_program({"python3", "-c", "import sys\nfor entry in sys.path: print(entry)"});
  for (const std::string& directory :
       answer.error.empty() ? answer.lines : std::vector<std::string>()) {
    for (const char* const place : {"/nvidia/nccl/lib/", "/torch/lib/"}) {
      const std::string path = directory + place + kNcclName;
      if (directory.starts_with('/') && access(path.c_str(), F_OK) == 0) {
        paths.push_back(path);
      }
    }
  }
  return paths;
}

}  // namespace

std::vector<NcclLibrary> find_nccl(const std::string& file) {
  if (!file.empty()) {
    // With a slash, so that the loader does not search for it.
    return {look_at(file.find('/') == std::string::npos ? "./" + file : file, "--nccl")};
  }
  std::vector<NcclLibrary> found;
  NcclLibrary loaded = look_at(kNcclName, "the loader");
  // Another library that it needs, and that is missing, is worth telling.
  const bool is_missing =
      loaded.error.starts_with(std::string(kNcclName) + ": cannot open shared object file");
  if (!is_missing) {
    found.push_back(std::move(loaded));
  }
  for (const std::string& path : python_libraries()) {
    const bool is_known = std::any_of(found.begin(), found.end(), [&](const NcclLibrary& known) {
      return canonical(known.path) == canonical(path);
    });
    if (!is_known) {
      found.push_back(look_at(path, "python3"));
    }
  }
  return found;
}

std::string version_text(int version) {
  // Up to 2.8 the minor number had one digit.
  constexpr int kFirstOfFiveDigits = 10000;
  const int major = version < kFirstOfFiveDigits ? version / 1000 : version / 10000;
  const int minor = version < kFirstOfFiveDigits ? version / 100 % 10 : version / 100 % 100;
  return std::to_string(major) + '.' + std::to_string(minor) + '.' + std::to_string(version % 100);
}

int interface_of(int version) {
  constexpr std::array<std::pair<int, int>, kNewestInterface> kFirstRelease = {
      {{23100, 7}, {22900, 6}, {22800, 5}, {22700, 4}, {22600, 3}, {22400, 2}, {22300, 1}}};
  for (const auto& [first, interface] : kFirstRelease) {
    if (version >= first) {
      return interface;
    }
  }
  return 0;
}

bool hides_broadcasts(int version) {
  constexpr int kFirst = 22902;
  return version >= kFirst;
}

ProfilerPlugin look_at_plugin(const std::string& path) {
  if (!is_whole_library(path)) {
    return {{}, false, "the file is no library, or is cut off, and may kill the job"};
  }
  const Answer answer = ask_child([&path]() -> std::vector<std::string> {
    void* const library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      return {load_error()};
    }
    std::vector<std::string> lines = {
        "", dlsym(library, "ringside_start") != nullptr ? "ringside" : ""};
    for (int version = 1; version <= kNewestInterface; ++version) {
      const std::string symbol = "ncclProfiler_v" + std::to_string(version);
      if (dlsym(library, symbol.c_str()) != nullptr) {
        lines.push_back(std::to_string(version));
      }
    }
    return lines;
  });
  ProfilerPlugin plugin;
  plugin.error = answer.error.empty() ? answer.line(0) : answer.error;
  plugin.is_ringside = answer.line(1) == "ringside";
  for (std::size_t i = 2; i < answer.lines.size(); ++i) {
    plugin.interfaces.push_back(to_number(answer.lines[i]));
  }
  return plugin;
}

std::string find_library(const std::string& name) {
  const Answer answer = ask_child([&name]() -> std::vector<std::string> {
    void* const library = dlopen(name.c_str(), RTLD_LAZY | RTLD_LOCAL);
    return {library != nullptr ? path_of(library) : std::string()};
  });
  return answer.error.empty() ? answer.line(0) : std::string();
}

}  // namespace ringside::launch
