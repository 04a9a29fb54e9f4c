// SPDX-License-Identifier: Apache-2.0
//
// Bytes as trace files, through both loaders: whatever is in them, both give the same. A byte 0x1e
// ends a file and begins the next.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "analyzer/load/partial/partial_sections.h"
#include "analyzer/load/trace_loader.h"
#include "test/load/compare_loaders.h"
#include "test/load/memory_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ringside;
  constexpr std::size_t kMostFiles = 4;
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  std::vector<std::unique_ptr<MemoryFile>> files;
  std::vector<std::string> paths;
  for (bool is_last = false; !is_last && files.size() < kMostFiles;) {
    const std::size_t end = rest.find('\x1e');
    is_last = end == std::string_view::npos;
    const std::string_view text = rest.substr(0, end);
    rest.remove_prefix(is_last ? rest.size() : end + 1);
    // How much of damaged compressed data can be had is zlib's, not the format's. The plain loader
    // knows no partials.
    if (!text.starts_with("\x1f\x8b") && !text.starts_with(load::kPartialMagic)) {
      files.push_back(std::make_unique<MemoryFile>(text));
      paths.push_back(files.back()->path());
    }
  }
  const std::uint64_t small_bytes = 1 + size / (2 + size % 13);  // up to fifteen ranges
  const std::string difference = plain::compare_loaders(paths, {load::kRangeBytes, small_bytes}, 1);
  if (!difference.empty()) {
    std::fprintf(stderr, "%s\n", difference.c_str());
    std::abort();
  }
  return 0;
}
