// SPDX-License-Identifier: Apache-2.0
//
// Loads plugins as NCCL does into a process that uses libstdc++ itself, streams, a locale, threads
// and exceptions, and makes a few events through each. One of the plugins has a libstdc++ of its
// own.
//
//   two_libstdcxx PLUGIN...
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <iostream>
#include <locale>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

#include "plugin/abi/versions.h"
#include "ringside/ringside.h"

namespace {

using namespace ringside::abi;

void require(bool holds, const std::string& what) {
  if (!holds) {
    throw std::runtime_error(what);
  }
}

// An application uses its own libstdc++ between and beside NCCL's calls in these ways.
void use_own_library() {
  std::ostringstream text;
  text.imbue(std::locale::classic());
  text << 1.5 << ' ' << std::vector<std::string>(100, "x").back();
  require(text.str() == "1.5 x", "streams");
  for (int i = 0; i < 100; ++i) {
    try {
      throw std::out_of_range(text.str());
    } catch (const std::exception& caught) {
      require(caught.what() == text.str(), "exceptions");
    }
  }
}

std::string drive(const char* path) {
  void* const library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  require(library != nullptr, path);
  const auto* const profiler = static_cast<const v6::Profiler*>(dlsym(library, "ncclProfiler_v6"));
  require(profiler != nullptr, "ncclProfiler_v6");
  static int mask = 0;
  void* context = nullptr;
  require(profiler->init(&context, 42, &mask, "world", 1, 2, 0, nullptr) == 0, "init");
  std::thread other([&] {
    use_own_library();
    for (int i = 0; i < 1000; ++i) {
      v6::EventDescr descr{};
      descr.type = 2;
      descr.coll.func = "AllReduce";
      descr.coll.datatype = "ncclFloat32";
      descr.coll.count = 1;
      void* handle = nullptr;
      require(profiler->startEvent(context, &handle, &descr) == 0 && handle != nullptr, "start");
      require(profiler->stopEvent(handle) == 0, "stop");
    }
  });
  use_own_library();
  other.join();
  const auto status =
      reinterpret_cast<decltype(&ringside_status)>(dlsym(library, "ringside_status"));
  ringside_status_info info{};
  info.struct_size = sizeof info;
  require(status(&info) == RINGSIDE_OK && info.callbacks == 2000, "callbacks");
  require(profiler->finalize(context) == 0, "finalize");
  return info.trace_path;
}

}  // namespace

int main(int argc, char** argv) {
  const auto directory = std::filesystem::temp_directory_path() /
                         ("ringside-two-libstdcxx-" + std::to_string(getpid()));
  setenv("RINGSIDE_DIR", directory.c_str(), 1);
  setenv("RINGSIDE_RING_DIR", "none", 1);
  try {
    require(argc > 1, "usage: two_libstdcxx PLUGIN...");
    for (int i = 1; i < argc; ++i) {
      std::cout << argv[i] << ": " << drive(argv[i]) << '\n';
    }
    use_own_library();
  } catch (const std::exception& error) {
    std::cerr << "failed: " << error.what() << '\n';
    return 1;
  }
  // Before the plugins' own ends: what they write then goes to files that are open.
  std::filesystem::remove_all(directory);
  return 0;
}
