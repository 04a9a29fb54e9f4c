// SPDX-License-Identifier: Apache-2.0
//
// Bytes as the topology of a host from another tool: NCCL's dump in XML, or what
// `nvidia-smi topo -m` prints.
#include <cstdint>
#include <string>
#include <string_view>

#include "analyzer/load/topology/topology_file.h"
#include "analyzer/report/topology_report.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ringside;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto format = load::topology_format(text);
  std::string error;
  const auto file = format ? load::read_topology_text(text, *format, error) : std::nullopt;
  if (file) {
    report::render(report::topology_file_document(*file, true, std::nullopt), "table");
  }
  return 0;
}
