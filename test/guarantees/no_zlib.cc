// SPDX-License-Identifier: Apache-2.0
//
// Loaded before a program (LD_PRELOAD), it is a machine without zlib for whoever opens that.
#include <cstring>
#include <dlfcn.h>

extern "C" void* dlopen(const char* name, int mode) noexcept {
  if (name != nullptr && std::strstr(name, "libz.so") != nullptr) {
    return nullptr;
  }
  const auto next = reinterpret_cast<void* (*)(const char*, int)>(dlsym(RTLD_NEXT, "dlopen"));
  return next(name, mode);
}
