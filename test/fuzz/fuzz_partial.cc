// SPDX-License-Identifier: Apache-2.0
//
// Bytes as a partial. First as they are; then as what the sections hold, with lengths and checksums
// that fit: through the reader, and where that takes them through the matching and every report.
// Before each section is its length in two bytes, and its kind.
#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "analyzer/load/partial/partial_sections.h"
#include "analyzer/load/trace_loader.h"
#include "test/load/memory_file.h"
#include "test/unit/analyzer/analyse_all.h"

namespace {

using namespace ringside;

void load_and_analyse(const std::string& bytes) {
  const MemoryFile file(bytes);
  model::Problems problems;
  model::Traces traces = load::load_traces({file.path()}, problems, 1);
  if (!traces.files.empty()) {
    analyse_all(traces, problems);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  load_and_analyse(std::string(load::kPartialMagic) + std::string(rest));
  std::string bytes = load::partial_start();
  std::string traces(1, '\0');
  while (rest.size() >= 3) {
    const std::size_t wanted =
        static_cast<unsigned char>(rest[0]) * 256U + static_cast<unsigned char>(rest[1]);
    const std::size_t length = std::min(rest.size() - 3, wanted);
    const auto kind = static_cast<load::SectionKind>(1 + static_cast<unsigned char>(rest[2]) % 4);
    bytes += load::make_section(kind, std::string(rest.substr(3, length)));
    traces[0] = static_cast<char>(traces[0] + (kind == load::SectionKind::kTrace ? 1 : 0));
    rest.remove_prefix(3 + length);
  }
  load_and_analyse(bytes + load::make_section(load::SectionKind::kEnd, traces));
  return 0;
}
