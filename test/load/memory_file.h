// SPDX-License-Identifier: Apache-2.0
#ifndef RINGSIDE_TEST_LOAD_MEMORY_FILE_H
#define RINGSIDE_TEST_LOAD_MEMORY_FILE_H

#include <cstdlib>
#include <string>
#include <string_view>
#include <sys/mman.h>
#include <unistd.h>

namespace ringside {

/// The first line of a trace.
inline constexpr const char* kFirstLine =
    R"([{"ph":"M","name":"ringside_trace","args":{"format_version":1,"base_time_s":7889238}},)";

/// A file in memory that has a path while the object lives.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view text) : descriptor_(memfd_create("test", MFD_CLOEXEC)) {
    if (descriptor_ < 0 ||
        ::write(descriptor_, text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
      std::abort();
    }
  }
  ~MemoryFile() { ::close(descriptor_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

 private:
  int descriptor_;
};

}  // namespace ringside

#endif  // RINGSIDE_TEST_LOAD_MEMORY_FILE_H
